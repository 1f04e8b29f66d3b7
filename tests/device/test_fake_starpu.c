/* StarPU's own CUDA driver on the fake device: a program's handles get what tasks on devices make of
 * them, on one device and two, in every order, from pageable and from pinned memory. Afterwards it
 * has given everything back. */
#undef STARPU_DONT_INCLUDE_CUDA_HEADERS /* the streams of its workers are needed */
#include "tests/device/fake_tests.h"

#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>

enum { HANDLES = 6, COUNT = 1000, ROUNDS = 12 };

typedef struct job {
    float *x;
    size_t count;
} job;

static int run_twice(void *arg)
{
    const job *j = arg;
    for (size_t i = 0; i < j->count; i++) j->x[i] = 2 * j->x[i] + 1;
    free(arg);
    return 1;
}

static void twice(void *buffers[], void *unused)
{
    (void)unused;
    float *x = (float *)STARPU_VECTOR_GET_PTR(buffers[0]);
    job *j = malloc(sizeof *j);
    REQUIRE(j);
    j->count = STARPU_VECTOR_GET_NX(buffers[0]);
    const fake_access access = {.address = x, .bytes = j->count * sizeof *x, .mode = FAKE_WRITE};
    j->x = fake_inside("twice", x, access.bytes);
    const fake_work work = {
        .call = "twice", .run = run_twice, .arg = j, .access = &access, .accesses = 1};
    fake_enqueue(starpu_cuda_get_local_stream(), &work);
}

static struct starpu_codelet codelet = {.cuda_funcs = {twice},
    .cuda_flags = {STARPU_CUDA_ASYNC},
    .nbuffers = 1,
    .modes = {STARPU_RW},
    .name = "twice"};

typedef struct program {
    int devices, pinned;
} program;

static void run_tasks(float *x[HANDLES])
{
    starpu_data_handle_t handle[HANDLES];
    for (int h = 0; h < HANDLES; h++)
        starpu_vector_data_register(
            &handle[h], STARPU_MAIN_RAM, (uintptr_t)x[h], COUNT, sizeof(float));
    for (int r = 0; r < ROUNDS; r++)
        for (int h = 0; h < HANDLES; h++)
            REQUIRE(!starpu_task_insert(&codelet, STARPU_RW, handle[(3 * h + r) % HANDLES], 0));
    for (int h = 0; h < HANDLES; h++) starpu_data_unregister(handle[h]);
}

static void check_values(float *x[HANDLES])
{
    for (int h = 0; h < HANDLES; h++)
        for (int i = 0; i < COUNT; i++) {
            float expected = (float)i;
            int rounds = 0;
            for (int r = 0; r < ROUNDS; r++)
                for (int k = 0; k < HANDLES; k++) rounds += (3 * k + r) % HANDLES == h;
            while (rounds--) expected = 2 * expected + 1;
            REQUIRE(x[h][i] == expected);
        }
}

/* Everything was given back. */
static void check_counts(void)
{
    uint64_t counts[FAKE_COUNTS];
    fake_counts(counts);
    REQUIRE(counts[FAKE_LAUNCHES] == HANDLES * ROUNDS);
    REQUIRE(counts[FAKE_ALLOCATIONS] && counts[FAKE_ALLOCATIONS] == counts[FAKE_FREES]);
    REQUIRE(counts[FAKE_HOST_ALLOCATIONS] == counts[FAKE_HOST_FREES]);
}

static void run_program(void *arg)
{
    const program *p = arg;
    float *x[HANDLES];
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.sched_policy_name = "eager";
    REQUIRE(!starpu_init(&conf));
    REQUIRE(starpu_cuda_worker_get_count() == (unsigned)p->devices);
    for (int h = 0; h < HANDLES; h++) {
        if (p->pinned)
            REQUIRE(!starpu_malloc((void **)&x[h], COUNT * sizeof(float)));
        else
            REQUIRE((x[h] = malloc(COUNT * sizeof(float))));
        for (int i = 0; i < COUNT; i++) x[h][i] = (float)i;
    }
    run_tasks(x);
    check_values(x);
    for (int h = 0; h < HANDLES; h++)
        if (p->pinned)
            starpu_free(x[h]);
        else
            free(x[h]);
    starpu_shutdown();
    check_counts();
}

START_TEST(tasks_on_devices)
{
    for (int devices = 1; devices <= 2; devices++)
        for (int pinned = 0; pinned <= 1; pinned++)
            for (int o = 0; o < ORDERS; o++) {
                program p = {devices, pinned};
                child c = {.order = all_orders[o],
                    .seed = (unsigned)(devices + 2 * pinned + 1),
                    .devices = devices};
                child_run(&c, run_program, &p);
                child_check_right(&c, "StarPU");
            }
}
END_TEST

int main(void)
{
    /* Buffers are allocations of their own. */
    setenv("TUTTI_FAKE_MEMORY_MB", "512", 1);
    setenv("STARPU_SUBALLOCATOR", "0", 1);
    setenv("STARPU_SILENT", "1", 1);
    Suite *suite = suite_create("fake_starpu");
    TCase *tests = testing_case(suite, "starpu");
    tcase_add_test(tests, tasks_on_devices);
    return testing_run(suite);
}
