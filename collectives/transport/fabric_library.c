#include "collectives/transport/fabric_parts.h"
#include "dag/base/log.h"

#include <dlfcn.h>
#include <signal.h>

enum { SIGNALS = 32 }; /* the ordinary ones, and 0 */

/* dlopen, after which signals do what they did before. */
static void *load_library(const char *name)
{
    struct sigaction before[SIGNALS];
    int known[SIGNALS];
    for (int i = 1; i < SIGNALS; i++) known[i] = !sigaction(i, NULL, &before[i]);
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    for (int i = 1; i < SIGNALS; i++)
        if (known[i] && i != SIGKILL && i != SIGSTOP) sigaction(i, &before[i], NULL);
    return library;
}

tutti_status tutti_fabric_load(tutti_fabric_library *l)
{
    static const char name[] = "libfabric.so.1";
    void *library = load_library(name);
    if (!library)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "no libfabric: %s (install libfabric1, or use --transport mesh)", dlerror());
    const struct {
        const char *name;
        void *call;
    } row[] = {{"fi_getinfo", &l->getinfo}, {"fi_freeinfo", &l->freeinfo},
        {"fi_dupinfo", &l->dupinfo}, {"fi_fabric", &l->fabric}, {"fi_strerror", &l->strerror}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (!(*(void **)row[i].call = dlsym(library, row[i].name)))
            return tutti_fail(TUTTI_ERR_UNSUPPORTED, "%s has no %s", name, row[i].name);
    return TUTTI_OK;
}
