/* A race between candidates: who is timed next, who is out, who wins. Nothing here runs or waits; it
 * is given times. [P]
 *
 * Candidates are timed in turns, A B C A B C, so that what disturbs a machine for a while disturbs
 * all of them. After each round the one with the least median is the measure: a candidate is out
 * when the median of its ratios to it, round by round, is above what chance can do after so few
 * rounds. The race ends when one is left, when those that are left are within 2 %, or after the last
 * round. Of those within 1 % of the best (10 % where there was time for one round only, 5 % for
 * two) the first in the list wins: the list goes from simple to demanding. Successive halving:
 * Jamieson & Talwalkar 2016, arXiv:1502.07943. */
#ifndef TUTTI_RACE_H
#define TUTTI_RACE_H

enum { TUTTI_RACE_MOST = 8, TUTTI_RACE_ROUNDS = 5 };

typedef struct tutti_race {
    int candidates, turn, over;
    int rounds;                 /* complete ones */
    int times[TUTTI_RACE_MOST]; /* how often each was timed */
    int out[TUTTI_RACE_MOST];
    double step_s[TUTTI_RACE_MOST][TUTTI_RACE_ROUNDS];
} tutti_race;

/* 1 <= candidates <= TUTTI_RACE_MOST; one has won before the start. */
void tutti_race_begin(tutti_race *race, int candidates);
/* Whose turn it is, or -1 when the race is over. */
int tutti_race_next(const tutti_race *race);
/* How many are to be timed until the round is complete; 0 when the race is over. */
int tutti_race_left(const tutti_race *race);
/* The time of the one whose turn it is. */
void tutti_race_time(tutti_race *race, double step_s);
/* The winner as of the last complete round; 0 before the first. */
int tutti_race_winner(const tutti_race *race);
/* The median of a candidate's times; 0: it has none. */
double tutti_race_median(const tutti_race *race, int candidate);
/* The median of the ratios of a's to b's times in the rounds of both; 1: there is none. */
double tutti_race_ratio(const tutti_race *race, int a, int b);

#endif
