/* Groups and messages of the public header:   groups MODE
 *
 *   works       overlapping groups whose calls each rank mixes in an order of its own, a ring of sends
 *               before receives, edges between neighbours in both directions; checks every element
 *   differ      rank 1 names other ranks than the others; then a group with a rank twice
 *   swapped     the ranks of a group make two calls on it in different orders
 *   lengths     a message of other lengths on its two sides
 *   lonely      the last rank expects a message that rank 0 never sends
 *   unheard     rank 0 sends a message that the last rank does not receive while it lives
 *   unsent      the last rank expects a message that rank 0 does not send while it lives
 *   ahead       the last rank expects messages that rank 0 does not send, and all wait for a sum behind one of them
 *   refusals    wrong arguments: nothing is inserted
 * Prints what each rank's calls return. */
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/starpu.h>
#include <unistd.h>

enum { COUNT = 3000, GROUPS = 4, ROUNDS = 6 };

static tutti_session *tutti, *group[GROUPS];
static int rank, size, failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (condition) break;                                                                      \
        printf("rank %d: line %d: %s\n", rank, __LINE__, #condition);                              \
        failures++;                                                                                \
    } while (0)

static tutti_handle vector(double *x, unsigned n)
{
    tutti_handle handle;
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)x, n, sizeof *x);
    return handle;
}

/* Group g: all ranks but g, backwards. A ring of them overlaps in every pair of ranks. */
static void make_groups(void)
{
    for (int g = 0; g < GROUPS; g++) {
        int of[64], n = 0;
        for (int r = size - 1; r >= 0 && n < 64; r--)
            if (r != g || size == 1) of[n++] = r;
        CHECK(!tutti_group(tutti, n, of, &group[g]));
        CHECK(!group[g] == (rank == g && size > 1));
        if (!group[g]) continue;
        CHECK(tutti_size(group[g]) == n);
        CHECK(of[tutti_rank(group[g])] == rank);
    }
}

static double group_x[ROUNDS][GROUPS][COUNT], group_y[GROUPS][COUNT];

/* Rank r begins with group r: no two ranks go through the groups in the same order. */
static void run_groups(void)
{
    tutti_handle x[ROUNDS][GROUPS], y[GROUPS];
    for (int g = 0; g < GROUPS; g++) y[g] = vector(group_y[g], COUNT);
    for (int i = 0; i < ROUNDS; i++)
        for (int k = 0; k < GROUPS; k++) {
            int g = (k + rank) % GROUPS;
            for (int j = 0; j < COUNT; j++) group_x[i][g][j] = rank + 10 * g + i + j % 7;
            x[i][g] = vector(group_x[i][g], COUNT);
            if (!group[g]) continue;
            CHECK(!tutti_allreduce(group[g], x[i][g], TUTTI_F64, TUTTI_SUM));
            int root = i % tutti_size(group[g]);
            if (tutti_rank(group[g]) == root)
                for (int j = 0; j < COUNT && i == 0; j++) group_y[g][j] = 100 * g + rank;
            if (i == 0) CHECK(!tutti_broadcast(group[g], y[g], TUTTI_F64, root));
        }
    CHECK(!tutti_wait(group[rank ? 0 : GROUPS - 1] ? group[rank ? 0 : GROUPS - 1] : tutti, 60));
    CHECK(!tutti_wait(tutti, 60));
    for (int i = 0; i < ROUNDS; i++)
        for (int g = 0; g < GROUPS; g++) {
            int n = group[g] ? tutti_size(group[g]) : 1;
            int ranks = size * (size - 1) / 2 - (size > 1 && g < size ? g : 0), wrong = 0;
            for (int j = 0; j < COUNT; j++) {
                double each = 10 * g + i + j % 7;
                wrong += group_x[i][g][j] != (group[g] ? n * each + ranks : each + rank);
            }
            CHECK(!wrong);
            starpu_data_unregister(x[i][g]);
        }
    for (int g = 0; g < GROUPS; g++) {
        int last = size - 1 - (g == size - 1 && size > 1); /* the group's rank 0 */
        CHECK(!group[g] || group_y[g][COUNT - 1] == 100 * g + last);
        starpu_data_unregister(y[g]);
    }
}

static double out[ROUNDS][COUNT], in[ROUNDS][COUNT], back[ROUNDS][COUNT];

/* Every rank sends to the right before it receives from the left; then sends to the left on the edge
 * of the same number, and on another, whose receives come in the opposite order. */
static void run_messages(void)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    tutti_handle o[ROUNDS], n[ROUNDS], b[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        for (int j = 0; j < COUNT; j++) out[i][j] = 1000 * rank + 10 * i + j % 3;
        o[i] = vector(out[i], COUNT);
        n[i] = vector(in[i], COUNT);
        b[i] = vector(back[i], COUNT);
        CHECK(!tutti_send(tutti, o[i], TUTTI_F64, right, 5));
    }
    for (int i = 0; i < ROUNDS; i++) CHECK(!tutti_send(tutti, o[i], TUTTI_F64, left, 5 + i % 2));
    for (int i = 0; i < ROUNDS; i++) CHECK(!tutti_recv(tutti, n[i], TUTTI_F64, left, 5));
    for (int i = 1; i < ROUNDS; i += 2) CHECK(!tutti_recv(tutti, b[i], TUTTI_F64, right, 6));
    for (int i = 0; i < ROUNDS; i += 2) CHECK(!tutti_recv(tutti, b[i], TUTTI_F64, right, 5));
    CHECK(!tutti_wait(tutti, 60));
    for (int i = 0; i < ROUNDS; i++) {
        int wrong = 0;
        for (int j = 0; j < COUNT; j++)
            wrong += in[i][j] != 1000 * left + 10 * i + j % 3 ||
                     back[i][j] != 1000 * right + 10 * i + j % 3;
        CHECK(!wrong);
        starpu_data_unregister(o[i]);
        starpu_data_unregister(n[i]);
        starpu_data_unregister(b[i]);
    }
}

static void works(void)
{
    make_groups();
    run_groups();
    if (size > 2) run_messages();
}

static void differ(void)
{
    int of[2] = {0, rank == 1 ? 1 : 2}, twice[2] = {0, 0};
    tutti_session *none = tutti;
    tutti_status status = tutti_group(tutti, 2, of, &none);
    printf("rank %d: %s\n", rank, tutti_status_name(status));
    status = tutti_group(tutti, 2, twice, &none);
    printf("rank %d: %s\n", rank, tutti_status_name(status));
    CHECK(none == tutti);
    CHECK(!tutti_barrier(tutti, NULL));
}

static tutti_status swapped(void)
{
    tutti_session *pair;
    int of[3] = {2, 0, 1};
    tutti_handle a = vector(out[0], COUNT), b = vector(out[1], COUNT);
    tutti_name(tutti, a, "a");
    tutti_name(tutti, b, "b");
    CHECK(!tutti_group(tutti, 3, of, &pair));
    CHECK(!tutti_allreduce(pair, rank == 1 ? b : a, TUTTI_F64, TUTTI_SUM));
    CHECK(!tutti_allreduce(pair, rank == 1 ? a : b, TUTTI_F64, TUTTI_SUM));
    tutti_status status = tutti_wait(tutti, 30);
    starpu_data_unregister(a);
    starpu_data_unregister(b);
    return status;
}

static tutti_status lengths(void)
{
    tutti_handle a = vector(out[0], COUNT - 10 * (rank == 1));
    if (rank == 0) CHECK(!tutti_send(tutti, a, TUTTI_F64, 1, 9));
    if (rank == 1) CHECK(!tutti_recv(tutti, a, TUTTI_F64, 0, 9));
    tutti_status status = tutti_wait(tutti, 30);
    starpu_data_unregister(a);
    return status;
}

static tutti_status lonely(void)
{
    tutti_handle a = vector(out[0], COUNT);
    if (rank == size - 1) CHECK(!tutti_recv(tutti, a, TUTTI_F64, 0, 4));
    tutti_status status = rank == size - 1 ? tutti_wait(tutti, 30) : TUTTI_OK;
    starpu_data_unregister(a);
    return status;
}

/* A message with one of its ends: that rank waits for a while, then ends all; the others live on until then. What
 * a sends is too long to leave before it is received, so that a would be waited for without end. */
static tutti_status one_end(int sends)
{
    tutti_handle a = vector(out[0], COUNT);
    tutti_name(tutti, a, "a");
    if (rank != (sends ? 0 : size - 1)) sleep(60);
    if (sends)
        CHECK(!tutti_send(tutti, a, TUTTI_F64, size - 1, 7));
    else
        CHECK(!tutti_recv(tutti, a, TUTTI_F64, 0, 8));
    tutti_status status = tutti_wait(tutti, 3);
    MPI_Abort(MPI_COMM_WORLD, 3);
    return status;
}

/* The sum waits for the tenth message, but the first is the one that is missing. */
static tutti_status ahead(void)
{
    enum { MESSAGES = 20, EACH = 8, BEHIND = 10 };
    tutti_handle of[MESSAGES];
    for (int i = 0; i < MESSAGES; i++) {
        of[i] = vector(&out[0][i * EACH], EACH);
        if (rank == size - 1) CHECK(!tutti_recv(tutti, of[i], TUTTI_F64, 0, 5));
    }
    CHECK(!tutti_allreduce(tutti, of[BEHIND], TUTTI_F64, TUTTI_SUM));
    tutti_status status = tutti_wait(tutti, 3);
    CHECK(status == TUTTI_ERR_TIMEOUT);
    printf("rank %d: %s\n", rank, tutti_last_error());
    fflush(stdout);
    sleep(2);
    MPI_Abort(MPI_COMM_WORLD, 3);
    return status;
}

static void refusals(void)
{
    tutti_handle a = vector(out[0], COUNT), b = vector(in[0], COUNT);
    tutti_session *all;
    int of[64], peer = (rank + 1) % size;
    for (int r = 0; r < size && r < 64; r++) of[r] = r;
    CHECK(!tutti_group(tutti, size, of, &all));
    CHECK(tutti_group(all, size, of, &all) == TUTTI_ERR_INVAL);
    CHECK(tutti_group(tutti, size, of, NULL) == TUTTI_ERR_INVAL);
    CHECK(tutti_group(tutti, size + 1, of, &all) == TUTTI_ERR_INVAL);
    CHECK(tutti_group(tutti, 0, NULL, &all) == TUTTI_ERR_INVAL);
    CHECK(tutti_detach(all) == TUTTI_ERR_INVAL);
    CHECK(tutti_priority(all, a, 1) == TUTTI_ERR_INVAL);
    CHECK(tutti_trace_begin(all, "x") == TUTTI_ERR_INVAL);
    CHECK(tutti_allreduce(NULL, a, TUTTI_F64, TUTTI_SUM) == TUTTI_ERR_INVAL);
    CHECK(tutti_broadcast(all, a, TUTTI_F64, size) == TUTTI_ERR_INVAL);
    CHECK(tutti_send(tutti, a, TUTTI_F64, size, 0) == TUTTI_ERR_INVAL);
    CHECK(tutti_send(tutti, a, TUTTI_F64, rank, 0) == TUTTI_ERR_INVAL);
    CHECK(tutti_recv(tutti, a, TUTTI_F64, peer, -1) == TUTTI_ERR_INVAL);
    CHECK(tutti_recv(tutti, a, TUTTI_F64, peer, 1 << 20) == TUTTI_ERR_INVAL);
    CHECK(tutti_recv(tutti, NULL, TUTTI_F64, peer, 0) == TUTTI_ERR_INVAL);
    CHECK(tutti_send(all, a, TUTTI_F32, peer, 0) == TUTTI_ERR_INVAL);
    CHECK(tutti_sendrecv(tutti, a, peer, a, peer, TUTTI_F64, 0) == TUTTI_ERR_INVAL);
    CHECK(!tutti_sendrecv(all, a, peer, b, (rank + size - 1) % size, TUTTI_F64, 0));
    CHECK(!tutti_wait(all, 30));
    starpu_data_unregister(a);
    starpu_data_unregister(b);
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
    MPI_Barrier(MPI_COMM_WORLD); /* a rank that is still about to attach would be told of the others' mistakes there */
    if (!strcmp(mode, "works"))
        works();
    else if (!strcmp(mode, "differ"))
        differ();
    else if (!strcmp(mode, "swapped"))
        status = swapped();
    else if (!strcmp(mode, "lengths"))
        status = lengths();
    else if (!strcmp(mode, "lonely"))
        status = lonely();
    else if (!strcmp(mode, "unheard"))
        status = one_end(1);
    else if (!strcmp(mode, "unsent"))
        status = one_end(0);
    else if (!strcmp(mode, "ahead"))
        status = ahead();
    else if (!strcmp(mode, "refusals"))
        refusals();
    else
        failures++;
    tutti_status left = tutti_detach(tutti);
    printf("rank %d: %s, then %s\n", rank, tutti_status_name(status), tutti_status_name(left));
    CHECK(!group[0] || tutti_size(group[0]) == -1); /* gone with its session */
    starpu_shutdown();
    MPI_Finalize();
    return failures > 0;
}
