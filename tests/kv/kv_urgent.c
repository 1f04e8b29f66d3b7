/* A key that is more urgent than others. */
#include "tests/kv/kv.h"

enum { LARGE = 6, URGENT = LARGE, HEAVY = 1 << 21, LIGHT = 1 << 15 };
static int comes_as[LARGE + 1], came; /* of each key: as which its value has come */

static void count(void *buffers[], void *arg)
{
    int key;
    (void)buffers;
    starpu_codelet_unpack_args(arg, &key);
    comes_as[key] = ++came;
}

/* And waits for a file. */
static void say_and_wait(const char *word, const char *file)
{
    printf("%s\n", word);
    fflush(stdout);
    for (int i = 0; file && access(file, F_OK) && i < 3000; i++) usleep(10000);
}

void run_urgent(void)
{
    static struct starpu_codelet counting = {
        .cpu_funcs = {count}, .nbuffers = 1, .modes = {STARPU_R}, .name = "count"};
    tutti_handle in[LARGE + 1], out[LARGE + 1];
    float *memory[2 * (LARGE + 1)];
    CHECK(!tutti_kv_set_optimizer(kv, "add"));
    for (int k = 0; k <= LARGE; k++) {
        int n = k == URGENT ? LIGHT : HEAVY;
        float *one = memory[2 * k] = calloc((size_t)n, sizeof *one);
        float *all = memory[2 * k + 1] = calloc((size_t)n, sizeof *all);
        one[n - 1] = 1;
        in[k] = vector(one, n);
        out[k] = vector(all, n);
        CHECK(!tutti_kv_init(kv, k, out[k], TUTTI_F32));
    }
    CHECK(!tutti_kv_wait(kv, 60));
    CHECK(!tutti_kv_set_priority(kv, URGENT, 1));
    say_and_wait("ready", getenv("KV_STOP"));
    for (int k = 0; k <= LARGE; k++) CHECK(!tutti_kv_pushpull(kv, k, in[k], out[k]));
    for (int k = 0; k <= LARGE; k++) {
        CHECK(!starpu_data_acquire(in[k], STARPU_W)); /* it was copied */
        starpu_data_release(in[k]);
    }
    say_and_wait("pushed", NULL);
    for (int k = 0; k <= LARGE; k++)
        CHECK(!starpu_task_insert(&counting, STARPU_R, out[k], STARPU_VALUE, &k, sizeof k, 0));
    CHECK(!tutti_kv_wait(kv, 60));
    CHECK(!starpu_task_wait_for_all());
    for (int k = 0; k <= LARGE; k++) {
        printf("key %d has come as number %d\n", k, comes_as[k]);
        starpu_data_unregister(in[k]);
        starpu_data_unregister(out[k]);
        CHECK(memory[2 * k + 1][k == URGENT ? LIGHT - 1 : HEAVY - 1] >= 1);
        free(memory[2 * k]);
        free(memory[2 * k + 1]);
    }
    CHECK(comes_as[URGENT] < comes_as[LARGE / 2]);
}
