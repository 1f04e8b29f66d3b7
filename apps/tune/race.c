#include "apps/tune/race.h"

#include "dag/base/median.h"

#include <string.h>

enum { LEAST_ROUNDS = 3 };
static const double alike = 1.02;

/* How much slower than the best a candidate may seem and stay in, by completed rounds. */
static const double allowed[TUTTI_RACE_ROUNDS + 1] = {0, 1.6, 1.2, 1.06, 1.04, 1.03};

/* How much slower than the best a simpler candidate may seem and still win, by completed rounds. */
static const double tie[TUTTI_RACE_ROUNDS + 1] = {0, 1.1, 1.05, 1.01, 1.01, 1.01};

void tutti_race_begin(tutti_race *race, int candidates)
{
    *race = (tutti_race){.candidates = candidates, .over = candidates < 2};
}

int tutti_race_next(const tutti_race *race)
{
    return race->over ? -1 : race->turn;
}

int tutti_race_left(const tutti_race *race)
{
    int left = 0;
    for (int c = 0; c < race->candidates && !race->over; c++)
        left += !race->out[c] && race->times[c] == race->rounds;
    return left;
}

static double median(int count, const double values[])
{
    double copy[TUTTI_RACE_ROUNDS];
    memcpy(copy, values, (size_t)count * sizeof *copy);
    return tutti_median(count, copy);
}

double tutti_race_median(const tutti_race *race, int candidate)
{
    return race->times[candidate] ? median(race->times[candidate], race->step_s[candidate]) : 0;
}

double tutti_race_ratio(const tutti_race *race, int a, int b)
{
    double ratio[TUTTI_RACE_ROUNDS];
    int rounds = race->times[a] < race->times[b] ? race->times[a] : race->times[b];
    if (!rounds) return 1;
    for (int r = 0; r < rounds; r++) ratio[r] = race->step_s[a][r] / race->step_s[b][r];
    return median(rounds, ratio);
}

/* Among those still in the race, the one with the least median over complete rounds. */
static int fastest(const tutti_race *race)
{
    int best = -1;
    double least = 0;
    for (int c = 0; c < race->candidates; c++) {
        double m = race->out[c] || !race->rounds ? 0 : median(race->rounds, race->step_s[c]);
        if (race->out[c] || (best >= 0 && m >= least)) continue;
        best = c;
        least = m;
    }
    return best;
}

int tutti_race_winner(const tutti_race *race)
{
    if (!race->rounds) return 0;
    int best = fastest(race), c = 0;
    while (race->out[c] || tutti_race_ratio(race, c, best) > tie[race->rounds]) c++;
    return c;
}

static void drop_losers(tutti_race *race)
{
    int best = fastest(race), left = 0;
    double widest = 1;
    for (int c = 0; c < race->candidates; c++) {
        if (race->out[c]) continue;
        double ratio = tutti_race_ratio(race, c, best);
        race->out[c] = ratio > allowed[race->rounds];
        left += !race->out[c];
        if (!race->out[c] && ratio > widest) widest = ratio;
    }
    race->over = left == 1 || race->rounds == TUTTI_RACE_ROUNDS ||
                 (race->rounds >= LEAST_ROUNDS && widest <= alike);
}

void tutti_race_time(tutti_race *race, double step_s)
{
    int *turn = &race->turn;
    race->step_s[*turn][race->times[*turn]++] = step_s;
    do *turn = (*turn + 1) % race->candidates;
    while (race->out[*turn]);
    /* A round is complete when the next candidate has already had its turn in it. */
    if (race->times[*turn] == race->rounds) return;
    race->rounds++;
    drop_losers(race);
    while (!race->over && race->out[*turn]) *turn = (*turn + 1) % race->candidates;
}
