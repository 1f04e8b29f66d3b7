/* A store of keys:   kv MODE SERVERS CLIENTS TYPE [OPTIMIZER]
 *
 *   sync       every worker pushes and pulls in rounds: the values of assign and add are the bits of an
 *              oracle that adds in the order of clients; those of sgd are as close as rounding permits
 *   counts     every worker pushes to the same keys as often as it likes, and pulls now and then: what is there in the
 *              end is what was pushed, to the last one
 *   leaving    clients push different numbers of times, and leave when they are done
 *   ahead      workers push and pull far ahead: the server says how much memory it has had
 *   waits      a worker waits for a pull while the workers of StarPU are busy
 *   urgent     a key that is more urgent than those that were pushed before it, while the server was stopped (between
 *              "ready" and "pushed"; the file KV_STOP says that it is): its value comes before theirs
 *   rare       worker 0 pushes rarely, and the others wait for it
 *   steps      the workers push and pull a key so many times (OPTIMIZER: how many), 20 ms each, and say so
 *   survive    rounds of sync, a round ahead of its pulls (OPTIMIZER: how many), while a server dies: every value has
 *              the bits of the oracle
 *   elastic    clients train alone, and meet the centre: each worker says what its client gave it (OPTIMIZER: steps),
 *              and what the centre has in the end
 *   perish     the same, but the worker dies in one more meeting, between the centre's answer and the difference
 *   refusals   wrong arguments, each of which is refused with a sentence
 *   differ     worker 1 sets another optimizer
 * Prints what is wrong. */
#include <math.h>
#include <signal.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/kv.h>
#include <unistd.h>

enum { KEYS = 3, ROUNDS = 4, MOST = 70001, WORKERS = 16 };
static const int sizes[KEYS] = {1, 1000, MOST}; /* the last has a part on every server */

static tutti_kv *kv;
static int failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (condition) break;                                                                      \
        printf("worker %d: line %d: %s\n", tutti_kv_rank(kv), __LINE__, #condition);               \
        failures++;                                                                                \
    } while (0)

static tutti_handle vector(float *x, int n)
{
    tutti_handle handle;
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)x, (uint32_t)n, sizeof *x);
    return handle;
}

/* What worker w pushes to element i of a key in a round. Integers add up to the same whatever the order; others do
 * not. */
static float pushed(int w, int key, int round, int i, int whole)
{
    int n = (w * 7 + key * 5 + round * 3 + i) % 101 + 1;
    return whole ? (float)n : 1.0f / (float)n;
}

static float x[KEYS][MOST], y[KEYS][MOST], v[KEYS][MOST], w_[KEYS][MOST];

/* ---- sync ---- */

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
    float *w = &w_[key][i];
    if (!strcmp(optimizer, "assign")) *w = g;
    if (!strcmp(optimizer, "add")) *w += g;
    if (!strncmp(optimizer, "sgd", 3)) {
        v[key][i] = 0.5f * v[key][i] + g;
        *w -= 0.25f * v[key][i];
    }
}

static int differs(const char *optimizer, int key, int i)
{
    return strncmp(optimizer, "sgd", 3)
               ? y[key][i] != w_[key][i]
               : fabsf(y[key][i] - w_[key][i]) > 1e-6f * fabsf(w_[key][i]) + 1e-6f;
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

static void run_sync(const char *optimizer)
{
    tutti_handle in[KEYS], out[KEYS];
    int whole = tutti_kv_workers(kv) > tutti_kv_clients(kv);
    memset(v, 0, sizeof v);
    CHECK(!tutti_kv_set_optimizer(kv, optimizer));
    for (int k = 0; k < KEYS; k++) {
        for (int i = 0; i < sizes[k]; i++) {
            w_[k][i] = (float)(i % 13 + k);
            y[k][i] = tutti_kv_rank(kv) ? -1 : w_[k][i];
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

/* ---- counts ---- */

static void run_counts(void)
{
    int rank = tutti_kv_rank(kv), size = tutti_kv_workers(kv) / tutti_kv_clients(kv);
    int times = 3 + 5 * (rank / size % 3); /* of a client */
    tutti_handle one[KEYS], all[KEYS];
    CHECK(!tutti_kv_set_optimizer(kv, "add"));
    for (int k = 0; k < KEYS; k++) {
        for (int i = 0; i < sizes[k]; i++) x[k][i] = 1, y[k][i] = 0;
        one[k] = vector(x[k], sizes[k]);
        all[k] = vector(y[k], sizes[k]);
        CHECK(!tutti_kv_init(kv, k, all[k], TUTTI_F32));
    }
    for (int t = 0; t < times; t++)
        for (int n = 0; n < KEYS; n++) {
            int k = (n + rank / size + t) % KEYS;
            CHECK(!tutti_kv_push(kv, k, one[k]));
            if (t % 2) CHECK(!tutti_kv_pull(kv, k, all[k]));
            if (t % 2 == 0 || n) continue;
            /* its own pushes are in what it gets */
            CHECK(!starpu_data_acquire(all[k], STARPU_R));
            CHECK(y[k][0] >= (float)(size * (t + 1)) &&
                  y[k][sizes[k] - 1] >= (float)(size * (t + 1)));
            starpu_data_release(all[k]);
        }
    /* a barrier, and then everything is there */
    for (int k = 0; k < KEYS; k++) CHECK(!tutti_kv_pull(kv, k, all[k]));
    CHECK(!tutti_kv_barrier(kv));
    float expected = 0;
    for (int c = 0; c < tutti_kv_clients(kv); c++) expected += (float)(size * (3 + 5 * (c % 3)));
    for (int k = 0; k < KEYS; k++) {
        CHECK(!tutti_kv_pull(kv, k, all[k]));
        CHECK(!starpu_data_acquire(all[k], STARPU_R));
        int wrong = 0;
        for (int i = 0; i < sizes[k]; i++) wrong += y[k][i] != expected;
        CHECK(!wrong);
        starpu_data_release(all[k]);
    }
    CHECK(!tutti_kv_wait(kv, 60));
    for (int k = 0; k < KEYS; k++) {
        starpu_data_unregister(one[k]);
        starpu_data_unregister(all[k]);
    }
}

/* Clients push different numbers of times, and leave when they are done: nobody waits for them. */
static void run_leaving(void)
{
    tutti_handle one = vector(x[0], 100), all = vector(y[0], 100);
    int times = 1 + 4 * tutti_kv_client(kv);
    for (int i = 0; i < 100; i++) x[0][i] = 1, y[0][i] = 0;
    CHECK(!tutti_kv_set_optimizer(kv, "add"));
    CHECK(!tutti_kv_init(kv, 0, all, TUTTI_F32));
    for (int t = 0; t < times; t++) CHECK(!tutti_kv_pushpull(kv, 0, one, all));
    CHECK(!tutti_kv_wait(kv, 60));
    starpu_data_unregister(one);
    starpu_data_unregister(all);
    CHECK(y[0][99] >= (float)times);
}

static long resident_kb(void)
{
    char line[128];
    long kb = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) sscanf(line, "VmHWM: %ld", &kb);
    if (file) fclose(file);
    return kb;
}

/* A worker that pushes and pulls far ahead of what the link carries takes no more memory of the server. */
static void run_ahead(void)
{
    enum { TIMES = 100 };
    tutti_handle one = vector(x[2], MOST), all = vector(y[2], MOST);
    for (int i = 0; i < MOST; i++) x[2][i] = 1, y[2][i] = 0;
    CHECK(!tutti_kv_set_optimizer(kv, "add"));
    CHECK(!tutti_kv_init(kv, 0, all, TUTTI_F32));
    for (int t = 0; t < TIMES; t++) {
        CHECK(!tutti_kv_push(kv, 0, one));
        CHECK(!tutti_kv_pull(kv, 0, all));
    }
    CHECK(!tutti_kv_wait(kv, 60));
    starpu_data_unregister(one);
    starpu_data_unregister(all);
    CHECK(y[2][MOST - 1] >= TIMES);
}

static void doze(void *buffers[], void *arg)
{
    (void)buffers, (void)arg;
    usleep(300000);
}

/* While all workers of StarPU are busy with something else, the parts of a large value come, but not to the data of the
 * pull: a wait waits for that, too. A small value needs no worker. */
static void run_waits(void)
{
    static struct starpu_codelet dozing = {.cpu_funcs = {doze}, .name = "doze"};
    tutti_handle one = vector(x[2], MOST), all = vector(y[2], MOST);
    tutti_handle little = vector(x[1], 1000), few = vector(y[1], 1000);
    for (int i = 0; i < MOST; i++) x[2][i] = 1, y[2][i] = 0;
    for (int i = 0; i < 1000; i++) x[1][i] = 1, y[1][i] = 0;
    CHECK(!tutti_kv_set_optimizer(kv, "add"));
    CHECK(!tutti_kv_init(kv, 0, all, TUTTI_F32));
    CHECK(!tutti_kv_init(kv, 1, few, TUTTI_F32));
    CHECK(!tutti_kv_push(kv, 0, one));
    CHECK(!tutti_kv_wait(kv, 60));
    CHECK(!starpu_task_wait_for_all());
    for (unsigned i = 0; i < starpu_cpu_worker_get_count(); i++)
        CHECK(!starpu_task_insert(&dozing, 0));
    CHECK(!tutti_kv_pushpull(kv, 1, little, few));
    CHECK(!tutti_kv_pull(kv, 0, all));
    CHECK(tutti_kv_wait(kv, 0) == TUTTI_ERR_TIMEOUT);
    CHECK(!tutti_kv_wait(kv, 60));
    CHECK(y[2][0] >= 1 && y[2][MOST - 1] >= 1);
    CHECK(y[1][0] >= 1 && y[1][999] >= 1);
    starpu_data_unregister(one);
    starpu_data_unregister(all);
    starpu_data_unregister(little);
    starpu_data_unregister(few);
}

/* ---- urgent ---- */

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

static void run_urgent(void)
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

/* Worker 0 pushes once, and again only after 6 s; the others wait for it meanwhile. */
static void run_rare(void)
{
    tutti_handle one = vector(x[0], 100), all = vector(y[0], 100);
    for (int i = 0; i < 100; i++) x[0][i] = 1, y[0][i] = 0;
    CHECK(!tutti_kv_init(kv, 0, all, TUTTI_F32));
    for (int t = 0; t < 4; t++) {
        if (t == 1 && tutti_kv_rank(kv) == 0) sleep(6);
        CHECK(!tutti_kv_pushpull(kv, 0, one, all));
        CHECK(!tutti_kv_wait(kv, 60));
    }
    starpu_data_unregister(one);
    starpu_data_unregister(all);
}

/* A worker of a run in which others die: it ends with the first failure. What it gets has at least its own pushes. */
static void run_steps(int times)
{
    tutti_handle one = vector(x[0], 100), all = vector(y[0], 100);
    tutti_status status;
    float first = 0;
    for (int i = 0; i < 100; i++) x[0][i] = 1, y[0][i] = 0;
    status = tutti_kv_set_optimizer(kv, "add");
    if (!status) status = tutti_kv_init(kv, 0, all, TUTTI_F32);
    if (!status) status = tutti_kv_wait(kv, 60);
    const char *stop = getenv("KV_STOP"); /* or until this file is there */
    for (int t = 0; t < times && !status && !(stop && !access(stop, F_OK)); t++) {
        CHECK(!starpu_data_acquire(all, STARPU_R));
        if (t == 0) first = y[0][0];
        starpu_data_release(all);
        status = tutti_kv_pushpull(kv, 0, one, all);
        if (!status) status = tutti_kv_wait(kv, 60);
        CHECK(!starpu_data_acquire(all, STARPU_R));
        if (!status) CHECK(y[0][99] >= first + (float)(t + 1));
        starpu_data_release(all);
        usleep(20000);
        if (t == 0) printf("stepping from %g\n", first), fflush(stdout);
    }
    CHECK(!status);
    if (status) printf("failed: %s: %s\n", tutti_status_name(status), tutti_last_error());
    starpu_data_unregister(one);
    starpu_data_unregister(all);
    printf("worker %d has %g\n", tutti_kv_rank(kv), y[0][0]);
}

/* ---- a server dies ---- */

static void check_round(tutti_handle out, const float *have, int key, int round)
{
    int wrong = 0;
    CHECK(!starpu_data_acquire(out, STARPU_R));
    for (int i = 0; i < sizes[key]; i++) {
        w_[key][i] += sum_of(key, round, i, 0);
        wrong += have[i] != w_[key][i];
    }
    starpu_data_release(out);
    if (wrong) printf("round %d: key %d: %d elements are wrong\n", round, key, wrong);
    CHECK(!wrong);
}

/* What a round pushes does not wait for what the one before it pulls: who answers that late must not have forgotten
 * it. */
static void run_survive(int rounds)
{
    static float z[2][KEYS][MOST];
    tutti_handle in[KEYS], out[2][KEYS];
    tutti_status status = tutti_kv_set_optimizer(kv, "add");
    for (int k = 0; k < KEYS; k++) {
        for (int i = 0; i < sizes[k]; i++) z[0][k][i] = w_[k][i] = (float)(i % 13 + k);
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

/* ---- elastic ---- */

/* Whole numbers, of which meetings with alpha=0.5 leave whole numbers 16 times, and sums are exact. */
enum { UNIT = 65536 };

static double sum_up(int key)
{
    double sum = 0;
    for (int i = 0; i < sizes[key]; i++) sum += (double)y[key][i];
    return sum;
}

/* What a client does between meetings; returns the sum of its weights. */
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
static void die_in_a_meeting(tutti_handle weights)
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

static void run_elastic(const char *type, int steps, int dies)
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
    if (dies) die_in_a_meeting(weights[0]);
    CHECK(!tutti_kv_barrier(kv));
    for (int k = 0; k < KEYS; k++) {
        CHECK(!tutti_kv_pull(kv, k, weights[k]));
        double gained = sum_when_here(k, weights[k]) - (double)(UNIT * (k + 1)) * sizes[k];
        printf("the centre got key %d %.0f\n", k, gained);
    }
    CHECK(!tutti_kv_wait(kv, 60));
    for (int k = 0; k < KEYS; k++) starpu_data_unregister(weights[k]);
}

/* ---- what is refused ---- */

/* What stands in front of the fault is not inserted either. */
static void refuse_lists(tutti_handle a, tutti_handle b)
{
    int64_t before, after;
    CHECK(!tutti_kv_bytes(kv, &before, NULL));
    CHECK(tutti_kv_push_list(kv, 0, (int[]){0}, &a) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_push_list(kv, 1, NULL, &a) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_push_list(kv, 1, (int[]){0}, NULL) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_pull_list(kv, 1, (int[]){0}, NULL) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_pushpull_list(kv, 1, (int[]){0}, &a, NULL) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_push_list(kv, 2, (int[]){0, 0}, (tutti_handle[]){a, b}) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_push_list(kv, 2, (int[]){0, 7}, (tutti_handle[]){a, a}) == TUTTI_ERR_INVAL);
    CHECK(!tutti_kv_bytes(kv, &after, NULL));
    CHECK(before == after);
}

static void run_refusals(void)
{
    static double wide[10];
    tutti_handle a = vector(x[0], 10), b = vector(x[1], 11), c;
    starpu_vector_data_register(&c, STARPU_MAIN_RAM, (uintptr_t)wide, 10, sizeof *wide);
    CHECK(tutti_kv_push(kv, 0, a) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_pull(kv, 0, a) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_serve(kv) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_set_optimizer(kv, "sgd") == TUTTI_ERR_USAGE);
    CHECK(tutti_kv_set_optimizer(kv, "sgd:rate=x") == TUTTI_ERR_USAGE);
    CHECK(tutti_kv_set_optimizer(kv, "sgd:rate=-1") == TUTTI_ERR_USAGE);
    CHECK(tutti_kv_set_optimizer(kv, "sgd:beta1=0.5,rate=1") == TUTTI_ERR_USAGE);
    CHECK(tutti_kv_set_optimizer(kv, "best") == TUTTI_ERR_USAGE);
    CHECK(tutti_kv_set_optimizer(kv, NULL) == TUTTI_ERR_INVAL);
    CHECK(!tutti_kv_set_optimizer(kv, "adam:rate=0.1,beta2=0.99"));
    CHECK(tutti_kv_set_rate(kv, -1) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_set_rate(kv, NAN) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_set_priority(kv, 0, 1) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_init(kv, -1, a, TUTTI_F32) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_init(kv, 0, a, TUTTI_I32) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_init(kv, 0, NULL, TUTTI_F32) == TUTTI_ERR_INVAL);
    CHECK(!tutti_kv_init(kv, 0, a, TUTTI_F32));
    CHECK(tutti_kv_init(kv, 0, a, TUTTI_F32) == TUTTI_ERR_INVAL);
    CHECK(!tutti_kv_set_priority(kv, 0, 1));
    CHECK(tutti_kv_set_optimizer(kv, "add") == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_push(kv, 0, b) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_push(kv, 0, c) == TUTTI_ERR_INVAL); /* of another type */
    CHECK(tutti_kv_pull(kv, 0, c) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_pull(kv, 0, b) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_pull(kv, 1, b) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_pushpull(kv, 0, a, b) == TUTTI_ERR_INVAL);
    refuse_lists(a, b);
    CHECK(!tutti_kv_wait(kv, 60));
    starpu_data_unregister(a);
    starpu_data_unregister(b);
    starpu_data_unregister(c);
}

static void work(const char *mode, const char *type, const char *optimizer)
{
    if (!strcmp(mode, "elastic")) run_elastic(type, atoi(optimizer), 0);
    if (!strcmp(mode, "perish")) run_elastic(type, atoi(optimizer), 1);
    if (!strcmp(mode, "sync")) run_sync(optimizer);
    if (!strcmp(mode, "counts")) run_counts();
    if (!strcmp(mode, "leaving")) run_leaving();
    if (!strcmp(mode, "ahead")) run_ahead();
    if (!strcmp(mode, "urgent")) run_urgent();
    if (!strcmp(mode, "rare")) run_rare();
    if (!strcmp(mode, "waits")) run_waits();
    if (!strcmp(mode, "survive")) run_survive(atoi(optimizer));
    if (!strcmp(mode, "steps")) run_steps(atoi(optimizer));
    if (!strcmp(mode, "refusals")) run_refusals();
    if (!strcmp(mode, "differ"))
        CHECK(!tutti_kv_set_optimizer(kv, tutti_kv_rank(kv) ? "add" : "assign"));
}

int main(int argc, char **argv)
{
    int level;
    struct starpu_conf conf;
    if (argc < 5) return 2;
    const char *mode = argv[1], *optimizer = argc > 5 ? argv[5] : "assign";
    const tutti_kv_options options = {
        .servers = atoi(argv[2]), .clients = atoi(argv[3]), .type = argv[4]};
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    starpu_conf_init(&conf);
    conf.ncuda = conf.nopencl = 0;
    if (starpu_init(&conf)) return 2;
    tutti_status status = tutti_kv_open(MPI_COMM_WORLD, &options, &kv);
    printf("open: %s\n", tutti_status_name(status));
    if (!status) {
        status = TUTTI_OK;
        if (tutti_kv_serves(kv))
            status = tutti_kv_serve(kv);
        else
            work(mode, argv[4], optimizer);
        if (tutti_kv_serves(kv)) printf("server: %ld kB\n", resident_kb());
        tutti_status closed = tutti_kv_close(kv);
        printf("%s, closed: %s\n", tutti_status_name(status), tutti_status_name(closed));
        if (!status) status = closed;
    }
    starpu_shutdown();
    MPI_Finalize();
    return failures || status ? 1 : 0;
}
