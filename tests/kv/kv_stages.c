/* Clients that are pipelines: each stage has keys of its own. */
#include "tests/kv/kv.h"

enum { EACH = 2 /* keys of a stage: a small one, and one with a part on every server */ };

typedef struct place {
    int stages, stage;
    int client, replica, replicas; /* of the client */
} place;

static place find_place(int stages)
{
    const int rank = tutti_kv_rank(kv), size = tutti_kv_workers(kv) / tutti_kv_clients(kv);
    return (place){.stages = stages,
        .stage = rank % size % stages,
        .client = rank / size,
        .replica = rank % size / stages,
        .replicas = size / stages};
}

static float pushed(int client, int replica)
{
    return (float)(1 + replica + 10 * client);
}

/* What all clients push in a round. */
static float round_of(const place *p)
{
    float sum = 0;
    for (int c = 0; c < tutti_kv_clients(kv); c++)
        for (int r = 0; r < p->replicas; r++) sum += pushed(c, r);
    return sum;
}

static int count_of(int key, const place *p)
{
    return key < p->stages ? sizes[1] : MOST;
}

static void fill(tutti_handle data, int n, float value)
{
    CHECK(!starpu_data_acquire(data, STARPU_W));
    float *element = (float *)starpu_vector_get_local_ptr(data);
    for (int i = 0; i < n; i++) element[i] = value;
    starpu_data_release(data);
}

static void expect(tutti_handle data, int n, float value)
{
    int wrong = 0;
    CHECK(!starpu_data_acquire(data, STARPU_R));
    const float *element = (const float *)starpu_vector_get_local_ptr(data);
    for (int i = 0; i < n; i++) wrong += element[i] != value;
    starpu_data_release(data);
    CHECK(!wrong);
}

static void refuse(int key, tutti_handle data)
{
    CHECK(tutti_kv_push(kv, key, data) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_pull(kv, key, data) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_init_elsewhere(kv, key, 10, TUTTI_F32) == TUTTI_ERR_INVAL); /* it exists */
    CHECK(tutti_kv_init_elsewhere(kv, key + 100, 0, TUTTI_F32) == TUTTI_ERR_INVAL);
}

/* Of each client's first replica alone the first value counts: others have 0. value: of this stage's keys. */
static void make_keys(const place *p, tutti_handle value[EACH])
{
    for (int k = 0; k < EACH * p->stages; k++) {
        tutti_handle own = value[k / p->stages];
        const int n = count_of(k, p);
        if (k % p->stages != p->stage) {
            CHECK(!tutti_kv_init_elsewhere(kv, k, n, TUTTI_F32));
            refuse(k, own);
            continue;
        }
        fill(own, n, p->replica ? 0 : (float)(k + 1));
        CHECK(!tutti_kv_init(kv, k, own, TUTTI_F32));
        CHECK(!tutti_kv_wait(kv, 60));
        expect(own, n, (float)(k + 1));
    }
}

void run_stages(int stages)
{
    const place p = find_place(stages);
    tutti_handle value[EACH], gradient[EACH];
    for (int i = 0; i < EACH; i++) {
        value[i] = vector(y[i + 1], sizes[i + 1]);
        gradient[i] = vector(x[i + 1], sizes[i + 1]);
        fill(gradient[i], sizes[i + 1], pushed(p.client, p.replica));
    }
    CHECK(!tutti_kv_set_optimizer(kv, "add"));
    make_keys(&p, value);
    CHECK(!tutti_kv_set_priority(kv, p.stage, 1 + tutti_kv_rank(kv)));
    CHECK(!tutti_kv_set_priority(kv, (p.stage + 1) % stages, 1));
    for (int round = 1; round <= ROUNDS; round++) {
        for (int i = EACH - 1; i >= 0; i--)
            CHECK(!tutti_kv_push(kv, i * stages + p.stage, gradient[i]));
        for (int i = 0; i < EACH; i++) CHECK(!tutti_kv_pull(kv, i * stages + p.stage, value[i]));
        CHECK(!tutti_kv_wait(kv, 60));
        for (int i = 0; i < EACH; i++)
            expect(value[i], sizes[i + 1],
                (float)(i * stages + p.stage + 1) + (float)round * round_of(&p));
    }
    CHECK(!tutti_kv_barrier(kv));
    for (int i = 0; i < EACH; i++) {
        starpu_data_unregister(value[i]);
        starpu_data_unregister(gradient[i]);
    }
}
