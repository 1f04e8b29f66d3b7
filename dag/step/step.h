/* A net as a graph: the training step (section "train") and the evaluation step (section "eval").
 *
 * The rank's batch is cut into micro-batches. Each has batch statistics of its own, and activations
 * in one of `slots` slots; micro-batches in different slots are independent chains (say, one per
 * worker). Their passes are emitted as a list of units (dag/step/units.h). Parameter gradients are
 * summed over micro-batches, in their order, whatever that of emission. A mark ("sum over ranks")
 * follows each sum; the updates come last. Gradients are those of the mean loss over the global
 * batch.
 *
 * What is summed over ranks may be narrower than what is computed: with `wire` TUTTI_BF16, the
 * micro-batches' gradients (and those of a step's earlier batches) are added in float32 (a single
 * one, too) and rounded once, into a gradient of bf16. The update reads that, or, where it is
 * clipped or the rule takes only float32, the same widened. Weights, states, lengths and batch
 * statistics stay float32.
 *
 * With a codec that compresses, large gradients travel compressed (dag/step/codec.h): behind the sum over
 * micro-batches comes what the codec sends, and before the updates what it receives, the sum over ranks
 * again in float32.
 *
 * With `precision` TUTTI_BF16 values and their gradients are bf16. The output (logits), the loss,
 * batch statistics, and the gradients of parameters until they are summed stay float32, and so do
 * parameters and states: what is trained, hashed and saved. Layers that multiply a parameter read a
 * copy of it in bf16, which a node writes after each update. The section `refresh` writes all
 * copies; it must run before the first step whenever parameters have been written in another way.
 *
 *   train   [bytes -> float32] [images mixed in pairs]
 *           units, in the order of emission; behind the last micro-batch at each batch norm (with adds_norms at the
 *           addition that computes it):
 *              sum of statistics over micro-batches -> mark
 *           behind the forward pass of a micro-batch its loss, and those of auxiliary outputs
 *           backward, from the last layer; for each parameter, as soon as its gradient is complete:
 *              [sum over micro-batches] -> mark
 *           [length of each gradient; from all of them, the factor that clips]
 *           from the last layer: [widen, clip and] update of each parameter [-> copy in bf16],
 *              running statistics of each batch norm; [the average of each]
 *   eval    [bytes -> float32]
 *           forward units, with running statistics; behind each micro-batch its metrics
 *   eval_average
 *           as eval, with the averages
 *   gather_first, gather_more
 *           as train, but every sum over micro-batches goes to a tensor that the next batch adds
 *           to: without marks and updates
 *
 *   refresh with precision TUTTI_BF16: copies of parameters; with the strategy local: of what they
 *           were at the beginning of a round; with gossip:push-sum: shares
 *   average with the strategies local, gossip, adpsgd and elastic: averages of parameters and state over replicas
 *   mix.0, mix.1, ...
 *           with the strategies gossip, adpsgd and elastic: messages between replicas, or with servers, before the
 *           passes of a step
 *   join    with the strategy adpsgd: what becomes of messages of some steps before
 *
 * A step of several batches runs gather_first, gather_more for those in between, and train for the
 * last one, which adds what was gathered: to its results the batches are further micro-batches.
 *
 * Evaluation of images of another size has values of its own, "eval.<layer>@<micro-batch>", and is fed
 * "eval.pixels@<micro-batch>" or "eval.images@<micro-batch>"; in every section it shares parameters,
 * state and labels. It omits layers that only auxiliary outputs need. The metrics of such an output are
 * "<layer>.metrics@<micro-batch>" (scratch, as loss.h has them).
 *
 * A server (dag/step/service.h) has all sections of a worker, but only `train` has nodes. For each of its keys these
 * receive what clients send, sum it, update the parameter, and send the result.
 *
 * All sections share parameters, state, inputs and activations. The gradient of the images is not
 * computed. A value with several consumers gets the sum of their gradients. Among ready nodes,
 * marks come first, then the backward pass, layer by layer from the last (dag/net/site.h gives the
 * reasons).
 *
 * Running statistics are the mean over micro-batches and ranks in every step, so all ranks have
 * equal ones. Micro-batches of unequal size have equal weight, and n in the unbiased variance's
 * n/(n-1) is their mean.
 *
 * Tensor names: parameters as in PyTorch, with batch norm's pair in one
 * ("layer1.0.bn1.scaleshift"), gradients "d.<name>", what the update rule keeps (SGD's momentum:
 * "m.<name>"), running statistics "<layer>.running", averages "average.<name>"; values
 * "<layer>@<slot>", of shape (n,H,W,C), or (n,C) where H = W = 1; images
 * "images@<micro-batch>", before that, as bytes, "pixels@<micro-batch>", mixed
 * "images.mixed@<slot>"; copies "bf16.<name>".
 *
 * Threads: [M]. */
#ifndef TUTTI_STEP_H
#define TUTTI_STEP_H

#include "dag/graph/graph.h"
#include "dag/kernels/pixel.h"
#include "dag/net/net.h"
#include "dag/net/placement.h"
#include "dag/step/service.h"
#include "dag/step/units.h"
#include "dag/run/run.h"

/* What follows the sum of a parameter's gradient over all ranks (dag/step/update_rule.h). */
typedef struct tutti_update_rule tutti_update_rule;
extern const tutti_update_rule tutti_update_sgd, tutti_update_adam, tutti_update_adamw,
    tutti_update_lars;
/* NULL-terminated table of rules; lookup by name (NULL if unknown). [P] */
extern const tutti_update_rule *const tutti_update_rules[];
const tutti_update_rule *tutti_update_rule_find(const char *name);

/* What a complete gradient turns into, and who updates (dag/step/strategy.h); those to choose from are in
 * dag/strategies. */
typedef struct tutti_strategy tutti_strategy;
extern const tutti_strategy tutti_strategy_sync;
/* The values of a strategy's parameters, in the order of its table. */
enum { TUTTI_STRATEGY_PARAMETERS = 4 };
typedef struct tutti_strategy_settings {
    double value[TUTTI_STRATEGY_PARAMETERS];
} tutti_strategy_settings;

/* In what form a gradient travels (dag/step/codec.h); those to choose from are in dag/codecs. */
typedef struct tutti_codec tutti_codec;

/* Where the gradients of a step's micro-batches, and of its earlier batches, are added, and their batch
 * statistics. The bits are the same.
 *
 *   GRAPH        a node adds them, and its sum is marked
 *   COLLECTIVE   the mark has them as vectors (tutti_mark), and the collective adds a part of them while earlier
 *                parts travel: the node and a pass over memory are saved. As with GRAPH where that is not
 *                possible: one replica; a strategy that does not say that it `adds`; codes; TUTTI_BF16 as
 *                wire; and with more than TUTTI_STEP_VECTORS of them, since one thread adds what workers would add
 *                side by side. Only with an exchange, and collectives in main memory */
typedef enum tutti_step_sums { TUTTI_SUMS_GRAPH, TUTTI_SUMS_COLLECTIVE } tutti_step_sums;
enum { TUTTI_STEP_VECTORS = 4 };

typedef struct tutti_step_options {
    int64_t batch; /* images per replica */
    /* 1 .. batch; sizes differ by at most one, or if images are mixed by one pair, larger ones first */
    int micro_batches;
    int accumulate; /* batches whose gradients a step sums before the sum over ranks; 0: 1 */
    tutti_step_sums sums;
    /* In which order the micro-batches' passes are emitted, and into how many slots for what they
     * leave from forward to backward (dag/step/units.h); slots 0: one per micro-batch. layers and gpipe
     * take no fewer; with 1f1b there are as many micro-batches in flight as slots. To results both
     * make no difference. */
    tutti_emission emission;
    int slots;
    /* Which part of the net this rank has, whether it serves (with strategies that servers take part in), and which
     * replica's images it sees: their number is for loss weight and statistics, its own for dropout's place in
     * the global batch */
    tutti_placement placement;
    const tutti_update_rule *rule;    /* NULL: tutti_update_sgd */
    const tutti_strategy *strategy;   /* NULL: tutti_strategy_sync */
    tutti_strategy_settings settings; /* of the strategy */
    tutti_dtype wire; /* in which gradients are summed over ranks: TUTTI_F32, TUTTI_BF16 */
    /* In what form large gradients travel, and its number. NULL, or one that does not encode: they are
     * summed as they are, in the type of `wire`, which is TUTTI_F32 with one that does */
    const tutti_codec *codec;
    double codec_value;
    int64_t codec_least;   /* gradients of fewer elements do not travel compressed; 0: 1024 */
    tutti_dtype precision; /* of values and their gradients: TUTTI_F32, TUTTI_BF16 */
    int rectifies; /* convolutions and dense layers leave what the ReLU behind them would, which has no node then */
    /* 1: an addition with a ReLU computes the batch normalisation before it, too, if nothing else reads that: in
     * training in one pass (NORM_ADD in dag/kernels/norm.h), in evaluation in place. The bits are the same. */
    int adds_norms;
    float momentum, weight_decay; /* momentum: of SGD and LARS */
    int nesterov;                 /* of SGD */
    double beta1, beta2;          /* of Adam and AdamW */
    float epsilon;                /* the same */
    float trust;                  /* LARS's coefficient */
    /* Weight decay and LARS's local rate are for weights only, not for biases and the scales and
     * shifts of batch normalisation. */
    int weights_only;
    /* Gradients whose length, all parameters together, exceeds this are scaled down to it; 0: none. */
    double clip_norm;
    /* The decay of averages over steps of all parameters and running statistics, which are evaluated
     * in sections of their own; 0: there are none. */
    double average_decay;
    float label_smoothing; /* of the training loss (dag/kernels/loss.h); evaluation uses none */
    /* Training mixes images 2k and 2k+1 of the batch, and what is expected of them, with a weight
     * drawn from Beta(mixup, mixup) (dag/kernels/mixup.h), which needs an even batch, at least 2
     * images in each micro-batch; evaluation mixes nothing. 0: none are mixed. */
    double mixup;
    /* Mixing puts a box of each image in the place of that of the other, with the weight drawn so for the rest. */
    int cutmix;
    /* Evaluation sees images of the size of this net, which has the layers and the parameters of the
     * one that is trained (tutti_net_compare). Borrowed while the step is built; NULL: of the same
     * size. */
    const tutti_net *evaluated;
    /* Initial weights: the last scale of each residual block starts at 0. tutti_step_build takes a net
     * as it is: who makes the net calls tutti_net_start_blocks_at_zero, as training sessions do. */
    int zero_last_scale;
    uint64_t seed; /* initial weights, dropout, weights of mixed images */
    /* 1: images come as bytes, and a node per micro-batch makes them float with the mean and the
     * deviation of each channel (dag/kernels/pixel.h). 0: they come as values do (precision). */
    int bytes;
    float mean[TUTTI_PIXEL_CHANNELS], deviation[TUTTI_PIXEL_CHANNELS];
} tutti_step_options;

/* What a batch is cut into micro-batches of: its images, or where images are mixed its pairs of them. [P] */
static inline int64_t tutti_step_parts(const tutti_step_options *options)
{
    return options->mixup > 0 ? options->batch / 2 : options->batch;
}

/* A micro-batch and its tensors in both sections. A label of -1 marks a row that is not counted. Of a
 * pipeline only the first stage is fed and read, and no server is: elsewhere all tensors are -1. */
typedef struct tutti_micro_batch {
    int64_t first, count; /* images of the rank's batch */
    int images, labels;   /* as fed: (n,H,W,C) of bytes or values; (n) int32 */
    int evaluated;  /* images for an evaluation: as above, or of the size of options.evaluated */
    int seen, both; /* (n,K): logits of the first view; sum of both views (eval_again) */
    int metrics;    /* (3) float64: sum of losses, right answers, rows counted (loss.h) */
} tutti_micro_batch;

/* Whether a rank may have only a part of a state. */
typedef enum tutti_sharded {
    TUTTI_SHARDED_NOT,
    TUTTI_SHARDED_BLOCKS, /* that of its part of an update (tutti_strategy.shards) */
    TUTTI_SHARDED_ROWS,   /* that of its replica (dag/step/codec.h) */
} tutti_sharded;

enum { TUTTI_STEP_MIXINGS = 24 };

/* A kernel that writes or reads a code that is gathered, and the tensor of that. */
typedef struct tutti_compressed_node {
    int node, tensor;
} tutti_compressed_node;

typedef struct tutti_step {
    tutti_graph *graph; /* owned */
    int train, eval;    /* sections */
    tutti_placement placement;
    int served; /* with servers, or a store: what the update rule keeps is there, and a server has its keys alone */
    int first, end;                     /* layers of the net that this rank has: first .. end - 1 */
    int *parameter_layer, *state_layer; /* of each parameter, each state: the layer that has it */
    int *state_sharded;                 /* of each state: tutti_sharded */
    /* the section after eval, with another view of the same images: metrics of the mean of both
     * views' logits */
    int eval_again;
    int refresh; /* the section that copies parameters, and sets shares; -1: there is none */
    /* With a strategy whose replicas train alone: the section that makes them equal again, which
     * follows the last step of each round; -1: they are equal after every step */
    int average;
    int64_t period; /* steps of a round */
    /* With a strategy whose replicas meet others in every step: the sections of messages; and the seed
     * that says which is next */
    int mixings, mixing[TUTTI_STEP_MIXINGS];
    int64_t mixes_every; /* steps from one mixing step to the next */
    /* the section that ends a mixing step, and how many steps after it began; -1: it ends in its own step */
    int join;
    int64_t delay;
    uint64_t seed;
    /* with accumulate above 1: of the first batch, and of those between it and the last; else -1 */
    int gather_first, gather_more;
    int accumulate; /* batches per step */
    /* the same as eval and eval_again for the averages; -1 without */
    int eval_average, eval_average_again;
    /* inputs: learning rate float32 (1); number of the batch int64 (1), which is that of the step
     * unless a step has several */
    int rate, counter;
    int micro_batches;
    tutti_micro_batch *micro_batch;
    int parameters, *parameter; /* tensors, in net order: the order of hashes and checkpoints */
    int *gradient;              /* of each: the tensor that has its complete gradient */
    int states, *state;         /* running statistics, what the update rule keeps, averages */
    const tutti_update_rule *rule;
    const tutti_strategy *strategy;
    const char *kept; /* the prefix of what the strategy keeps for each parameter; NULL: nothing */
    int *update;      /* of each parameter: the node that updates it; -1: it is frozen */
    const tutti_codec *codec; /* as in the options */
    int compressed_nodes;     /* two for each gradient whose code is gathered */
    tutti_compressed_node *compressed_node;
    /* Bytes that a rank sends for the sums of a step's gradients, along rings; what they would be in
     * float32, without a codec. Without sums in every step 0 */
    double sent_bytes, plain_bytes;
} tutti_step;

/* INVAL (logged): bad options; a net that failed, has no output or no parameters, or has an unused
 * value; with precision TUTTI_BF16, an output that is not a dense layer's or that a layer reads;
 * images of more than TUTTI_PIXEL_CHANNELS channels as bytes; a batch norm over a single
 * element. NOMEM. The net is not kept. */
tutti_status tutti_step_build(
    const tutti_net *net, const tutti_step_options *options, tutti_step **step);
/* How many keys the net has for this many servers, which share large parameters where updates treat each element by
 * itself; fills key[] as tutti_service_keys does. [P] */
int tutti_step_keys(
    const tutti_net *net, const tutti_step_options *options, int servers, tutti_key key[]);
void tutti_step_free(tutti_step *step); /* accepts NULL */
/* Once the exchange has turned the step's marks into collectives, before a run is opened: what of an
 * update is this rank's own; where codes lie that are gathered together. Errors of tutti_strategy.finalize. [M] */
tutti_status tutti_step_finalize(tutti_step *step);
/* The section to submit for batch 0 .. accumulate - 1 of a step: the last one is train. [P] */
int tutti_step_section(const tutti_step *step, int batch);
/* The section to submit before the first batch of step `number`, from 0, the same on all replicas; -1: none.
 * Each of its mixing steps comes once in as many steps as there are of them, in an order drawn from the seed. [P] */
int tutti_step_mixing(const tutti_step *step, int64_t number);
/* All sections to submit, in this order, before the first batch of step `number` of a round that began with step
 * `round`: what ends a mixing step, and that. Returns how many. [P] */
enum { TUTTI_STEP_BEFORE = 2 };
int tutti_step_before(
    const tutti_step *step, int64_t number, int64_t round, int section[TUTTI_STEP_BEFORE]);

/* Writes the initial values of every parameter and state into the run's memory, not of copies; they
 * depend only on the seed and the parameter's name. Running mean 0, variance 1; states of the update rule 0;
 * averages as what they average; biases and shifts 0; scales 1. To be called when nothing is
 * submitted. INVAL (logged) when the step was built from another net. */
tutti_status tutti_step_init(const tutti_step *step, const tutti_net *net,
    const tutti_runner *runner, tutti_run *run, uint64_t seed);

#endif
