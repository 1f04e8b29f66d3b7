#include "apps/mpicheck/call.h"

#include "apps/mpicheck/process.h"
#include "apps/mpicheck/site.h"

#include <mpi.h>

static __thread struct {
    int depth;
    const char *name;
    const void *address;
    int site; /* 0: not asked for yet */
    void (*other)(void);
} current;

bool mpicheck_call_enter(const char *name, const void *address)
{
    if (current.depth > 0 || !mpicheck_process_active()) return false;
    if (current.name != name && current.other) current.other();
    current.depth = 1;
    current.name = name;
    current.address = address;
    current.site = 0;
    return true;
}

void mpicheck_call_on_other(void (*other)(void))
{
    current.other = other;
}

void mpicheck_call_leave(void)
{
    current.depth = 0;
}

const char *mpicheck_call_name(void)
{
    return current.depth > 0 ? current.name : "";
}

int mpicheck_call_site(void)
{
    if (current.depth == 0) return 0;
    if (current.site == 0) current.site = mpicheck_site_number(current.address);
    return current.site;
}
