/* How the sum of a round changes a key's value: the text of tutti_kv_set_optimizer as a value, and the
 * arithmetic, which is that of the kernels (dag/kernels/optim.h). */
#ifndef TUTTI_KV_OPTIMIZER_H
#define TUTTI_KV_OPTIMIZER_H

#include "dag/base/dtype.h"
#include "dag/base/status.h"

#include <stdint.h>

typedef enum tutti_optimizer_kind {
    TUTTI_OPTIMIZER_ASSIGN,
    TUTTI_OPTIMIZER_ADD,
    TUTTI_OPTIMIZER_SGD,
    TUTTI_OPTIMIZER_ADAM,
    TUTTI_OPTIMIZER_ADAMW,
    TUTTI_OPTIMIZERS
} tutti_optimizer_kind;

typedef struct tutti_optimizer {
    tutti_optimizer_kind kind;
    int nesterov;
    double rate, momentum; /* momentum: beta1 of adam */
    double beta2, epsilon, decay, scale;
} tutti_optimizer;

/* Reads the text of tutti_kv_set_optimizer (tutti/kv.h). NULL: assign. USAGE (logged). */
tutti_status tutti_optimizer_read(const char *text, tutti_optimizer *optimizer);
const char *tutti_optimizer_name(const tutti_optimizer *optimizer);
/* Whether it takes values of this type. */
int tutti_optimizer_takes(const tutti_optimizer *optimizer, tutti_dtype dtype);

enum { TUTTI_OPTIMIZER_STATES = 2, TUTTI_OPTIMIZER_WORDS = 7 };
/* How many vectors of the value's size it keeps; they begin as zeros. */
int tutti_optimizer_states(const tutti_optimizer *optimizer);
/* As numbers, to compare and to send; and back. */
void tutti_optimizer_pack(const tutti_optimizer *optimizer, int64_t word[TUTTI_OPTIMIZER_WORDS]);
/* 0 if tutti_optimizer_read cannot give these numbers. */
int tutti_optimizer_unpack(const int64_t word[TUTTI_OPTIMIZER_WORDS], tutti_optimizer *optimizer);
/* Whether two change values alike. */
int tutti_optimizer_is_same(const tutti_optimizer *a, const tutti_optimizer *b);

/* Updates `count` elements of `value` with `sum`, which is scratch afterwards. rate: instead of
 * the optimizer's; update: how many updates there were before. NOMEM, INVAL (logged). [A] on different data */
tutti_status tutti_optimizer_update(const tutti_optimizer *optimizer, tutti_dtype dtype,
    int64_t count, double rate, int64_t update, void *value, void *sum,
    void *const state[TUTTI_OPTIMIZER_STATES]);

#endif
