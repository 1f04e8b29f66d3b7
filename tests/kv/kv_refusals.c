/* Wrong arguments. */
#include "tests/kv/kv.h"

#include <math.h>
#include <string.h>

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

/* The last refusal names the function and the key. */
static int says(const char *function, const char *key)
{
    const char *sentence = tutti_last_error();
    return !strncmp(sentence, function, strlen(function)) && strstr(sentence, key);
}

/* Elements that are not of the key's type would be added up as other numbers. */
static void refuse_elements(tutti_handle floats)
{
    static float row[10];
    tutti_handle array, empty;
    starpu_variable_data_register(&array, STARPU_MAIN_RAM, (uintptr_t)row, sizeof row);
    starpu_vector_data_register(&empty, STARPU_MAIN_RAM, (uintptr_t)row, 0, sizeof *row);
    CHECK(tutti_kv_init(kv, 3, array, TUTTI_F32) == TUTTI_ERR_INVAL);
    CHECK(says("tutti_kv_init", "key 3"));
    CHECK(tutti_kv_init(kv, 3, floats, TUTTI_F64) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_init(kv, 3, empty, TUTTI_F32) == TUTTI_ERR_INVAL);
    CHECK(says("tutti_kv_init", "key 3"));
    CHECK(!tutti_kv_init(kv, 3, floats, TUTTI_F32));
    CHECK(tutti_kv_push(kv, 3, array) == TUTTI_ERR_INVAL);
    CHECK(says("tutti_kv_push", "key 3"));
    CHECK(tutti_kv_pull(kv, 3, array) == TUTTI_ERR_INVAL);
    CHECK(!tutti_kv_init(kv, 4, array, tutti_several(TUTTI_F32)));
    CHECK(!tutti_kv_push(kv, 4, array));
    CHECK(!tutti_kv_pull(kv, 4, array));
    CHECK(!tutti_kv_wait(kv, 60));
    starpu_data_unregister(array);
    starpu_data_unregister(empty);
}

void run_refusals(void)
{
    static double wide[10];
    tutti_handle a = vector(x[0], 10), b = vector(x[1], 11), c;
    starpu_vector_data_register(&c, STARPU_MAIN_RAM, (uintptr_t)wide, 10, sizeof *wide);
    CHECK(tutti_kv_init(kv, 0, a, TUTTI_U8) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_push(kv, 0, a) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_pull(kv, 0, a) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_serve(kv) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_set_optimizer(kv, "sgd") == TUTTI_ERR_USAGE);
    CHECK(tutti_kv_set_optimizer(kv, "sgd:rate=x") == TUTTI_ERR_USAGE);
    CHECK(tutti_kv_set_optimizer(kv, "sgd:rate=-1") == TUTTI_ERR_USAGE);
    CHECK(tutti_kv_set_optimizer(kv, "sgd:beta1=0.5,rate=1") == TUTTI_ERR_USAGE);
    CHECK(tutti_kv_set_optimizer(kv, "sgd:rate=1,momentum=1") == TUTTI_ERR_USAGE);
    CHECK(tutti_kv_set_optimizer(kv, "sgd:rate=1,nesterov=1") == TUTTI_ERR_USAGE);
    CHECK(tutti_kv_set_optimizer(kv, "adam:rate=1,beta2=1") == TUTTI_ERR_USAGE);
    CHECK(tutti_kv_set_optimizer(kv, "best") == TUTTI_ERR_USAGE);
    CHECK(tutti_kv_set_optimizer(kv, NULL) == TUTTI_ERR_INVAL);
    CHECK(!tutti_kv_set_optimizer(kv, "adam:rate=0.1,beta2=0.99"));
    CHECK(tutti_kv_set_rate(kv, -1) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_set_rate(kv, NAN) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_set_priority(kv, 0, 1) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_init(kv, -1, a, TUTTI_F32) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_init(kv, 0, a, TUTTI_I32) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_init(kv, 0, NULL, TUTTI_F32) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_init_elsewhere(kv, 0, 10, TUTTI_F32) == TUTTI_ERR_INVAL);
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
    refuse_elements(a);
    CHECK(!tutti_kv_wait(kv, 60));
    starpu_data_unregister(a);
    starpu_data_unregister(b);
    starpu_data_unregister(c);
}

/* The server has as many keys as it can have: the next one is not made. */
void run_crowded(void)
{
    tutti_handle one = vector(x[0], 1);
    int key = 0;
    tutti_status status = TUTTI_OK;
    while (!status && key < 10000) status = tutti_kv_init(kv, key++, one, TUTTI_F32);
    CHECK(status == TUTTI_ERR_UNSUPPORTED);
    CHECK(says("tutti_kv_init", "a server has at most"));
    CHECK(tutti_kv_push(kv, --key, one) == TUTTI_ERR_INVAL);
    CHECK(says("tutti_kv_push", "was not made: tutti_kv_init has failed"));
    CHECK(tutti_kv_pull(kv, key, one) == TUTTI_ERR_INVAL);
    CHECK(tutti_kv_set_priority(kv, key, 1) == TUTTI_ERR_INVAL);
    CHECK(!tutti_kv_push(kv, 0, one));
    CHECK(!tutti_kv_wait(kv, 60));
    starpu_data_unregister(one);
}

/* Worker 0 leaves without the key that the others make and push to. */
void run_missed(void)
{
    if (tutti_kv_rank(kv) == 0) return;
    tutti_handle a = vector(x[0], 10);
    CHECK(!tutti_kv_init(kv, 0, a, TUTTI_F32));
    CHECK(!tutti_kv_push(kv, 0, a));
    CHECK(tutti_kv_wait(kv, 60));
    starpu_data_unregister(a);
}

/* Worker 0 alone sets an optimizer: what the others push would be added at another rate. */
void run_partial(void)
{
    tutti_handle a = vector(x[0], 10);
    if (tutti_kv_rank(kv) == 0) CHECK(!tutti_kv_set_optimizer(kv, "sgd:rate=0.5"));
    CHECK(!tutti_kv_init(kv, 0, a, TUTTI_F32));
    tutti_status pushed = tutti_kv_push(kv, 0, a);
    CHECK(pushed || tutti_kv_wait(kv, 60));
    starpu_data_unregister(a);
}

/* The same without servers, where each worker updates the values: no key is made until they agree. */
void run_divided(void)
{
    tutti_handle a = vector(x[0], 10);
    CHECK(!tutti_kv_set_optimizer(kv, tutti_kv_rank(kv) == 1 ? "sgd:rate=0.25" : "sgd:rate=0.5"));
    CHECK(tutti_kv_init(kv, 0, a, TUTTI_F32) == TUTTI_ERR_MISMATCH);
    CHECK(says("tutti_kv_init", "worker 1 has another optimizer than worker 0"));
    CHECK(tutti_kv_push(kv, 0, a) == TUTTI_ERR_INVAL);
    CHECK(!tutti_kv_set_optimizer(kv, "sgd:rate=0.5"));
    CHECK(!tutti_kv_init(kv, 0, a, TUTTI_F32));
    CHECK(!tutti_kv_push(kv, 0, a));
    CHECK(!tutti_kv_wait(kv, 60));
    starpu_data_unregister(a);
}

static void make_two(tutti_handle two[2])
{
    for (int k = 0; k < 2; k++) {
        two[k] = vector(y[k], 10 + k);
        for (int i = 0; i < 12; i++) x[k][i] = 1, y[k][i] = 0;
    }
    CHECK(!tutti_kv_set_optimizer(kv, "add"));
    for (int k = 0; k < 2; k++) CHECK(!tutti_kv_init(kv, k, two[k], TUTTI_F32));
    CHECK(!tutti_kv_wait(kv, 60));
}

static int is_told(void)
{
    const char *stop = getenv("KV_STOP");
    return !stop || !access(stop, F_OK);
}

/* The two workers push different keys, once they are told to, so that neither sum is complete. */
void run_torn(void)
{
    tutti_handle two[2];
    const int key = tutti_kv_rank(kv) % 2;
    make_two(two);
    tutti_handle ones = vector(x[key], 10 + key);
    for (int times = 0; times < 6000 && !is_told(); times++) usleep(10000);
    printf("tearing\n"), fflush(stdout);
    CHECK(!tutti_kv_push(kv, key, ones));
    CHECK(!tutti_kv_wait(kv, 60));
    starpu_data_unregister(ones);
    for (int k = 0; k < 2; k++) starpu_data_unregister(two[k]);
}

/* No key has any of what was torn. */
void run_whole(void)
{
    tutti_handle two[2];
    make_two(two);
    printf("watching\n"), fflush(stdout);
    for (int times = 0; times < 60; times += is_told()) {
        for (int k = 0; k < 2; k++) CHECK(!tutti_kv_pull(kv, k, two[k]));
        CHECK(!tutti_kv_wait(kv, 60));
        for (int k = 0; k < 2; k++) {
            CHECK(!starpu_data_acquire(two[k], STARPU_R));
            CHECK(y[k][0] == 0);
            starpu_data_release(two[k]);
        }
        usleep(50000);
    }
    for (int k = 0; k < 2; k++) starpu_data_unregister(two[k]);
}

/* The server has left. */
void run_abandoned(void)
{
    tutti_handle a = vector(x[0], 10);
    CHECK(!tutti_kv_init(kv, 0, a, TUTTI_F32));
    CHECK(!tutti_kv_pull(kv, 0, a));
    CHECK(tutti_kv_wait(kv, (double)INFINITY) == TUTTI_ERR_COMM);
    starpu_data_unregister(a);
}
