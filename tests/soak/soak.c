/* A rank of the soak test: collectives of mixed kinds and sizes, and messages, again and again, and the
 * resources that the process holds meanwhile.   mpirun -np 2 soak MODE DESIGN COUNT
 *
 * own     Tutti's own program: initialises MPI and submits a graph to its StarPU runner step by step
 * attach  a StarPU program that inserts collectives on its handles (tutti/starpu.h), over all ranks and over a group
 * and trainings (a table): in two stages, with divided layers, with a server, of replicas that average their
 * weights, with codes of gradients
 *
 * Rank 0 prints a line at each of ten points: collectives so far, resident memory, bytes allocated
 * in the heap (requests, pool entries, tasks: any leak shows here), descriptors, threads. The exit
 * status is 1 if a result is wrong or any resource grows after the first fifth. */
#include "apps/tune/workload.h"
#include "dag/base/log.h"
#include "dag/codecs/codecs.h"
#include "dag/strategies/strategies.h"
#include "designs/exchange/exchange.h"

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/starpu.h>

static const double patience_s = 60;

enum { POINTS = 10, WARM_POINTS = 2 };

/* Small sizes, sizes around the eager limit, and segmented ones. */
static const int64_t counts[] = {1, 3, 250, 1000, 4096, 9000, 20000};
enum { SIZES = sizeof counts / sizeof *counts };

static const tutti_coll_kind kinds[] = {
    TUTTI_ALLREDUCE, TUTTI_BROADCAST, TUTTI_REDUCE, TUTTI_REDUCE_SCATTER, TUTTI_ALLREDUCE};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Edges between neighbours, in turns up and down. */
enum { EDGES = 10 };

typedef struct holding {
    long resident_kb, heap_bytes, descriptors, threads;
} holding;

/* ---- what the process holds ---- */

static long entries(const char *folder)
{
    long n = 0;
    DIR *dir = opendir(folder);
    while (dir && readdir(dir)) n++;
    if (dir) closedir(dir);
    return n;
}

static holding look(void)
{
    holding h = {.heap_bytes = (long)mallinfo2().uordblks,
        .descriptors = entries("/proc/self/fd"),
        .threads = entries("/proc/self/task")};
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "VmRSS: %ld kB", &h.resident_kb) == 1) break;
    if (status) fclose(status);
    return h;
}

/* Whether the growth since the warm-up is within tolerance: pages touched late, and blocks kept (by Tutti, MPI and
 * StarPU) for as many operations as were by chance in flight together. */
static int is_flat(const holding *warm, const holding *now, long collectives)
{
    static const long resident_slack_kb = 4096, heap_slack_bytes = 512 << 10;
    return now->resident_kb - warm->resident_kb <= resident_slack_kb &&
           now->heap_bytes - warm->heap_bytes <= heap_slack_bytes + 2 * collectives &&
           now->descriptors <= warm->descriptors && now->threads <= warm->threads;
}

typedef struct watcher {
    const char *title;
    int rank, point, grew;
    holding warm;
} watcher;

static void note(watcher *w, long collectives)
{
    holding h = look();
    if (w->point++ == WARM_POINTS - 1) w->warm = h;
    int flat = w->point <= WARM_POINTS || is_flat(&w->warm, &h, collectives);
    w->grew |= !flat;
    if (w->rank == 0 || !flat)
        printf("%-22s rank %d %8ld collectives %8ld kB %9ld heap bytes %3ld descriptors %2ld "
               "threads%s\n",
            w->title, w->rank, collectives, h.resident_kb, h.heap_bytes, h.descriptors, h.threads,
            flat ? "" : "  GROWS");
    fflush(stdout);
}

/* ---- Tutti's own program ---- */

/* A message to or from the other rank, each with a tensor of its own. */
static tutti_status add_message(tutti_graph *g, int rank, int edge)
{
    char name[16];
    int t, node;
    snprintf(name, sizeof name, "m%d", edge);
    tutti_status status = tutti_graph_tensor(
        g, name, TUTTI_ROLE_SCRATCH, TUTTI_F32, tutti_shape_of(counts[edge % SIZES]), &t);
    const tutti_mark mark = {.verb = (rank + edge) % 2 ? TUTTI_MARK_RECV : TUTTI_MARK_SEND,
        .tensor = t,
        .peer = 1 - rank,
        .edge = edge};
    return status ? status : tutti_graph_mark(g, &mark, &node);
}

static tutti_status build(tutti_graph *g, int rank, int *probe)
{
    tutti_status status = TUTTI_OK;
    for (int e = 0; e < EDGES && !status; e++) status = add_message(g, rank, e);
    for (int i = 0; i < SIZES * KINDS && !status; i++) {
        char name[16];
        int t, node;
        tutti_coll_args args = {.kind = kinds[i % KINDS],
            .dtype = TUTTI_F32,
            .op = TUTTI_MAX,
            .count = counts[i % SIZES]};
        snprintf(name, sizeof name, "t%d", i);
        status = tutti_graph_tensor(
            g, name, TUTTI_ROLE_SCRATCH, TUTTI_F32, tutti_shape_of(args.count), &t);
        if (i == 0) *probe = t;
        if (!status) status = tutti_graph_mark(g, &(tutti_mark){.tensor = t}, &node);
        if (!status) status = tutti_graph_set_collective(g, node, &args, sizeof args);
    }
    return status;
}

static tutti_status run_steps(tutti_exchange *x, tutti_graph *g, int probe, long count, watcher *w)
{
    const tutti_runner *runner = tutti_runner_find("starpu");
    const tutti_run_options options = {.workers = 1, .hooks = tutti_exchange_hooks(x)};
    const long per_step = SIZES * KINDS + EDGES, steps = count / per_step;
    tutti_run *run = NULL;
    tutti_status status = runner->open(g, &options, &run);
    int64_t before = 0;
    float mine = (float)w->rank, result;
    for (long s = 0; s < steps && !status; s++) {
        status = runner->feed(run, probe, &mine, sizeof mine, NULL, NULL);
        if (!status) status = runner->submit(run, 0);
        if (!status) status = runner->fetch(run, probe, &result, sizeof result);
        if (!status) status = runner->wait(run, 0, before, patience_s); /* one step ahead */
        before = runner->point(run);
        if (status || (s + 1) % (steps / POINTS) || w->point == POINTS) continue;
        status = runner->wait(run, 0, before, patience_s);
        if (!status && result != (float)(tutti_exchange_size(x) - 1))
            status = tutti_fail(TUTTI_ERR_INTERNAL, "the maximum of all ranks is %g", result);
        note(w, (s + 1) * per_step);
    }
    runner->close(run);
    return status;
}

static tutti_status soak_own(const char *design, long count, watcher *w)
{
    const tutti_exchange_options options = {.design = tutti_design_find(design),
        .messages = 1,
        .verify = TUTTI_VERIFY_ON,
        .timeout_s = patience_s};
    tutti_exchange *x = NULL;
    tutti_graph *g = NULL;
    int probe = 0;
    tutti_status status = tutti_exchange_open(&options, &x);
    if (status) return status;
    w->rank = tutti_exchange_rank(x);
    status = tutti_graph_new(&g);
    if (!status) status = build(g, w->rank, &probe);
    if (!status) status = tutti_exchange_apply(x, g);
    if (!status) status = run_steps(x, g, probe, count, w);
    tutti_graph_free(g);
    tutti_exchange_close(x);
    return status;
}

/* ---- a program that attaches ---- */

/* Every sixth call sends to the right, and receives from the left. */
static tutti_status insert(tutti_session *s, long i, tutti_handle data, tutti_handle other)
{
    int rank = tutti_rank(s), size = tutti_size(s);
    if (i % 6 == 5)
        return tutti_sendrecv(s, data, (rank + 1) % size, other, (rank + size - 1) % size,
            TUTTI_F32, (int)(i / 6 % EDGES));
    switch (kinds[i % KINDS]) {
    case TUTTI_BROADCAST:
        return tutti_broadcast(s, data, TUTTI_F32, (int)(i % tutti_size(s)));
    case TUTTI_REDUCE:
        return tutti_reduce(s, data, TUTTI_F32, TUTTI_MAX, 0);
    case TUTTI_REDUCE_SCATTER:
        return tutti_reduce_scatter(s, data, TUTTI_F32, TUTTI_MAX);
    default:
        return tutti_allreduce(s, data, TUTTI_F32, TUTTI_MAX);
    }
}

/* The same ranks in the opposite order. */
static tutti_status reverse(tutti_session *s, tutti_session **group)
{
    enum { MOST = 64 };
    int size = tutti_size(s), rank[MOST];
    if (size > MOST) return tutti_fail(TUTTI_ERR_INVAL, "the soak has at most %d ranks", MOST);
    for (int r = 0; r < size; r++) rank[r] = size - 1 - r;
    return tutti_group(s, size, rank, group);
}

/* In turns over the session and over a group. */
static tutti_status insert_all(tutti_session *s, tutti_handle handle[], long count, watcher *w)
{
    enum { WAIT_EVERY = 64, TURN = 11 };
    tutti_session *group;
    tutti_status status = reverse(s, &group);
    for (long i = 0; i < count && !status; i++) {
        status = insert(i / TURN % 2 ? group : s, i, handle[i % SIZES], handle[SIZES + i % SIZES]);
        if (!status && (i + 1) % WAIT_EVERY == 0) status = tutti_wait(s, patience_s);
        if (status || (i + 1) % (count / POINTS) || w->point == POINTS) continue;
        status = tutti_wait(s, patience_s);
        if (!status) note(w, i + 1);
    }
    return status;
}

static tutti_status soak_attach(const char *design, long count, watcher *w)
{
    float *data[2 * SIZES];
    tutti_handle handle[2 * SIZES];
    struct starpu_conf conf;
    tutti_session *s = NULL;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &(int){0});
    if (tutti_start_starpu(&conf)) return tutti_fail(TUTTI_ERR_UNSUPPORTED, "StarPU does not start");
    const tutti_attach_options options = {.design = design};
    tutti_status status = tutti_attach(MPI_COMM_WORLD, &options, &s);
    if (status) return status;
    w->rank = tutti_rank(s);
    for (int i = 0; i < 2 * SIZES; i++) {
        int64_t elements = counts[i % SIZES];
        data[i] = calloc((size_t)elements, sizeof *data[i]);
        starpu_vector_data_register(
            &handle[i], STARPU_MAIN_RAM, (uintptr_t)data[i], (uint32_t)elements, sizeof *data[i]);
    }
    status = insert_all(s, handle, count, w);
    for (int i = 0; i < 2 * SIZES && !status; i++) {
        starpu_data_unregister(handle[i]);
        free(data[i]);
    }
    tutti_status left = tutti_detach(s);
    starpu_shutdown();
    MPI_Finalize();
    return status ? status : left;
}

/* ---- a training ---- */

typedef struct training {
    const char *name;
    tutti_layout layout;
    const char *strategy, *codec; /* NULL: sync; none */
} training;

static const training trainings[] = {
    {"stages", {.placement.stages = 2, .micro_batches = 4}, NULL, NULL},
    {"split", {.placement.blocks = 2, .micro_batches = 2}, NULL, NULL},
    {"servers", {.placement.servers = 1}, NULL, NULL},
    {"elastic", {.placement.servers = 1}, "elastic:period=2", NULL},
    {"gossip", {.timed = 0}, "gossip:ring", NULL},
    {"pairs", {.timed = 0}, "adpsgd:period=2,delay=2", NULL},
    {"onebit", {.timed = 0}, NULL, "onebit"},
    {"powersgd", {.timed = 0}, NULL, "powersgd:2"},
};

static tutti_status read_recipe(const training *t, tutti_step_options *recipe)
{
    char fault[256];
    if (t->strategy && !tutti_strategy_read(
                           t->strategy, &recipe->strategy, &recipe->settings, fault, sizeof fault))
        return tutti_fail(TUTTI_ERR_USAGE, "%s: %s", t->strategy, fault);
    if (t->codec &&
        !tutti_codec_read(t->codec, &recipe->codec, &recipe->codec_value, fault, sizeof fault))
        return tutti_fail(TUTTI_ERR_USAGE, "%s: %s", t->codec, fault);
    return TUTTI_OK;
}

/* Ranks may have different numbers of collectives in a step, but have as many steps. */
static tutti_status train(const training *t, tutti_training_session *s, long count, watcher *w)
{
    enum { ABOUT = 10 };
    tutti_workload workload = {.model = tutti_model_find("mlp"),
        .recipe = {.batch = 8, .momentum = 0.9f, .seed = 1},
        .timeout_s = patience_s};
    double seconds;
    tutti_status status = read_recipe(t, &workload.recipe);
    if (!status) status = tutti_workload_build(&workload, s);
    if (!status) status = tutti_training_session_apply(s);
    if (!status) status = tutti_workload_start(&workload, s);
    const int steps = (int)(count / POINTS / ABOUT) + 1;
    for (int point = 1; point <= POINTS && !status; point++) {
        status = tutti_workload_steps(&workload, s, steps, &seconds);
        if (!status) note(w, (long)point * steps * tutti_training_session_collectives(s));
    }
    return status;
}

static tutti_status soak_training(const training *t, const char *design, long count, watcher *w)
{
    const tutti_training_session_options options = {.workers = 1,
        .layout = t->layout,
        .exchange = {.design = tutti_design_find(design),
            .messages = 1,
            .algorithm = "direct",
            .verify = TUTTI_VERIFY_ON,
            .timeout_s = patience_s}};
    tutti_training_session s;
    tutti_status status = tutti_training_session_open(&options, &s);
    if (status) return status;
    w->rank = s.placement.rank;
    status = train(t, &s, count, w);
    tutti_status left = tutti_training_session_close(&s);
    return status ? status : left;
}

static tutti_status soak(const char *mode, const char *design, long count, watcher *w)
{
    if (!strcmp(mode, "own")) return soak_own(design, count, w);
    if (!strcmp(mode, "attach")) return soak_attach(design, count, w);
    for (size_t t = 0; t < sizeof trainings / sizeof *trainings; t++)
        if (!strcmp(mode, trainings[t].name)) return soak_training(&trainings[t], design, count, w);
    return tutti_fail(TUTTI_ERR_USAGE, "no mode %s", mode);
}

int main(int argc, char **argv)
{
    char title[64];
    if (argc != 4 || !tutti_design_find(argv[2])) {
        fprintf(stderr, "usage: soak MODE DESIGN COUNT\n");
        return 2;
    }
    snprintf(title, sizeof title, "%s, %s", argv[1], argv[2]);
    watcher w = {.title = title};
    tutti_status status = soak(argv[1], argv[2], strtol(argv[3], NULL, 10), &w);
    if (!status && w.point != POINTS) fprintf(stderr, "soak: %d points\n", w.point);
    return status || w.grew || w.point != POINTS;
}
