/* What a simulated rank trains: a model, on its part of the batch; and what its kernels take. */
#ifndef TUTTI_SIM_PROGRAM_H
#define TUTTI_SIM_PROGRAM_H

#include "apps/models/model.h"
#include "dag/step/step.h"
#include "designs/sim/sim.h"

typedef enum tutti_sim_times {
    TUTTI_SIM_MEASURED, /* each kernel alone on this processor (dag/step/times.h) */
    TUTTI_SIM_CPU,      /* counted, for a core of a server (dag/run/expected.h) */
    TUTTI_SIM_GPU,      /* for a GPU of one */
} tutti_sim_times;

typedef struct tutti_kernel_time {
    uint64_t name; /* tutti_rng_stream of the node's */
    double time_s;
} tutti_kernel_time;

/* A model, and what its kernels take on any number of ranks. */
typedef struct tutti_sim_model {
    tutti_net *net;
    tutti_step_options recipe; /* but for the placement */
    tutti_sim_times times;
    tutti_kernel_time *time; /* [kernels] by name; measured */
    int kernels;
    int ranks;         /* of the steps that have been built */
    tutti_step **step; /* [ranks] */
} tutti_sim_model;

/* MEASURED times the kernels now. Errors of what builds a step. */
tutti_status tutti_sim_model_open(const tutti_model *model, const tutti_step_options *recipe,
    tutti_sim_times times, tutti_sim_model *m);
void tutti_sim_model_close(tutti_sim_model *m);
/* It as the program of a simulation of so many ranks; the one before is over. NOMEM. */
tutti_status tutti_sim_model_program(tutti_sim_model *m, int ranks, tutti_sim_program *program);

#endif
