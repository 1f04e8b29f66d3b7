/* Remote buffers of the public header, on 3 ranks:   buffers MODE
 *
 *   works      rank 0 puts, rank 1 answers into another buffer, again and again; also in a group with
 *              other numbers, and with buffers that end while they travel. Prints how many messages came
 *              in place, and how many were copied
 *   lengths    the two ends have registered other counts
 *   refused    rank 1's call is refused, and rank 0 puts
 *   refusals   wrong arguments: nothing is inserted
 * Prints what each rank's calls return. */
#include "dag/base/clock.h"
#include "designs/attach/attach.h"
#include "designs/attach/attach_parts.h"

#include <stdio.h>
#include <string.h>

enum { COUNT = 5000, SMALL = 10, ROUNDS = 8, EDGE = 3, BACK = 4 };

static tutti_session *tutti;
static int rank, size, failures, wrong;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (condition) break;                                                                      \
        printf("rank %d: line %d: %s\n", rank, __LINE__, #condition);                              \
        failures++;                                                                                \
    } while (0)

static float value(int round, int i)
{
    return (float)(round * 1000 + i % 997 + 1);
}

/* ---- tasks ---- */

static void write_values(void *data[], void *arg)
{
    int round;
    starpu_codelet_unpack_args(arg, &round);
    float *x = (float *)STARPU_VECTOR_GET_PTR(data[0]);
    for (int i = 0; i < (int)STARPU_VECTOR_GET_NX(data[0]); i++) x[i] = value(round, i);
}

/* Late, so that a put that does not wait for it would be seen. */
static void compare_values(void *data[], void *arg)
{
    int round;
    starpu_codelet_unpack_args(arg, &round);
    const float *x = (const float *)STARPU_VECTOR_GET_PTR(data[0]);
    for (int look = 0; look < 2; look++, tutti_clock_sleep(2e-3))
        for (int i = 0; i < (int)STARPU_VECTOR_GET_NX(data[0]); i++)
            wrong += x[i] != (round < 0 ? 0 : value(round, i));
}

static struct starpu_codelet writes = {
    .cpu_funcs = {write_values}, .nbuffers = 1, .modes = {STARPU_W}};
static struct starpu_codelet compares = {
    .cpu_funcs = {compare_values}, .nbuffers = 1, .modes = {STARPU_R}};

static void submit(struct starpu_codelet *what, tutti_handle buffer, int round)
{
    CHECK(!starpu_task_insert(what, what == &writes ? STARPU_W : STARPU_R, buffer, STARPU_VALUE,
        &round, sizeof round, 0));
}

/* ---- works ---- */

/* Rank `first` of the session puts, the other one compares and answers. */
static void play(tutti_session *s, int first, int other, int count)
{
    const int self = tutti_rank(s), puts = self == first;
    tutti_handle there, back;
    if (self != first && self != other) return;
    CHECK(!tutti_register(s, TUTTI_F32, count, puts ? other : first, EDGE, &there));
    CHECK(!tutti_register(s, TUTTI_F32, count, puts ? other : first, BACK, &back));
    submit(&compares, there, -1);
    for (int round = 0; round < ROUNDS; round++) {
        if (puts) {
            submit(&writes, there, round);
            CHECK(!tutti_put(s, there));
            CHECK(!tutti_get(s, back));
            submit(&compares, back, round + 500);
        } else {
            CHECK(!tutti_get(s, there));
            submit(&compares, there, round);
            submit(&writes, back, round + 500);
            CHECK(!tutti_put(s, back));
        }
    }
    CHECK(!tutti_unregister(s, there));
    CHECK(!tutti_unregister(s, back));
}

/* What was put arrives, though its buffer has ended, and its memory is used again. */
static void end_early(void)
{
    tutti_handle buffer, later;
    if (rank > 1) return;
    CHECK(!tutti_register(tutti, TUTTI_F32, COUNT, !rank, EDGE, &buffer));
    if (rank) {
        tutti_clock_sleep(0.1);
        CHECK(!tutti_get(tutti, buffer));
        submit(&compares, buffer, 7);
        return; /* tutti_detach ends it */
    }
    submit(&writes, buffer, 7);
    CHECK(!tutti_put(tutti, buffer));
    CHECK(!tutti_unregister(tutti, buffer));
    CHECK(!tutti_register(tutti, TUTTI_F32, COUNT, !rank, EDGE, &later));
    submit(&compares, later, -1);
    submit(&writes, later, 8);
    CHECK(!tutti_unregister(tutti, later));
}

static void works(void)
{
    const int backwards[] = {2, 1, 0};
    tutti_session *group;
    play(tutti, 0, 1, COUNT);
    play(tutti, 1, 2, SMALL);
    CHECK(!tutti_group(tutti, 3, backwards, &group));
    play(group, 0, 2, COUNT); /* from rank 2 to rank 0 of all */
    end_early();
    CHECK(!tutti_wait(tutti, 60));
    CHECK(!wrong);
    tutti_exchange_counts counts;
    CHECK(!tutti_exchange_count(tutti->exchange, &counts));

    printf("rank %d: %d in place, %d copied\n", rank, (int)counts.received.placed,
        (int)counts.received.copied);
}

/* ---- what goes wrong ---- */

static tutti_status lengths(void)
{
    tutti_handle buffer;
    if (rank > 1) return tutti_wait(tutti, 20);
    CHECK(!tutti_register(tutti, TUTTI_F32, COUNT + rank, !rank, EDGE, &buffer));
    CHECK(!(rank ? tutti_get(tutti, buffer) : tutti_put(tutti, buffer)));
    return tutti_wait(tutti, 20);
}

static tutti_status refused(void)
{
    tutti_handle buffer;
    if (rank == 1) CHECK(tutti_register(tutti, TUTTI_F32, 0, 0, EDGE, &buffer) == TUTTI_ERR_INVAL);
    if (rank) return TUTTI_OK;
    CHECK(!tutti_register(tutti, TUTTI_F32, COUNT, 1, EDGE, &buffer));
    CHECK(!tutti_put(tutti, buffer));
    return tutti_wait(tutti, 20);
}

#define REFUSED(call) CHECK((call) == TUTTI_ERR_INVAL)

static void refusals(void)
{
    static float x[COUNT];
    const int all[] = {0, 1, 2}, other = (rank + 1) % size;
    tutti_handle buffer = NULL, plain;
    tutti_session *group;
    REFUSED(tutti_register(NULL, TUTTI_F32, 1, other, EDGE, &buffer));
    REFUSED(tutti_register(tutti, TUTTI_F32, 1, other, EDGE, NULL));
    REFUSED(tutti_register(tutti, (tutti_dtype)99, 1, other, EDGE, &buffer));
    REFUSED(tutti_register(tutti, tutti_several(TUTTI_F32), 1, other, EDGE, &buffer));
    REFUSED(tutti_register(tutti, TUTTI_F32, 0, other, EDGE, &buffer));
    REFUSED(tutti_register(tutti, TUTTI_F32, -1, other, EDGE, &buffer));
    REFUSED(tutti_register(tutti, TUTTI_F32, (int64_t)1 << 32, other, EDGE, &buffer));
    REFUSED(tutti_register(tutti, TUTTI_F32, 1, rank, EDGE, &buffer));
    REFUSED(tutti_register(tutti, TUTTI_F32, 1, size, EDGE, &buffer));
    REFUSED(tutti_register(tutti, TUTTI_F32, 1, -1, EDGE, &buffer));
    REFUSED(tutti_register(tutti, TUTTI_F32, 1, other, -1, &buffer));
    REFUSED(tutti_register(tutti, TUTTI_F32, 1, other, 1 << 20, &buffer));
    CHECK(!buffer);
    starpu_vector_data_register(&plain, STARPU_MAIN_RAM, (uintptr_t)x, COUNT, sizeof *x);
    REFUSED(tutti_put(tutti, plain));
    REFUSED(tutti_get(tutti, plain));
    REFUSED(tutti_unregister(tutti, plain));
    REFUSED(tutti_put(tutti, NULL));
    starpu_data_unregister(plain);
    CHECK(!tutti_register(tutti, TUTTI_F32, COUNT, other, EDGE, &buffer));
    CHECK(!tutti_group(tutti, 3, all, &group));
    REFUSED(tutti_put(group, buffer));
    CHECK(!tutti_unregister(tutti, buffer));
    REFUSED(tutti_get(tutti, buffer));
    REFUSED(tutti_unregister(tutti, buffer));
}

int main(int argc, char **argv)
{
    int granted;
    const char *mode = argc > 1 ? argv[1] : "";
    tutti_status status = TUTTI_OK;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
    if (tutti_start_starpu(NULL) || tutti_attach(MPI_COMM_WORLD, NULL, &tutti)) return 2;
    rank = tutti_rank(tutti);
    size = tutti_size(tutti);
    MPI_Barrier(MPI_COMM_WORLD); /* no rank is still about to attach */
    if (!strcmp(mode, "works"))
        works();
    else if (!strcmp(mode, "lengths"))
        status = lengths();
    else if (!strcmp(mode, "refused"))
        status = refused();
    else if (!strcmp(mode, "refusals"))
        refusals();
    else
        failures++;
    tutti_status left = tutti_detach(tutti);
    printf("rank %d: %s, then %s\n", rank, tutti_status_name(status), tutti_status_name(left));
    starpu_shutdown();
    MPI_Finalize();
    return failures > 0;
}
