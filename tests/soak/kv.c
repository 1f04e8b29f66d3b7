/* A server and clients that die and return, for a long time:   kv FOLDER PUSHES DEATHS
 *
 * Each of three clients pushes key 0, which is on one server, PUSHES times in all of its lives, in batches, and key 1,
 * which has a part on each of two servers, once a batch: ones to element `client` and to element ALL, again and again
 * along the key. Client 0 lives on; each of the others is killed DEATHS times, at any moment, and comes back. In FOLDER
 * a client notes for each life how many pushes and batches it has begun, and how many it knows to be added
 * (life.CLIENT.PROCESS), and that it is done (done.CLIENT). In the end client 0 prints what is there of each client. It
 * must be whole: all along a part each client's count is the same, and ALL is their sum, exactly. (A client that dies
 * may have pushed one part of a key and not the other.) */
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <tutti/kv.h>
#include <unistd.h>

enum { CLIENTS = 3, ALL = CLIENTS, PLACE = CLIENTS + 1, KEYS = 2, MOST = 66000, BATCH = 32 };
static const int length[KEYS] = {25 * PLACE, MOST};

static tutti_kv *kv;
static float one[KEYS][MOST], got[KEYS][MOST];
static tutti_handle ones[KEYS], all[KEYS];

static void stop(const char *why)
{
    printf("client %d: %s: %s\n", kv ? tutti_kv_client(kv) : -1, why, tutti_last_error());
    fflush(stdout);
    exit(1);
}
#define DO(call)                                                                                   \
    do {                                                                                           \
        if (call) stop(#call);                                                                     \
    } while (0)

static tutti_handle vector(float *x, int n)
{
    tutti_handle handle;
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)x, (uint32_t)n, sizeof *x);
    return handle;
}

static int lives_of(const char *folder, int client)
{
    char pattern[4096];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/life.%d.*", folder, client);
    int n = glob(pattern, 0, NULL, &found) ? 0 : (int)found.gl_pathc;
    if (n) globfree(&found);
    return n;
}

/* What earlier lives have begun. */
static long begun_before(const char *folder, int client)
{
    char pattern[4096];
    glob_t found;
    long sum = 0, begun;
    snprintf(pattern, sizeof pattern, "%s/life.%d.*", folder, client);
    if (glob(pattern, 0, NULL, &found)) return 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        FILE *file = fopen(found.gl_pathv[i], "r");
        if (file && fscanf(file, "%ld", &begun) == 1) sum += begun;
        if (file) fclose(file);
    }
    globfree(&found);
    return sum;
}

/* A note survives its process. */
static void note(int file, const long begun[KEYS], const long added[KEYS])
{
    char text[128];
    int n = snprintf(
        text, sizeof text, "%15ld %15ld %15ld %15ld\n", begun[0], added[0], begun[1], added[1]);
    if (pwrite(file, text, (size_t)n, 0) != n) stop("no note");
}

static void *die(void *arg)
{
    usleep(200000 + (useconds_t)(rand_r(arg) % 800000));
    kill(getpid(), SIGKILL);
    return NULL;
}

static void die_soon(void)
{
    static unsigned seed;
    pthread_t thread;
    seed = (unsigned)getpid();
    if (pthread_create(&thread, NULL, die, &seed)) stop("no thread");
}

static void push_until(int file, long pushes)
{
    unsigned seed = (unsigned)getpid();
    long begun[KEYS] = {0}, added[KEYS] = {0};
    while (begun[0] < pushes) {
        long batch = 1 + rand_r(&seed) % BATCH;
        if (batch > pushes - begun[0]) batch = pushes - begun[0];
        begun[0] += batch;
        begun[1]++;
        note(file, begun, added);
        for (long i = 0; i < batch; i++) DO(tutti_kv_push(kv, 0, ones[0]));
        DO(tutti_kv_push(kv, 1, ones[1]));
        for (int k = 0; k < KEYS; k++) DO(tutti_kv_pull(kv, k, all[k]));
        DO(tutti_kv_wait(kv, 60));
        for (int k = 0; k < KEYS; k++) added[k] = begun[k];
        note(file, begun, added);
    }
}

static void check_whole(const char *name, const float *part, int n)
{
    float sum = 0;
    for (int c = 0; c < CLIENTS; c++) sum += part[c];
    if (sum != part[ALL]) stop("the sum of all is another");
    for (int i = 0; i < n; i++)
        if (part[i] != part[i % PLACE]) stop("a push was torn");
    printf("%s has", name);
    for (int c = 0; c < CLIENTS; c++) printf(" %.0f", part[c]);
    printf("\n");
}

static void check_all(void)
{
    for (int k = 0; k < KEYS; k++) {
        DO(tutti_kv_pull(kv, k, all[k]));
        DO(starpu_data_acquire(all[k], STARPU_R));
    }
    check_whole("key 0", got[0], length[0]);
    check_whole("key 1", got[1], MOST / 2);
    check_whole("key 1", got[1] + MOST / 2, MOST / 2);
    for (int k = 0; k < KEYS; k++) starpu_data_release(all[k]);
}

static void await_done(const char *folder, int client)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/done.%d", folder, client);
    while (access(path, F_OK)) usleep(50000);
}

static void work(const char *folder, long pushes, int deaths)
{
    char path[4096];
    int me = tutti_kv_client(kv), lived = lives_of(folder, me);
    long before = begun_before(folder, me);
    DO(tutti_kv_set_optimizer(kv, "add"));
    for (int k = 0; k < KEYS; k++) {
        int n = length[k];
        for (int i = 0; i < n; i++) one[k][i] = i % PLACE == me || i % PLACE == ALL;
        ones[k] = vector(one[k], n);
        all[k] = vector(got[k], n);
        DO(tutti_kv_init(kv, k, all[k], TUTTI_F32));
    }
    snprintf(path, sizeof path, "%s/life.%d.%d", folder, me, (int)getpid());
    int file = open(path, O_CREAT | O_WRONLY, 0600);
    if (file < 0) stop(path);
    note(file, (long[KEYS]){0}, (long[KEYS]){0});
    int dies = me > 0 && lived < deaths;
    if (dies) die_soon();
    push_until(file, dies ? pushes * 100 : pushes - before);
    close(file);
    if (me > 0) {
        snprintf(path, sizeof path, "%s/done.%d", folder, me);
        close(open(path, O_CREAT | O_WRONLY, 0600));
    } else {
        for (int c = 1; c < CLIENTS; c++) await_done(folder, c);
        check_all();
    }
    for (int k = 0; k < KEYS; k++) {
        starpu_data_unregister(ones[k]);
        starpu_data_unregister(all[k]);
    }
}

int main(int argc, char **argv)
{
    int level;
    tutti_kv_options options = {.type = "async"};
    if (argc < 4) return 2;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    if (tutti_start_starpu(NULL)) return 2;
    DO(tutti_kv_open(MPI_COMM_WORLD, &options, &kv));
    if (tutti_kv_serves(kv))
        DO(tutti_kv_serve(kv));
    else
        work(argv[1], atol(argv[2]), atoi(argv[3]));
    tutti_kv *open = kv;
    kv = NULL;
    DO(tutti_kv_close(open));
    starpu_shutdown();
    MPI_Finalize();
    return 0;
}
