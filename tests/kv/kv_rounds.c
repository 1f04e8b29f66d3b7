/* Rounds of sync: every value has the bits of an oracle that adds in the order of clients. */
#include "tests/kv/kv.h"

#include <math.h>

static float v[KEYS][MOST], w[KEYS][MOST]; /* the oracle's */

/* What a worker pushes to element i of a key in a round. Integers add up to the same whatever the order; others do
 * not. */
static float pushed(int worker, int key, int round, int i, int whole)
{
    int n = (worker * 7 + key * 5 + round * 3 + i) % 101 + 1;
    return whole ? (float)n : 1.0f / (float)n;
}

/* The sum of a round, in the order of clients; the workers of one add whole numbers. */
static float sum_of(int key, int round, int i, int whole)
{
    int size = tutti_kv_workers(kv) / tutti_kv_clients(kv);
    float all = 0;
    for (int c = 0; c < tutti_kv_clients(kv); c++) {
        float one = 0;
        for (int m = 0; m < size; m++) one += pushed(c * size + m, key, round, i, whole);
        all = c ? all + one : one;
    }
    return all;
}

static void update(const char *optimizer, int key, int i, float g)
{
    float *value = &w[key][i];
    if (!strcmp(optimizer, "assign")) *value = g;
    if (!strcmp(optimizer, "add")) *value += g;
    if (!strncmp(optimizer, "sgd", 3)) {
        v[key][i] = 0.5f * v[key][i] + g;
        *value -= 0.25f * v[key][i];
    }
}

static int differs(const char *optimizer, int key, int i)
{
    return strncmp(optimizer, "sgd", 3)
               ? y[key][i] != w[key][i]
               : fabsf(y[key][i] - w[key][i]) > 1e-6f * fabsf(w[key][i]) + 1e-6f;
}

/* A round in one call: each key twice, with a half of its data both times, and in two places afterwards. */
static void push_halves(const tutti_handle in[], const tutti_handle out[])
{
    static float half[KEYS][MOST], again[KEYS][MOST];
    tutti_handle halves[2 * KEYS], places[2 * KEYS];
    int keys[2 * KEYS];
    for (int n = 0; n < KEYS; n++) {
        int k = (n + tutti_kv_client(kv)) % KEYS;
        CHECK(!starpu_data_acquire(in[k], STARPU_R));
        for (int i = 0; i < sizes[k]; i++) half[k][i] = x[k][i] / 2;
        starpu_data_release(in[k]);
        keys[n] = keys[n + KEYS] = 10 * k;
        halves[n] = halves[n + KEYS] = vector(half[k], sizes[k]);
        places[n] = vector(again[k], sizes[k]);
        places[n + KEYS] = out[k];
    }
    CHECK(!tutti_kv_push_list(kv, 2 * KEYS, keys, halves));
    CHECK(!tutti_kv_pull_list(kv, 2 * KEYS, keys, places));
    CHECK(!tutti_kv_wait(kv, 60));
    for (int n = 0; n < KEYS; n++) {
        int k = keys[n] / 10;
        starpu_data_unregister(halves[n]);
        starpu_data_unregister(places[n]);
        CHECK(!starpu_data_acquire(out[k], STARPU_R));
        CHECK(!memcmp(again[k], y[k], (size_t)sizes[k] * sizeof(float)));
        starpu_data_release(out[k]);
    }
}

void run_sync(const char *optimizer)
{
    tutti_handle in[KEYS], out[KEYS];
    int whole = tutti_kv_workers(kv) > tutti_kv_clients(kv);
    memset(v, 0, sizeof v);
    CHECK(!tutti_kv_set_optimizer(kv, optimizer));
    for (int k = 0; k < KEYS; k++) {
        for (int i = 0; i < sizes[k]; i++) {
            w[k][i] = (float)(i % 13 + k);
            y[k][i] = tutti_kv_rank(kv) ? -1 : w[k][i];
        }
        in[k] = vector(x[k], sizes[k]);
        out[k] = vector(y[k], sizes[k]);
        CHECK(!tutti_kv_init(kv, 10 * k, out[k], TUTTI_F32));
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int k = 0; k < KEYS; k++) {
            CHECK(!starpu_data_acquire(in[k], STARPU_W));
            for (int i = 0; i < sizes[k]; i++)
                x[k][i] = pushed(tutti_kv_rank(kv), k, round, i, whole);
            starpu_data_release(in[k]);
        }
        if (round == ROUNDS - 1) push_halves(in, out);
        /* each client goes through the keys in an order of its own */
        for (int n = 0; n < KEYS && round < ROUNDS - 1; n++) {
            int k = (n + tutti_kv_client(kv)) % KEYS;
            if (round % 2) {
                CHECK(!tutti_kv_pushpull(kv, 10 * k, in[k], out[k]));
            } else {
                CHECK(!tutti_kv_push(kv, 10 * k, in[k]));
                CHECK(!tutti_kv_pull(kv, 10 * k, out[k]));
            }
        }
        CHECK(!tutti_kv_wait(kv, 60)); /* where collectives run, with the design sequential */
        for (int k = 0; k < KEYS; k++) {
            int wrong = 0;
            CHECK(!starpu_data_acquire(out[k], STARPU_R));
            for (int i = 0; i < sizes[k]; i++) {
                update(optimizer, k, i, sum_of(k, round, i, whole));
                wrong += differs(optimizer, k, i);
            }
            starpu_data_release(out[k]);
            CHECK(!wrong);
        }
    }
    CHECK(!tutti_kv_wait(kv, 60));
    for (int k = 0; k < KEYS; k++) {
        starpu_data_unregister(in[k]);
        starpu_data_unregister(out[k]);
    }
}

/* ---- a server dies ---- */

static void check_round(tutti_handle out, const float *have, int key, int round)
{
    int wrong = 0;
    CHECK(!starpu_data_acquire(out, STARPU_R));
    for (int i = 0; i < sizes[key]; i++) {
        w[key][i] += sum_of(key, round, i, 0);
        wrong += have[i] != w[key][i];
    }
    starpu_data_release(out);
    if (wrong) printf("round %d: key %d: %d elements are wrong\n", round, key, wrong);
    CHECK(!wrong);
}

/* What a round pushes does not wait for what the one before it pulls: who answers that late must not have forgotten
 * it. */
void run_survive(int rounds)
{
    static float z[2][KEYS][MOST];
    tutti_handle in[KEYS], out[2][KEYS];
    tutti_status status = tutti_kv_set_optimizer(kv, "add");
    for (int k = 0; k < KEYS; k++) {
        for (int i = 0; i < sizes[k]; i++) z[0][k][i] = w[k][i] = (float)(i % 13 + k);
        in[k] = vector(x[k], sizes[k]);
        out[0][k] = vector(z[0][k], sizes[k]);
        out[1][k] = vector(z[1][k], sizes[k]);
        if (!status) status = tutti_kv_init(kv, k, out[0][k], TUTTI_F32);
    }
    for (int round = 0; round <= rounds && !status; round++) {
        for (int k = 0; k < KEYS && round < rounds && !status; k++) {
            CHECK(!starpu_data_acquire(in[k], STARPU_W));
            for (int i = 0; i < sizes[k]; i++) x[k][i] = pushed(tutti_kv_rank(kv), k, round, i, 0);
            starpu_data_release(in[k]);
            status = tutti_kv_pushpull(kv, k, in[k], out[round % 2][k]);
        }
        for (int k = 0; k < KEYS && round > 0 && !status; k++)
            check_round(out[(round - 1) % 2][k], z[(round - 1) % 2][k], k, round - 1);
        if (round == 2) printf("stepping\n"), fflush(stdout);
        usleep(2000);
    }
    if (!status) status = tutti_kv_barrier(kv);
    CHECK(!status);
    if (status) printf("failed: %s: %s\n", tutti_status_name(status), tutti_last_error());
    for (int k = 0; k < KEYS; k++) {
        starpu_data_unregister(in[k]);
        starpu_data_unregister(out[0][k]);
        starpu_data_unregister(out[1][k]);
    }
}
