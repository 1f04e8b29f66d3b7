/* Weights of ONNX models: in every type and place, wrong ones, and damaged files. */
#include "apps/architecture/onnx.h"
#include "apps/train/checkpoint.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "tests/architecture/onnx_hand.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MUTATIONS = 6000, NAME = 96 };

/* How a tensor has its elements. */
enum { RAW, FLOATS, HALF, HALF_IN_32, BRAIN, DOUBLES, RAW_DOUBLES, BESIDE, WAYS };

enum { WEIGHTS = 8, LARGEST = 4 * 3 * 3 * 3 };
static const struct {
    const char *name, *as; /* in the graph, and of the layer */
    int rank;
    int64_t dim[4];
    int transposed;
} weights[WEIGHTS] = {
    {"c.weight", "c.weight", 4, {4, 3, 3, 3}, 0},
    {"c.bias", "c.bias", 1, {4}, 0},
    {"n.weight", "n.weight", 1, {4}, 0},
    {"n.bias", "n.bias", 1, {4}, 0},
    {"mean", "n.running_mean", 1, {4}, 0},
    {"variance", "n.running_var", 1, {4}, 0},
    {"onnx::MatMul_9", "head.weight", 2, {4, 10}, 1},
    {"head.bias", "head.bias", 2, {1, 10}, 0},
};

static int64_t elements_of(int w)
{
    int64_t count = 1;
    for (int d = 0; d < weights[w].rank; d++) count *= weights[w].dim[d];
    return count;
}

/* Every type has these, which tell the elements of a weight apart, and the weights. */
static float number_at(int w, int64_t i)
{
    return (float)(i % 5 + 8 * w) * 0.25f - (float)(i / 5 % 3);
}

/* 1 sign, 5 and 8 bits of the exponent; no denormal numbers. */
static uint16_t narrow(float number, int brain)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    if (brain || number == 0) return (uint16_t)(bits >> 16);
    return (
        uint16_t)((bits >> 16 & 0x8000) | ((bits >> 23 & 0xff) - 112) << 10 | (bits >> 13 & 0x3ff));
}

static void add_pair(tutti_protobuf *tensor, const char *key, const char *value)
{
    tutti_protobuf pair = {0};
    tutti_protobuf_text(&pair, 1, key);
    tutti_protobuf_text(&pair, 2, value);
    tutti_protobuf_message(tensor, 13, &pair);
}

/* At offset 4 of the file beside the model. */
static void write_beside(const char *folder, int w, const float *real, tutti_protobuf *tensor)
{
    char path[256], name[NAME];
    snprintf(name, sizeof name, "%d.data", w);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fwrite("....", 1, 4, file);
    fwrite(real, sizeof *real, (size_t)elements_of(w), file);
    fclose(file);
    add_pair(tensor, "location", name);
    add_pair(tensor, "offset", "4");
    tutti_protobuf_number(tensor, 14, 1);
}

static void add_elements(tutti_protobuf *tensor, const char *folder, int w, int way)
{
    enum { INT32S = 5, RAW_DATA = 9, DOUBLE_DATA = 10 };
    static const int types[WAYS] = {1, 1, 10, 10, 16, 11, 11, 1};
    float real[LARGEST];
    double wide[LARGEST];
    uint16_t half[LARGEST];
    const int64_t count = elements_of(w);
    for (int64_t i = 0; i < count; i++) {
        real[i] = number_at(w, i);
        wide[i] = (double)real[i];
        half[i] = narrow(real[i], way == BRAIN);
    }
    tutti_protobuf_number(tensor, TENSOR_TYPE, types[way]);
    for (int64_t i = 0; i < count && way == FLOATS; i++)
        tutti_protobuf_float(tensor, TENSOR_FLOATS, real[i]);
    for (int64_t i = 0; i < count && way == HALF_IN_32; i++)
        tutti_protobuf_number(tensor, INT32S, half[i]);
    if (way == RAW) tutti_protobuf_bytes(tensor, RAW_DATA, real, (size_t)count * 4);
    if (way == HALF || way == BRAIN)
        tutti_protobuf_bytes(tensor, RAW_DATA, half, (size_t)count * 2);
    if (way == DOUBLES) tutti_protobuf_bytes(tensor, DOUBLE_DATA, wide, (size_t)count * 8);
    if (way == RAW_DOUBLES) tutti_protobuf_bytes(tensor, RAW_DATA, wide, (size_t)count * 8);
    if (way == BESIDE) write_beside(folder, w, real, tensor);
}

/* A network whose weights have their elements in all ways, which `shift` deals out; wrong: a weight whose tensor
 * `spoil` changes, or -1. */
static tutti_protobuf make_weights(
    const char *folder, int shift, int wrong, void (*spoil)(tutti_protobuf *tensor))
{
    static const onnx_hand_node nodes[] = {CONV,
        {"BatchNormalization", {"conv", "n.weight", "n.bias", "mean", "variance"}, "norm"},
        {"GlobalAveragePool", {"norm"}, "mean value"}, {"Flatten", {"mean value"}, "flat"},
        {"MatMul", {"flat", "onnx::MatMul_9"}, "product"}, {"Add", {"head.bias", "product"}, "y"}};
    tutti_protobuf graph = {0}, model = {0}, pair = {0};
    for (size_t n = 0; n < sizeof nodes / sizeof *nodes; n++) onnx_hand_add_node(&graph, &nodes[n]);
    onnx_hand_add_value(&graph, GRAPH_INPUT, "x", 4, (int64_t[]){0, 3, 8, 8});
    onnx_hand_add_value(&graph, GRAPH_OUTPUT, "y", 2, (int64_t[]){0, 10});
    for (int w = 0; w < WEIGHTS; w++) {
        tutti_protobuf tensor = {0};
        for (int d = 0; d < weights[w].rank; d++)
            tutti_protobuf_number(&tensor, TENSOR_DIMS, weights[w].dim[d]);
        tutti_protobuf_text(&tensor, TENSOR_NAME, weights[w].name);
        if (w == wrong)
            spoil(&tensor);
        else
            add_elements(&tensor, folder, w, (w + shift) % WAYS);
        tutti_protobuf_message(&graph, GRAPH_INITIALIZER, &tensor);
    }
    tutti_protobuf_message(&model, MODEL_GRAPH, &graph);
    tutti_protobuf_text(&pair, 1, "mean");
    tutti_protobuf_text(&pair, 2, "0.5,0.5,0.5");
    tutti_protobuf_message(&model, 14, &pair);
    return model;
}

static tutti_status read_weights(
    const char *folder, const void *data, size_t bytes, tutti_checkpoint **file)
{
    char path[256], *text = NULL;
    void *image = NULL;
    size_t image_bytes;
    snprintf(path, sizeof path, "%s/a.onnx", folder);
    tutti_status status = tutti_architecture_from_onnx(path, data, bytes, &text);
    if (!status)
        status = tutti_architecture_onnx_weights(
            path, data, bytes, "a.onnx#1", text, &image, &image_bytes);
    if (!status) status = tutti_checkpoint_open_image(path, image, image_bytes, file);
    free(text);
    return status;
}

static void expect_weights(tutti_checkpoint *file, int shift)
{
    for (int w = 0; w < WEIGHTS; w++) {
        float has[LARGEST];
        const int64_t count = elements_of(w), *dim = weights[w].dim, turned[2] = {dim[1], dim[0]},
                      row[1] = {count};
        const int bias = w == WEIGHTS - 1;
        const tutti_checkpoint_tensor wanted = {weights[w].as, TUTTI_F32,
            bias                    ? tutti_shape_make(1, row)
            : weights[w].transposed ? tutti_shape_make(2, turned)
                                    : tutti_shape_make(weights[w].rank, dim),
            has};
        ck_assert_ok(tutti_checkpoint_read(file, &wanted));
        for (int64_t i = 0; i < count; i++) {
            const int64_t at = weights[w].transposed ? i % dim[0] * dim[1] + i / dim[0] : i;
            ck_assert_msg(!(has[i] < number_at(w, at) || has[i] > number_at(w, at)),
                "%s in way %d: element %d is %g, not %g", weights[w].as, (w + shift) % WAYS, (int)i,
                (double)has[i], (double)number_at(w, at));
        }
    }
}

static void remove_beside(const char *folder)
{
    char path[256];
    for (int w = 0; w < WEIGHTS; w++) {
        snprintf(path, sizeof path, "%s/%d.data", folder, w);
        unlink(path);
    }
    rmdir(folder);
}

START_TEST(weights_are_read)
{
    char folder[] = "/tmp/tutti-onnx-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    for (int shift = 0; shift < WAYS; shift++) {
        tutti_checkpoint *file;
        tutti_protobuf model = make_weights(folder, shift, -1, NULL);
        ck_assert_ok(read_weights(folder, model.data, model.size, &file));
        expect_weights(file, shift);
        ck_assert_str_eq(tutti_checkpoint_value(file, "mean"), "0.5,0.5,0.5");
        ck_assert_str_eq(tutti_checkpoint_value(file, "model"), "a.onnx#1");
        ck_assert_str_eq(tutti_checkpoint_value(file, "shape"), "8x8x3");
        ck_assert_str_eq(tutti_checkpoint_value(file, "classes"), "10");
        tutti_checkpoint_close(file);
        tutti_protobuf_free(&model);
    }
    remove_beside(folder);
}
END_TEST

static void have_bytes(tutti_protobuf *tensor)
{
    tutti_protobuf_number(tensor, TENSOR_TYPE, 1);
    tutti_protobuf_bytes(tensor, 9, "1234567", 7);
}

static void have_nothing(tutti_protobuf *tensor)
{
    tutti_protobuf_number(tensor, TENSOR_TYPE, 1);
}

static void have_integers(tutti_protobuf *tensor)
{
    tutti_protobuf_number(tensor, TENSOR_TYPE, INT64);
    tutti_protobuf_bytes(tensor, 9, "12345678123456781234567812345678", 32);
}

static void be_elsewhere(tutti_protobuf *tensor)
{
    have_nothing(tensor);
    add_pair(tensor, "location", "../secret");
    tutti_protobuf_number(tensor, 14, 1);
}

static void be_missing(tutti_protobuf *tensor)
{
    have_nothing(tensor);
    add_pair(tensor, "location", "none.data");
    tutti_protobuf_number(tensor, 14, 1);
}

START_TEST(wrong_weights_are_told)
{
    static const struct {
        void (*spoil)(tutti_protobuf *tensor);
        int weight;
        const char *told;
    } wrong[] = {
        {have_bytes, 1, "a.onnx: tensor \"c.bias\" has the shape (4) and bytes: 7"},
        {have_nothing, 0, "tensor \"c.weight\" has the shape (4,3,3,3) and bytes: 0"},
        {have_integers, 2, "tensor \"n.weight\" has the type 7 of ONNX: weights must be float32"},
        {be_elsewhere, 6, "tensor \"head.weight\" is at \"../secret\", which is no place"},
        {be_missing, 4, "/none.data: No such file or directory: put it beside the model"},
    };
    char folder[] = "/tmp/tutti-onnx-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    tutti_log_set_level(TUTTI_LOG_NONE);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tutti_checkpoint *file;
        tutti_protobuf model = make_weights(folder, 0, wrong[i].weight, wrong[i].spoil);
        ck_assert_int_ne(read_weights(folder, model.data, model.size, &file), TUTTI_OK);
        ck_assert_msg(strstr(tutti_last_error(), wrong[i].told) != NULL, "\"%s\" and not \"%s\"",
            tutti_last_error(), wrong[i].told);
        tutti_protobuf_free(&model);
    }
    tutti_log_set_level(TUTTI_LOG_INFO);
    remove_beside(folder);
}
END_TEST

/* Cut off or changed in a few places: the weights are read, or refused. */
START_TEST(no_weights_do_harm)
{
    char folder[] = "/tmp/tutti-onnx-XXXXXX";
    const unsigned long run = testing_seed(22);
    const int all = MUTATIONS / (testing_fewer() ? 10 : 1);
    int right = 0;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    tutti_log_set_level(TUTTI_LOG_NONE);
    for (int i = 0; i < all; i++) {
        uint64_t next = 0;
        const uint64_t at = (uint64_t)i;
        tutti_checkpoint *file;
        tutti_protobuf model = make_weights(folder, i % WAYS, -1, NULL);
        unsigned char *bytes = malloc(model.size);
        size_t size = model.size;
        memcpy(bytes, model.data, size);
        if (i % 3 == 0) size = (size_t)tutti_rng_below(run, at, next++, (int64_t)size);
        for (int64_t change = i % 3; change > 0; change--) {
            const int64_t place = tutti_rng_below(run, at, next++, (int64_t)size);
            bytes[place] = (unsigned char)tutti_rng_below(run, at, next++, 256);
        }
        if (!read_weights(folder, bytes, size, &file)) {
            right++;
            tutti_checkpoint_close(file);
        }
        free(bytes);
        tutti_protobuf_free(&model);
    }
    tutti_log_set_level(TUTTI_LOG_INFO);
    remove_beside(folder);
    ck_assert_msg(right > all / 50 && right < all * 9 / 10, "%d of %d are read", right, all);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("onnx_weights");
    tcase_add_test(testing_case(suite, "weights"), weights_are_read);
    tcase_add_test(testing_case(suite, "wrong"), wrong_weights_are_told);
    tcase_add_test(testing_case(suite, "fuzz"), no_weights_do_harm);
    return testing_run(suite);
}
