/* A node that ends later. A runner hands a token to whoever starts a collective; the node is
 * finished, and its successors may run, when the token is finished, from any thread. No worker
 * waits meanwhile. */
#ifndef TUTTI_TOKEN_H
#define TUTTI_TOKEN_H

#include "dag/base/status.h"

/* One for each started node; owned by the runner. `finish` is called exactly once; a status other
 * than OK makes the run's next wait return it. [A] */
typedef struct tutti_token tutti_token;
struct tutti_token {
    void (*finish)(tutti_token *token, tutti_status status);
};

static inline void tutti_token_finish(tutti_token *token, tutti_status status)
{
    token->finish(token, status);
}

#endif
