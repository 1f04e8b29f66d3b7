#include "dag/run/codelets.h"

#include "dag/base/log.h"

#include <ctype.h>
#include <pthread.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>

enum { SYMBOL = 64 };

typedef struct codelet {
    struct starpu_codelet codelet; /* first: what StarPU gets */
    struct starpu_perfmodel model;
    const tutti_op *op;
    tutti_device device;
    tutti_dtype dtype;
    char symbol[SYMBOL];
    struct codelet *next;
} codelet;

struct tutti_codelets {
    int nodes;
    codelet *of[]; /* per node; NULL where no kernel runs */
};

/* StarPU keeps a list of the models in the process until it shuts down, which it does when its last
 * user leaves. So the process has one list of codelets, which lives as long as StarPU does. */
static struct {
    pthread_mutex_t lock;
    int users;
    codelet *first;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static codelet *find(const tutti_kernel *kernel, tutti_codelet_run *run)
{
    codelet *found = all.first;
    while (
        found && (found->op != kernel->op || found->dtype != kernel->dtype ||
                     found->device != kernel->device ||
                     (found->codelet.cpu_funcs[0] != run && found->codelet.cuda_funcs[0] != run)))
        found = found->next;
    return found;
}

/* StarPU writes to a codelet and its model, so neither moves. */
static codelet *make(const tutti_kernel *kernel, tutti_codelet_run *run)
{
    codelet *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->op = kernel->op;
    made->device = kernel->device;
    made->dtype = kernel->dtype;
    snprintf(made->symbol, sizeof made->symbol, "tutti_%s_%s", kernel->op->name,
        tutti_dtype_name(kernel->dtype));
    for (char *c = made->symbol; *c; c++) *c = (char)tolower((unsigned char)*c);
    made->model = (struct starpu_perfmodel){.type = STARPU_HISTORY_BASED, .symbol = made->symbol};
    made->codelet = (struct starpu_codelet){
        .nbuffers = STARPU_VARIABLE_NBUFFERS, .model = &made->model, .name = kernel->op->name};
    if (kernel->device == TUTTI_CUDA) {
        made->codelet.cuda_funcs[0] = run;
        made->codelet.cuda_flags[0] = STARPU_CUDA_ASYNC;
    } else
        made->codelet.cpu_funcs[0] = run;
    made->next = all.first;
    all.first = made;
    return made;
}

static tutti_status fill_codelets(tutti_codelets *c, const tutti_binding *binding,
    tutti_codelet_run *compute, tutti_codelet_run *launch)
{
    for (int n = 0; n < c->nodes; n++) {
        const tutti_kernel *kernel = binding->kernel[n];
        if (!kernel) continue;
        tutti_codelet_run *run = kernel->device == TUTTI_CUDA ? launch : compute;
        c->of[n] = find(kernel, run);
        if (!c->of[n]) c->of[n] = make(kernel, run);
        if (!c->of[n])
            return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the codelet of %s", kernel->op->name);
    }
    return TUTTI_OK;
}

tutti_status tutti_codelets_open(const tutti_binding *binding, tutti_codelet_run *compute,
    tutti_codelet_run *launch, tutti_codelets **codelets)
{
    tutti_codelets *c = calloc(1, sizeof *c + (size_t)binding->nodes * sizeof *c->of);
    if (!c)
        return tutti_fail(
            TUTTI_ERR_NOMEM, "no memory for the codelets of %d nodes", binding->nodes);
    c->nodes = binding->nodes;
    pthread_mutex_lock(&all.lock);
    all.users++;
    tutti_status status = fill_codelets(c, binding, compute, launch);
    pthread_mutex_unlock(&all.lock);
    if (status)
        tutti_codelets_close(c);
    else
        *codelets = c;
    return status;
}

void tutti_codelets_close(tutti_codelets *codelets)
{
    if (!codelets) return;
    pthread_mutex_lock(&all.lock);
    all.users--;
    while (!all.users && !starpu_is_initialized() && all.first) {
        codelet *gone = all.first;
        all.first = gone->next;
        free(gone);
    }
    pthread_mutex_unlock(&all.lock);
    free(codelets);
}

struct starpu_codelet *tutti_codelets_get(tutti_codelets *codelets, int node)
{
    return &codelets->of[node]->codelet;
}
