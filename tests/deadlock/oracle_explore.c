/* The second judge of the deadlock suite: oracle_explore CASE...
 *
 * Explores schedules of each case on the loop transport (tests/deadlock/explore.h): all of them if they
 * are few, otherwise random ones. Prints one line per case, separated by tabs: name, verdict, "explore",
 * the result. A case is nok if any schedule hangs, sums wrongly or ends with an error. Exits with 2 if a
 * case cannot be read or explored. No verdict, if it does not say of the first of these what the case wants.
 * TUTTI_TEST_SEED replays random schedules. TUTTI_EXPLORE_SCHEDULES=n: n / 50 are few; else 400 are. */
#include "dag/base/log.h"
#include "tests/deadlock/explore_case.h"
#include "tests/deadlock/kv_explore.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 400, FEW_OF = 50, MOST_RANDOM = 100 };

static int64_t few(void)
{
    const char *text = getenv("TUTTI_EXPLORE_SCHEDULES");
    return text ? strtoll(text, NULL, 0) / FEW_OF : FEW;
}

static uint64_t bad_schedules(const explore_result *r)
{
    return (uint64_t)(r->hangs + r->wrong + r->mismatches + r->errors);
}

static tutti_status explore_with(
    const deadlock_case *c, const explore_options *options, explore_result *result)
{
    return c->kv.servers ? kv_explore(&c->kv, options, result) : explore_case(c, options, result);
}

/* Random schedules find errors soon; only all of them show that there are none. */
static tutti_status explore(
    const deadlock_case *c, uint64_t seed, explore_result *result, int *every)
{
    const explore_options some = {.seed = seed, .most = MOST_RANDOM};
    const explore_options all = {.most = few(), .exhaustive = 1};
    *every = 0;
    tutti_status status = explore_with(c, &some, result);
    if (status || bad_schedules(result)) return status;
    explore_result whole;
    status = explore_with(c, &all, &whole);
    if (status) return status;
    *every = !whole.cut;
    int64_t explored = *every ? whole.schedules : result->schedules + whole.schedules;
    *result = whole;
    result->schedules = explored;
    return TUTTI_OK;
}

static tutti_status judge(const char *path, uint64_t seed)
{
    deadlock_case *c = NULL;
    explore_result result;
    int every;
    tutti_status status = deadlock_case_load(path, &c);
    if (!status) status = explore(c, seed, &result, &every);
    if (!status && bad_schedules(&result) && !strstr(result.what, c->says))
        printf("%s\t?\texplore\tthe explorer does not say \"%s\": %s\n", c->name, c->says,
            result.what);
    else if (!status && bad_schedules(&result))
        printf("%s\tnok\texplore\t%" PRId64 " of %" PRId64 " schedules go wrong: %s\n", c->name,
            (int64_t)bad_schedules(&result), result.schedules, result.what);
    else if (!status)
        printf("%s\tok\texplore\t%s%" PRId64 " schedules go well\n", c->name, every ? "all " : "",
            result.schedules);
    free(c);
    return status;
}

int main(int argc, char **argv)
{
    const char *text = getenv("TUTTI_TEST_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 0) : 1;
    tutti_log_set_level(TUTTI_LOG_ERROR);
    int failed = 0;
    for (int i = 1; i < argc; i++)
        if (judge(argv[i], seed)) {
            fprintf(stderr, "oracle_explore: %s cannot be judged\n", argv[i]);
            failed = 1;
        }
    return failed ? 2 : EXIT_SUCCESS;
}
