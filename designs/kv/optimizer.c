#include "designs/kv/optimizer.h"

#include "collectives/buf/buf.h"
#include "dag/base/log.h"
#include "dag/base/number.h"
#include "dag/base/parameters.h"
#include "dag/kernels/optim.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A setting, and which kinds have it. */
typedef struct setting {
    const char *name;
    size_t offset;
    double low, high;
    unsigned kinds;
} setting;

enum {
    SGD = 1 << TUTTI_OPTIMIZER_SGD,
    ADAM = 1 << TUTTI_OPTIMIZER_ADAM | 1 << TUTTI_OPTIMIZER_ADAMW,
};

#define AT(field) offsetof(tutti_optimizer, field)
static const setting settings[] = {
    {"rate", AT(rate), 0, 1e9, SGD | ADAM},
    {"momentum", AT(momentum), 0, 0.999999, SGD}, /* below 1 as f32, too */
    {"beta1", AT(momentum), 0, 0.999999, ADAM},
    {"beta2", AT(beta2), 0, 0.999999, ADAM},
    {"epsilon", AT(epsilon), 0, 1, ADAM},
    {"decay", AT(decay), 0, 1e9, SGD | ADAM},
    {"scale", AT(scale), -1e9, 1e9, SGD | ADAM},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

static const char *const names[TUTTI_OPTIMIZERS] = {"assign", "add", "sgd", "adam", "adamw"};

const char *tutti_optimizer_name(const tutti_optimizer *optimizer)
{
    return names[optimizer->kind];
}

int tutti_optimizer_takes(const tutti_optimizer *optimizer, tutti_dtype dtype)
{
    return dtype == TUTTI_F32 ||
           (optimizer->kind <= TUTTI_OPTIMIZER_ADD && tutti_buf_reduces(dtype, TUTTI_SUM));
}

int tutti_optimizer_states(const tutti_optimizer *optimizer)
{
    unsigned kind = 1U << optimizer->kind;
    return kind & ADAM ? 2 : kind & SGD ? 1 : 0;
}

static double *find_field(tutti_optimizer *o, const setting *s)
{
    return (double *)((char *)o + s->offset);
}

static tutti_status read_setting(
    const char *text, const char *key, const char *number, tutti_optimizer *o)
{
    const char *word = key ? key : number;
    double value;
    int known = key && tutti_number_real(number, &value);
    if (known && !strcmp(word, "nesterov") && o->kind == TUTTI_OPTIMIZER_SGD &&
        (value == 0 || value == 1)) {
        o->nesterov = value > 0;
        return TUTTI_OK;
    }
    for (int i = 0; i < SETTINGS && known; i++) {
        const setting *s = &settings[i];
        if (strcmp(word, s->name) || !(s->kinds & 1U << o->kind)) continue;
        if (value < s->low || value > s->high)
            return tutti_fail(TUTTI_ERR_USAGE, "optimizer \"%s\": %s must be from %g to %g", text,
                word, s->low, s->high);
        *find_field(o, s) = value;
        return TUTTI_OK;
    }
    return tutti_fail(TUTTI_ERR_USAGE,
        "optimizer \"%s\": %s has no \"%s\" (sgd has rate, momentum, decay, nesterov and scale; "
        "adam and "
        "adamw have rate, beta1, beta2, epsilon, decay and scale), or its value is not a number",
        text, names[o->kind], word);
}

/* What no setting says by itself. */
static int lacks_momentum(const tutti_optimizer *o)
{
    return o->nesterov && !((float)o->momentum > 0);
}

static tutti_status read_kind(const char *text, const char *name, tutti_optimizer *o)
{
    for (int k = 0; k < TUTTI_OPTIMIZERS; k++) {
        if (strcmp(name, names[k])) continue;
        o->kind = (tutti_optimizer_kind)k;
        if (1U << k & ADAM) o->momentum = 0.9;
        return TUTTI_OK;
    }
    return tutti_fail(TUTTI_ERR_USAGE,
        "optimizer \"%s\": must be assign, add, sgd, adam or adamw, with settings after a colon: "
        "\"sgd:rate=0.1,momentum=0.9\"",
        text);
}

tutti_status tutti_optimizer_read(const char *text, tutti_optimizer *optimizer)
{
    tutti_parameters given;
    *optimizer = (tutti_optimizer){.beta2 = 0.999, .epsilon = 1e-8, .scale = 1};
    if (!text) return TUTTI_OK;
    if (!tutti_parameters_cut(text, 1, &given))
        return tutti_fail(
            TUTTI_ERR_USAGE, "optimizer: the text is longer than %d", TUTTI_PARAMETERS_TEXT);
    tutti_status status = read_kind(text, given.name, optimizer);
    for (int i = 0; i < given.count && !status; i++)
        status = read_setting(text, given.of[i].key, given.of[i].value, optimizer);
    if (!status && given.twice)
        status = tutti_fail(TUTTI_ERR_USAGE, "optimizer \"%s\": has %s= twice", text, given.twice);
    if (!status && optimizer->kind > TUTTI_OPTIMIZER_ADD && !(optimizer->rate > 0))
        status = tutti_fail(TUTTI_ERR_USAGE, "optimizer \"%s\": say which rate: \"%s:rate=0.1\"",
            text, names[optimizer->kind]);
    if (!status && lacks_momentum(optimizer))
        status = tutti_fail(
            TUTTI_ERR_USAGE, "optimizer \"%s\": nesterov=1 needs a momentum above 0", text);
    return status;
}

void tutti_optimizer_pack(const tutti_optimizer *o, int64_t word[TUTTI_OPTIMIZER_WORDS])
{
    const double value[] = {o->rate, o->momentum, o->beta2, o->epsilon, o->decay, o->scale};
    _Static_assert(1 + sizeof value / sizeof *value == TUTTI_OPTIMIZER_WORDS, "all");
    word[0] = 2 * (int64_t)o->kind + o->nesterov;
    memcpy(word + 1, value, sizeof value);
}

static int is_sane(tutti_optimizer *o)
{
    for (int i = 0; i < SETTINGS; i++) {
        const setting *s = &settings[i];
        double value = *find_field(o, s);
        if (s->kinds & 1U << o->kind && !(value >= s->low && value <= s->high)) return 0;
    }
    return o->kind <= TUTTI_OPTIMIZER_ADD || (o->rate > 0 && !lacks_momentum(o));
}

int tutti_optimizer_unpack(const int64_t word[TUTTI_OPTIMIZER_WORDS], tutti_optimizer *o)
{
    double value[TUTTI_OPTIMIZER_WORDS - 1];
    *o = (tutti_optimizer){0};
    if (word[0] < 0 || word[0] >= 2 * TUTTI_OPTIMIZERS) return 0;
    memcpy(value, word + 1, sizeof value);
    *o = (tutti_optimizer){.kind = (tutti_optimizer_kind)(word[0] / 2),
        .nesterov = word[0] % 2,
        .rate = value[0],
        .momentum = value[1],
        .beta2 = value[2],
        .epsilon = value[3],
        .decay = value[4],
        .scale = value[5]};
    return is_sane(o);
}

int tutti_optimizer_is_same(const tutti_optimizer *a, const tutti_optimizer *b)
{
    int64_t of_a[TUTTI_OPTIMIZER_WORDS], of_b[TUTTI_OPTIMIZER_WORDS];
    tutti_optimizer_pack(a, of_a);
    tutti_optimizer_pack(b, of_b);
    return a->kind == b->kind &&
           (a->kind <= TUTTI_OPTIMIZER_ADD || !memcmp(of_a, of_b, sizeof of_a));
}

/* ---- the arithmetic ---- */

static tutti_status run_kernel(const tutti_op *op, const void *desc, void *const buf[])
{
    const tutti_kernel *kernel = tutti_optim_kernel(op, TUTTI_F32);
    void *args = NULL;
    tutti_status status = kernel->open(desc, &args);
    if (status) return status;
    status = kernel->fn(args, buf, NULL);
    kernel->close(args);
    return status;
}

static tutti_status scale_sum(const tutti_optimizer *o, int64_t count, void *sum)
{
    float factor = (float)o->scale;
    const tutti_clip_desc desc = {.count = count};
    void *const buf[] = {&factor, sum};
    return o->scale == 1 ? TUTTI_OK : run_kernel(&tutti_op_clip, &desc, buf);
}

static tutti_status update_sgd(const tutti_optimizer *o, int64_t count, double rate, void *value,
    void *sum, void *const state[])
{
    float step = (float)rate;
    const tutti_sgd_desc desc = {.count = count,
        .momentum = (float)o->momentum,
        .weight_decay = (float)o->decay,
        .rate_factor = 1,
        .nesterov = o->nesterov};
    void *const buf[] = {sum, &step, value, state[0]};
    return run_kernel(&tutti_op_sgd, &desc, buf);
}

static tutti_status update_adam(const tutti_optimizer *o, int64_t count, double rate,
    int64_t update, void *value, void *sum, void *const state[])
{
    float step = (float)rate;
    const tutti_adam_desc desc = {.count = count,
        .every = 1,
        .beta1 = o->momentum,
        .beta2 = o->beta2,
        .epsilon = (float)o->epsilon,
        .weight_decay = (float)o->decay,
        .rate_factor = 1,
        .decoupled = o->kind == TUTTI_OPTIMIZER_ADAMW};
    void *const buf[] = {sum, &step, &update, value, state[0], state[1]};
    return run_kernel(&tutti_op_adam, &desc, buf);
}

tutti_status tutti_optimizer_update(const tutti_optimizer *optimizer, tutti_dtype dtype,
    int64_t count, double rate, int64_t update, void *value, void *sum,
    void *const state[TUTTI_OPTIMIZER_STATES])
{
    if (optimizer->kind == TUTTI_OPTIMIZER_ASSIGN) {
        tutti_buf_copy(value, sum, (size_t)count * tutti_dtype_bytes(dtype));
        return TUTTI_OK;
    }
    if (optimizer->kind == TUTTI_OPTIMIZER_ADD) {
        tutti_buf_reduce(dtype, TUTTI_SUM, value, sum, count, 0);
        return TUTTI_OK;
    }
    tutti_status status = scale_sum(optimizer, count, sum);
    if (status) return status;
    return optimizer->kind == TUTTI_OPTIMIZER_SGD
               ? update_sgd(optimizer, count, rate, value, sum, state)
               : update_adam(optimizer, count, rate, update, value, sum, state);
}
