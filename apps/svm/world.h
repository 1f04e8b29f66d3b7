/* The ranks that train together, and what they do together: over MPI by the library's public calls, or
 * as threads of one process. Every rank makes the same calls in the same order, from its main thread.
 *
 * Failures: a call fails on all ranks, or the ranks that have not failed get TIMEOUT or the library's
 * own status; nothing waits longer than the timeout. A call that has failed no longer uses its caller's
 * memory: over MPI, where messages may, a TIMEOUT ends the program on all ranks. */
#ifndef TUTTI_SVM_WORLD_H
#define TUTTI_SVM_WORLD_H

#include "dag/base/file.h"
#include "dag/base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tutti_svm_world tutti_svm_world;
/* Combines two records: result = left op right; result is one of them. It never sees part of a record. */
typedef void tutti_svm_combine(const void *left, const void *right, void *result, size_t bytes);
/* Work of one of `count` independent parts. */
typedef void tutti_svm_work(void *ctx, int part);

/* Only gather and exchange have to be there: the others are made of these. */
typedef struct tutti_svm_world_ops {
    tutti_status (*gather)(tutti_svm_world *, const void *, const int64_t *, void *);
    tutti_status (*exchange)(
        tutti_svm_world *, const void *, const int64_t *, void *, const int64_t *);
    tutti_status (*shift)(tutti_svm_world *, const void *, int64_t, void *, int64_t);
    tutti_status (*shifted)(tutti_svm_world *);
    tutti_status (*combine)(tutti_svm_world *, void *, size_t);
    tutti_status (*run)(tutti_svm_world *, int, tutti_svm_work *, void *);
} tutti_svm_world_ops;

struct tutti_svm_world {
    const tutti_svm_world_ops *ops;
    int rank, size;
    int workers; /* threads that run the parts of tutti_svm_run */
    tutti_svm_combine *combine;
    int64_t *counts; /* [2 * size]: scratch of the calls below; NULL with one rank */
};

/* ---- opening ---- */

/* Whether a launcher has started this process as one of several. */
int tutti_svm_world_is_launched(void);

typedef struct tutti_svm_world_options {
    double timeout_s; /* of every wait for another rank */
    int workers;
    tutti_svm_combine *combine; /* of tutti_svm_combine_all */
    const char *trace;          /* rank 0 writes the trace of the run here; NULL: none */
} tutti_svm_world_options;

/* Starts MPI and StarPU, and attaches. UNSUPPORTED, NOMEM, and tutti_attach's. */
tutti_status tutti_svm_world_attach(
    const tutti_svm_world_options *options, tutti_svm_world **world);
/* Detaches and ends StarPU and MPI; the status of the session. Accepts NULL. */
tutti_status tutti_svm_world_detach(tutti_svm_world *world);

/* Makes `ranks` threads of this process the ranks of a world, and runs main_of(world, ctx) on each. Returns
 * the first failure. NOMEM. */
typedef tutti_status tutti_svm_main(tutti_svm_world *world, void *ctx);
tutti_status tutti_svm_world_local(
    const tutti_svm_world_options *options, int ranks, tutti_svm_main *main_of, void *ctx);

/* ---- collectives ---- */

/* Every rank gets every rank's bytes, in the order of ranks: all have as many, or counts[r], the same on
 * all ranks. */
tutti_status tutti_svm_gather(
    tutti_svm_world *world, const void *send, int64_t bytes, void *receive);
tutti_status tutti_svm_gather_counts(
    tutti_svm_world *world, const void *send, const int64_t counts[], void *receive);
/* send_counts[r] bytes go to rank r, receive_counts[r] come from it. */
tutti_status tutti_svm_exchange(tutti_svm_world *world, const void *send,
    const int64_t send_counts[], void *receive, const int64_t receive_counts[]);
/* Sends to the next rank and receives from the one before, in a ring; `shifted` waits for both. What
 * runs between the two overlaps with the messages. Not with one rank. */
tutti_status tutti_svm_shift(tutti_svm_world *world, const void *send, int64_t send_bytes,
    void *receive, int64_t receive_bytes);
tutti_status tutti_svm_shifted(tutti_svm_world *world);
/* Combines all ranks' records, each as a whole, in one collective. */
tutti_status tutti_svm_combine_all(tutti_svm_world *world, void *record, size_t bytes);

/* ---- conveniences ---- */

/* Runs work(ctx, part) for the parts 0 to parts - 1 on this rank's workers, and waits for them. */
tutti_status tutti_svm_run(tutti_svm_world *world, int parts, tutti_svm_work *work, void *ctx);
/* The first rank's failure, on all ranks, with its sentence. Where this rank has not failed, it logs that
 * sentence. */
tutti_status tutti_svm_agree(tutti_svm_world *world, tutti_status mine);
/* Over all ranks: the sum of integers, and the largest double. */
tutti_status tutti_svm_sum(tutti_svm_world *world, int64_t *value);
tutti_status tutti_svm_largest(tutti_svm_world *world, double *value);
/* *before: the sum over the ranks before this one; *all: that over all ranks. */
tutti_status tutti_svm_place(tutti_svm_world *world, int64_t mine, int64_t *before, int64_t *all);

/* Every rank gets rank 0's bytes. */
tutti_status tutti_svm_broadcast(tutti_svm_world *world, void *data, int64_t bytes);
/* Rank 0's whole from every rank's `bytes` bytes, in the order of ranks; and back. Elsewhere `whole` is not
 * used. */
tutti_status tutti_svm_collect(
    tutti_svm_world *world, const void *part, int64_t bytes, void *whole);
tutti_status tutti_svm_spread(tutti_svm_world *world, const void *whole, int64_t bytes, void *part);

/* A file of all ranks, which rank 0 writes. begin and end return what all ranks
 * agree on; end with a failure of any rank leaves no file. */
/* Begins it and gives up: learns before a long run that its file cannot be written. path NULL on rank 0: none. */
tutti_status tutti_svm_output_try(tutti_svm_world *world, const char *what, const char *path);
typedef struct tutti_svm_output {
    tutti_svm_world *world;
    tutti_file file; /* on rank 0 */
    int64_t piece;   /* bytes that rank 0 has in memory at once; the same on all ranks */
} tutti_svm_output;
tutti_status tutti_svm_output_begin(
    tutti_svm_world *world, const char *what, const char *path, tutti_svm_output *output);
/* Every rank's text, which may be empty, in the order of ranks. */
tutti_status tutti_svm_output_write(tutti_svm_output *output, const void *text, size_t bytes);
tutti_status tutti_svm_output_end(tutti_svm_output *output, tutti_status mine);

#endif
