/* resnet20, forward, backward and ten steps, against PyTorch in double precision
 * (tests/golden/net/make.py).
 *
 * TOLERANCE is the largest distance allowed, relative to the size of what is compared: for a
 * tensor's norm the norm, for its elements their root mean square. PyTorch's own float32 stays
 * within 2e-6 of its float64 on these batches; leaving out the weight decay, the smallest of the
 * rules, moves momentum by 1e-3 and weights by 3e-5. */
#include "apps/models/model.h"
#include "tests/net/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEED = 20,
    BATCH = 4,
    STEPS = 10,
    SLICED_STEPS = 2,
    CLASSES = 10,
    SAMPLES = 6,
    IMAGE = 32 * 32 * 3
};
static const float RATE = 0.02f, MOMENTUM = 0.9f, DECAY = 1e-4f;
static const double TOLERANCE = 2e-5;

/* One line of the golden file: kind, name, numbers. */
typedef struct golden_line {
    char kind[32], name[64];
    int count;
    double number[BATCH * CLASSES];
} golden_line;

static int read_line(FILE *file, golden_line *line)
{
    char text[4096], *at = text;
    do {
        if (!fgets(text, sizeof text, file)) return 0;
    } while (text[0] == '#');
    int used;
    ck_assert_int_eq(sscanf(text, "%31s %63s%n", line->kind, line->name, &used), 2);
    at += used;
    for (line->count = 0; line->count < BATCH * CLASSES; line->count++) {
        char *end;
        line->number[line->count] = strtod(at, &end);
        if (end == at) break;
        at = end;
    }
    return 1;
}

static FILE *open_golden(void)
{
    FILE *file = fopen(testing_source("tests/golden/net/resnet20.txt"), "r");
    ck_assert_msg(file != NULL, "cannot open tests/golden/net/resnet20.txt");
    return file;
}

/* The line of this kind and name. */
static golden_line look_up(const char *kind, const char *name)
{
    FILE *file = open_golden();
    golden_line line;
    int found = 0;
    while (!found && read_line(file, &line))
        found = !strcmp(line.kind, kind) && !strcmp(line.name, name);
    fclose(file);
    ck_assert_msg(found, "no line %s %s in the golden file", kind, name);
    return line;
}

static void check_number(const char *kind, const char *name, double got, double want, double size)
{
    double error = fabs(got - want) / size;
    ck_assert_msg(error < TOLERANCE, "%s %s: %.9g, not %.9g: off by %.2g of %.3g", kind, name, got,
        want, error, size);
}

static void check_loss(const trial *t, const char *kind, const char *name)
{
    golden_line line = look_up(kind, name);
    check_number(kind, name, trial_metric(t, 0) / BATCH, line.number[0], line.number[0]);
}

static void check_logits(const trial *t, const char *name)
{
    golden_line line = look_up("logits", name);
    int64_t count;
    const float *got = trial_tensor(t, "fc@0", &count);
    ck_assert_int_eq(count, line.count);
    double square = 0;
    for (int e = 0; e < line.count; e++) square += line.number[e] * line.number[e];
    for (int e = 0; e < line.count; e++)
        check_number("logits", name, got[e], line.number[e], sqrt(square / line.count));
}

static void check_tensor(const trial *t, const golden_line *line, const char *prefix)
{
    char name[80];
    snprintf(name, sizeof name, "%s%s", prefix, line->name);
    int64_t count;
    const float *got = trial_tensor(t, name, &count);
    ck_assert_int_eq(line->count, 1 + SAMPLES);
    double square = 0, norm = line->number[0];
    for (int64_t e = 0; e < count; e++) square += (double)got[e] * got[e];
    check_number(line->kind, name, sqrt(square), norm, norm);
    for (int i = 0; i < SAMPLES; i++)
        check_number(line->kind, name, got[i * (count - 1) / (SAMPLES - 1)], line->number[1 + i],
            norm / sqrt((double)count));
}

/* Every line of a kind; fails when there are not as many as expected. */
static void check_tensors(const trial *t, const char *kind, const char *prefix, int expected)
{
    FILE *file = open_golden();
    golden_line line;
    int seen = 0;
    while (read_line(file, &line)) {
        if (strcmp(line.kind, kind)) continue;
        check_tensor(t, &line, prefix);
        seen++;
    }
    fclose(file);
    ck_assert_int_eq(seen, expected);
}

enum { PARAMETERS = 19 + 19 + 2, NORMS = 19 };

static void build(tutti_net *net)
{
    tutti_model_find("resnet20")->build(net, 32, 32, 3, CLASSES);
}

static tutti_step_options options_with(int slices)
{
    return (tutti_step_options){.batch = BATCH,
        .slices = slices,
        .ranks = 1,
        .momentum = MOMENTUM,
        .weight_decay = DECAY,
        .seed = SEED};
}

/* Runs a section on the batch of this number. */
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
    golden_line batches = look_up("batches", "whole");
    ck_assert_int_eq(batches.count, STEPS + 1);
    trial t;
    trial_open(&t, build, &options, 0);
    for (int step = 0; step < STEPS; step++) {
        char name[16];
        snprintf(name, sizeof name, "%d", step);
        run_batch(&t, t.step->train, batches.number[step], step);
        check_loss(&t, "loss", name);
        if (step > 0) continue;
        check_logits(&t, "train");
        check_tensors(&t, "gradient", "d.", PARAMETERS);
    }
    check_tensors(&t, "weight", "", PARAMETERS);
    check_tensors(&t, "momentum", "m.", PARAMETERS);
    check_tensors(&t, "running", "", NORMS);
    run_batch(&t, t.step->eval, batches.number[STEPS], 0);
    check_logits(&t, "eval");
    check_loss(&t, "loss", "eval");
    trial_close(&t);
}
END_TEST

START_TEST(two_slices)
{
    tutti_step_options options = options_with(2);
    golden_line batches = look_up("sliced_batches", "whole");
    trial t;
    trial_open(&t, build, &options, 0);
    for (int step = 0; step < SLICED_STEPS; step++) {
        char name[16];
        snprintf(name, sizeof name, "%d", step);
        run_batch(&t, t.step->train, batches.number[step], step);
        check_loss(&t, "sliced_loss", name);
        if (step == 0) check_tensors(&t, "sliced_gradient", "d.", PARAMETERS);
    }
    check_tensors(&t, "sliced_weight", "", PARAMETERS);
    check_tensors(&t, "sliced_running", "", NORMS);
    trial_close(&t);
}
END_TEST

static uint64_t train(int slices, uint64_t order_seed)
{
    tutti_step_options options = options_with(slices);
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
    for (int slices = 1; slices <= 2; slices++) {
        uint64_t want = train(slices, 0);
        for (uint64_t i = 0; i < 3; i++)
            ck_assert_msg(train(slices, seed + i) == want,
                "%d slices: order %llu gives other weights", slices,
                (unsigned long long)(seed + i));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("resnet20");
    TCase *tcase = testing_case(suite, "resnet20");
    tcase_add_test(tcase, ten_steps);
    tcase_add_test(tcase, two_slices);
    tcase_add_test(tcase, every_order_gives_the_same_bits);
    return testing_run(suite);
}
