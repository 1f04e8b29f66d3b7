/* One rank's groups and collectives as text, one per line:
 *   group size edge rank... name
 *   kind dtype op root count counts own group lane index priority chunk holds lost N before...
 *   M length... name */
#include "designs/check/parts.h"

#include "dag/base/log.h"
#include "dag/base/rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_coll(const tutti_check_coll *c, FILE *out)
{
    fprintf(out, "%d %d %d %d %" PRId64 " %" PRIu64 " %" PRIu64 " %d %d %" PRId64 " %d %d %d %d %d",
        (int)c->kind, (int)c->dtype, (int)c->op, c->root, c->count, c->counts, c->own, c->group,
        c->lane, c->index, c->priority, c->chunk, c->holds, c->lost, c->befores);
    for (int i = 0; i < c->befores; i++) fprintf(out, " %d", c->before[i]);
    fprintf(out, " %d", c->lengths);
    for (int i = 0; i < c->lengths; i++) fprintf(out, " %" PRId64, c->length[i]);
    fprintf(out, " %s\n", c->name);
}

static void print_group(const tutti_check_group *group, FILE *out)
{
    fprintf(out, "group %d %d", group->size, group->edge);
    for (int i = 0; i < group->size; i++) fprintf(out, " %d", group->rank[i]);
    fprintf(out, " %s\n", group->name);
}

tutti_status tutti_check_text(const tutti_check *check, int rank, char **text)
{
    const tutti_check_rank *r = &check->rank[rank];
    char *memory = NULL;
    size_t bytes;
    FILE *out = open_memstream(&memory, &bytes);
    if (!out) return tutti_fail(TUTTI_ERR_NOMEM, "check: no memory");
    for (int g = 1; g < check->groups; g++) print_group(&check->group[g], out);
    for (int n = 0; n < r->colls; n++) print_coll(&r->coll[n], out);
    int failed = ferror(out);
    if (fclose(out) || failed) {
        free(memory);
        return tutti_fail(TUTTI_ERR_NOMEM, "check: no memory");
    }
    *text = memory;
    return TUTTI_OK;
}

uint64_t tutti_check_digest(const char *text)
{
    return tutti_rng_stream(text);
}

/* Reads the next number of a line, in [low, high], and moves *text past it. Returns 0 if there is none. */
static int take_number(const char **text, int64_t low, int64_t high, int64_t *number)
{
    char *end;
    long long value = strtoll(*text, &end, 10);
    if (end == *text || *end != ' ' || value < low || value > high) return 0;
    *text = end + 1;
    *number = value;
    return 1;
}

enum {
    KIND,
    DTYPE,
    OP,
    ROOT,
    COUNT,
    COUNTS,
    OWN,
    GROUP,
    LANE,
    INDEX,
    PRIORITY,
    CHUNK,
    HOLDS,
    LOST,
    BEFORES,
    FIELDS
};

/* Reads n numbers, each from 0 to highest. Returns 0 if one is missing. */
static int take_all(const char **text, int64_t highest, int n, int64_t number[])
{
    for (int i = 0; i < n; i++)
        if (!take_number(text, 0, highest, &number[i])) return 0;
    return 1;
}

/* Converts the group numbers of a text to those of the check that reads it. */
typedef struct numbering {
    int *of; /* [count] by the number in the text */
    int count;
} numbering;

/* Finds the group of this name with these ranks; adds it if it is unknown. */
static tutti_status find_group(tutti_check *check, const tutti_check_group *like, int *group)
{
    size_t bytes = (size_t)like->size * sizeof *like->rank;
    for (int g = 1; g < check->groups; g++) {
        const tutti_check_group *known = &check->group[g];
        if (strcmp(known->name, like->name) != 0) continue;
        if (known->size != like->size || memcmp(known->rank, like->rank, bytes) != 0)
            return tutti_fail(TUTTI_ERR_FORMAT,
                "check: the ranks of the group '%s' differ between ranks", like->name);
        *group = g;
        return TUTTI_OK;
    }
    tutti_status status = tutti_check_add_group(check, like->name, like->size, like->rank, group);
    if (!status) check->group[*group].edge = like->edge;
    return status;
}

static tutti_status add_number(numbering *numbers, int group)
{
    int *grown = realloc(numbers->of, ((size_t)numbers->count + 1) * sizeof *grown);
    if (!grown) return tutti_fail(TUTTI_ERR_NOMEM, "check: no memory");
    grown[numbers->count++] = group;
    numbers->of = grown;
    return TUTTI_OK;
}

/* Reads the rest of a line about a group; the caller frees its name and its ranks. */
static tutti_status take_group(
    const tutti_check *check, int rank, const char **text, tutti_check_group *group)
{
    int64_t size = 0, edge = 0, member = 0;
    int fine = take_number(text, 1, check->ranks, &size) && take_number(text, 0, 1, &edge);
    *group = (tutti_check_group){.size = (int)size, .edge = (int)edge};
    group->rank = calloc((size_t)size + 1, sizeof *group->rank);
    if (!group->rank) return tutti_fail(TUTTI_ERR_NOMEM, "check: no memory");
    for (int i = 0; i < size && fine; i++) {
        fine = take_number(text, 0, check->ranks - 1, &member);
        group->rank[i] = (int)member;
    }
    size_t length = strcspn(*text, "\n");
    if (!fine || !length)
        return tutti_fail(TUTTI_ERR_FORMAT, "check: the text of rank %d cannot be read", rank);
    group->name = strndup(*text, length);
    *text += length + ((*text)[length] == '\n');
    return group->name ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "check: no memory");
}

/* Reads the groups at the beginning of a text. A text without groups uses the numbers of the check. */
static tutti_status take_groups(tutti_check *check, int rank, const char **text, numbering *numbers)
{
    static const char word[] = "group ";
    tutti_status status = add_number(numbers, 0);
    if (strncmp(*text, word, sizeof word - 1) != 0)
        for (int g = 1; g < check->groups && !status; g++) status = add_number(numbers, g);
    while (!status && strncmp(*text, word, sizeof word - 1) == 0) {
        tutti_check_group group;
        int number = 0;
        *text += sizeof word - 1;
        status = take_group(check, rank, text, &group);
        if (!status) status = find_group(check, &group, &number);
        if (!status) status = add_number(numbers, number);
        free(group.name);
        free(group.rank);
    }
    return status;
}

/* Reads the collectives before this one, and the lengths of its parts. */
static tutti_status take_lists(
    const tutti_check *check, int rank, const char **text, tutti_check_coll *coll)
{
    int64_t n = 0, group = check->group[coll->group].size;
    int fine = 1;
    coll->before = calloc((size_t)coll->befores + 1, sizeof *coll->before);
    coll->length = calloc(2 * (size_t)group + 1, sizeof *coll->length);
    if (!coll->before || !coll->length) return tutti_fail(TUTTI_ERR_NOMEM, "check: no memory");
    for (int i = 0; i < coll->befores && fine; i++) {
        fine = take_number(text, 0, check->rank[rank].colls - 1, &n);
        coll->before[i] = fine ? (int)n : 0;
    }
    fine = fine && take_number(text, 0, 2 * group, &n) && (n == 0 || n == 2 * group);
    coll->lengths = fine ? (int)n : 0;
    if (fine && take_all(text, INT64_MAX, coll->lengths, coll->length)) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_FORMAT, "check: the text of rank %d cannot be read", rank);
}

/* Reads the numbers before the name. The caller frees the lists of *coll, also on failure. */
static tutti_status take_fields(const tutti_check *check, int rank, const char **text,
    const numbering *numbers, tutti_check_coll *coll)
{
    const int64_t highest[FIELDS] = {TUTTI_COLL_KINDS - 1, TUTTI_DTYPE_COUNT - 1,
        TUTTI_USER_OPS_END - 1, INT32_MAX, INT64_MAX, INT64_MAX, INT64_MAX, numbers->count - 1,
        INT32_MAX, INT64_MAX, INT32_MAX, INT32_MAX, 1, 1, check->rank[rank].colls};
    const int64_t lowest[FIELDS] = {[PRIORITY] = INT32_MIN};
    int64_t f[FIELDS];
    int fine = 1;
    *coll = (tutti_check_coll){.name = NULL};
    for (int i = 0; i < FIELDS && fine; i++) fine = take_number(text, lowest[i], highest[i], &f[i]);
    if (!fine)
        return tutti_fail(TUTTI_ERR_FORMAT, "check: the text of rank %d cannot be read", rank);
    *coll = (tutti_check_coll){.kind = (tutti_coll_kind)f[KIND],
        .dtype = (tutti_dtype)f[DTYPE],
        .op = (tutti_reduce_op)f[OP],
        .root = (int)f[ROOT],
        .count = f[COUNT],
        .counts = (uint64_t)f[COUNTS],
        .own = (uint64_t)f[OWN],
        .group = numbers->of[f[GROUP]],
        .lane = (int)f[LANE],
        .index = f[INDEX],
        .priority = (int)f[PRIORITY],
        .chunk = (int)f[CHUNK],
        .holds = (int)f[HOLDS],
        .lost = (int)f[LOST],
        .befores = (int)f[BEFORES]};
    return take_lists(check, rank, text, coll);
}

static tutti_status take_colls(
    tutti_check *check, int rank, const char *text, const numbering *numbers)
{
    tutti_status status = TUTTI_OK;
    while (*text && !status) {
        tutti_check_coll coll;
        status = take_fields(check, rank, &text, numbers, &coll);
        size_t length = strcspn(text, "\n");
        coll.name = status ? NULL : strndup(text, length);
        if (!status && !coll.name) status = tutti_fail(TUTTI_ERR_NOMEM, "check: no memory");
        if (!status) status = tutti_check_append(check, rank, &coll);
        free(coll.name);
        free(coll.before);
        free(coll.length);
        text += length + (text[length] == '\n');
    }
    return status;
}

tutti_status tutti_check_read(tutti_check *check, int rank, const char *text)
{
    numbering numbers = {0};
    tutti_status status = take_groups(check, rank, &text, &numbers);
    if (!status) status = take_colls(check, rank, text, &numbers);
    free(numbers.of);
    return status;
}
