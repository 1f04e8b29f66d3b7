/* Workers that push and pull as often as they like. */
#include "tests/kv/kv.h"

void run_counts(void)
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
void run_leaving(void)
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

/* A worker that pushes and pulls far ahead of what the connection carries takes no more memory of the server. */
void run_ahead(void)
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
void run_waits(void)
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

/* Worker 0 pushes once, and again only after 6 s; the others wait for it meanwhile. */
void run_rare(void)
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
void run_steps(const char *type, int times)
{
    tutti_handle one = vector(x[0], 100), all = vector(y[0], 100);
    tutti_status status;
    float first = 0;
    for (int i = 0; i < 100; i++) x[0][i] = 1, y[0][i] = 0;
    int elastic = !strncmp(type, "elastic", 7);
    status = elastic ? TUTTI_OK : tutti_kv_set_optimizer(kv, "add");
    if (!status) status = tutti_kv_init(kv, 0, all, TUTTI_F32);
    if (!status) status = tutti_kv_wait(kv, 60);
    const char *stop = getenv("KV_STOP"); /* or until this file is there */
    for (int t = 0; t < times && !status && !(stop && !access(stop, F_OK)); t++) {
        CHECK(!starpu_data_acquire(all, STARPU_R));
        if (t == 0) first = y[0][0];
        starpu_data_release(all);
        status = tutti_kv_pushpull(kv, 0, elastic ? all : one, all);
        if (!status) status = tutti_kv_wait(kv, 60);
        CHECK(!starpu_data_acquire(all, STARPU_R));
        if (!status && !elastic) CHECK(y[0][99] >= first + (float)(t + 1));
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

void run_wide(const char *type)
{
    tutti_handle all = vector(y[0], 200);
    tutti_status status =
        strncmp(type, "elastic", 7) ? tutti_kv_set_optimizer(kv, "add") : TUTTI_OK;
    if (!status) status = tutti_kv_init(kv, 0, all, TUTTI_F32);
    if (!status) status = tutti_kv_wait(kv, 60);
    CHECK(status == TUTTI_ERR_MISMATCH);
    starpu_data_unregister(all);
}
