/* What a simulated rank trains: its part of a model, on its part of the batch; and what its kernels take. */
#ifndef TUTTI_SIM_PROGRAM_H
#define TUTTI_SIM_PROGRAM_H

#include "apps/models/model.h"
#include "apps/session/layout.h"
#include "apps/sim/trace_times.h"
#include "dag/step/step.h"
#include "designs/sim/sim.h"

typedef enum tutti_sim_times {
    TUTTI_SIM_MEASURED, /* each kernel alone on this processor (dag/step/times.h) */
    TUTTI_SIM_CPU,      /* counted, for a core of a server (dag/run/expected.h) */
    TUTTI_SIM_GPU,      /* for a GPU of one */
    TUTTI_SIM_TRACED,   /* in a run whose trace was read (trace_times.h) */
} tutti_sim_times;

/* The step from which on collectives may follow an agreed order (designs/exchange/order.h): by then, one step after the
 * first has been observed. It is longer than those after it. */
enum { TUTTI_SIM_SEEN = 3 };

/* A model, and what its kernels take on any number of ranks and in any layout. */
typedef struct tutti_sim_model {
    const tutti_model *model;
    tutti_net *net;
    tutti_model_input input;   /* of the net: the model's own, or that of the trace */
    tutti_step_options recipe; /* but for the placement, and what follows from the layout */
    tutti_sim_times times;
    tutti_kernel_time *time; /* [kernels] by key; measured or traced */
    int kernels;
    const char *path; /* TRACED: the file, and what it says of its kernels */
    tutti_trace_times traced;
    double scale; /* all kernels take this many times as long */
    /* Of the last program */
    tutti_layout layout;
    int workers; /* of a rank */
    int ranks;
    tutti_step **step; /* [ranks] */
} tutti_sim_model;

/* times: "measured", "cpu", "gpu", or the path of a trace. The recipe's strategy must have all of a step in its graph,
 * and a trace must be of this model: USAGE. Errors of tutti_model_net and of tutti_trace_times_read. */
tutti_status tutti_sim_model_open(const tutti_model *model, const tutti_step_options *recipe,
    const char *times, tutti_sim_model *m);
void tutti_sim_model_close(tutti_sim_model *m);
/* The model on this many ranks in a layout as the program of a simulation; the one before is over. MEASURED times
 * kernels that it has not timed yet. USAGE: a layout that does not fit, or kernels that a trace does not have. Errors
 * of what builds a step. NOMEM. */
tutti_status tutti_sim_model_program(tutti_sim_model *m, const tutti_layout *layout, int ranks,
    int workers, tutti_sim_program *program);
/* Scales what kernels take, which is not TRACED, such that one rank with one worker computes this many images a second.
 * The program is over. Errors as of program; INVAL: traced. */
tutti_status tutti_sim_model_pace(tutti_sim_model *m, double images_per_s);
/* Seconds that each layer of the net takes on one rank with a micro-batch of this many images, by itself. The program
 * is over. Errors as of program. */
tutti_status tutti_sim_model_layers(
    tutti_sim_model *m, int64_t images, double forward_s[], double backward_s[]);
/* What the layout makes of an exchange: its lane for messages, the algorithm of sums, and no agreed order where ranks
 * have different collectives. [P] */
void tutti_sim_model_exchange(
    const tutti_sim_model *m, const tutti_layout *layout, tutti_exchange_options *exchange);

#endif
