/* What a step takes of a GPU's memory is told before it takes it, and is what it takes: tensors, and what kernels work
 * in. On the fake device, whose cuBLAS takes some for itself, too. */
#include "apps/models/model.h"
#include "dag/base/log.h"
#include "dag/kernels/cublas.h"
#include "dag/step/step.h"
#include "dag/run/binding.h"
#include "tests/device/fake/fake.h"
#include "tests/support/testing.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 4,
    PAGE = 4096 /* of the fake's allocations */,
    LIBRARIES = 2 << 20,
    HANDLE = 256 << 10
};
static const tutti_binding_place gpu = {.device = TUTTI_CUDA};

/* ---- a step ---- */

static tutti_step *build(const char *name, tutti_dtype precision)
{
    const tutti_model *model = tutti_model_find(name);
    const tutti_model_input *i = &model->input;
    const tutti_step_options recipe = {.batch = BATCH,
        .micro_batches = 1,
        .sums = TUTTI_SUMS_GRAPH,
        .precision = precision,
        .momentum = 0.9f,
        .clip_norm = 1,
        .bytes = 1,
        .deviation = {1, 1, 1}};
    tutti_net *net;
    tutti_step *step;
    ck_assert_ok(tutti_net_new(&net));
    model->build(net, i->H, i->W, i->C, i->classes);
    ck_assert_ok(tutti_net_status(net));
    ck_assert_ok(tutti_step_build(net, &recipe, &step));
    tutti_net_free(net);
    ck_assert_ok(tutti_step_finalize(step));
    return step;
}

static uint64_t counted(fake_count count)
{
    uint64_t counts[FAKE_COUNTS];
    fake_counts(counts);
    return counts[count];
}

static size_t room(void)
{
    size_t unused, all;
    ck_assert(!cudaMemGetInfo(&unused, &all));
    return unused;
}

/* What the program has, to the byte. */
static uint64_t held(void)
{
    return counted(FAKE_ALLOCATED_BYTES) - counted(FAKE_FREED_BYTES);
}

/* How much of the GPU is free once the binding is open, and how many allocations that were. */
static void measure(const tutti_graph *graph, tutti_binding *told, size_t *taken, uint64_t *blocks)
{
    const uint64_t before = counted(FAKE_ALLOCATIONS), freed = counted(FAKE_FREES), bytes = held();
    const size_t unused = room();
    tutti_binding binding;
    ck_assert_ok(tutti_binding_open(graph, &gpu, &binding));
    ck_assert_uint_eq(binding.tensor_bytes + binding.kernel_bytes, held() - bytes);
    *blocks = counted(FAKE_ALLOCATIONS) - before - (counted(FAKE_FREES) - freed);
    *taken = unused - room();
    *told = binding;
    tutti_binding_close(&binding);
    ck_assert_uint_eq(room(), unused);
}

/* ---- tests ---- */

START_TEST(what_is_told_is_what_is_taken)
{
    for (int p = 0; p < 2; p++) {
        tutti_step *step = build("resnet20", p ? TUTTI_BF16 : TUTTI_F32);
        tutti_binding told;
        size_t taken;
        uint64_t blocks;
        measure(step->graph, &told, &taken, &blocks);
        ck_assert_uint_gt(told.kernel_bytes, 0);
        /* The fake gives whole pages, and cuBLAS takes some. */
        ck_assert_uint_ge(taken, told.tensor_bytes + told.kernel_bytes);
        ck_assert_uint_le(taken, told.tensor_bytes + told.kernel_bytes + blocks * PAGE + LIBRARIES);
        tutti_step_free(step);
    }
}
END_TEST

/* All products of the model have one workspace, and one handle of the library, which takes memory for itself. */
START_TEST(kernels_share_what_they_work_in)
{
    tutti_step *step = build("mlp-1024x5", TUTTI_F32);
    tutti_binding told;
    size_t taken;
    uint64_t blocks;
    measure(step->graph, &told, &taken, &blocks);
    ck_assert_uint_ge(told.kernel_bytes, TUTTI_CUBLAS_WORKSPACE);
    ck_assert_uint_lt(told.kernel_bytes, 2 * TUTTI_CUBLAS_WORKSPACE);
    ck_assert_uint_lt(taken, told.tensor_bytes + told.kernel_bytes + blocks * PAGE + 2 * HANDLE);
    tutti_step_free(step);
}
END_TEST

/* Opens it while so many bytes are left, which is too little: then all is given back. */
static void refuse(const tutti_graph *graph, size_t left, const char *why)
{
    const size_t unused = room();
    const uint64_t before = counted(FAKE_ALLOCATIONS), freed = counted(FAKE_FREES);
    void *ballast;
    tutti_binding binding;
    ck_assert(!cudaMalloc(&ballast, (unused - left) / PAGE * PAGE));
    ck_assert_int_eq(tutti_binding_open(graph, &gpu, &binding), TUTTI_ERR_NOMEM);
    ck_assert_msg(strstr(tutti_last_error(), why), "not \"%s\": %s", why, tutti_last_error());
    ck_assert(!cudaFree(ballast));
    ck_assert_uint_eq(room(), unused);
    ck_assert_uint_eq(counted(FAKE_ALLOCATIONS) - before, counted(FAKE_FREES) - freed);
}

START_TEST(too_little_is_told_with_all_that_is_needed)
{
    tutti_step *step = build("resnet20", TUTTI_F32);
    tutti_binding told;
    size_t taken;
    uint64_t blocks;
    char all[64];
    measure(step->graph, &told, &taken, &blocks);
    const size_t needed = told.tensor_bytes + told.kernel_bytes;
    snprintf(all, sizeof all, "but a step takes %.2f", (double)needed / 0x1p30);
    refuse(step->graph, told.tensor_bytes / 2, all);
    refuse(step->graph, told.tensor_bytes + PAGE, all); /* no kernel */
    refuse(step->graph, needed - PAGE, all);            /* not the largest kernel */
    /* Not even enough for cuBLAS to start. */
    refuse(step->graph, PAGE, "but a step takes at least ");
    /* Enough for all of it, but cuBLAS takes some. */
    refuse(step->graph, needed + PAGE, "their libraries, or other programs, have taken ");
    tutti_step_free(step);
}
END_TEST

START_TEST(just_enough_is_enough)
{
    tutti_step *step = build("resnet20", TUTTI_F32);
    tutti_binding told, binding;
    size_t taken;
    uint64_t blocks;
    void *ballast;
    measure(step->graph, &told, &taken, &blocks);
    ck_assert(!cudaMalloc(&ballast, room() - taken));
    ck_assert_uint_eq(room(), taken);
    ck_assert_ok(tutti_binding_open(step->graph, &gpu, &binding));
    ck_assert_uint_eq(room(), 0);
    tutti_binding_close(&binding);
    ck_assert(!cudaFree(ballast));
    tutti_step_free(step);
}
END_TEST

int main(void)
{
    setenv("TUTTI_FAKE_MEMORY_MB", "256", 1);
    tutti_log_set_level(TUTTI_LOG_NONE);
    Suite *suite = suite_create("room");
    TCase *tcase = testing_case(suite, "room");
    tcase_add_test(tcase, what_is_told_is_what_is_taken);
    tcase_add_test(tcase, kernels_share_what_they_work_in);
    tcase_add_test(tcase, too_little_is_told_with_all_that_is_needed);
    tcase_add_test(tcase, just_enough_is_enough);
    return testing_run(suite);
}
