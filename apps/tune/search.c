#include "apps/tune/search.h"

#include "designs/passes/chunk.h"

enum { DEFAULT_LANES = 4 };

/* ---- the space ---- */

static int lanes_of(const tutti_search_space *space, const tutti_design *design)
{
    if (!design->many_lanes) return 1;
    return space->lanes ? space->lanes : DEFAULT_LANES;
}

tutti_configuration tutti_search_default(const tutti_search_space *space)
{
    tutti_configuration configuration = {space->base, lanes_of(space, space->base),
        space->bucket_bytes, space->chunk_bytes, space->priority != 0};
    for (int i = 0;
         space->design_free && tutti_designs[i] && !tutti_search_allows(space, &configuration);
         i++) {
        configuration.design = tutti_designs[i];
        configuration.lanes = lanes_of(space, configuration.design);
    }
    return configuration;
}

int tutti_search_allows(const tutti_search_space *space, const tutti_configuration *configuration)
{
    const tutti_design *design = configuration->design;
    if (space->design_free ? design->unsafe : design != space->base) return 0;
    if (space->lanes && configuration->lanes != space->lanes) return 0;
    if (configuration->lanes > 1 && !design->many_lanes) return 0;
    if (space->bucket_bytes >= 0 && configuration->bucket_bytes != space->bucket_bytes) return 0;
    if (space->chunk_bytes >= 0 && configuration->chunk_bytes != space->chunk_bytes) return 0;
    return configuration->lanes >= 1 &&
           (space->priority < 0 || configuration->priority == space->priority);
}

/* ---- the knobs ---- */

static int other_designs(const tutti_search_space *space, const tutti_configuration *best,
    tutti_configuration other[TUTTI_KNOB_MOST])
{
    int count = 0;
    for (int i = 0; tutti_designs[i] && count < TUTTI_KNOB_MOST; i++) {
        tutti_configuration configuration = *best;
        configuration.design = tutti_designs[i];
        configuration.lanes = lanes_of(space, configuration.design);
        if (configuration.design != best->design && tutti_search_allows(space, &configuration))
            other[count++] = configuration;
    }
    return count;
}

/* Larger ones first, because they mean fewer collectives. */
static int other_buckets(const tutti_search_space *space, const tutti_configuration *best,
    tutti_configuration other[TUTTI_KNOB_MOST])
{
    static const double factor[] = {4, 16, 0.25};
    enum { FACTORS = sizeof factor / sizeof *factor };
    int count = 0;
    if (space->bucket_bytes >= 0) return 0;
    int64_t last = space->default_bytes;
    for (int i = 0; i < FACTORS; i++) {
        tutti_configuration configuration = *best;
        int64_t bytes = (int64_t)(factor[i] * (double)space->default_bytes);
        if (bytes > space->all_bytes) bytes = space->all_bytes;
        configuration.bucket_bytes = (bytes / 1000 + 1) * 1000; /* exact in --bucket-mb */
        if (bytes == last || space->default_bytes >= space->all_bytes) continue;
        last = bytes;
        other[count++] = configuration;
    }
    return count;
}

/* The upper bound of a step's largest collective. */
static int64_t widest(const tutti_search_space *space, const tutti_configuration *configuration)
{
    int64_t chunk =
        configuration->chunk_bytes < 0 ? tutti_chunk_default_bytes() : configuration->chunk_bytes;
    int64_t bucket =
        configuration->bucket_bytes < 0 ? space->default_bytes : configuration->bucket_bytes;
    int64_t sum = bucket < space->largest_bytes ? space->largest_bytes
                  : bucket < space->all_bytes   ? bucket
                                                : space->all_bytes;
    return chunk == 0 || chunk > sum ? sum : chunk;
}

static int other_chunks(const tutti_search_space *space, const tutti_configuration *best,
    tutti_configuration other[TUTTI_KNOB_MOST])
{
    static const int64_t bytes[] = {0, 4 << 20, 256 << 10};
    int count = 0;
    for (int i = 0; i < (int)(sizeof bytes / sizeof *bytes) && space->chunk_bytes < 0; i++) {
        tutti_configuration configuration = *best;
        configuration.chunk_bytes = bytes[i];
        int known = widest(space, &configuration) == widest(space, best);
        for (int k = 0; k < count && !known; k++)
            known = widest(space, &configuration) == widest(space, &other[k]);
        if (!known) other[count++] = configuration;
    }
    return count;
}

static int other_lanes(const tutti_search_space *space, const tutti_configuration *best,
    tutti_configuration other[TUTTI_KNOB_MOST])
{
    static const int lanes[] = {2, 8};
    int count = 0;
    for (int i = 0; i < (int)(sizeof lanes / sizeof *lanes); i++) {
        tutti_configuration configuration = *best;
        configuration.lanes = lanes[i];
        if (best->lanes > 1 && best->lanes != lanes[i] &&
            tutti_search_allows(space, &configuration))
            other[count++] = configuration;
    }
    return count;
}

static int other_priority(const tutti_search_space *space, const tutti_configuration *best,
    tutti_configuration other[TUTTI_KNOB_MOST])
{
    other[0] = *best;
    other[0].priority = !best->priority;
    return best->design->start->reorders && tutti_search_allows(space, &other[0]);
}

const tutti_knob tutti_knobs[] = {{"design", other_designs}, {"bucket", other_buckets},
    {"chunk", other_chunks}, {"lanes", other_lanes}, {"priority", other_priority}, {0}};

/* ---- the search ---- */

/* Begins the race of this knob, or of the next one with a choice. */
static void begin_race(tutti_search *s)
{
    int others = 0;
    while (tutti_knobs[s->knob].name) {
        others = tutti_knobs[s->knob].values(&s->space, &s->configuration[0], &s->configuration[1]);
        if (others) break;
        s->knob++;
    }
    tutti_race_begin(&s->race, 1 + others);
}

void tutti_search_begin(tutti_search *search, const tutti_search_space *space)
{
    *search = (tutti_search){.space = *space};
    search->configuration[0] = tutti_search_default(space);
    begin_race(search);
}

int tutti_search_next(const tutti_search *search, tutti_configuration *configuration)
{
    int next = tutti_race_next(&search->race);
    if (next < 0) return 0;
    *configuration = search->configuration[next];
    return 1;
}

int tutti_search_time(tutti_search *search, double step_s, double hidden_pct)
{
    int turn = tutti_race_next(&search->race);
    search->hidden_pct[turn][search->race.times[turn]] = hidden_pct;
    tutti_race_time(&search->race, step_s);
    return tutti_race_next(&search->race) < 0;
}

void tutti_search_step(tutti_search *search)
{
    search->configuration[0] = tutti_search_best(search);
    search->knob++;
    begin_race(search);
}

tutti_configuration tutti_search_best(const tutti_search *search)
{
    return search->configuration[tutti_race_winner(&search->race)];
}
