/* The step of a small net as text, compared with tests/golden/step, and properties of all its nodes. */
#include "dag/kernels/act.h"
#include "dag/kernels/arith.h"
#include "dag/kernels/kernel.h"
#include "dag/net/site.h"
#include "dag/step/step.h"
#include "dag/step/update_rule.h"
#include "dag/strategies/rows.h"
#include "tests/support/graph_print.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A residual net with a fork, pooling that remembers (max) and does not (average), and dropout, which vanishes in
 * the evaluation. */
static void build(tutti_net *net)
{
    tutti_value x = tutti_net_input(net, 8, 8, 3);
    x = tutti_net_conv(net, "conv1", x, &(tutti_conv_layer){.K = 4, .R = 3, .pad = 1});
    x = tutti_net_norm(net, "bn1", x, 1);
    tutti_value y = tutti_net_conv(
        net, "conv2", x, &(tutti_conv_layer){.K = 6, .R = 3, .stride = 2, .pad = 1, .bias = 1});
    tutti_value s = tutti_net_shortcut(net, "short", x, 6, 2);
    x = tutti_net_add(net, "add", y, s, 1);
    x = tutti_net_max_pool(net, "pool", x, 2, 2, 0);
    x = tutti_net_dropout(net, "drop", x, 0.5f);
    x = tutti_net_dense(net, "fc", x, 5, TUTTI_INIT_UNIFORM_FAN_IN);
    tutti_net_output(net, x);
}

static tutti_step *make(int micro_batches)
{
    tutti_net *net;
    ck_assert_ok(tutti_net_new(&net));
    build(net);
    tutti_step_options options = {.batch = 5,
        .micro_batches = micro_batches,
        .placement = {.replicas = 2, .rank = 1},
        .momentum = 0.9f};
    tutti_step *step;
    ck_assert_ok(tutti_step_build(net, &options, &step));
    tutti_net_free(net);
    return step;
}

static char *print(const tutti_step *step)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    fprintf(out, "train:\n");
    tutti_graph_print(step->graph, step->train, out);
    fprintf(out, "eval:\n");
    tutti_graph_print(step->graph, step->eval, out);
    fprintf(out, "eval_again:\n");
    tutti_graph_print(step->graph, step->eval_again, out);
    fclose(out);
    return text;
}

static void compare(const char *path, const char *got)
{
    FILE *file = fopen(testing_source(path), "r");
    ck_assert_msg(file != NULL, "cannot open %s", testing_source(path));
    char want[32768];
    want[fread(want, 1, sizeof want - 1, file)] = 0;
    fclose(file);
    if (strcmp(got, want)) printf("%s", got);
    ck_assert_msg(!strcmp(got, want), "%s differs from the text above", path);
}

START_TEST(one_micro_batch)
{
    tutti_step *step = make(1);
    char *text = print(step);
    compare("tests/golden/step/small_1.txt", text);
    free(text);
    tutti_step_free(step);
}
END_TEST

START_TEST(two_micro_batches)
{
    tutti_step *step = make(2);
    ck_assert_int_eq(step->micro_batches, 2);
    ck_assert_int_eq(step->micro_batch[0].count, 3); /* the larger one first */
    ck_assert_int_eq(step->micro_batch[1].first, 3);
    ck_assert_int_eq(step->micro_batch[1].count, 2);
    char *text = print(step);
    compare("tests/golden/step/small_2.txt", text);
    free(text);
    tutti_step_free(step);
}
END_TEST

START_TEST(lists_of_parameters_and_states)
{
    static const char *const parameters[] = {
        "conv1.weight", "bn1.scaleshift", "conv2.weight", "conv2.bias", "fc.weight", "fc.bias"};
    static const char *const states[] = {"m.conv1.weight", "m.bn1.scaleshift", "bn1.running",
        "m.conv2.weight", "m.conv2.bias", "m.fc.weight", "m.fc.bias"};
    tutti_step *step = make(1);
    ck_assert_int_eq(step->parameters, 6);
    ck_assert_int_eq(step->states, 7);
    for (int i = 0; i < 6; i++) {
        const tutti_tensor *t = tutti_graph_get_tensor(step->graph, step->parameter[i]);
        ck_assert_str_eq(t->name, parameters[i]);
        ck_assert_int_eq(t->role, TUTTI_ROLE_PARAMETER);
    }
    for (int i = 0; i < 7; i++) {
        const tutti_tensor *t = tutti_graph_get_tensor(step->graph, step->state[i]);
        ck_assert_str_eq(t->name, states[i]);
        ck_assert_int_eq(t->role, TUTTI_ROLE_STATE);
    }
    tutti_step_free(step);
}
END_TEST

static const tutti_node *seek_node(const tutti_step *step, const char *name)
{
    for (int n = 0; n < tutti_graph_nodes(step->graph); n++) {
        const tutti_node *node = tutti_graph_get_node(step->graph, n);
        if (!strcmp(node->name, name)) return node;
    }
    return NULL;
}

static const tutti_node *find_node(const tutti_step *step, const char *name)
{
    const tutti_node *node = seek_node(step, name);
    ck_assert_msg(node != NULL, "no node %s", name);
    return node;
}

START_TEST(priorities_follow_the_backward_pass)
{
    /* In order of decreasing priority. */
    static const char *const order[] = {"fc.weight.sum_micro_batches", "fc.dense_bwd_data@0",
        "fc.dense_bwd_weights@0", "drop.dropout_bwd@1", "pool.pool_max_bwd@0",
        "conv2.conv_bwd_data@1", "conv2.conv_bwd_weights@0", "bn1.norm_bwd@0",
        "conv1.conv_bwd_weights@1", "conv1.conv@0"};
    tutti_step *step = make(2);
    int marks = 0, top = find_node(step, order[0])->priority;
    for (size_t i = 0; i + 1 < sizeof order / sizeof *order; i++)
        ck_assert_msg(find_node(step, order[i])->priority > find_node(step, order[i + 1])->priority,
            "%s and %s", order[i], order[i + 1]);
    for (int n = 0; n < tutti_graph_nodes(step->graph); n++) {
        const tutti_node *node = tutti_graph_get_node(step->graph, n);
        marks += node->kind == TUTTI_NODE_MARK;
        if (node->kind == TUTTI_NODE_MARK) ck_assert_int_gt(node->priority, top);
        if (node->section == step->eval) ck_assert_int_eq(node->priority, 0);
    }
    ck_assert_int_eq(marks, step->parameters + 1); /* + 1 for the batch norm's statistics */
    tutti_step_free(step);
}
END_TEST

/* Two micro-batches meet only where gradients and statistics are summed: no kernel of one touches a tensor
 * of the other. */
START_TEST(micro_batches_are_independent)
{
    tutti_step *step = make(2);
    for (int n = 0; n < tutti_graph_nodes(step->graph); n++) {
        const tutti_node *node = tutti_graph_get_node(step->graph, n);
        int seen[2] = {0, 0};
        for (int a = 0; a < node->accesses; a++) {
            const char *at =
                strchr(tutti_graph_get_tensor(step->graph, node->access[a].tensor)->name, '@');
            if (at) seen[atoi(at + 1)] = 1;
        }
        if (seen[0] && seen[1]) ck_assert_ptr_nonnull(strstr(node->name, ".sum_micro_batches"));
    }
    tutti_step_free(step);
}
END_TEST

/* A ReLU whose value is float64 whatever its input is. */
static tutti_status wide_infer(tutti_layer *layer)
{
    layer->out[0] = layer->from[0];
    layer->dtype[0] = TUTTI_F64;
    return TUTTI_OK;
}

static tutti_status wide_forward(tutti_site *site)
{
    tutti_status status = tutti_site_output(site);
    if (status) return status;
    tutti_relu_desc desc = {.count = site->N * tutti_extent_count(site->layer->out[0])};
    tutti_access access[] = {tutti_reads(site->x[0]), tutti_writes(site->y[0])};
    return tutti_site_kernel(
        site, TUTTI_PHASE_FORWARD, &tutti_op_relu, &desc, sizeof desc, 2, access);
}

static tutti_status wide_backward(tutti_site *site)
{
    tutti_status status = tutti_site_gradient(site, 0);
    if (status) return status;
    tutti_relu_desc desc = {.count = site->N * tutti_extent_count(site->layer->out[0])};
    tutti_access access[] = {
        tutti_reads(site->y[0]), tutti_reads(site->dy[0]), tutti_writes(site->dx[0])};
    return tutti_site_kernel(
        site, TUTTI_PHASE_BACKWARD_DATA, &tutti_op_relu_bwd, &desc, sizeof desc, 3, access);
}

static const tutti_layer_kind wide = {
    .name = "wide", .infer = wide_infer, .forward = wide_forward, .backward = wide_backward};

/* The type of an access of the node of that name. */
static tutti_dtype type_of(const tutti_graph *graph, const char *name, int access)
{
    for (int n = 0; n < tutti_graph_nodes(graph); n++) {
        const tutti_node *node = tutti_graph_get_node(graph, n);
        if (!strcmp(node->name, name))
            return tutti_graph_get_tensor(graph, node->access[access].tensor)->dtype;
    }
    ck_abort_msg("no node %s", name);
}

/* conv -> relu -> wide -> dense: all values but the first two are float64, and so are their gradients,
 * which do not share buffers with those of equal size; parameters stay what their layers say. */
START_TEST(each_value_has_its_type)
{
    tutti_net *net;
    tutti_step *step;
    ck_assert_ok(tutti_net_new(&net));
    tutti_value x = tutti_net_input(net, 4, 4, 3);
    x = tutti_net_conv(net, "conv", x, &(tutti_conv_layer){.K = 2, .R = 3, .pad = 1});
    x = tutti_net_relu(net, "narrow", x);
    x = tutti_net_append(
        net, "wide", (tutti_layer){.kind = &wide, .inputs = 1, .in = {x}}, NULL, 0);
    x = tutti_net_relu(net, "follows", x);
    x = tutti_net_dense(net, "fc", x, 5, TUTTI_INIT_UNIFORM_FAN_IN);
    tutti_net_output(net, x);
    const tutti_step_options options = {.batch = 2, .micro_batches = 1};
    ck_assert_ok(tutti_step_build(net, &options, &step));
    const struct {
        const char *node;
        int access;
        tutti_dtype dtype;
    } rows[] = {{"narrow.relu@0", 1, TUTTI_F32}, {"wide.relu@0", 0, TUTTI_F32},
        {"wide.relu@0", 1, TUTTI_F64}, {"follows.relu@0", 1, TUTTI_F64},
        {"fc.dense@0", 1, TUTTI_F32}, {"fc.dense@0", 3, TUTTI_F64},
        {"fc.dense_bwd_data@0", 2, TUTTI_F64}, {"fc.dense_bwd_weights@0", 2, TUTTI_F32},
        {"wide.relu_bwd@0", 1, TUTTI_F64}, {"wide.relu_bwd@0", 2, TUTTI_F32},
        {"narrow.relu_bwd@0", 2, TUTTI_F32}, {"softmax_xent@0", 2, TUTTI_F64}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(type_of(step->graph, rows[i].node, rows[i].access) == rows[i].dtype, "%s %d",
            rows[i].node, rows[i].access);
    tutti_step_free(step);
    tutti_net_free(net);
}
END_TEST

/* With 2 in flight 1f1b is F0 F1 B0 F2 B1 B2: whatever of an earlier pass is ready goes before all of a later
 * one, and collectives before all. Layer by layer no micro-batch goes before another. */
START_TEST(earlier_passes_go_first)
{
    static const char *const passes[] = {"conv1.conv@0", "conv1.conv@1", "conv1.conv_bwd_weights@0",
        "conv1.conv@2", "conv1.conv_bwd_weights@1", "conv1.conv_bwd_weights@2"};
    tutti_step_options options = {
        .batch = 6, .micro_batches = 3, .slots = 2, .emission = TUTTI_EMISSION_1F1B};
    tutti_net *net;
    tutti_step *step;
    ck_assert_ok(tutti_net_new(&net));
    build(net);
    ck_assert_ok(tutti_step_build(net, &options, &step));
    for (int i = 1; i < 6; i++)
        ck_assert_msg(
            find_node(step, passes[i - 1])->priority > find_node(step, passes[i])->priority, "%s",
            passes[i]);
    ck_assert_int_gt(
        find_node(step, "softmax_xent@0")->priority, find_node(step, "conv1.conv@1")->priority);
    for (int n = 0; n < tutti_graph_nodes(step->graph); n++) {
        const tutti_node *node = tutti_graph_get_node(step->graph, n);
        ck_assert(node->kind != TUTTI_NODE_MARK || node->section != step->train ||
                  node->priority > find_node(step, passes[0])->priority);
    }
    ck_assert_int_lt(find_node(step, "softmax_xent@2")->priority,
        find_node(step, "conv1.conv_bwd_weights@0")->priority);
    tutti_step_free(step);
    options.emission = TUTTI_EMISSION_LAYERS;
    options.slots = 3;
    ck_assert_ok(tutti_step_build(net, &options, &step));
    ck_assert_int_eq(find_node(step, passes[0])->priority, find_node(step, passes[3])->priority);
    tutti_step_free(step);
    tutti_net_free(net);
}
END_TEST

/* Bytes are fed under another name; what the first layer reads is called as ever, and has no gradient. */
START_TEST(bytes_become_float_first)
{
    tutti_net *net;
    tutti_step *step;
    ck_assert_ok(tutti_net_new(&net));
    build(net);
    const tutti_step_options options = {.batch = 4, .micro_batches = 2, .bytes = 1};
    ck_assert_ok(tutti_step_build(net, &options, &step));
    const tutti_tensor *fed = tutti_graph_get_tensor(step->graph, step->micro_batch[1].images);
    ck_assert_str_eq(fed->name, "pixels@1");
    ck_assert_int_eq(fed->role, TUTTI_ROLE_INPUT);
    ck_assert_int_eq(type_of(step->graph, "images.normalise@1", 0), TUTTI_U8);
    ck_assert_int_eq(type_of(step->graph, "images.normalise@1", 1), TUTTI_F32);
    int image = tutti_graph_find(step->graph, "images@1"), sections = 0;
    ck_assert_int_eq(tutti_graph_get_tensor(step->graph, image)->role, TUTTI_ROLE_SCRATCH);
    ck_assert_int_eq(find_node(step, "conv1.conv@1")->access[0].tensor, image);
    for (int n = 0; n < tutti_graph_nodes(step->graph); n++)
        sections += !strcmp(tutti_graph_get_node(step->graph, n)->name, "images.normalise@1");
    ck_assert_int_eq(sections, 3);
    tutti_step_free(step);
    tutti_net_free(net);
}
END_TEST

/* Evaluation leaves out dropout; a step's earlier batches do not, and use the tensors of the last one. */
START_TEST(every_batch_of_a_step_drops)
{
    const tutti_step_options options = {.batch = 4, .micro_batches = 2, .accumulate = 3};
    tutti_net *net;
    tutti_step *step;
    ck_assert_ok(tutti_net_new(&net));
    build(net);
    ck_assert_ok(tutti_step_build(net, &options, &step));
    const tutti_node *first = find_node(step, "drop.dropout@0");
    int nodes = 0;
    for (int n = 0; n < tutti_graph_nodes(step->graph); n++) {
        const tutti_node *node = tutti_graph_get_node(step->graph, n);
        if (strcmp(node->name, first->name) != 0) continue;
        ck_assert(node->section == step->train || node->section == step->gather_first ||
                  node->section == step->gather_more);
        ck_assert_int_eq(node->access[2].tensor, first->access[2].tensor);
        nodes++;
    }
    ck_assert_int_eq(nodes, 3);
    tutti_step_free(step);
    tutti_net_free(net);
}
END_TEST

/* conv1 is trained through conv2, middle and fc, which are frozen: these pass gradients on, and write no others. A
 * layer that is frozen in part does, and so do all where gradients are for more than an update. */
START_TEST(frozen_layers_pass_gradients_on)
{
    static const char *const nodes[] = {"conv2.conv_bwd_data@1", "middle.dense_bwd_data@1",
        "fc.dense_bwd_data@1", "conv1.conv_bwd_weights@1", "part.conv_bwd_weights@1",
        "conv2.conv_bwd_weights@1", "middle.dense_bwd_weights@1", "fc.dense_bwd_weights@1"};
    for (int shards = 0; shards < 2; shards++) {
        const tutti_step_options options = {.batch = 4,
            .micro_batches = 2,
            .strategy = shards ? &tutti_strategy_sharded : NULL,
            .placement = {.replicas = 2}};
        const tutti_conv_layer conv = {.K = 3, .R = 3, .pad = 1, .bias = 1};
        tutti_net *net;
        tutti_step *step;
        ck_assert_ok(tutti_net_new(&net));
        tutti_value x = tutti_net_input(net, 4, 4, 3);
        x = tutti_net_conv(net, "conv1", x, &conv);
        x = tutti_net_conv(net, "part", x, &conv);
        tutti_net_scale(net, x, "weight", 0, 1);
        const tutti_value frozen[] = {x = tutti_net_conv(net, "conv2", x, &conv),
            x = tutti_net_dense(net, "middle", x, 7, TUTTI_INIT_HE_FAN_IN),
            x = tutti_net_dense(net, "fc", x, 5, TUTTI_INIT_HE_FAN_IN)};
        for (int i = 0; i < 3; i++) {
            tutti_net_scale(net, frozen[i], "weight", 0, 1);
            tutti_net_scale(net, frozen[i], "bias", 0, 1);
        }
        tutti_net_output(net, x);
        ck_assert_ok(tutti_step_build(net, &options, &step));
        for (int i = 0; i < 8; i++)
            ck_assert_msg((seek_node(step, nodes[i]) != NULL) == (i < 5 || shards), "%s", nodes[i]);
        tutti_step_free(step);
        tutti_net_free(net);
    }
}
END_TEST

/* Training reads images that are mixed, also in a step's earlier batches; evaluation does not. */
START_TEST(images_are_mixed_in_training)
{
    static const int mixes[] = {
        1, 1, 0, 0}; /* in the order of sections: train, gather_first, eval, eval_again */
    for (int bytes = 0; bytes < 2; bytes++) {
        const tutti_step_options options = {
            .batch = 6, .micro_batches = 2, .bytes = bytes, .accumulate = 2, .mixup = 0.2};
        tutti_net *net;
        tutti_step *step;
        ck_assert_ok(tutti_net_new(&net));
        build(net);
        ck_assert_ok(tutti_step_build(net, &options, &step));
        ck_assert_int_eq(step->micro_batch[0].count, 4); /* a pair more */
        int seen = 0;
        for (int n = 0; n < tutti_graph_nodes(step->graph); n++) {
            const tutti_node *node = tutti_graph_get_node(step->graph, n);
            if (strcmp(node->name, "conv1.conv@1") != 0) continue;
            const char *name = tutti_graph_get_tensor(step->graph, node->access[0].tensor)->name;
            int mixed = !strcmp(name, "images.mixed@1");
            ck_assert(mixed || !strcmp(name, "images@1"));
            ck_assert_int_lt(seen, 4);
            ck_assert_int_eq(mixed, mixes[seen++]);
        }
        ck_assert_int_eq(seen, 4);
        tutti_step_free(step);
        tutti_net_free(net);
    }
}
END_TEST

/* A rule that keeps two states and copies the gradient. */
static tutti_status no_check(const tutti_step_options *options)
{
    return options->weight_decay > 0 ? TUTTI_ERR_INVAL : TUTTI_OK;
}

static tutti_status copy_gradient(tutti_graph *graph, const char *name,
    const tutti_trained *trained, const tutti_step *step, const tutti_step_options *options)
{
    (void)step, (void)options;
    const tutti_sum_desc desc = {.count = trained->count, .inputs = 1};
    const tutti_access access[] = {tutti_reads(trained->gradient), tutti_writes(trained->weight),
        tutti_updates(trained->state[0]), tutti_updates(trained->state[1])};
    return tutti_graph_kernel(graph, name, &tutti_op_sum, &desc, sizeof desc, 4, access, NULL);
}

static const tutti_update_rule copies = {
    .prefix = {"a.", "b."}, .check = no_check, .append = copy_gradient};

START_TEST(an_update_rule_keeps_its_states)
{
    static const char *const states[] = {"a.fc.weight", "b.fc.weight", "a.fc.bias", "b.fc.bias"};
    tutti_net *net;
    tutti_step *step;
    ck_assert_ok(tutti_net_new(&net));
    tutti_value x = tutti_net_input(net, 1, 1, 3);
    tutti_net_output(net, tutti_net_dense(net, "fc", x, 5, TUTTI_INIT_UNIFORM_FAN_IN));
    tutti_step_options options = {.batch = 2, .micro_batches = 1, .rule = &copies};
    ck_assert_ok(tutti_step_build(net, &options, &step));
    ck_assert_int_eq(step->states, 4);
    for (int i = 0; i < 4; i++) {
        const tutti_tensor *state = tutti_graph_get_tensor(step->graph, step->state[i]);
        ck_assert_str_eq(state->name, states[i]);
        ck_assert_int_eq(state->role, TUTTI_ROLE_STATE);
        ck_assert_int_eq(type_of(step->graph, "fc.weight", 2), state->dtype);
    }
    ck_assert_int_eq(tutti_graph_find(step->graph, "m.fc.weight"), -1);
    tutti_step_free(step);
    options.weight_decay = 1;
    ck_assert_int_eq(tutti_step_build(net, &options, &step), TUTTI_ERR_INVAL);
    tutti_net_free(net);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("step graph");
    TCase *tcase = testing_case(suite, "graph");
    tcase_add_test(tcase, one_micro_batch);
    tcase_add_test(tcase, two_micro_batches);
    tcase_add_test(tcase, lists_of_parameters_and_states);
    tcase_add_test(tcase, priorities_follow_the_backward_pass);
    tcase_add_test(tcase, micro_batches_are_independent);
    tcase_add_test(tcase, earlier_passes_go_first);
    tcase_add_test(tcase, frozen_layers_pass_gradients_on);
    tcase_add_test(tcase, each_value_has_its_type);
    tcase_add_test(tcase, bytes_become_float_first);
    tcase_add_test(tcase, every_batch_of_a_step_drops);
    tcase_add_test(tcase, images_are_mixed_in_training);
    tcase_add_test(tcase, an_update_rule_keeps_its_states);
    return testing_run(suite);
}
