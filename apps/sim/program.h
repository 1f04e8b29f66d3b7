/* What a simulated rank trains: a model, on its part of the batch, with kernels that take what they take here, or what
 * they are expected to take. */
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
    const char *name; /* of the node */
    double time_s;
} tutti_kernel_time;

typedef struct tutti_sim_model {
    tutti_net *net;
    tutti_step_options recipe; /* but for the placement */
    tutti_sim_times times;
    int ranks;
    tutti_step **step;       /* [ranks] as they are built */
    tutti_kernel_time *time; /* [kernels] by name; measured */
    int kernels;
} tutti_sim_model;

/* A model for `ranks` ranks. MEASURED times the kernels now. Errors of what builds a step. */
tutti_status tutti_sim_model_open(const tutti_model *model, const tutti_step_options *recipe,
    tutti_sim_times times, int ranks, tutti_sim_model *m);
void tutti_sim_model_close(tutti_sim_model *m);
/* It as a simulation's program. */
tutti_sim_program tutti_sim_model_program(tutti_sim_model *m);

#endif
