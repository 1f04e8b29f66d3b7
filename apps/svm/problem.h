/* A training of two classes as a value: its settings, what it reports, and its result. */
#ifndef TUTTI_SVM_PROBLEM_H
#define TUTTI_SVM_PROBLEM_H

#include "apps/svm/engine.h"
#include "apps/svm/samples.h"

typedef enum tutti_svm_method {
    TUTTI_SVM_SET,  /* a working set at a time */
    TUTTI_SVM_PAIR, /* the two that violate most */
} tutti_svm_method;

typedef enum tutti_svm_reconstruction {
    TUTTI_SVM_SINGLE, /* once, far from the end; then nothing is eliminated any more */
    TUTTI_SVM_MULTI,  /* whenever the active samples have converged */
} tutti_svm_reconstruction;

/* When samples are eliminated for the first time, in steps: a number, or a share of all samples. Both 0:
 * never. */
typedef struct tutti_svm_elimination {
    double steps, share;
    tutti_svm_reconstruction reconstruction;
} tutti_svm_elimination;

typedef struct tutti_svm_settings {
    tutti_svm_kernel kernel;
    tutti_svm_method method;
    tutti_svm_elimination eliminate;
    double eps, cache_bytes;
    int64_t working_set, most_steps;
    double balance; /* active samples move when a rank has more than this times the mean */
} tutti_svm_settings;

/* What has happened so far; the same on all ranks but for evaluations and seconds. */
typedef struct tutti_svm_progress {
    int64_t steps, rounds; /* changes of two multipliers; surveys that advanced */
    int64_t total, active;
    int64_t eliminations, rebuilds, moves;
    int64_t evaluations; /* of this rank */
    double gap, seconds;
    double busiest; /* the active samples of the rank that has most, over a fair part */
    double
        common_s; /* of `seconds`, what more ranks would not shorten: work that each does whole */
    int64_t survey_bytes; /* of a rank's part of a survey, which all ranks gather */
    int combines;         /* they combine it to one such part, instead */
    int64_t row_bytes;    /* of the rows that ranks have got beside */
} tutti_svm_progress;

typedef enum tutti_svm_event {
    TUTTI_SVM_ADVANCED,
    TUTTI_SVM_ELIMINATED,
    TUTTI_SVM_REBUILT,
    TUTTI_SVM_MOVED,
    TUTTI_SVM_ENDED,
} tutti_svm_event;

/* What a rank asks for, in a survey; all ranks then know the largest. */
typedef enum tutti_svm_wish { TUTTI_SVM_GO_ON, TUTTI_SVM_SAVE, TUTTI_SVM_STOP } tutti_svm_wish;

struct tutti_svm_solver;
typedef struct tutti_svm_watcher {
    void *ctx;
    tutti_svm_wish (*wish)(void *ctx);
    void (*on_event)(void *ctx, tutti_svm_event event, const tutti_svm_progress *progress);
    /* before the first survey; may load a state */
    tutti_status (*on_start)(void *ctx, struct tutti_svm_solver *solver);
    /* a wish that all ranks know; INTERRUPTED ends the training */
    tutti_status (*on_wish)(void *ctx, tutti_svm_wish wish, struct tutti_svm_solver *solver);
} tutti_svm_watcher;

typedef struct tutti_svm_problem {
    tutti_svm_world *world;
    tutti_svm_settings settings;
    double C[2];                      /* of the classes -1 and +1 */
    int64_t columns;                  /* over all ranks */
    double largest;                   /* no kernel value's magnitude exceeds it */
    const tutti_svm_watcher *watcher; /* NULL: none */
} tutti_svm_problem;

typedef struct tutti_svm_result {
    double objective, rho;
    int64_t support, bounded; /* samples with a multiplier, and those at C */
    tutti_svm_progress progress;
} tutti_svm_result;

typedef struct tutti_svm_solver tutti_svm_solver;

/* The state between two surveys. A solver with the same problem that loads it continues with the same bits. It has
 * alpha and f of each of this rank's samples, whether the sample is eliminated, and words, the same on all ranks. All
 * arrays belong to the solver. */
typedef struct tutti_svm_state {
    double *alpha, *f;
    signed char *eliminated;
    int64_t *word;
    int64_t samples, words; /* words: at most */
} tutti_svm_state;

#endif
