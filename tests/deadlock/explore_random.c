#include "tests/deadlock/explore.h"

#include <stdio.h>
#include <string.h>

/* One schedule: what its seed decides, and how many of its numbers have been drawn. */
typedef struct schedule {
    world *world;
    int ranks;
    uint64_t seed, draws;
    unsigned weight[PROGRAM_RANKS], weights; /* fast ranks and slow ones */
    unsigned run_of_16; /* how often, of 16, a worker precedes the comm thread */
} schedule;

static unsigned below(schedule *s, unsigned bound)
{
    return (unsigned)(wire_mix(s->seed, s->draws++) >> 32) % bound;
}

static void begin(schedule *s, const program_setting *setting)
{
    static const unsigned withhold[] = {0, 0, 4, 10};
    wire *messages = world_wire(s->world);
    s->ranks = setting->ranks;
    s->weights = 0;
    for (int r = 0; r < s->ranks; r++) s->weights += s->weight[r] = below(s, 3) ? 8 : 1;
    s->run_of_16 = 2 + below(s, 13);
    messages->seed = s->seed;
    messages->draws = 0;
    messages->withhold = withhold[below(s, 4)];
}

static int draw_rank(schedule *s)
{
    unsigned at = below(s, s->weights);
    int r = 0;
    while (at >= s->weight[r]) at -= s->weight[r++];
    return r;
}

/* One step somewhere; returns whether anything happened. */
static int step(schedule *s)
{
    int64_t ids[WORLD_TASKS];
    int r = draw_rank(s);
    int n = below(s, 16) < s->run_of_16 ? world_ready(s->world, r, ids) : 0;
    if (!n) return world_pass(s->world, r);
    world_run(s->world, r, ids[below(s, (unsigned)n)]);
    return 1;
}

/* Everything that can happen, once, without withholding. */
static int sweep(schedule *s)
{
    wire *messages = world_wire(s->world);
    unsigned withhold = messages->withhold;
    int64_t ids[WORLD_TASKS];
    int moved = 0;
    messages->withhold = 0;
    for (int r = 0; r < s->ranks; r++) {
        int n = world_ready(s->world, r, ids);
        if (n) world_run(s->world, r, ids[below(s, (unsigned)n)]);
        moved |= n > 0;
        moved |= world_pass(s->world, r);
    }
    messages->withhold = withhold;
    return moved;
}

/* Steps that move something forever are a hang, too. */
static void run_schedule(schedule *s)
{
    enum { MOST_STEPS = 1000000 };
    int idle = 0, patience = 2 * s->ranks;
    for (int n = 0; n < MOST_STEPS && !world_ended(s->world); n++) {
        idle = step(s) ? 0 : idle + 1;
        if (idle <= patience) continue;
        if (!sweep(s)) return;
        idle = 0;
    }
}

static void ledger(explore_result *result, world_verdict verdict, uint64_t seed, int batch,
    const program_setting *setting, const char *what)
{
    char text[160];
    if (!explore_ledger(result, verdict)) return;
    result->first_bad_seed = seed;
    snprintf(result->what, sizeof result->what, "%s: %s (%s; seed %llu, schedule %d)",
        world_verdict_name(verdict), what, explore_describe(setting, text, sizeof text),
        (unsigned long long)seed, batch);
}

tutti_status explore_random(
    const program_setting *setting, uint64_t seed, int batches, explore_result *result)
{
    world *w = NULL;
    tutti_status status = TUTTI_OK;
    for (int b = 0; b < batches && !status; b++) {
        char what[256];
        if (!w) status = world_open(setting, &w);
        if (status) break;
        schedule s = {.world = w, .seed = wire_mix(seed, (uint64_t)b)};
        begin(&s, setting);
        status = world_submit(w, s.seed);
        if (status) break;
        run_schedule(&s);
        world_verdict verdict = world_oracle(w, what, sizeof what);
        ledger(result, verdict, seed, b, setting, what);
        if (verdict == WORLD_RIGHT) continue;
        world_close(w);
        w = NULL;
    }
    world_close(w);
    return status;
}
