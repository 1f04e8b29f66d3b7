/* A layout: how the ranks divide the work, as the user writes it. The session completes it to a placement
 * (dag/net/placement.h) when the number of ranks is known.
 *
 *   stages=S,replicas=R     the net is cut into S stages, each on a rank of its own, and there are R
 *                           replicas of it, which train on different images
 *   split=G                 G replicas that follow each other share the weights of large dense
 *                           layers (dag/net/divide.h): replica r has block r mod G
 *
 *   servers=S,clients=C     the last S ranks are parameter servers; the others are workers, each a whole
 *                           replica, and form C clients of equal size (dag/step/service.h)
 *   servers=S,clients=C,stages=Q   the same, of workers that are Q ranks each, in stages
 *   servers=all,clients=C   every rank is both, a worker and a server of some of the parameters
 *
 * Zeroes stand for no layout: a replica on each rank.
 *
 * With a layout the ranks' sums are added in the order of ranks, whatever is summed together (the
 * algorithm "direct"): weights then do not depend on the number of stages.
 *
 * Threads: [P], but that errors are logged. */
#ifndef TUTTI_LAYOUT_H
#define TUTTI_LAYOUT_H

#include "apps/models/model.h"
#include "dag/base/status.h"
#include "dag/net/net.h"
#include "dag/net/placement.h"
#include "dag/step/step.h"
#include "dag/step/units.h"

#include <stdint.h>

enum { TUTTI_LAYOUT_TEXT = 64, TUTTI_LAYOUT_LAYERS_TEXT = 320 };

/* In which order the stages of a pipeline take the passes of micro-batches (dag/step/units.h), and with
 * how many of these in flight:
 *   1f1b    stage s of S has S - s, no more than keep all stages busy if messages took no time and
 *           all stages as long
 *   eager   1f1b with 2 (S - s) - 1: each cut has a micro-batch more on its way, behind which messages
 *           and uneven passes hide (Zhuang et al. 2022, arXiv:2211.05322)
 *   gpipe   has all of them */
typedef enum tutti_pipeline_order {
    TUTTI_ORDER_1F1B,
    TUTTI_ORDER_EAGER,
    TUTTI_ORDER_GPIPE
} tutti_pipeline_order;

/* The names of these, for options; NULL for i behind the last. */
const char *tutti_pipeline_order_name(int i);
/* The order of a name; 1f1b for one that has none. */
tutti_pipeline_order tutti_pipeline_order_of(const char *name);

typedef struct tutti_layout {
    /* Zeroes: not given. With servers, clients = 0 makes each worker a client. `everywhere` comes with servers = 1. */
    tutti_placement placement;
    /* Layers of each stage, the input apart; stage_layers[0] = 0: such that stages cost about the
     * same (dag/step/partition.h) */
    int stage_layers[TUTTI_PLACEMENT_STAGES];
    /* That cost: counted, or, if `timed`, as kernels take; then there are each layer's seconds for an image, borrowed,
     * when the net is cut. */
    int timed;
    const double *layer_seconds;
    tutti_pipeline_order order; /* of a pipeline's stages */
    int micro_batches;       /* 0: auto */
    double link_bytes_per_s; /* of a rank, for the cut into stages; 0: unknown */
} tutti_layout;

/* Reads "stages=2,replicas=2", or "servers=1,clients=2,stages=2", or "servers=all", in any order; what is left out
 * stays 0. "servers=0" leaves one client, of all ranks. Returns NULL, or what is wrong: the rest of a sentence about
 * this text. */
const char *tutti_layout_read(const char *text, tutti_layout *layout);
/* Reads "auto", "timed", or "10,12,9" into stage_layers, a list of numbers from 1 on. Returns whether it is one of
 * these. */
int tutti_layout_read_layers(const char *text, tutti_layout *layout);

/* The word or list again, into text; of a list that has no room, its beginning.
 * Returns text. */
char *tutti_layout_print_layers(const tutti_layout *layout, char text[TUTTI_LAYOUT_LAYERS_TEXT]);

/* The placement of a rank. What was not given is one stage, and as many replicas as there are ranks for.
 * USAGE (logged) if the product is not the number of ranks, if groups of `split` do not make up the
 * replicas, if servers leave no worker, if the stages do not divide the ranks that they leave, or if the
 * clients do not divide the workers. */
tutti_status tutti_layout_place(
    const tutti_layout *layout, int ranks, int rank, tutti_placement *placement);
/* "stages=2,replicas=2" into text, what was given, or of a complete placement all of it; returns text. */
char *tutti_layout_print(const tutti_placement *placement, char text[TUTTI_LAYOUT_TEXT]);

/* What the layout's order makes of a stage (tutti_step_options): how passes are emitted, and into how many
 * slots; 0: one per micro-batch. */
tutti_emission tutti_layout_emission(const tutti_layout *layout);
int tutti_layout_slots(const tutti_layout *layout, int stage);

/* How many micro-batches a batch of `parts` (tutti_step_parts) is cut into: those that were given, else `workers`, or
 * in a pipeline the greatest divisor of the parts up to 4 for each stage. */
int tutti_layout_micro_batches(const tutti_layout *layout, int64_t parts, int workers);
/* Times the layers of a model in micro-batches of this many images, on one core (tutti_net_times), for all ranks, which
 * must have the same numbers. *seconds is the caller's to free. */
tutti_status tutti_layout_time(const tutti_model *model, const tutti_model_input *input,
    tutti_dtype precision, int64_t images, int *layers, double **seconds);
/* Of each stage of a step the layer behind its last one, where each rank has this many workers. It depends
 * on nothing that ranks do not share; weights do not depend on it. USAGE (logged): more stages than layers with
 * parameters; stage_layers that are not as many as there are stages, have another sum than the net, or
 * leave a stage without parameters. NOMEM. */
tutti_status tutti_layout_cut(const tutti_layout *layout, const char *model, const tutti_net *net,
    const tutti_step_options *step, int workers, int end[]);

#endif
