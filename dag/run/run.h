/* Running a placed graph.
 *
 * Two runners behind one vtable: `starpu` (tasks on CPU workers, and on
 * a GPU's) and `inline` (no StarPU; nodes run
 * on the calling thread in any legal order drawn from a seed; any number per process: the oracle
 * for tests, and ranks as threads).
 *
 *   open -> { feed* submit fetch* }* ... wait ... -> close
 *
 * With a GPU, all tensors live there from open to close: steps allocate nothing, and move only what is
 * fed and fetched, and what collectives use in main memory, there and back.
 *
 * Submitting returns at once. Only their tensors' dependencies order sections; there is no barrier:
 * a later step's first layer may run while an earlier step's last collective is in flight. feed and
 * fetch are nodes, too, ordered like any other. Only wait blocks, and it has a deadline.
 *
 * Threads: every call is [M]; kernels and hooks.start run on workers. */
#ifndef TUTTI_RUN_H
#define TUTTI_RUN_H

#include "dag/base/status.h"
#include "dag/graph/graph.h"
#include "dag/run/binding.h"
#include "dag/run/handle.h"
#include "dag/run/ledger.h"
#include "dag/run/meter.h"
#include "dag/run/token.h"
#include "dag/run/trace.h"

#include <stdint.h>

typedef struct tutti_run tutti_run;

/* What a design does for a runner. All may be NULL if the graph has no collective nodes. */
typedef struct tutti_run_hooks {
    void *ctx;
    /* [M] At submission, in program order, once per collective node: returns the sequence number of
     * this instance. */
    int64_t (*reserve)(void *ctx, const tutti_node *node);
    /* [M] Once per collective node when a run opens that has its data on a GPU: whatever it takes there besides is
     * taken now. *bytes: how much. NOMEM (logged). May be NULL. */
    tutti_status (*prepare)(void *ctx, const tutti_node *node, size_t *bytes);
    /* [M] When a run opens: memory for tensors that collectives write to, which other ranks can write to, too, at a
     * multiple of 64 bytes; NULL: it makes no difference. Given back when the run closes, before the exchange does.
     * Both may be NULL. */
    void *(*take_memory)(void *ctx, size_t bytes);
    void (*give_memory)(void *ctx, void *memory);
    /* [A] Where a kernel may write what this message will send: memory of the rank that receives it, which wrote gives
     * back before the message starts. NULL: nowhere yet, and the message is copied. Neither waits for another rank.
     * Both may be NULL. */
    void *(*claim)(void *ctx, const tutti_node *node, int64_t sequence);
    void (*wrote)(void *ctx, const tutti_node *node, int64_t sequence);
    /* [A] The node's tensors are ready: start the collective and return; finish the token when it
     * has ended. buf: the data of each access, and where they are; pointer NULL for a chain's token. */
    void (*start)(void *ctx, const tutti_node *node, int64_t sequence, const tutti_buffer buf[],
        tutti_token *token);
    /* [M] Called repeatedly while wait waits; NULL when the design needs nothing from the main
     * thread. */
    tutti_status (*main)(void *ctx);
    /* [M] Called when a run opens, with the ledger of what it submits, so that reports can name the
     * task that blocks a collective; called with NULL before the run closes. whole: the ledger
     * holds every task, not only collectives. */
    void (*observe)(void *ctx, tutti_ledger *ledger, int whole);
    /* [M] wait begins (1) or ends (0); in between the program can do nothing else. May be NULL. */
    void (*waits)(void *ctx, int begins);
    /* [A] Writes what a collective is, for messages ("tutti_recv #4 from rank 0 on edge 3"); "": its
     * name says it. May be NULL. */
    void (*describe)(void *ctx, int64_t sequence, char *text, size_t size);
} tutti_run_hooks;

typedef struct tutti_run_options {
    /* starpu: CPU workers, >= 1; inline: nodes run one at a time, and none while this many
     * collectives hold their worker (0: 1) */
    int workers;
    /* Where kernels run; starpu alone knows GPUs. With one, the CPU workers feed and fetch, start
     * collectives. */
    tutti_binding_place place;
    /* starpu: kernels that follow each other become one task, a region (dag/graph/region.h), up to this expected time;
     * 0: 300 us, with a GPU 2 ms; below 0: each is a task of its own. inline: 0 is none, too */
    double region_s;
    /* inline: 0 runs in program order where legal, others draw a legal order; starpu: ignored */
    uint64_t seed;
    tutti_run_hooks hooks;
    tutti_meter *meter; /* may be NULL; borrowed */
    /* may be NULL; borrowed; for at least as many workers, and one more with a GPU */
    tutti_trace *trace;
} tutti_run_options;

/* What a submission of a section is made of. */
typedef struct tutti_run_counts {
    int kernels, collectives; /* nodes */
    int tasks;                /* that run them */
    /* On a GPU: what the processor starts there for the kernels, once graphs have been recorded, and of these how many
     * are graphs, which take this many bytes of the GPU's memory, as far as the library tells */
    int launches, graphs;
    int64_t graph_bytes;
} tutti_run_counts;

typedef struct tutti_runner {
    const char *name, *summary;
    /* Allocates every tensor (zeroed), opens every kernel. The graph is borrowed until close and
     * must not change. UNSUPPORTED (logged): an op has no kernel there. */
    tutti_status (*open)(
        const tutti_graph *graph, const tutti_run_options *options, tutti_run **run);
    /* Copies `bytes` from data into a tensor, as a node: data must stay valid until release(arg) is
     * called (from any thread; release may be NULL). */
    tutti_status (*feed)(tutti_run *run, int tensor, const void *data, size_t bytes,
        void (*release)(void *), void *arg);
    /* Submits every node of a section, in program order. */
    tutti_status (*submit)(tutti_run *run, int section);
    /* Copies a tensor to data, as a node; data is valid once a wait for a point after this call has
     * returned OK. */
    tutti_status (*fetch)(tutti_run *run, int tensor, void *data, size_t bytes);
    /* A point in the submitted program: everything submitted so far. */
    int64_t (*point)(tutti_run *run);
    /* Waits until everything between two points has ended; what comes before `from` (0: nothing) may continue. TIMEOUT
     * (logged with the names of unfinished nodes) when timeout_s passes; otherwise the first failure of any node or
     * token. */
    tutti_status (*wait)(tutti_run *run, int64_t from, int64_t point, double timeout_s);
    /* Gives the main thread a tensor of `bytes`: until release, *data is memory of this process that
     * holds its value, wherever that was computed; a tensor on a GPU is copied, and written back at
     * release (if that fails, the next wait says so). With WRITE the value may be missing, and all of
     * it must be written; with READ nothing may be written. Everything submitted has been waited for,
     * and nothing that uses the tensor may be submitted before release. Several tensors may be acquired
     * at once. INVAL (logged): another size, or something has not ended. */
    tutti_status (*acquire)(tutti_run *run, int tensor, tutti_mode mode, size_t bytes, void **data);
    void (*release)(tutti_run *run, int tensor);
    /* A tensor as StarPU's data, for tasks of others, such as a store of keys (tutti/kv.h): its tasks and
     * those of the run wait for each other, but wait does not wait for its tasks. Valid until close. NULL: the
     * runner has no StarPU. */
    tutti_insert_handle (*handle)(tutti_run *run, int tensor);
    tutti_run_counts (*count)(const tutti_run *run, int section);
    /* Releases everything. The caller has waited for all of it; after a failed wait it may still
     * close: nodes that never ended are abandoned, and their memory is leaked rather than freed
     * under them. Returns 0 if so: then they may still use what was fed and is fetched. Accepts NULL. */
    int (*close)(tutti_run *run);
} tutti_runner;

/* Copies a whole tensor to data, or from it, between submissions. Errors: acquire's. [M] */
tutti_status tutti_run_read(
    const tutti_runner *runner, tutti_run *run, int tensor, void *data, size_t bytes);
tutti_status tutti_run_write(
    const tutti_runner *runner, tutti_run *run, int tensor, const void *data, size_t bytes);

/* NULL-terminated table of runners; lookup by name (NULL if unknown). [P] */
extern const tutti_runner *const tutti_runners[];
const tutti_runner *tutti_runner_find(const char *name);

/* "StarPU 1.3.10"; the most CPU workers this StarPU build can have; the most buffers that fit a
 * task's own array. [P] */
const char *tutti_run_starpu_version(void);
int tutti_run_starpu_max_workers(void);
int tutti_run_starpu_max_buffers(void);
/* StarPU measures the buses of a machine when it starts there for the first time, and resets its GPUs,
 * which then lose what they hold. Has it done before a program puts anything there. UNSUPPORTED, TIMEOUT
 * (logged): StarPU does not start. [M] */
tutti_status tutti_run_starpu_measure(void);

#endif
