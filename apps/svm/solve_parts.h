/* What the files of the solver share: solve.c, set.c, pair.c, eliminate.c, rebuild.c, balance.c. */
#ifndef TUTTI_SVM_SOLVE_PARTS_H
#define TUTTI_SVM_SOLVE_PARTS_H

#include "apps/svm/memory.h"
#include "apps/svm/problem.h"

/* Words of a state, before those of the method. */
enum { TUTTI_SVM_WORDS = 9 };

/* A way to choose and change multipliers. */
typedef struct tutti_svm_method_ops {
    tutti_status (*open)(tutti_svm_solver *solver);
    void (*close)(tutti_svm_solver *solver);
    /* sets up, low, active, busiest and wish; all ranks get the same */
    tutti_status (*survey)(tutti_svm_solver *solver);
    tutti_status (*advance)(tutti_svm_solver *solver);
    /* whether this sample must stay active; NULL: none must */
    int (*needs)(const tutti_svm_solver *solver, int64_t id);
    /* save writes the method's words of a state, and returns how many; load reads them. NULL: it has none */
    int64_t (*save)(const tutti_svm_solver *solver, int64_t word[]);
    tutti_status (*load)(tutti_svm_solver *solver, const int64_t word[], int64_t words);
} tutti_svm_method_ops;

extern const tutti_svm_method_ops tutti_svm_method_set, tutti_svm_method_pair;

/* A tutti_svm_combine (apps/svm/world.h) of the records of the method `pair`. A part of a record is left as it
 * is. [P] */
void tutti_svm_record_combine(const void *left, const void *right, void *result, size_t bytes);

struct tutti_svm_solver {
    tutti_svm_problem problem;
    const tutti_svm_method_ops *method;
    void *of_method;
    tutti_svm_engine *engine;
    /* All of this rank's samples. While some are eliminated, `active` has the others of all ranks: a copy, of
     * which each rank has a part; `home` has their alpha and f again after rebuild. */
    tutti_svm_samples home, active;
    int eliminated;   /* whether `active` is in use */
    signed char *out; /* [home.count]: eliminated */
    int64_t *begin;   /* [size + 1]: the first id of each rank's home */
    int64_t *word;    /* [TUTTI_SVM_WORDS + working set]: of the state */
    double up, low;   /* of the last survey: the least f of up samples, the largest of low ones */
    tutti_svm_wish wish;
    int may_eliminate;
    double next_elimination; /* in steps */
    double begun_s;
    tutti_svm_progress progress;
};

/* The samples that the solver works on. */
static inline tutti_svm_samples *tutti_svm_working(tutti_svm_solver *s)
{
    return s->eliminated ? &s->active : &s->home;
}
static inline double tutti_svm_C(const tutti_svm_solver *s, double y)
{
    return s->problem.C[y > 0];
}

/* What this rank asks for. */
static inline tutti_svm_wish tutti_svm_own_wish(const tutti_svm_solver *s)
{
    const tutti_svm_watcher *w = s->problem.watcher;
    return w && w->wish ? w->wish(w->ctx) : TUTTI_SVM_GO_ON;
}

/* The active samples of the rank that has most, over those that it has when they are balanced. */
static inline double tutti_svm_busiest(int64_t most, int64_t active, int64_t ranks)
{
    const int64_t fair = (active + ranks - 1) / ranks;
    return fair ? (double)most / (double)fair : 1;
}

/* Of the objective along a pair of samples: K(a, a) + K(b, b) - 2 K(a, b), above 0. */
static inline double tutti_svm_curvature(double aa, double bb, double ab)
{
    const double a = aa + bb - 2 * ab;
    return a > 0 ? a : 1e-12;
}

/* Moves the multipliers of an up and a low sample, whose f differ by `gap`, to the best point, or until one is
 * at a bound. Returns the length of the step. */
static inline double tutti_svm_step(const tutti_svm_solver *s, double y_up, double *up,
    double y_low, double *low, double gap, double curvature)
{
    const double C_up = tutti_svm_C(s, y_up), C_low = tutti_svm_C(s, y_low);
    const double room_up = y_up > 0 ? C_up - *up : *up, room_low = y_low > 0 ? *low : C_low - *low;
    double t = gap / curvature;
    if (t > room_up) t = room_up;
    if (t > room_low) t = room_low;
    *up = t == room_up ? (y_up > 0 ? C_up : 0) : *up + y_up * t;
    *low = t == room_low ? (y_low > 0 ? 0 : C_low) : *low - y_low * t;
    return t;
}

/* Eliminates active samples that are at a bound and stay there as far as the last survey shows. *any: on some
 * rank. */
tutti_status tutti_svm_eliminate(tutti_svm_solver *solver, int *any);
/* Makes all samples active again, with the f that they have now. */
tutti_status tutti_svm_rebuild(tutti_svm_solver *solver);
/* Gives every rank the same number of active samples. */
tutti_status tutti_svm_balance(tutti_svm_solver *solver);
/* Brings alpha and f of active samples home. */
tutti_status tutti_svm_bring_home(tutti_svm_solver *solver);
/* sum[i] += the sum over all ranks' samples with a multiplier of alpha y K, for rows of this rank: a ring of
 * blocks. The same bits for any number of ranks. */
tutti_status tutti_svm_ring(tutti_svm_world *world, tutti_svm_engine *engine,
    const tutti_svm_samples *samples, const tutti_rows *rows, double bound, double sum[]);

#endif
