/* A node that ends later than its function. A runner hands a token to what starts a collective;
 * when any thread finishes the token, the node has ended and its successors may run. No worker
 * waits meanwhile. */
#ifndef TUTTI_TOKEN_H
#define TUTTI_TOKEN_H

#include "dag/base/status.h"

/* One per started node; owned by the runner. `finish` is called exactly once; a status other than
 * OK becomes the status of the run's next wait. [A] */
typedef struct tutti_token tutti_token;
struct tutti_token {
    void (*finish)(tutti_token *token, tutti_status status);
};

static inline void tutti_token_finish(tutti_token *token, tutti_status status)
{
    token->finish(token, status);
}

#endif
