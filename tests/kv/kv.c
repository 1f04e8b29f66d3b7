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
 *   wide       a key of another size than that of steps
 *   survive    rounds of sync, a round ahead of its pulls (OPTIMIZER: how many), while a server dies: every value has
 *              the bits of the oracle
 *   elastic    clients train alone, and meet the centre: each worker says what its client gave it (OPTIMIZER: steps),
 *              and what the centre has in the end
 *   perish     the same, but the worker dies in one more meeting, between the centre's answer and the difference
 *   stages     clients are pipelines of so many stages (OPTIMIZER: how many), each with keys of its own
 *   refusals   wrong arguments, each of which is refused with a sentence
 *   crowded    a key more than a server can have
 *   differ     worker 1 sets another optimizer
 *   partial    worker 0 alone sets an optimizer
 *   divided    worker 1 sets another optimizer than the others, without servers
 *   torn       the workers of a client push different keys, so that their sums fail
 *   whole      another client beside it, which gets whole pushes alone
 *   deserts    servers close their stores without serving
 *   abandoned  the same, while workers wait without a limit for what they have inserted
 *   quits      worker 0 ends without closing its store
 * Prints what is wrong. */
#include "tests/kv/kv.h"

tutti_kv *kv;
int failures;
float x[KEYS][MOST], y[KEYS][MOST];

tutti_handle vector(float *elements, int n)
{
    tutti_handle handle;
    starpu_vector_data_register(
        &handle, STARPU_MAIN_RAM, (uintptr_t)elements, (uint32_t)n, sizeof *elements);
    return handle;
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
    if (!strcmp(mode, "steps")) run_steps(type, atoi(optimizer));
    if (!strcmp(mode, "wide")) run_wide(type);
    if (!strcmp(mode, "stages")) run_stages(atoi(optimizer));
    if (!strcmp(mode, "refusals")) run_refusals();
    if (!strcmp(mode, "crowded")) run_crowded();
    if (!strcmp(mode, "missed")) run_missed();
    if (!strcmp(mode, "abandoned")) run_abandoned();
    if (!strcmp(mode, "partial")) run_partial();
    if (!strcmp(mode, "divided")) run_divided();
    if (!strcmp(mode, "torn")) run_torn();
    if (!strcmp(mode, "whole")) run_whole();
    if (!strcmp(mode, "differ"))
        CHECK(!tutti_kv_set_optimizer(kv, tutti_kv_rank(kv) ? "add" : "assign"));
}

static int end(int status)
{
    starpu_shutdown();
    MPI_Finalize();
    return status;
}

int main(int argc, char **argv)
{
    int level;
    struct starpu_conf conf;
    if (argc < 5) return 2;
    const char *mode = argv[1], *optimizer = argc > 5 ? argv[5] : "assign";
    const tutti_kv_options options = {.servers = atoi(argv[2]),
        .clients = atoi(argv[3]),
        .type = argv[4],
        .stages = strcmp(mode, "stages") ? 0 : atoi(optimizer)};
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    starpu_conf_init(&conf);
    conf.ncuda = conf.nopencl = 0;
    if (tutti_start_starpu(&conf)) return 2;
    tutti_status status = tutti_kv_open(MPI_COMM_WORLD, &options, &kv);
    printf("open: %s\n", tutti_status_name(status));
    if (!status) {
        status = TUTTI_OK;
        if (!strcmp(mode, "quits") && tutti_kv_rank(kv) == 0) return end(0);
        if (tutti_kv_serves(kv))
            status = strcmp(mode, "deserts") && strcmp(mode, "abandoned") ? tutti_kv_serve(kv)
                                                                          : TUTTI_OK;
        else
            work(mode, argv[4], optimizer);
        if (tutti_kv_serves(kv)) printf("server: %ld kB\n", resident_kb());
        tutti_status closed = tutti_kv_close(kv);
        printf("%s, closed: %s\n", tutti_status_name(status), tutti_status_name(closed));
        if (!status) status = closed;
    }
    return end(failures || status ? 1 : 0);
}
