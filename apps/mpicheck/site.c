#include "apps/mpicheck/site.h"

#include "apps/mpicheck/process.h"
#include "apps/mpicheck/table.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

/* Numbers by address; `lock` protects them and keeps the order of the frames that announce them. */
static mpicheck_table numbers;
static intptr_t last;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The module's path; for the program itself the loader gives only argv[0]. */
static const char *module_path(const char *name, char *buffer, size_t size)
{
    if (name[0] == '/' || access(name, R_OK) == 0) return name;
    ssize_t length = readlink("/proc/self/exe", buffer, size - 1);
    if (length <= 0) return name;
    buffer[length] = '\0';
    return buffer;
}

static void announce(intptr_t number, const void *address)
{
    Dl_info info = {0};
    char path[4096];
    /* The call is the instruction before the return address. */
    const char *at = (const char *)address - 1;
    int known = dladdr(at, &info) != 0 && info.dli_fname;
    mpicheck_frame *frame = mpicheck_process_open(MPICHECK_FRAME_SITE);
    mpicheck_frame_put(frame, number);
    mpicheck_frame_text(frame, known ? module_path(info.dli_fname, path, sizeof(path)) : "?");
    mpicheck_frame_put(frame, known ? at - (const char *)info.dli_fbase : (intptr_t)at);
    mpicheck_frame_text(frame, known && info.dli_sname ? info.dli_sname : "");
    mpicheck_process_post();
}

int mpicheck_site_number(const void *address)
{
    uint64_t key = (uint64_t)(uintptr_t)address;
    pthread_mutex_lock(&lock);
    intptr_t number = (intptr_t)mpicheck_table_find(&numbers, key);
    if (number == 0) {
        number = ++last;
        mpicheck_table_add(&numbers, key, (void *)number);
        announce(number, address);
    }
    pthread_mutex_unlock(&lock);
    return (int)number;
}
