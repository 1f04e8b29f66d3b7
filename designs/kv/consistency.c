#include "designs/kv/consistency.h"

#include "dag/base/log.h"
#include "dag/base/number.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int read_period(const char *text, tutti_consistency *rule)
{
    return tutti_number_int(text, &rule->period);
}

static int read_alpha(const char *text, tutti_consistency *rule)
{
    return tutti_number_real(text, &rule->alpha);
}

/* What comes behind "elastic:". */
static const struct {
    const char *key;
    int (*read)(const char *text, tutti_consistency *rule);
} settings[] = {{"period", read_period}, {"alpha", read_alpha}};
enum { SETTINGS = sizeof settings / sizeof *settings };

/* "period=8,alpha=0.1", each at most once, in any order. The text is cut. */
static int read_settings(char *text, tutti_consistency *rule)
{
    int seen[SETTINGS] = {0};
    for (char *next = text; next;) {
        char *word = next, *equals = strchr(word, '=');
        int s = 0;
        next = strchr(word, ',');
        if (next) *next++ = '\0';
        if (!equals) return 0;
        *equals = '\0';
        while (s < SETTINGS && strcmp(word, settings[s].key)) s++;
        if (s == SETTINGS || seen[s]++ || !settings[s].read(equals + 1, rule)) return 0;
    }
    return 1;
}

/* These get what is behind the colon; NULL: there is none. */

static int read_nothing(char *text, tutti_consistency *rule)
{
    (void)rule;
    return !text;
}

static int read_bounded(char *text, tutti_consistency *rule)
{
    return text && tutti_number_int(text, &rule->bound);
}

static int read_elastic(char *text, tutti_consistency *rule)
{
    rule->period = 8;
    rule->alpha = 0.1;
    return !text || read_settings(text, rule);
}

static const struct {
    const char *name;
    int (*read)(char *text, tutti_consistency *rule);
} types[TUTTI_KV_TYPES] = {[TUTTI_KV_SYNC] = {"sync", read_nothing},
    [TUTTI_KV_ASYNC] = {"async", read_nothing},
    [TUTTI_KV_BOUNDED] = {"bounded", read_bounded},
    [TUTTI_KV_ELASTIC] = {"elastic", read_elastic}};

static int read_text(char *text, tutti_consistency *rule)
{
    int type = 0;
    char *rest = strchr(text, ':');
    if (rest) *rest++ = '\0';
    while (type < TUTTI_KV_TYPES && strcmp(text, types[type].name)) type++;
    if (type == TUTTI_KV_TYPES) return 0;
    rule->type = (tutti_kv_type)type;
    return types[type].read(rest, rule) && tutti_consistency_is_sane(rule);
}

tutti_status tutti_consistency_read(const char *text, tutti_consistency *rule)
{
    char copy[TUTTI_CONSISTENCY_TEXT];
    *rule = (tutti_consistency){.type = TUTTI_KV_SYNC};
    if (!text) return TUTTI_OK;
    snprintf(copy, sizeof copy, "%s", text);
    if (strlen(text) >= sizeof copy || !read_text(copy, rule))
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
