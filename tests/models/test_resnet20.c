/* resnet20, forward, backward and ten steps, against PyTorch in double precision
 * (tests/golden/net/make.py).
 *
 * Where the tolerance is 2e-5, PyTorch's own float32 stays within 2e-6 of its float64 on these
 * batches; omitting the weight decay, the smallest effect, changes momentum by 1e-3 and weights by
 * 3e-5. */
#include "apps/models/model.h"
#include "tests/models/golden.h"

#include <stdio.h>
#include <stdlib.h>

enum { SEED = 20, BATCH = 4, STEPS = 10, MICRO_STEPS = 2, CLASSES = 10, IMAGE = 32 * 32 * 3 };
static const float RATE = 0.02f, MOMENTUM = 0.9f, DECAY = 1e-4f;

static const golden recorded = {"tests/golden/net/resnet20.txt", 2e-5};

enum { PARAMETERS = 19 + 19 + 2, NORMS = 19 };

static void build(tutti_net *net)
{
    tutti_model_find("resnet20")->build(net, 32, 32, 3, CLASSES);
}

static tutti_step_options options_with(int micro_batches)
{
    return (tutti_step_options){.batch = BATCH,
        .micro_batches = micro_batches,
        .momentum = MOMENTUM,
        .weight_decay = DECAY,
        .seed = SEED};
}

/* Runs a section on batch `number`. */
static void run_batch(trial *t, int section, double number, int step)
{
    float *images = malloc(BATCH * IMAGE * sizeof *images);
    int32_t labels[BATCH];
    ck_assert_ptr_nonnull(images);
    trial_images(SEED, (int64_t)number * BATCH * IMAGE, BATCH * IMAGE, images);
    trial_labels(SEED, (int64_t)number * BATCH, BATCH, CLASSES, labels);
    trial_run(t, section, images, labels, RATE, step);
    free(images);
}

START_TEST(ten_steps)
{
    tutti_step_options options = options_with(1);
    golden_line batches = golden_find(&recorded, "batches", "whole");
    ck_assert_int_eq(batches.count, STEPS + 1);
    trial t;
    trial_open(&t, build, &options, 0);
    for (int step = 0; step < STEPS; step++) {
        char name[16];
        snprintf(name, sizeof name, "%d", step);
        run_batch(&t, t.step->train, batches.number[step], step);
        golden_check_loss(&recorded, &t, "loss", name);
        if (step > 0) continue;
        golden_check_logits(&recorded, &t, "fc@0", "train");
        golden_check_tensors(&recorded, &t, "gradient", "d.", PARAMETERS);
    }
    golden_check_tensors(&recorded, &t, "weight", "", PARAMETERS);
    golden_check_tensors(&recorded, &t, "momentum", "m.", PARAMETERS);
    golden_check_tensors(&recorded, &t, "running", "", NORMS);
    run_batch(&t, t.step->eval, batches.number[STEPS], 0);
    golden_check_logits(&recorded, &t, "fc@0", "eval");
    golden_check_loss(&recorded, &t, "loss", "eval");
    trial_close(&t);
}
END_TEST

START_TEST(two_micro_batches)
{
    tutti_step_options options = options_with(2);
    golden_line batches = golden_find(&recorded, "micro_batches", "whole");
    trial t;
    trial_open(&t, build, &options, 0);
    for (int step = 0; step < MICRO_STEPS; step++) {
        char name[16];
        snprintf(name, sizeof name, "%d", step);
        run_batch(&t, t.step->train, batches.number[step], step);
        golden_check_loss(&recorded, &t, "micro_loss", name);
        if (step == 0) golden_check_tensors(&recorded, &t, "micro_gradient", "d.", PARAMETERS);
    }
    golden_check_tensors(&recorded, &t, "micro_weight", "", PARAMETERS);
    golden_check_tensors(&recorded, &t, "micro_running", "", NORMS);
    trial_close(&t);
}
END_TEST

static uint64_t train(int micro_batches, uint64_t order_seed)
{
    tutti_step_options options = options_with(micro_batches);
    trial t;
    trial_open(&t, build, &options, order_seed);
    for (int step = 0; step < 2; step++) run_batch(&t, t.step->train, step, step);
    uint64_t hash = trial_hash(&t);
    trial_close(&t);
    return hash;
}

START_TEST(every_order_gives_the_same_bits)
{
    uint64_t seed = testing_seed(1);
    for (int micro_batches = 1; micro_batches <= 2; micro_batches++) {
        uint64_t want = train(micro_batches, 0);
        for (uint64_t i = 0; i < 3; i++)
            ck_assert_msg(train(micro_batches, seed + i) == want,
                "%d micro-batches: order %llu gives other weights", micro_batches,
                (unsigned long long)(seed + i));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("resnet20");
    TCase *tcase = testing_case(suite, "resnet20");
    tcase_add_test(tcase, ten_steps);
    tcase_add_test(tcase, two_micro_batches);
    tcase_add_test(tcase, every_order_gives_the_same_bits);
    return testing_run(suite);
}
