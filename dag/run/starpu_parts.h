/* What the files of the runner on StarPU share. Internal to dag/run.
 *
 *   starpu.c         opens, closes and waits
 *   starpu_tasks.c   from an instance to a StarPU task
 *   starpu_kernels.c the tasks of kernels
 *   starpu_regions.c the tasks of regions, which run several kernels
 *   starpu_copies.c  the tasks of feeds and fetches */
#ifndef TUTTI_STARPU_PARTS_H
#define TUTTI_STARPU_PARTS_H

#include "dag/graph/region.h"
#include "dag/run/binding.h"
#include "dag/run/codelets.h"
#include "dag/run/direct.h"
#include "dag/run/tensor_handles.h"
#include "dag/run/run.h"
#include "dag/run/slots.h"

#include <starpu.h>

#include <stdatomic.h>

typedef struct tutti_starpu_regions tutti_starpu_regions;
typedef struct tutti_instance tutti_instance;

struct tutti_run {
    tutti_binding binding;
    tutti_run_options options;
    tutti_ledger *ledger;
    tutti_tensor_handles handles;
    tutti_codelets *codelets; /* of the kernels */
    tutti_starpu_regions *regions;
    tutti_slots *slots; /* with a GPU; else NULL */
    tutti_direct *direct; /* may be NULL */
    double gpu_ended_s; /* when its last kernel or copy ended; of the CUDA worker alone */
    int started;        /* StarPU runs */
    /* Instances to be used again, so that none is allocated in a step like the last: those of the thread that
     * submits, which takes all that others have put in `ended` at once. */
    tutti_instance *spare;
    _Atomic(tutti_instance *) ended;
};

/* One kernel, region, feed or fetch; in use from submit until it ends. */
struct tutti_instance {
    tutti_run *run;
    tutti_instance *next;   /* while it is spare */
    int64_t id, step, turn; /* turn: of its section (direct.h) */
    int target; /* node; region; or the tensor of a feed or fetch */
    void *data;
    size_t bytes;
    void (*release)(void *);
    void *arg;
    void *slot; /* with a GPU: the pinned memory of a feed or fetch */
    /* on a GPU, from the launch to the end: */
    double begun_s, mark;
    tutti_status status;
};

/* A task as StarPU gets it: with its data, or, a feed or fetch with a GPU, with a tensor and a turn. */
typedef struct tutti_task_label {
    const char *name;
    int priority, accesses;
    const tutti_access *access;
    starpu_data_handle_t turn; /* after the tensors; NULL: none */
    tutti_mode turn_mode;
    /* On a GPU's worker, once the event behind the task has passed; NULL: the codelet ends the task. */
    void (*done)(void *instance);
} tutti_task_label;

/* A priority that the scheduler accepts. */
int tutti_starpu_priority(int priority);
/* Makes an instance of *proto and enters it in the ledger. NOMEM. By the thread that submits. */
tutti_status tutti_instance_make(tutti_run *run, const tutti_instance *proto,
    const tutti_task_label *label, tutti_instance **made);
/* Ends it; it is not the caller's any more. [A] */
void tutti_instance_end(tutti_instance *instance, tutti_status status);
/* Frees the run's, all of which have ended. */
void tutti_instances_free(tutti_run *run);
/* A task of an instance, not submitted. NOMEM. */
tutti_status tutti_starpu_task_make(tutti_run *run, struct starpu_codelet *codelet,
    tutti_instance *instance, const tutti_task_label *label, struct starpu_task **made);
tutti_status tutti_starpu_task_submit(struct starpu_task *task);
/* Submits an instance of *proto that ends with its one task. */
tutti_status tutti_starpu_submit(tutti_run *run, struct starpu_codelet *codelet,
    const tutti_instance *proto, const tutti_task_label *label);

/* The functions of kernels' codelets: on a CPU worker, and on a GPU's. */
void tutti_starpu_compute(void *buffers[], void *instance);
void tutti_starpu_launch(void *buffers[], void *instance);
/* Submits a kernel node, in this turn of its section. */
tutti_status tutti_starpu_submit_kernel(tutti_run *run, int node, int64_t turn);

/* Finds the graph's regions (dag/graph/region.h), checks them, and says how each is run. NOMEM, INTERNAL. */
tutti_status tutti_starpu_regions_open(tutti_run *run);
void tutti_starpu_regions_close(tutti_run *run);
/* A node's region, or -1; whether it is its first node. */
int tutti_starpu_region_of(const tutti_run *run, int node);
int tutti_starpu_region_begins(const tutti_run *run, int region, int node);
tutti_status tutti_starpu_submit_region(tutti_run *run, int region, int64_t turn);
/* Adds what a region launches. */
void tutti_starpu_count_region(const tutti_run *run, int region, tutti_run_counts *counts);

/* When something began that ends now on a GPU, whose kernels and copies run one after the other. */
double tutti_starpu_turn_began(tutti_run *run, double launched_s);

/* A runner's feed and fetch, checked. */
tutti_status tutti_starpu_feed(tutti_run *run, const tutti_instance *proto);
tutti_status tutti_starpu_fetch(tutti_run *run, const tutti_instance *proto);

#endif
