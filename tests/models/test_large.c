/* The large models, forward, backward and an update, against PyTorch in double precision
 * (tests/golden/net/make_large.py), on 64x64 images in 10 classes.
 *
 * Among millions of ReLUs and maxima a few flip by rounding alone: one behind conv9 of vgg16-224
 * changes elements of the gradients below it by up to 1e-2 of their size, while those above agree to
 * 3e-5. An untrained resnet50 amplifies the differences below a flip to 5e-2, and PyTorch's own float32
 * deviates from its float64 by 4e-3 of a gradient's norm. A systematic error is of the order of the
 * value itself; resnet20 tests the arithmetic of each layer more tightly. */
#include "apps/models/model.h"
#include "tests/models/golden.h"

#include <stdlib.h>

enum { SEED = 20, BATCH = 4, SIZE = 64, CLASSES = 10, IMAGES = BATCH * SIZE * SIZE * 3 };

typedef struct large {
    golden golden;
    float rate;
    const char *logits;
    int parameters;
    trial_net_fn *build;
} large;

static void build_resnet50(tutti_net *net)
{
    tutti_model_find("resnet50")->build(net, SIZE, SIZE, 3, CLASSES);
}

static void build_vgg16_224(tutti_net *net)
{
    tutti_model_find("vgg16-224")->build(net, SIZE, SIZE, 3, CLASSES);
}

static const large larges[] = {
    {{"tests/golden/net/resnet50.txt", 0.1}, 1e-5f, "fc@0", 53 + 53 + 2, build_resnet50},
    {{"tests/golden/net/vgg16-224.txt", 3e-2}, 0.01f, "fc3@0", 2 * (13 + 3), build_vgg16_224},
};

START_TEST(two_steps)
{
    const large *l = &larges[_i];
    tutti_step_options options = {
        .batch = BATCH, .micro_batches = 1, .momentum = 0.9f, .weight_decay = 1e-4f, .seed = SEED};
    float *images = malloc(IMAGES * sizeof *images);
    int32_t labels[BATCH];
    ck_assert_ptr_nonnull(images);
    trial_images(SEED, 0, IMAGES, images);
    trial_labels(SEED, 0, BATCH, CLASSES, labels);
    trial t;
    trial_open(&t, l->build, &options, 0);
    trial_run(&t, t.step->train, images, labels, l->rate, 0);
    golden_check_loss(&l->golden, &t, "loss", "0");
    golden_check_logits(&l->golden, &t, l->logits, "train");
    golden_check_tensors(&l->golden, &t, "gradient", "d.", l->parameters);
    trial_run(&t, t.step->train, images, labels, l->rate, 1);
    golden_check_loss(&l->golden, &t, "loss", "1");
    trial_close(&t);
    free(images);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("large models");
    TCase *tcase = testing_case(suite, "two steps");
    tcase_add_loop_test(tcase, two_steps, 0, (int)(sizeof larges / sizeof *larges));
    return testing_run(suite);
}
