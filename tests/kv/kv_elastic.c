/* Clients that train independently, and mix with the centre. */
#include "tests/kv/kv.h"

#include <signal.h>

/* Whole numbers, of which mixing steps with alpha=0.5 leave whole numbers 16 times, and sums are exact. */
enum { UNIT = 65536 };

static double sum_up(int key)
{
    double sum = 0;
    for (int i = 0; i < sizes[key]; i++) sum += (double)y[key][i];
    return sum;
}

/* What a client does between mixing steps; returns the sum of its weights. */
static double train(int key, tutti_handle weights)
{
    CHECK(!starpu_data_acquire(weights, STARPU_RW));
    for (int i = 0; i < sizes[key]; i++) y[key][i] += (float)(UNIT * (tutti_kv_client(kv) + 1));
    double sum = sum_up(key);
    starpu_data_release(weights);
    return sum;
}

static double sum_when_here(int key, tutti_handle weights)
{
    CHECK(!starpu_data_acquire(weights, STARPU_R));
    double sum = sum_up(key);
    starpu_data_release(weights);
    return sum;
}

static void pass_away(void *buffers[], void *arg)
{
    (void)buffers, (void)arg;
    usleep(500000);
    kill(getpid(), SIGKILL);
}

/* Whatever the centre answers, the difference has to wait for a task that never ends. */
static void die_in_a_mixing(tutti_handle weights)
{
    static struct starpu_codelet passing = {
        .cpu_funcs = {pass_away}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "pass away"};
    printf("dying\n"), fflush(stdout);
    CHECK(!starpu_task_insert(&passing, STARPU_RW, weights, 0));
    CHECK(!tutti_kv_pushpull(kv, 0, weights, weights));
    CHECK(!starpu_data_acquire(weights, STARPU_R));
}

/* One client alone knows what the centre has, and so what it is to give. */
static void step_together(int key, int step, int period, tutti_handle weights, double *gave)
{
    int64_t sent, sent_before;
    double start = (double)(UNIT * (key + 1)) * sizes[key], centre = start + gave[key];
    double before = train(key, weights);
    CHECK(!tutti_kv_bytes(kv, &sent_before, NULL));
    CHECK(!tutti_kv_pushpull(kv, key, weights, weights));
    double after = sum_when_here(key, weights);
    CHECK(!tutti_kv_bytes(kv, &sent, NULL));
    if (step % period) {
        CHECK(after == before && sent == sent_before);
        return;
    }
    gave[key] += before - after;
    if (tutti_kv_clients(kv) == 1) CHECK(before - after == 0.5 * (before - centre));
}

void run_elastic(const char *type, int steps, int dies)
{
    tutti_handle weights[KEYS];
    double gave[KEYS] = {0};
    int period = 1;
    CHECK(sscanf(type, "elastic:period=%d", &period) == 1);
    CHECK(!tutti_kv_set_optimizer(kv, "add")); /* which is what there is */
    CHECK(tutti_kv_set_optimizer(kv, "sgd:rate=1") == TUTTI_ERR_INVAL);
    for (int k = 0; k < KEYS; k++) {
        for (int i = 0; i < sizes[k]; i++) y[k][i] = tutti_kv_rank(kv) ? -1 : UNIT * (k + 1);
        weights[k] = vector(y[k], sizes[k]);
        CHECK(!tutti_kv_init(kv, k, weights[k], TUTTI_F32));
    }
    for (int t = 1; t <= steps; t++)
        for (int n = 0, k; n < KEYS; n++) {
            k = (n + tutti_kv_client(kv)) % KEYS;
            step_together(k, t, period, weights[k], gave);
        }
    CHECK(tutti_kv_push(kv, 0, weights[0]) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_pushpull(kv, 0, weights[0], weights[1]) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_init(kv, KEYS, weights[0], TUTTI_I32) == TUTTI_ERR_INVAL);
    for (int k = 0; k < KEYS; k++) {
        printf("client %d gave key %d %.0f\n", tutti_kv_client(kv), k, gave[k]);
        CHECK(!tutti_kv_pull(kv, k, weights[k])); /* once all that it gave is there */
    }
    CHECK(!tutti_kv_wait(kv, 60));
    if (dies) die_in_a_mixing(weights[0]);
    CHECK(!tutti_kv_barrier(kv));
    for (int k = 0; k < KEYS; k++) {
        CHECK(!tutti_kv_pull(kv, k, weights[k]));
        double gained = sum_when_here(k, weights[k]) - (double)(UNIT * (k + 1)) * sizes[k];
        printf("the centre got key %d %.0f\n", k, gained);
    }
    CHECK(!tutti_kv_wait(kv, 60));
    for (int k = 0; k < KEYS; k++) starpu_data_unregister(weights[k]);
}
