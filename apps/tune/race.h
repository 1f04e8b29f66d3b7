/* A race between candidates: who is timed next, who is out, who wins. Nothing here runs or waits;
 * the caller supplies the times. [P]
 *
 * Candidates are timed in turns, A B C A B C, so that a temporary disturbance affects all of them.
 * After each round the one with the least median is the reference: a candidate is out when the
 * median of its ratios to it, round by round, exceeds what chance explains after this many rounds.
 * The race ends when one is left, when the remaining ones are within 2 %, or after the last round.
 * Of those within 1 % of the best (10 % after one round, 5 % after two) the first in the list wins:
 * the list goes from simple to demanding. Successive halving: Jamieson & Talwalkar 2016,
 * arXiv:1502.07943. */
#ifndef TUTTI_RACE_H
#define TUTTI_RACE_H

enum { TUTTI_RACE_MOST = 16, TUTTI_RACE_ROUNDS = 5 };

typedef struct tutti_race {
    int candidates, turn, over;
    int rounds;                 /* complete ones */
    int times[TUTTI_RACE_MOST]; /* how often each was timed */
    int out[TUTTI_RACE_MOST];
    double step_s[TUTTI_RACE_MOST][TUTTI_RACE_ROUNDS];
} tutti_race;

/* 1 <= candidates <= TUTTI_RACE_MOST; a single one wins at once. */
void tutti_race_begin(tutti_race *race, int candidates);
/* The candidate to time next, or -1 when the race is over. */
int tutti_race_next(const tutti_race *race);
/* How many are left to time in this round; 0 when the race is over. */
int tutti_race_left(const tutti_race *race);
/* Records the time of the candidate that was next. */
void tutti_race_time(tutti_race *race, double step_s);
/* The winner after the last complete round; 0 before the first. */
int tutti_race_winner(const tutti_race *race);
/* The median of a candidate's times; 0 without times. */
double tutti_race_median(const tutti_race *race, int candidate);
/* The median ratio of a's to b's times over their common rounds; 1 without one. */
double tutti_race_ratio(const tutti_race *race, int a, int b);

#endif
