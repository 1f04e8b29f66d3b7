/* What the parts of the step's construction share: check.c says which nets and options there is a step for;
 * declare.c makes the tensors; build.c the sections; forward.c, loss.c, backward.c and evaluate.c the nodes of
 * the passes; marks.c the marks; update.c what comes before and after them; walk.c visits all parameters;
 * refresh.c copies of weights in another type; encode.c gradients that travel compressed; rounds.c what replicas
 * that train alone do together; shares.c what they do with shares, pairs.c in pairs; keys.c, portions.c and
 * serve.c servers, and what clients exchange with them; precision.c the types of the net's values. Threads: [M]. */
#ifndef TUTTI_BUILDER_H
#define TUTTI_BUILDER_H

#include "dag/step/crossings.h"
#include "dag/net/site.h"
#include "dag/step/step.h"
#include "dag/step/strategy.h"
#include "dag/step/units.h"
#include "dag/step/update_rule.h"

/* Which of a step's batches the passes are for that are being added. */
typedef enum tutti_batch_of_step {
    TUTTI_BATCH_LAST,
    TUTTI_BATCH_FIRST,
    TUTTI_BATCH_MORE
} tutti_batch_of_step;

/* Of a micro-batch whose images are mixed in training: tensors. */
typedef struct tutti_mixture {
    int plain, mixed; /* images */
    int part;         /* what each keeps of itself */
    int box;          /* of each pair, with cutmix */
} tutti_mixture;

/* Of a replica that gossips with shares: tensors. neighbours 0: it does not. */
typedef struct tutti_shares {
    int neighbours;
    int own, sent, received[TUTTI_NEIGHBOURS], factors;
} tutti_shares;

typedef struct tutti_builder {
    const tutti_net *net; /* the caller's, or the one below */
    tutti_net typed;      /* the same layers, with values in another type */
    /* with options->evaluated: its layers, in that type and with names of their own; their sites */
    tutti_net resized;
    tutti_site *resized_site;
    const tutti_step_options *options;
    tutti_batch_of_step which;
    tutti_step *step;
    tutti_graph *graph;
    tutti_rank_role own;
    int first, end;           /* which layers this rank has: first .. end - 1 */
    tutti_crossing *crossing; /* between stages; their order numbers the edges */
    int crossings;
    tutti_units_shape shape; /* places: of those layers; slots: those that are used */
    tutti_unit *unit;        /* the step's order of emission, which has been checked */
    int units;
    tutti_key *key; /* with servers: which has what, in net order, which numbers the edges */
    int keys;
    tutti_gradients **gradients; /* per slot */
    tutti_site *site;            /* layer l, micro-batch s: index l * micro_batches + s */
    tutti_trained *trained;      /* parameter p of layer l: index l * TUTTI_LAYER_PARAMETERS + p */
    int *copy;                   /* by the same index: what the layer reads in place of it, or -1 */
    /* per layer with statistics: the sum over micro-batches; that of earlier batches, if any */
    int *statistics, *gathered_statistics;
    int *running, *average; /* per layer with statistics: running ones, and their average */
    /* per layer: micro-batches that have passed it forward, and backward, in the section begun last */
    int *forwards, *backwards;
    int *wanted;            /* per layer: whether its values' gradients lead to a parameter */
    int *evaluated;         /* per layer: whether evaluation needs it */
    int *auxiliary_metrics; /* tensors: of output a, micro-batch s: a * micro_batches + s */
    tutti_mixture *mixture; /* per micro-batch, if images are mixed */
    tutti_shares shares;
    int starts;           /* whether a round needs what parameters were when it began */
    int clip_factor;      /* tensor: what clips all gradients; if they are clipped */
    tutti_access *access; /* scratch: for each micro-batch or each parameter, and 3 more */
    int vectors;          /* how many tensors in `access` the next mark adds */
} tutti_builder;

static inline tutti_site *tutti_builder_site(const tutti_builder *b, int layer, int micro_batch)
{
    return &b->site[layer * b->options->micro_batches + micro_batch];
}

/* The tensor of a value, once its layer has made it. */
static inline int tutti_builder_value(const tutti_builder *b, tutti_value value, int micro_batch)
{
    tutti_source from = b->net->source[value];
    return tutti_builder_site(b, from.layer, micro_batch)->y[from.output];
}

/* What options have where they name nothing. */
static inline const tutti_update_rule *tutti_step_rule(const tutti_step_options *o)
{
    return o->rule ? o->rule : &tutti_update_sgd;
}
static inline const tutti_strategy *tutti_step_strategy(const tutti_step_options *o)
{
    return o->strategy ? o->strategy : &tutti_strategy_sync;
}
static inline int tutti_step_batches(const tutti_step_options *o)
{
    return o->accumulate ? o->accumulate : 1;
}
/* Whether all micro-batches are of one size. */
static inline int tutti_step_cut_is_even(const tutti_step_options *o)
{
    return tutti_step_parts(o) % o->micro_batches == 0;
}

/* INVAL (logged): what tutti_step_build refuses before it begins. */
tutti_status tutti_step_check(const tutti_net *net, const tutti_step_options *options);
/* Cuts the batch into step->micro_batch (options->micro_batches). */
void tutti_builder_cut(tutti_step *step, const tutti_step_options *options);
/* Declares inputs, parameters and state, and sets up every site. Values are declared with their
 * nodes. */
tutti_status tutti_builder_declare(tutti_builder *b);
/* What every rank is fed, servers, too: learning rate and counter. */
tutti_status tutti_builder_declare_numbers(tutti_builder *b);
/* Parameter p of layer l, its gradient, and what is kept of it here. */
tutti_status tutti_builder_declare_trained(
    tutti_builder *b, int l, int p, const tutti_parameter *parameter);
/* A tensor "<prefix><layer>.<suffix>", followed by "@<micro-batch>" if micro_batch >= 0. */
tutti_status tutti_builder_tensor(tutti_builder *b, const char *prefix, const char *layer,
    const char *suffix, int micro_batch, tutti_role role, tutti_dtype dtype, tutti_shape shape,
    int *tensor);

/* A tensor "<prefix><layer>.<suffix>" that is kept from step to step. */
tutti_status tutti_builder_state(tutti_builder *b, const char *prefix, int l, const char *suffix,
    tutti_dtype dtype, tutti_shape shape, int *state);
/* Then: what the codec keeps and sends of the gradients that travel compressed. */
tutti_status tutti_builder_declare_compressed(tutti_builder *b);

/* Points b->net at the net that computes in options->precision. INVAL (logged) if its output cannot
 * be float32; NOMEM. */
tutti_status tutti_builder_set_precision(tutti_builder *b);
/* Copies the layers of a net, with values of another type; the caller frees typed->layer. NOMEM. */
tutti_status tutti_builder_retype(const tutti_net *net, tutti_dtype precision, tutti_net *typed);
/* With options->evaluated: checks it and makes b->resized. INVAL, NOMEM. */
tutti_status tutti_builder_set_resized(tutti_builder *b);
/* Marks the layers that the output depends on; judged[] has zeros before. */
void tutti_net_find_evaluated(const tutti_net *net, int evaluated[]);

/* For parameter p of layer l, if the layer reads a copy of it: the node that writes the copy, from
 * the parameter or its average. For all of them. */
tutti_status tutti_builder_refresh_copy(
    tutti_builder *b, int l, int p, const char *suffix, int average);
tutti_status tutti_builder_refresh_copies(tutti_builder *b, int average);

/* For parameter p of layer l: [sum over micro-batches] -> the strategy's mark (which only the last batch
 * has, and which may add these itself). */
tutti_status tutti_builder_complete_gradient(tutti_builder *b, int l, int p, const char *suffix);

/* ---- for strategies ---- */

/* A mark of what belongs to layer l, over the ranks that have the same part of it; l -1: over all replicas of
 * the stage. follows: as in tutti_mark. It adds b->vectors, if there are any. */
tutti_status tutti_builder_mark(
    tutti_builder *b, int l, tutti_verb verb, int tensor, int follows, int *node);
/* The same for an ALLGATHER of a tensor with a row for each replica (tutti_mark.rows). */
tutti_status tutti_builder_gather_rows(tutti_builder *b, int l, int tensor);
/* Appends any other mark. Ranks wait for each other in it: so it is urgent. */
tutti_status tutti_builder_add_mark(tutti_builder *b, const tutti_mark *mark, int *node);
/* A message to a rank (verb TUTTI_MARK_SEND), or from one (TUTTI_MARK_RECV). */
tutti_status tutti_builder_message(
    tutti_builder *b, tutti_verb verb, int tensor, int rank, int edge);
static inline tutti_trained *tutti_builder_trained(const tutti_builder *b, int l, int p)
{
    return &b->trained[l * TUTTI_LAYER_PARAMETERS + p];
}
/* All parameters of this rank's layers, one after the other; those of one layer in its own order:
 *     tutti_parameter_walk at = {0};
 *     while (status == TUTTI_OK && tutti_builder_next_parameter(b, &at))
 *         status = f(b, at.l, at.p, at.suffix); */
typedef struct tutti_parameter_walk {
    int from_last;      /* the caller's: the last layer comes first */
    int l, p;           /* parameter p of layer l */
    const char *suffix; /* of its name */
    int passed, next;   /* layers; the parameter of the next one */
} tutti_parameter_walk;
int tutti_builder_next_parameter(const tutti_builder *b, tutti_parameter_walk *at);
/* Whether a parameter has a rate of 0 where the update is all that its gradient is for: then it has no sum over
 * ranks and no update; a layer of frozen ones only passes gradients on, if any layer below wants them. [P] */
int tutti_builder_is_frozen(const tutti_builder *b, int l, int p);
/* Whether some parameter of layer l is not frozen. [P] */
int tutti_builder_trains(const tutti_builder *b, int l);
/* What a complete gradient turns into where all replicas get its sum: an ALLREDUCE, or what the codec sends;
 * and before the first reader of a sum, what the codec receives. */
tutti_status tutti_builder_sum(tutti_builder *b, int l, int p);
tutti_status tutti_builder_receive(tutti_builder *b);
/* After all marks, before the first update: the lengths of all gradients, and the factor that clips
 * them. */
tutti_status tutti_builder_measure_gradients(tutti_builder *b);
/* For parameter p of layer l: [widen] [clip] -> update; and what follows the update: the average, the
 * copy. */
tutti_status tutti_builder_update_parameter(tutti_builder *b, int l, int p, const char *suffix);
tutti_status tutti_builder_follow_parameter(tutti_builder *b, int l, int p, const char *suffix);

/* The node of the update rule alone, of tensors that the caller names; nodes are named after `name`. */
tutti_status tutti_builder_append_update(
    tutti_builder *b, const char *name, const tutti_trained *trained);

/* From the last layer: all updates, what follows each, and running statistics; before them the lengths
 * of all gradients, if these are clipped. */
tutti_status tutti_builder_update_all(tutti_builder *b);
/* Leaves of what was not sent that of this replica. */
tutti_status tutti_step_cut_residuals(tutti_step *step);
/* Tells the kernels of codes where these lie, beside others or not. */
tutti_status tutti_step_place_compressed(tutti_step *step);
/* For tutti_strategy.finalize: makes the updates of parameters update this rank's own elements of them alone, and
 * leaves of what the update rule keeps only these. Without an exchange, and of a rank that is alone, all are. */
tutti_status tutti_step_cut_updates(tutti_step *step);

/* What follows waits for all that has been computed so far of these parameters, or of their gradients. */
typedef enum tutti_gated { TUTTI_GATED_GRADIENTS, TUTTI_GATED_WEIGHTS } tutti_gated;
tutti_status tutti_builder_gate(tutti_builder *b, tutti_gated which);

/* A sum over `by` ranks turns into their average. Replicas that train alone: the sum of parameter p of layer l
 * turns into its average, from which an outer step then begins (dag/kernels/optim.h), if there is one
 * (rate 1 and momentum 0: none). */
tutti_status tutti_builder_divide(tutti_builder *b, int tensor, int by);
tutti_status tutti_builder_outer(
    tutti_builder *b, int l, int p, const char *suffix, float rate, float momentum);
/* Of strategies whose replicas train alone. INVAL (logged): gradients are to be summed in a type, but are not
 * summed. */
tutti_status tutti_step_check_alone(const tutti_step_options *options);
/* Of replicas that train alone this one's own sum is all there is: tutti_strategy.sum. */
tutti_status tutti_builder_keep_sum(tutti_builder *b, int l, int p);
/* The nodes of the section `average`: all parameters and states become averages over the replicas, of
 * which those of parameters may be followed by an outer step. */
tutti_status tutti_builder_average(tutti_builder *b, float rate, float momentum);
/* The same of states alone. */
tutti_status tutti_builder_average_states(tutti_builder *b);
/* The sections of mixing steps, if the strategy has any. */
tutti_status tutti_builder_mix_replicas(tutti_builder *b);
/* Replicas are ranks here. Parameter p of layer l, to replica `to`; neighbour number k's, from replica `from`, into a
 * tensor that all mixing steps share, and which is declared when first it is needed. */
tutti_status tutti_builder_give(tutti_builder *b, int l, int p, int to);
tutti_status tutti_builder_receive_weights(
    tutti_builder *b, int l, int p, const char *suffix, int k, int from);
tutti_status tutti_builder_declare_near(tutti_builder *b, int l, int p, const char *suffix, int k);
/* Parameter p of layer l becomes the mean of this replica's and of what the neighbours have sent, added in
 * this order. */
tutti_status tutti_builder_mix(tutti_builder *b, int l, int p, int neighbours);
/* With shares (dag/kernels/share.h), for at most `neighbours` messages received in a mixing step. Of one: half
 * of this replica's share, to replica `to`, and those received from `senders` neighbours. Then the factors
 * that follow from these, which parameter p of layer l is mixed by; it becomes what this replica stands for; the share
 * is 1, without shares nothing. */
tutti_status tutti_builder_declare_shares(tutti_builder *b, int neighbours);
tutti_status tutti_builder_give_share(tutti_builder *b, int to, int senders, const int from[]);
tutti_status tutti_builder_weigh_shares(tutti_builder *b);
tutti_status tutti_builder_mix_by_share(tutti_builder *b, int l, int p);
tutti_status tutti_builder_scale_by_share(tutti_builder *b, int l, int p);
tutti_status tutti_builder_set_share(tutti_builder *b);
/* Whether a state is what the strategy keeps. */
int tutti_builder_is_kept(const tutti_builder *b, int tensor);
/* For the section `refresh`: what parameters are as a round begins. */
tutti_status tutti_builder_record_starts(tutti_builder *b);
/* A parameter as it is now, into another tensor of its shape. */
tutti_status tutti_builder_copy_weight(tutti_builder *b, const tutti_trained *t, int to);
/* Pairs whose mixing steps continue while they train. Where one ends: every parameter moves by half of the way from
 * what was sent to what was received, and its copies follow. Where one begins, after the former in the graph: messages
 * with replica `other`; -1: this replica is alone, and receives what it sends. */
tutti_status tutti_builder_complete_pair(tutti_builder *b);
tutti_status tutti_builder_mix_pair(tutti_builder *b, int other);
/* How many replicas a step sums over. */
static inline int tutti_builder_summed(const tutti_builder *b)
{
    const tutti_step_options *o = b->options;
    if (!b->step->strategy->alone) return o->placement.global_replicas;
    return o->placement.servers ? o->placement.workers : 1;
}

/* With a store of keys. INVAL (logged): what its servers cannot do. tutti_strategy.update: gradients and
 * weights are the program's, and what is left are running statistics. USAGE (logged): parameters with a rate
 * or a weight decay of their own. */
tutti_status tutti_step_check_stored(
    const tutti_update_rule *rule, const tutti_step_options *options);
tutti_status tutti_builder_leave_to_store(tutti_builder *b);
/* How many replicas the statistics of a step are summed over. */
static inline int tutti_builder_statistics_of(const tutti_builder *b)
{
    const tutti_placement *p = &b->options->placement;
    return p->stored ? p->replicas : tutti_builder_summed(b);
}

/* For the statistics of layer l: sum over micro-batches -> the strategy's mark; the ALLREDUCE that this usually
 * is; and what follows the mark: running statistics. */
tutti_status tutti_builder_mark_statistics(tutti_builder *b, int l);
tutti_status tutti_builder_sum_statistics(tutti_builder *b, int l);
tutti_status tutti_builder_update_running(tutti_builder *b, int l);

/* What clients send to servers, and get: gradients, for weights; weights, for the server's, in a tensor of
 * its own, the centre; or in place of their own. */
typedef enum tutti_sent {
    TUTTI_SENT_GRADIENTS,
    TUTTI_SENT_WEIGHTS,
    TUTTI_SENT_TO_REPLACE
} tutti_sent;

/* With servers. Says which has what. INVAL (logged): more servers than keys; NOMEM. */
tutti_status tutti_builder_partition_keys(tutti_builder *b);
/* Whether this rank is the server that has key k. */
int tutti_builder_serves_key(const tutti_builder *b, int k);
/* The first key of parameter p of layer l (TUTTI_KEY_STATISTICS: of its statistics); the one that this rank has as a
 * server, or NULL. */
int tutti_builder_first_key(const tutti_builder *b, int l, int p);
const tutti_key *tutti_builder_own_key(const tutti_builder *b, int l, int p);
/* The tensor that has a key's elements of another: "<whole>#<portion>", or, where one has no more than the key, that
 * itself; and the same with a node that copies them into it. The opposite: a node that copies them back. */
tutti_status tutti_builder_portion(tutti_builder *b, const tutti_key *key, int whole, int *portion);
tutti_status tutti_builder_take_portion(
    tutti_builder *b, const tutti_key *key, int whole, int *portion);
tutti_status tutti_builder_put_portion(tutti_builder *b, const tutti_key *key, int whole);
/* On a worker, of what this step has completed here (p TUTTI_KEY_STATISTICS: the statistics of layer l): the sum over
 * its client, on the root. */
tutti_status tutti_builder_reduce_key(tutti_builder *b, int l, int p);
/* Of all keys: what roots send to servers, and on these the sums over clients. */
tutti_status tutti_builder_push_keys(tutti_builder *b, tutti_sent sent);
/* Then what servers send back, after the updates, if they were sent gradients; and the broadcasts in clients. */
tutti_status tutti_builder_pull_keys(tutti_builder *b, tutti_sent sent);
/* On a worker, what follows all updates: averages, copies, running statistics. */
tutti_status tutti_builder_follow_all(tutti_builder *b);
/* On a worker whose client trains alone: the sum of a key over its client; tensors for centres; its weights move by
 * alpha of the way to these. */
tutti_status tutti_builder_sum_in_client(tutti_builder *b, int l, int p);
tutti_status tutti_builder_declare_centres(tutti_builder *b);
tutti_status tutti_builder_approach_centres(tutti_builder *b, double alpha);
/* On a server and nothing else: its tensors; all sections; its weights move by a share of the way to the mean of what
 * clients sent. */
tutti_status tutti_builder_declare_keys(tutti_builder *b);
tutti_status tutti_builder_serve(tutti_builder *b);
tutti_status tutti_builder_move_centres(tutti_builder *b, double share);

/* Adds the nodes of the forward pass of a micro-batch through a layer to the section begun last. */
tutti_status tutti_builder_forward(tutti_builder *b, int l, int s, int evaluation);
/* Then the losses of a micro-batch at those outputs that this rank has, and the gradients of the logits; */
tutti_status tutti_builder_loss(tutti_builder *b, int s);
/* the backward pass through a layer, whose values have all contributions to their gradients. */
tutti_status tutti_builder_backward(tutti_builder *b, int l, int s);
/* The priority of a node for which other ranks wait. */
static inline int tutti_builder_urgent(const tutti_builder *b)
{
    return 2 * b->net->layers + 1;
}

/* Makes a short node urgent whose result other ranks wait for. */
static inline void tutti_builder_raise_priority(tutti_builder *b, int node)
{
    tutti_graph_set_priority(b->graph, node, tutti_builder_urgent(b) - 1);
}

/* Messages between the stages of a pipeline, of one micro-batch; without one there are none. Values
 * that layers of this stage read, before the first of them; those that layer l has made; */
tutti_status tutti_builder_receive_values(tutti_builder *b, int s, int evaluation);
tutti_status tutti_builder_send_values(tutti_builder *b, int l, int s, int evaluation);
/* gradients from higher stages, before the first layer that adds to them; those that go to lower
 * stages, once layer l has added the last contribution; */
tutti_status tutti_builder_receive_gradients(tutti_builder *b, int s);
tutti_status tutti_builder_send_gradients(tutti_builder *b, int l, int s);
/* labels, with what mixed images keep of themselves; */
int tutti_builder_has_loss(const tutti_builder *b);
tutti_status tutti_builder_send_labels(tutti_builder *b, int s, int evaluation);
tutti_status tutti_builder_receive_labels(tutti_builder *b, int s, int evaluation);
/* metrics, and the logits of an evaluation in `views`, or -1. */
tutti_status tutti_builder_send_metrics(tutti_builder *b, int s, int views);
tutti_status tutti_builder_receive_metrics(tutti_builder *b, int s, int views);
/* Adds the sections `eval` and `eval_again` (step.h); with averages, those for them, too. */
tutti_status tutti_builder_evaluate(tutti_builder *b);
/* The same of images of another size, with b->resized. */
tutti_status tutti_builder_evaluate_resized(tutti_builder *b);

#endif
