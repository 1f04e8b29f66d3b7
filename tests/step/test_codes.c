/* dag/step/encode.c, dag/codecs: what a gradient turns into that travels as a code. All that the next step needs is
 * among what a checkpoint has; codes that are gathered find their places beside others. */
#include "dag/codecs/codecs.h"
#include "dag/kernels/codec.h"
#include "dag/step/codec.h"
#include "tests/step/trial.h"

#include <string.h>

enum { SIZE = 6, CHANNELS = 2, CLASSES = 4, BATCH = 6, IMAGE = SIZE * SIZE * CHANNELS, STEPS = 3 };

static const char *const codecs[] = {"onebit", "topk:0.1", "powersgd:1"};
enum { GATHERED = 2, CODECS = sizeof codecs / sizeof *codecs };

static float images[STEPS * BATCH * IMAGE];
static int32_t labels[STEPS * BATCH];

static void make_data(void)
{
    trial_images(5, 0, STEPS * BATCH * IMAGE, images);
    trial_labels(5, 0, STEPS * BATCH, CLASSES, labels);
}

static void two_layers(tutti_net *net)
{
    tutti_value x = tutti_net_input(net, SIZE, SIZE, CHANNELS);
    x = tutti_net_conv(net, "conv", x, &(tutti_conv_layer){.K = 5, .R = 3, .pad = 1, .bias = 1});
    x = tutti_net_relu(net, "relu", x);
    tutti_net_output(net, tutti_net_dense(net, "fc", x, CLASSES, TUTTI_INIT_UNIFORM_FAN_IN));
}

static tutti_step_options options_of(const char *codec, int replicas)
{
    char fault[256];
    tutti_step_options o = {.batch = BATCH,
        .micro_batches = 2,
        .placement = {.replicas = replicas, .rank = replicas - 1},
        .rule = &tutti_update_sgd,
        .momentum = 0.9f,
        .codec_least = 15,
        .seed = 3};
    ck_assert_msg(
        tutti_codec_read(codec, &o.codec, &o.codec_value, fault, sizeof fault), "%s", fault);
    return o;
}

static void train(trial *t, int step)
{
    trial_run(t, t->step->train, images + step * BATCH * IMAGE, labels + step * BATCH, 0.05f, step);
}

static void copy(const trial *from, const trial *to, int tensor)
{
    const char *name = tutti_graph_get_tensor(from->step->graph, tensor)->name;
    int64_t count;
    const float *data = trial_tensor(from, name, &count);
    memcpy(trial_tensor(to, name, &count), data, (size_t)count * sizeof *data);
}

/* A step that is given what another one has saved goes on as that one does. */
START_TEST(what_is_not_sent_is_saved)
{
    const tutti_step_options options = options_of(codecs[_i], 1);
    trial whole, resumed;
    make_data();
    trial_open(&whole, two_layers, &options, 0);
    for (int step = 0; step + 1 < STEPS; step++) train(&whole, step);
    trial_open(&resumed, two_layers, &options, 0);
    for (int i = 0; i < whole.step->parameters; i++)
        copy(&whole, &resumed, whole.step->parameter[i]);
    for (int i = 0; i < whole.step->states; i++) copy(&whole, &resumed, whole.step->state[i]);
    train(&whole, STEPS - 1);
    train(&resumed, STEPS - 1);
    ck_assert_msg(trial_hash(&whole) == trial_hash(&resumed), "%s", codecs[_i]);
    trial_close(&whole);
    trial_close(&resumed);
}
END_TEST

static const tutti_compressed_rows *rows_of(const tutti_step *step, int i)
{
    return tutti_graph_get_node(step->graph, step->compressed_node[i].node)->desc;
}

/* Both weights have a code, which a kernel writes and another one reads. Alone each has a row to itself; joined they
 * lie side by side, and their kernels are told. */
START_TEST(compressed_gradients_find_their_places)
{
    const tutti_step_options options = options_of(codecs[_i], 3);
    tutti_net *net;
    tutti_step *step;
    ck_assert_ok(tutti_net_new(&net));
    two_layers(net);
    ck_assert_ok(tutti_step_build(net, &options, &step));
    ck_assert_int_eq(step->compressed_nodes, 4);
    int mark[2], marks = 0;
    for (int n = 0; n < tutti_graph_nodes(step->graph); n++)
        if (tutti_graph_get_node(step->graph, n)->mark.rows) mark[marks++] = n;
    ck_assert_int_eq(marks, 2);
    int64_t words = 0;
    for (int i = 0; i < 2; i++) {
        const tutti_compressed_rows *rows = rows_of(step, i);
        ck_assert(rows->replica == 2 && rows->replicas == 3 && rows->first == 0);
        words += rows->stride;
    }
    const int64_t first[] = {0, rows_of(step, 0)->stride};
    ck_assert_ok(tutti_graph_join(step->graph, 2, mark));
    ck_assert_ok(tutti_step_finalize(step));
    for (int i = 0; i < 4; i++) {
        const int code = step->compressed_node[i].tensor == step->compressed_node[1].tensor;
        ck_assert_int_eq(rows_of(step, i)->stride, words);
        ck_assert_int_eq(rows_of(step, i)->first, first[code]);
    }
    tutti_step_free(step);
    tutti_net_free(net);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("codes");
    TCase *tcase = testing_case(suite, "codes");
    tcase_add_loop_test(tcase, what_is_not_sent_is_saved, 0, CODECS);
    tcase_add_loop_test(tcase, compressed_gradients_find_their_places, 0, GATHERED);
    return testing_run(suite);
}
