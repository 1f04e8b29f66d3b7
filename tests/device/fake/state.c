#include "tests/device/fake/state.h"

#include "tests/device/fake/graph.h"
#include "tests/device/fake/memory.h"
#include "tests/device/fake/queue.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

_Thread_local int fake_device;
_Thread_local cudaError_t fake_error;
_Thread_local int fake_in_operation;

static fake_settings settings;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pid_t owner;
pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;

void fake_fail(const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fprintf(stderr, "fake device: %s\n", text);
    fflush(stderr);
    abort();
}

double fake_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A whole number from the environment. */
static uint64_t number(const char *name, uint64_t fallback, uint64_t most)
{
    const char *text = getenv(name);
    if (!text || !*text) return fallback;
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (*end || errno || *text == '-' || value > most)
        fake_fail("%s=%s: it is a number from 0 to %llu", name, text, (unsigned long long)most);
    return value;
}

static fake_order order(void)
{
    static const char *const names[] = {"eager", "late", "random"};
    const char *text = getenv("TUTTI_FAKE_ORDER");
    if (!text || !*text) return ORDER_RANDOM;
    for (int i = 0; i < 3; i++)
        if (!strcmp(text, names[i])) return (fake_order)i;
    fake_fail("TUTTI_FAKE_ORDER=%s: it is eager, late or random", text);
}

/* As CUDA does: devices in this order, up to the first that is none. */
static void choose_visible(void)
{
    const char *text = getenv("CUDA_VISIBLE_DEVICES");
    const int all = settings.devices;
    for (int i = 0; i < all; i++) settings.bus[i] = i;
    if (!text) return;
    settings.devices = 0;
    while (settings.devices < all) {
        char *end;
        const long device = strtol(text, &end, 10);
        if (end == text || device < 0 || device >= all) return;
        settings.bus[settings.devices++] = (int)device;
        if (*end != ',') return;
        text = end + 1;
    }
}

/* The last one in the list is that of all further devices of the machine. */
static void read_capabilities(void)
{
    const char *text = getenv("TUTTI_FAKE_CAPABILITY");
    int machine[MOST_DEVICES];
    for (int i = 0; i < MOST_DEVICES; i++) {
        char *end = NULL;
        machine[i] = i ? machine[i - 1] : 90;
        if (!text || !*text) continue;
        machine[i] = (int)strtol(text, &end, 10);
        if (machine[i] < 10 || (*end && *end != ','))
            fake_fail("TUTTI_FAKE_CAPABILITY=%s: from here on it is not a list of numbers", text);
        text = *end ? end + 1 : NULL;
    }
    for (int i = 0; i < settings.devices; i++) settings.capability[i] = machine[settings.bus[i]];
}

/* The process ends well, but something that it asked for may not have happened. */
static void at_exit(int status, void *unused)
{
    (void)unused;
    if (getpid() != owner) return;
    count_report();
    if (status) return;
    pthread_mutex_lock(&fake_lock);
    const fake_stream *captured = graph_unended();
    if (captured)
        fake_fail("the process ends, and the capture of %s has not", queue_name(captured));
    const operation *op = queue_unseen();
    if (op)
        fake_fail("the process ends, and nobody has waited for %s on %s", op->work.call,
            queue_name(queue_at(op->at.stream)));
    pthread_mutex_unlock(&fake_lock);
}

int fake_serves(void)
{
    return settings.driver / 1000 >= CUDART_VERSION / 1000;
}

static void open_all(void)
{
    owner = getpid();
    settings.devices = (int)number("TUTTI_FAKE_DEVICES", 1, MOST_DEVICES);
    settings.driver = (int)number("TUTTI_FAKE_DRIVER", CUDART_VERSION, INT_MAX);
    if (!fake_serves()) settings.devices = 0;
    settings.memory = (size_t)number("TUTTI_FAKE_MEMORY_MB", 4096, 1 << 15) << 20;
    settings.order = order();
    settings.seed = number("TUTTI_FAKE_SEED", 1, UINT64_MAX);
    settings.peers = (int)number("TUTTI_FAKE_PEERS", 1, 1);
    settings.report = getenv("TUTTI_FAKE_REPORT");
    if (settings.report && !*settings.report) settings.report = NULL;
    settings.unrecorded = getenv("TUTTI_FAKE_UNRECORDED");
    choose_visible();
    read_capabilities();
    memory_open();
    queue_open();
    on_exit(at_exit, NULL);
}

void fake_enter(const char *call)
{
    if (fake_in_operation) fake_fail("%s is called by a host function or another operation", call);
    pthread_once(&once, open_all);
    if (getpid() != owner)
        fake_fail("%s is called in a child of the process that opened the device", call);
    pthread_mutex_lock(&fake_lock);
}

void fake_leave(void)
{
    pthread_mutex_unlock(&fake_lock);
}

cudaError_t fake_return(cudaError_t error)
{
    fake_leave();
    if (error && error != cudaErrorNotReady) fake_error = error;
    return error;
}

const fake_settings *fake_get_settings(void)
{
    return &settings;
}
