/* Every wrong argument that a program can pass to the public calls, on all ranks: each call returns an error, and
 * the session goes on.
 *
 *     arguments DESIGN    every call; exit status 0 if each returned the expected status
 *     arguments stays     two sessions are open when MPI_Finalize is called
 *     arguments refused   the last rank's options are wrong, the others' right: nobody attaches */
#include <limits.h>
#include <math.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/kv.h>
#include <tutti/starpu.h>

enum { LENGTH = 12, PARTS = 3 };

static int failures;

static void expect(int line, tutti_status wanted, tutti_status got)
{
    if (got == wanted) return;
    printf("line %d: %s instead of %s\n", line, tutti_status_name(got), tutti_status_name(wanted));
    failures++;
}
#define IS(wanted, call) expect(__LINE__, wanted, call)
#define INVAL(call) expect(__LINE__, TUTTI_ERR_INVAL, call)
#define GOOD(call) expect(__LINE__, TUTTI_OK, call)

static starpu_data_handle_t vector(void *data, int length, size_t element)
{
    starpu_data_handle_t h;
    int home = data ? STARPU_MAIN_RAM : -1;
    starpu_vector_data_register(&h, home, (uintptr_t)data, (uint32_t)length, element);
    return h;
}

/* ---- attaching ---- */

static tutti_status attach_with(tutti_attach_options options)
{
    tutti_session *session;
    tutti_status status = tutti_attach(MPI_COMM_WORLD, &options, &session);
    if (!status) tutti_detach(session);
    return status;
}

static void refuse_options(void)
{
    tutti_session *session;
    INVAL(tutti_attach(MPI_COMM_WORLD, NULL, NULL));
    INVAL(tutti_attach(MPI_COMM_NULL, NULL, &session));
    IS(TUTTI_ERR_USAGE, attach_with((tutti_attach_options){.design = "best"}));
    IS(TUTTI_ERR_USAGE, attach_with((tutti_attach_options){.design = "naive"}));
    IS(TUTTI_ERR_USAGE, attach_with((tutti_attach_options){.algorithm = "best"}));
    IS(TUTTI_ERR_USAGE, attach_with((tutti_attach_options){.verify = "maybe"}));
    IS(TUTTI_ERR_USAGE, attach_with((tutti_attach_options){.design = "concurrent", .lanes = -1}));
    IS(TUTTI_ERR_USAGE, attach_with((tutti_attach_options){.design = "concurrent", .lanes = 1025}));
    IS(TUTTI_ERR_USAGE, attach_with((tutti_attach_options){.design = "funneled", .lanes = 2}));
    IS(TUTTI_ERR_USAGE, attach_with((tutti_attach_options){.stall_warn_s = NAN}));
    IS(TUTTI_ERR_USAGE, attach_with((tutti_attach_options){.stall_abort_s = INFINITY}));
    IS(TUTTI_ERR_USAGE, attach_with((tutti_attach_options){.stall_warn_s = 9, .stall_dump_s = 8}));
    IS(TUTTI_ERR_USAGE, attach_with((tutti_attach_options){.setup_timeout_s = -1}));
    IS(TUTTI_ERR_USAGE, attach_with((tutti_attach_options){.chunk_mb = NAN}));
    IS(TUTTI_ERR_USAGE, attach_with((tutti_attach_options){.chunk_mb = 2e6}));
    GOOD(attach_with((tutti_attach_options){.chunk_mb = -1}));
    GOOD(attach_with((tutti_attach_options){.stall_warn_s = -1, .stall_abort_s = -INFINITY}));
}

static tutti_status attach_sized(const void *options, size_t bytes)
{
    tutti_session *session;
    tutti_status status = tutti_attach_sized(MPI_COMM_WORLD, options, bytes, &session);
    if (!status) status = tutti_detach(session);
    return status;
}

/* A field that is set hides its variable, whatever that holds; one that is not set takes it. */
static void hide_variables(void)
{
    static const struct {
        const char *variable, *value;
        tutti_attach_options hides, other;
    } rows[] = {
        {"TUTTI_DESIGN", "auto", {.design = "chained"}, {.verify = "on"}},
        {"TUTTI_ALGORITHM", "best", {.algorithm = "ring"}, {.design = "chained"}},
        {"TUTTI_VERIFY", "", {.verify = "off"}, {.design = "chained"}},
        {"TUTTI_LANES", "many", {.design = "concurrent", .lanes = 2}, {.design = "concurrent"}},
        {"TUTTI_CHUNK_MB", "1x", {.chunk_mb = -1}, {.lanes = 1}},
        {"TUTTI_STALL_WARN", "nan", {.stall_warn_s = -1}, {.stall_dump_s = 10}},
        {"TUTTI_STALL_DUMP", "5x", {.stall_dump_s = 9}, {.stall_warn_s = 5}},
        {"TUTTI_STALL_ABORT", "-1", {.stall_abort_s = 30}, {.stall_warn_s = 5}},
        {"TUTTI_SETUP_TIMEOUT", "0", {.setup_timeout_s = 60}, {.stall_warn_s = 5}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        setenv(rows[i].variable, rows[i].value, 1);
        tutti_status hidden = attach_with(rows[i].hides), seen = attach_with(rows[i].other);
        if (hidden || !strstr(tutti_last_error(), rows[i].variable)) {
            printf("%s: %s, %s\n", rows[i].variable, tutti_status_name(hidden), tutti_last_error());
            failures++;
        }
        IS(TUTTI_ERR_USAGE, seen);
        unsetenv(rows[i].variable);
    }
}

static tutti_status open_store_sized(const tutti_attach_options *attach, size_t attach_bytes)
{
    const tutti_kv_options options = {.attach = attach};
    tutti_kv *kv;
    tutti_status status =
        tutti_kv_open_sized(MPI_COMM_WORLD, &options, sizeof options, attach_bytes, &kv);
    if (!status) status = tutti_kv_close(kv);
    return status;
}

/* Programs compiled with headers of another version. */
static void refuse_sizes(void)
{
    struct {
        tutti_attach_options known;
        double later[2];
    } options = {.known.design = "chained"};
    GOOD(attach_sized(&options, sizeof options.known));
    GOOD(attach_sized(&options, sizeof options));
    GOOD(attach_sized(NULL, 0));
    options.later[1] = 3;
    GOOD(attach_sized(&options, sizeof options.known));
    IS(TUTTI_ERR_USAGE, attach_sized(&options, sizeof options));
    if (!strstr(tutti_last_error(), "headers of a later Tutti")) failures++;
    IS(TUTTI_ERR_USAGE, attach_sized(&options, 0));
    IS(TUTTI_ERR_USAGE, attach_sized(&options, (size_t)(uintptr_t)&options));
    if (!strstr(tutti_last_error(), "pass sizeof(tutti_attach_options)")) failures++;
    GOOD(open_store_sized(NULL, 0));
    GOOD(open_store_sized(&options.known, sizeof options.known));
    IS(TUTTI_ERR_USAGE, open_store_sized(&options.known, sizeof options));
    if (!strstr(tutti_last_error(), "tutti_kv_open: the program was compiled")) failures++;
    IS(TUTTI_ERR_USAGE, open_store_sized(&options.known, 0));
    if (!strstr(tutti_last_error(), "pass sizeof(tutti_attach_options)")) failures++;
}

/* ---- collectives ---- */

static void refuse_enums(tutti_session *tutti, starpu_data_handle_t good)
{
    static const int bad[] = {-1, TUTTI_DTYPE_COUNT, 17, INT_MAX, INT_MIN};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        INVAL(tutti_allreduce(tutti, good, (tutti_dtype)bad[i], TUTTI_SUM));
        INVAL(tutti_broadcast(tutti, good, (tutti_dtype)bad[i], 0));
        INVAL(tutti_allgather(tutti, good, good, (tutti_dtype)bad[i]));
        INVAL(tutti_allreduce(tutti, good, TUTTI_F64, (tutti_reduce_op)bad[i]));
        INVAL(tutti_reduce(tutti, good, TUTTI_F64, (tutti_reduce_op)bad[i], 0));
        INVAL(tutti_reduce_scatter(tutti, good, TUTTI_F64, (tutti_reduce_op)bad[i]));
    }
    INVAL(tutti_broadcast(tutti, good, TUTTI_F64, tutti_size(tutti)));
    INVAL(tutti_broadcast(tutti, good, TUTTI_F64, -1));
    INVAL(tutti_reduce(tutti, good, TUTTI_F64, TUTTI_SUM, INT_MAX));
}

/* The last refusal names the function, and this. */
static void says(int line, const char *function, const char *what)
{
    const char *sentence = tutti_last_error();
    if (!strncmp(sentence, function, strlen(function)) && strstr(sentence, what)) return;
    printf("line %d: \"%s\" says nothing of %s: %s\n", line, sentence, function, what);
    failures++;
}
#define SAYS(function, what) says(__LINE__, function, what)

/* Elements of another size than the type's, of every interface. */
static void refuse_elements(tutti_session *tutti)
{
    static double room[64];
    static const struct {
        size_t bytes;
        tutti_dtype dtype;
        int several; /* values in each element; 0: none */
    } rows[] = {{8, TUTTI_F32, 2}, {16, TUTTI_F64, 2}, {24, TUTTI_F64, 3}, {4, TUTTI_I16, 2},
        {2, TUTTI_I8, 2}, {16, TUTTI_C64, 2}, {4, TUTTI_F64, 0}, {12, TUTTI_F64, 0},
        {7, TUTTI_F32, 0}, {1, TUTTI_BF16, 0}};
    const uintptr_t at = (uintptr_t)room;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        starpu_data_handle_t of[4];
        size_t bytes = rows[i].bytes;
        tutti_dtype dtype = rows[i].dtype, several = tutti_several(dtype);
        starpu_variable_data_register(&of[0], STARPU_MAIN_RAM, at, bytes);
        starpu_vector_data_register(&of[1], STARPU_MAIN_RAM, at, 4, bytes);
        starpu_matrix_data_register(&of[2], STARPU_MAIN_RAM, at, 2, 2, 2, bytes);
        starpu_block_data_register(&of[3], STARPU_MAIN_RAM, at, 2, 4, 2, 2, 1, bytes);
        for (int h = 0; h < 4; h++) {
            static const char *const kinds[] = {"variable", "vector", "matrix", "block"};
            INVAL(tutti_allreduce(tutti, of[h], dtype, TUTTI_SUM));
            SAYS("tutti_allreduce", kinds[h]);
            if (rows[i].several) SAYS("tutti_allreduce", "tutti_several(TUTTI_");
            INVAL(tutti_broadcast(tutti, of[h], dtype, 0));
            SAYS("tutti_broadcast", kinds[h]);
            if (rows[i].several)
                GOOD(tutti_broadcast(tutti, of[h], several, 0));
            else
                INVAL(tutti_broadcast(tutti, of[h], several, 0));
        }
        GOOD(tutti_wait(tutti, 30));
        for (int h = 0; h < 4; h++) starpu_data_unregister(of[h]);
    }
    uint32_t columns[2] = {0, 1}, begins[3] = {0, 1, 2};
    starpu_data_handle_t sparse[4];
    starpu_csr_data_register(
        &sparse[0], STARPU_MAIN_RAM, 2, 2, at, columns, begins, 0, sizeof(double));
    starpu_bcsr_data_register(
        &sparse[1], STARPU_MAIN_RAM, 2, 2, at, columns, begins, 0, 1, 1, sizeof(double));
    starpu_coo_data_register(
        &sparse[2], STARPU_MAIN_RAM, 2, 2, 2, columns, columns, at, sizeof(double));
    starpu_void_data_register(&sparse[3]);
    for (int h = 0; h < 4; h++) {
        INVAL(tutti_allreduce(tutti, sparse[h], TUTTI_F64, TUTTI_SUM));
        SAYS("tutti_allreduce", "not a vector");
        INVAL(tutti_broadcast(tutti, sparse[h], TUTTI_U8, 0));
        starpu_data_unregister(sparse[h]);
    }
}

/* Leading dimensions: refused if anything lies between the elements, taken if nothing does. */
static void refuse_gaps(tutti_session *tutti)
{
    static double room[64];
    static const struct {
        uint32_t ldy, ldz, nx, ny, nz;
        int good;
    } rows[] = {{4, 0, 4, 2, 0, 1}, {5, 0, 4, 2, 0, 0}, {9, 0, 4, 1, 0, 1}, {2, 4, 2, 2, 2, 1},
        {3, 6, 2, 2, 2, 0}, {2, 5, 2, 2, 2, 0}, {2, 9, 2, 2, 1, 1},
        {9, 9, 4, 1, 2, 0}}; /* StarPU 1.4 itself ends a program whose rows overlap */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        starpu_data_handle_t handle;
        const uintptr_t at = (uintptr_t)room;
        uint32_t ldy = rows[i].ldy, ldz = rows[i].ldz, nx = rows[i].nx, ny = rows[i].ny;
        if (rows[i].nz)
            starpu_block_data_register(
                &handle, STARPU_MAIN_RAM, at, ldy, ldz, nx, ny, rows[i].nz, sizeof(double));
        else
            starpu_matrix_data_register(&handle, STARPU_MAIN_RAM, at, ldy, nx, ny, sizeof(double));
        IS(rows[i].good ? TUTTI_OK : TUTTI_ERR_INVAL,
            tutti_allreduce(tutti, handle, TUTTI_F64, TUTTI_SUM));
        if (!rows[i].good) SAYS("tutti_allreduce", "has gaps");
        GOOD(tutti_wait(tutti, 30));
        starpu_data_unregister(handle);
    }
}

/* What is wrong with messages and groups is said with the name of the function. */
static void refuse_ranks(tutti_session *tutti, starpu_data_handle_t good)
{
    int rank = tutti_rank(tutti), size = tutti_size(tutti), next = (rank + 1) % size;
    int twice[] = {0, 0}, beyond[] = {0, size};
    tutti_session *group;
    INVAL(tutti_send(tutti, good, TUTTI_F64, next, 1 << 20));
    SAYS("tutti_send", size > 1 ? "edge 1048576" : "itself");
    INVAL(tutti_recv(tutti, good, TUTTI_F64, next, -1));
    SAYS("tutti_recv", size > 1 ? "edge -1" : "itself");
    INVAL(tutti_send(tutti, good, TUTTI_F64, rank, 0));
    SAYS("tutti_send", "itself");
    INVAL(tutti_sendrecv(tutti, good, rank, good, rank, TUTTI_F64, 0));
    SAYS("tutti_sendrecv", "itself");
    INVAL(tutti_recv(tutti, good, TUTTI_F64, size, 0));
    SAYS("tutti_recv", "of");
    INVAL(tutti_group(tutti, 0, twice, &group));
    SAYS("tutti_group", "a group of 0");
    INVAL(tutti_group(tutti, size > 1 ? 2 : 1, NULL, &group));
    SAYS("tutti_group", "NULL");
    if (size == 1) return;
    INVAL(tutti_group(tutti, 2, twice, &group));
    SAYS("tutti_group", "rank 0");
    INVAL(tutti_group(tutti, 2, beyond, &group));
    SAYS("tutti_group", "rank");
    /* as MPI_Comm_split would be called */
    IS(TUTTI_ERR_MISMATCH, tutti_group(tutti, 1, &rank, &group));
    SAYS("tutti_group", "all ranks must make all groups");
}

static void refuse_handles(tutti_session *tutti, starpu_data_handle_t good)
{
    static double data[LENGTH];
    starpu_data_handle_t other, temporary = vector(NULL, LENGTH, sizeof(double));
    INVAL(tutti_allreduce(tutti, NULL, TUTTI_F64, TUTTI_SUM));
    INVAL(tutti_name(tutti, NULL, "nothing"));
    INVAL(tutti_allreduce(tutti, good, TUTTI_F32, TUTTI_SUM)); /* elements of half the size */
    INVAL(tutti_allreduce(tutti, good, TUTTI_U8, TUTTI_SUM));
    INVAL(tutti_allgather(tutti, temporary, good, TUTTI_F64));
    INVAL(tutti_allgather(tutti, good, temporary, TUTTI_F64));
    INVAL(tutti_allreduce(tutti, temporary, TUTTI_F64, TUTTI_SUM)); /* was never written */
    INVAL(tutti_allreduce(tutti, temporary, TUTTI_F64, TUTTI_SUM)); /* still unwritten */
    starpu_data_unregister(temporary);
    refuse_elements(tutti);
    refuse_gaps(tutti);
    other = vector(data, LENGTH, sizeof *data);
    struct starpu_data_filter parts = {
        .filter_func = starpu_vector_filter_block, .nchildren = PARTS};
    starpu_data_partition(other, &parts);
    INVAL(tutti_allreduce(tutti, other, TUTTI_F64, TUTTI_SUM));
    for (int i = 0; i < PARTS; i++)
        GOOD(tutti_allreduce(tutti, starpu_data_get_sub_data(other, 1, i), TUTTI_F64, TUTTI_SUM));
    GOOD(tutti_wait(tutti, 30));
    starpu_data_unpartition(other, STARPU_MAIN_RAM);
    starpu_data_unregister(other);
}

static void refuse_sessions(starpu_data_handle_t good)
{
    tutti_session *nobody = (tutti_session *)(uintptr_t)0x1234;
    INVAL(tutti_allreduce(NULL, good, TUTTI_F64, TUTTI_SUM));
    INVAL(tutti_allreduce(nobody, good, TUTTI_F64, TUTTI_SUM));
    INVAL(tutti_wait(NULL, 1));
    INVAL(tutti_name(NULL, good, "x"));
    INVAL(tutti_detach(nobody));
    GOOD(tutti_detach(NULL));
    IS((tutti_status)-1, (tutti_status)tutti_rank(NULL));
    IS((tutti_status)-1, (tutti_status)tutti_size(nobody));
}

/* ---- what is right all the same ---- */

static void fill(void *buffers[], void *arg)
{
    (void)arg;
    double *v = (double *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) v[i] = 1;
}
static struct starpu_codelet filling = {
    .cpu_funcs = {fill}, .cpu_funcs_name = {"fill"}, .nbuffers = 1, .modes = {STARPU_W}};

static tutti_status inside;
static void call_inside(void *buffers[], void *arg)
{
    (void)buffers;
    inside = tutti_wait(arg, 1);
}
static struct starpu_codelet calling = {.cpu_funcs = {call_inside}, .cpu_funcs_name = {"call"}};

static double first_of(starpu_data_handle_t data)
{
    starpu_data_acquire(data, STARPU_R);
    double value = *(const double *)starpu_data_get_local_ptr(data);
    starpu_data_release(data);
    return value;
}

static void accept(tutti_session *tutti, starpu_data_handle_t good)
{
    int size = tutti_size(tutti), root = size - 1;
    starpu_data_handle_t temporary = vector(NULL, LENGTH, sizeof(double)),
                         received = vector(NULL, LENGTH, sizeof(double)),
                         empty = vector(&inside, 0, sizeof(double));
    /* a temporary that a pending task writes, the same one twice, and one without elements */
    GOOD((tutti_status)starpu_task_insert(&filling, STARPU_W, temporary, 0));
    GOOD(tutti_allreduce(tutti, temporary, TUTTI_F64, TUTTI_SUM));
    GOOD(tutti_allreduce(tutti, temporary, TUTTI_F64, TUTTI_SUM));
    GOOD(tutti_allreduce(tutti, empty, TUTTI_F64, TUTTI_SUM));
    /* a broadcast's target needs no value before; bytes may be of any type */
    if (tutti_rank(tutti) == root)
        GOOD((tutti_status)starpu_task_insert(&filling, STARPU_W, received, 0));
    GOOD(tutti_broadcast(tutti, received, TUTTI_F64, root));
    GOOD(tutti_broadcast(tutti, good, TUTTI_U8, 0));
    INVAL(tutti_wait(tutti, NAN));
    INVAL(tutti_wait(tutti, -1));
    GOOD(tutti_wait(tutti, INFINITY));
    IS((tutti_status)(size * size), (tutti_status)first_of(temporary));
    IS((tutti_status)1, (tutti_status)first_of(received));
    GOOD((tutti_status)starpu_task_insert(&calling, STARPU_CL_ARGS_NFREE, tutti, (size_t)0, 0));
    starpu_task_wait_for_all();
    INVAL(inside);
    starpu_data_unregister(temporary);
    starpu_data_unregister(received);
    starpu_data_unregister(empty);
}

static void use_session(const char *design)
{
    static double data[LENGTH];
    starpu_data_handle_t good = vector(data, LENGTH, sizeof *data);
    const tutti_attach_options options = {.design = design};
    tutti_session *tutti, *later;
    GOOD(tutti_attach(MPI_COMM_WORLD, &options, &tutti));
    refuse_enums(tutti, good);
    refuse_handles(tutti, good);
    refuse_ranks(tutti, good);
    refuse_sessions(good);
    accept(tutti, good);
    GOOD(tutti_detach(tutti));
    GOOD(tutti_attach(MPI_COMM_WORLD, &options, &later)); /* not mistaken for the old session */
    INVAL(tutti_allreduce(tutti, good, TUTTI_F64, TUTTI_SUM));
    INVAL(tutti_wait(tutti, 1));
    INVAL(tutti_detach(tutti));
    GOOD(tutti_detach(later));
    starpu_data_unregister(good);
}

/* Ends as many programs do: the results are complete, but nobody detaches. */
static void stay(void)
{
    static double data[LENGTH];
    const tutti_attach_options options = {.design = "chained"};
    tutti_session *one, *other;
    starpu_data_handle_t good = vector(data, LENGTH, sizeof *data);
    GOOD(tutti_attach(MPI_COMM_WORLD, &options, &one));
    GOOD(tutti_attach(MPI_COMM_WORLD, NULL, &other));
    GOOD(tutti_allreduce(one, good, TUTTI_F64, TUTTI_SUM));
    GOOD(tutti_wait(one, 60));
    starpu_data_unregister(good);
}

int main(int argc, char **argv)
{
    tutti_session *session;
    int level, rank, size;
    const char *what = argc > 1 ? argv[1] : "funneled";
    IS(TUTTI_ERR_UNSUPPORTED, tutti_attach(MPI_COMM_WORLD, NULL, &session)); /* no MPI */
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    IS(TUTTI_ERR_UNSUPPORTED, tutti_attach(MPI_COMM_WORLD, NULL, &session)); /* no StarPU */
    if (tutti_start_starpu(NULL)) return 77;
    if (strcmp(what, "refused") == 0) {
        const tutti_attach_options options = {.lanes = rank == size - 1 ? -1 : 0};
        IS(TUTTI_ERR_USAGE, tutti_attach(MPI_COMM_WORLD, &options, &session));
    } else if (strcmp(what, "stays") == 0) {
        stay();
        MPI_Finalize(); /* closes the sessions: StarPU may not be shut down before */
        starpu_shutdown();
        return failures ? 1 : 0;
    } else {
        refuse_options();
        if (strcmp(what, "funneled") == 0) hide_variables();
        refuse_sizes();
        use_session(what);
    }
    starpu_shutdown();
    MPI_Finalize();
    return failures ? 1 : 0;
}
