#include "tests/deadlock/explore.h"

#include "dag/base/log.h"
#include "tests/deadlock/seen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A choice: rank r runs a task, or passes. */
typedef struct choice {
    int rank;
    int64_t id; /* PASS, or a task */
} choice;

enum { PASS = -1, MOST_DEPTH = 4096, MOST_CHOICES = PROGRAM_RANKS * 130 };

typedef struct search {
    const program_setting *setting;
    int full;
    world *world;
    seen_states seen, ends;
    int depth, fixed;        /* choices made; how many of them repeat the previous schedule */
    int taken[MOST_DEPTH];   /* index of each choice */
    int offered[MOST_DEPTH]; /* out of how many */
} search;

/* Does at once all steps that cannot make a difference. */
static void settle(search *s)
{
    int64_t ids[WORLD_TASKS];
    enum { MOST_ROUNDS = 100000 }; /* moving forever is a hang */
    for (int moved = 1, round = 0; moved && round < MOST_ROUNDS; round++) {
        moved = 0;
        for (int r = 0; r < s->setting->ranks; r++) {
            int step, n = world_ready(s->world, r, ids);
            for (int i = 0; i < n; i++) {
                if (world_collective(s->world, r, ids[i], &step) != WORLD_NOT_COLLECTIVE) continue;
                world_run(s->world, r, ids[i]);
                moved = 1;
            }
            int posts = s->setting->design->start->at_once;
            if (posts || !world_dirty(s->world, r)) moved |= world_pass(s->world, r);
        }
    }
}

/* Returns the number of choices; *runs: how many of them run a task. */
static int list_choices(search *s, choice list[], int *runs)
{
    int64_t ids[WORLD_TASKS];
    int count = 0;
    *runs = 0;
    for (int r = 0; r < s->setting->ranks; r++) {
        int n = world_ready(s->world, r, ids);
        *runs += n;
        for (int i = 0; i < n && count < MOST_CHOICES; i++) list[count++] = (choice){r, ids[i]};
        if ((s->full || world_dirty(s->world, r)) && count < MOST_CHOICES)
            list[count++] = (choice){r, PASS};
    }
    return count;
}

static void make(search *s, choice c)
{
    if (c.id == PASS)
        world_pass(s->world, c.rank);
    else
        world_run(s->world, c.rank, c.id);
    if (!s->full) settle(s);
}

/* In the full exploration every pass is always offered. If nothing else is, tries passes until one changes something:
 * that one is the choice, and those before it do not count as steps. Returns 1 if none does: the end. */
static int pass_or_end(search *s, const choice list[], int n)
{
    uint64_t before = world_state(s->world, 1);
    for (int i = 0; i < n; i++) {
        world_pass(s->world, list[i].rank);
        s->taken[s->depth] = i;
        if (world_state(s->world, 1) != before) return 0;
    }
    return 1;
}

/* Follows the fixed choices, then always the first, until a state seen before or the end. Returns 1 at
 * the end, 0 if cut, -1 without memory. */
static int follow(search *s)
{
    choice list[MOST_CHOICES];
    if (!s->full) settle(s);
    for (s->depth = 0; s->depth < MOST_DEPTH; s->depth++) {
        int is_new = s->depth >= s->fixed;
        if (is_new) {
            int fresh = seen_add(&s->seen, world_state(s->world, 1));
            if (fresh <= 0) return fresh;
        }
        int runs, n = list_choices(s, list, &runs);
        if (is_new) {
            s->taken[s->depth] = 0;
            s->offered[s->depth] = n;
        }
        int over = is_new && !runs && (n == 0 || (s->full && pass_or_end(s, list, n)));
        if (over) return seen_add(&s->ends, world_state(s->world, 0)) < 0 ? -1 : 1;
        if (!is_new || runs || !s->full) make(s, list[s->taken[s->depth]]);
    }
    return 0;
}

/* Moves to the next schedule in depth-first order; returns whether there is one. */
static int next(search *s)
{
    int d = s->depth - 1;
    while (d >= 0 && s->taken[d] + 1 >= s->offered[d]) d--;
    if (d < 0) return 0;
    s->taken[d]++;
    s->fixed = d + 1;
    return 1;
}

static void tell(const search *s, explore_result *result, world_verdict verdict, const char *what)
{
    char text[160];
    int used = snprintf(result->what, sizeof result->what, "%s: %s (%s; choices",
        world_verdict_name(verdict), what, explore_describe(s->setting, text, sizeof text));
    for (int d = 0; d < s->depth && used >= 0 && (size_t)used < sizeof result->what; d++)
        used +=
            snprintf(result->what + used, sizeof result->what - (size_t)used, " %d", s->taken[d]);
    if (used >= 0 && (size_t)used < sizeof result->what)
        snprintf(result->what + used, sizeof result->what - (size_t)used, ")");
}

static tutti_status one_schedule(search *s, explore_result *result)
{
    char what[256];
    tutti_status status = world_open(s->setting, &s->world);
    if (!status) status = world_submit(s->world, 1);
    if (status) return status;
    int ended = follow(s);
    if (ended > 0) {
        world_verdict verdict = world_oracle(s->world, what, sizeof what);
        if (explore_ledger(result, verdict)) tell(s, result, verdict, what);
    } else {
        result->schedules++;
    }
    world_close(s->world);
    s->world = NULL;
    return ended < 0 ? tutti_fail(TUTTI_ERR_NOMEM, "explorer: no memory for states") : TUTTI_OK;
}

tutti_status explore_all(
    const program_setting *setting, int64_t most, int full, explore_result *result)
{
    search *s = calloc(1, sizeof *s);
    if (!s) return tutti_fail(TUTTI_ERR_NOMEM, "explorer: no memory");
    s->setting = setting;
    s->full = full;
    tutti_status status = TUTTI_OK;
    int more = 1;
    for (int64_t done = 0; more && !status && done < most; done++) {
        status = one_schedule(s, result);
        more = next(s);
    }
    result->cut |= more;
    result->states += (int64_t)s->seen.used;
    for (size_t i = 0; i < s->ends.room; i++)
        if (s->ends.slot[i]) result->ends += wire_mix(s->ends.slot[i], 5);
    free(s->seen.slot);
    free(s->ends.slot);
    free(s);
    return status;
}
