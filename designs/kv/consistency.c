#include "designs/kv/consistency.h"

#include "dag/base/log.h"
#include "dag/base/number.h"
#include "dag/base/parameters.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* These get what follows the name. */

static int read_nothing(const tutti_parameters *given, tutti_consistency *rule)
{
    (void)rule;
    return !given->count;
}

static int read_bounded(const tutti_parameters *given, tutti_consistency *rule)
{
    return given->count == 1 && !given->of[0].key &&
           tutti_number_int(given->of[0].value, &rule->bound);
}

/* "period=8,alpha=0.1", each at most once, in any order. */
static int read_elastic(const tutti_parameters *given, tutti_consistency *rule)
{
    int read = !given->twice;
    rule->period = 8;
    rule->alpha = 0.1;
    for (int i = 0; i < given->count && read; i++) {
        const char *key = given->of[i].key ? given->of[i].key : "", *value = given->of[i].value;
        read = !strcmp(key, "period")  ? tutti_number_int(value, &rule->period)
               : !strcmp(key, "alpha") ? tutti_number_real(value, &rule->alpha)
                                       : 0;
    }
    return read;
}

static const struct {
    const char *name;
    int (*read)(const tutti_parameters *given, tutti_consistency *rule);
} types[TUTTI_KV_TYPES] = {[TUTTI_KV_SYNC] = {"sync", read_nothing},
    [TUTTI_KV_ASYNC] = {"async", read_nothing},
    [TUTTI_KV_BOUNDED] = {"bounded", read_bounded},
    [TUTTI_KV_ELASTIC] = {"elastic", read_elastic}};

static int read_text(const char *text, tutti_consistency *rule)
{
    tutti_parameters given;
    int type = 0;
    if (strlen(text) >= TUTTI_CONSISTENCY_TEXT || !tutti_parameters_cut(text, 1, &given)) return 0;
    while (type < TUTTI_KV_TYPES && strcmp(given.name, types[type].name)) type++;
    if (type == TUTTI_KV_TYPES) return 0;
    rule->type = (tutti_kv_type)type;
    return types[type].read(&given, rule) && tutti_consistency_is_sane(rule);
}

tutti_status tutti_consistency_read(const char *text, tutti_consistency *rule)
{
    *rule = (tutti_consistency){.type = TUTTI_KV_SYNC};
    if (!text) return TUTTI_OK;
    if (!read_text(text, rule))
        return tutti_fail(TUTTI_ERR_USAGE,
            "type \"%s\": must be sync, async, bounded:S, where S is how many pushes a client may "
            "be ahead of the slowest, 0 or more, or elastic:period=T,alpha=A, where T, 1 or more, "
            "is how many calls there are from one mixing step with the centre to the next, and A, "
            "above 0 and at most 1, how far a client moves to it",
            text);
    if (rule->type == TUTTI_KV_BOUNDED && !rule->bound) rule->type = TUTTI_KV_SYNC;
    return TUTTI_OK;
}

int tutti_consistency_is_sane(const tutti_consistency *rule)
{
    int elastic = rule->type == TUTTI_KV_ELASTIC;
    return rule->type < TUTTI_KV_TYPES && rule->bound >= 0 &&
           (elastic ? rule->period >= 1 && rule->alpha > 0 && rule->alpha <= 1
                    : rule->period == 0 && !(rule->alpha < 0) && !(rule->alpha > 0));
}

int tutti_consistency_is_same(const tutti_consistency *a, const tutti_consistency *b)
{
    return a->type == b->type && a->bound == b->bound && a->period == b->period &&
           !memcmp(&a->alpha, &b->alpha, sizeof a->alpha);
}

const char *tutti_consistency_write(
    const tutti_consistency *rule, char text[TUTTI_CONSISTENCY_TEXT])
{
    int n = snprintf(text, TUTTI_CONSISTENCY_TEXT, "%s", types[rule->type].name);
    size_t room = (size_t)(TUTTI_CONSISTENCY_TEXT - n);
    if (rule->type == TUTTI_KV_BOUNDED) snprintf(text + n, room, ":%" PRId64, rule->bound);
    if (rule->type == TUTTI_KV_ELASTIC)
        snprintf(text + n, room, ":period=%" PRId64 ",alpha=%.9g", rule->period, rule->alpha);
    return text;
}
