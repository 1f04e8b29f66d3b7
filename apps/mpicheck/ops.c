#include "apps/mpicheck/ops.h"

#include "apps/mpicheck/call.h"
#include "apps/mpicheck/finding.h"
#include "apps/mpicheck/table.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct made_op {
    MPI_User_function *function;
    int commutes, site;
} made_op;

/* User-defined operators by handle; `lock` protects them. */
static mpicheck_table ops;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void mpicheck_op_made(MPI_Op op, MPI_User_function *function, int commutes)
{
    made_op *made = malloc(sizeof(*made));
    if (!made) abort();
    *made = (made_op){function, commutes, mpicheck_call_site()};
    pthread_mutex_lock(&lock);
    mpicheck_table_add(&ops, MPICHECK_KEY(op), made);
    pthread_mutex_unlock(&lock);
}

void mpicheck_op_gone(MPI_Op op)
{
    pthread_mutex_lock(&lock);
    free(mpicheck_table_remove(&ops, MPICHECK_KEY(op)));
    pthread_mutex_unlock(&lock);
}

static void leak(void *value, void *severity)
{
    const made_op *op = value;
    mpicheck_finding_at(
        *(char *)severity, "MPI_Op_create", op->site, "this operator is never freed");
}

void mpicheck_op_leaks(char severity)
{
    pthread_mutex_lock(&lock);
    mpicheck_table_each(&ops, leak, &severity);
    pthread_mutex_unlock(&lock);
}

/* The function's offset in its module is the same on all ranks that run the same program. */
static void print_made(char *text, size_t size, const made_op *op)
{
    Dl_info info = {0};
    void *address;
    memcpy(&address, &op->function, sizeof(address));
    if (dladdr(address, &info) == 0 || !info.dli_fname) {
        snprintf(text, size, "an operator%s", op->commutes ? "" : " that does not commute");
        return;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    snprintf(text, size, "operator %s+0x%llx%s", slash ? slash + 1 : info.dli_fname,
        (unsigned long long)((char *)address - (char *)info.dli_fbase),
        op->commutes ? "" : " that does not commute");
}

void mpicheck_collective_op(char *text, size_t size, MPI_Op op)
{
    const struct {
        MPI_Op op;
        const char *name;
    } names[] = {{MPI_MAX, "MPI_MAX"}, {MPI_MIN, "MPI_MIN"}, {MPI_SUM, "MPI_SUM"},
        {MPI_PROD, "MPI_PROD"}, {MPI_LAND, "MPI_LAND"}, {MPI_BAND, "MPI_BAND"},
        {MPI_LOR, "MPI_LOR"}, {MPI_BOR, "MPI_BOR"}, {MPI_LXOR, "MPI_LXOR"}, {MPI_BXOR, "MPI_BXOR"},
        {MPI_MAXLOC, "MPI_MAXLOC"}, {MPI_MINLOC, "MPI_MINLOC"}, {MPI_REPLACE, "MPI_REPLACE"},
        {MPI_NO_OP, "MPI_NO_OP"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].op != op) continue;
        snprintf(text, size, "%s", names[i].name);
        return;
    }
    pthread_mutex_lock(&lock);
    const made_op *made = mpicheck_table_find(&ops, MPICHECK_KEY(op));
    if (made)
        print_made(text, size, made);
    else
        snprintf(text, size, "an operator");
    pthread_mutex_unlock(&lock);
}
