#include "dag/run/codelets.h"

#include "dag/base/log.h"

#include <ctype.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>

enum { SYMBOL = 64 };

typedef struct codelet {
    struct starpu_codelet codelet; /* first: what StarPU gets */
    struct starpu_perfmodel model;
    const tutti_op *op;
    tutti_dtype dtype;
    char symbol[SYMBOL];
    struct codelet *next;
} codelet;

struct tutti_codelets {
    codelet *first;
    codelet *of[]; /* per node; NULL where no kernel runs */
};

static codelet *find(const tutti_codelets *c, const tutti_kernel *kernel)
{
    codelet *found = c->first;
    while (found && (found->op != kernel->op || found->dtype != kernel->dtype)) found = found->next;
    return found;
}

/* StarPU writes to a codelet and its model, so neither moves or is shared between runs. */
static codelet *make(const tutti_kernel *kernel, void (*run)(void *buffers[], void *arg))
{
    codelet *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->op = kernel->op;
    made->dtype = kernel->dtype;
    snprintf(made->symbol, sizeof made->symbol, "tutti_%s_%s", kernel->op->name,
        tutti_dtype_name(kernel->dtype));
    for (char *c = made->symbol; *c; c++) *c = (char)tolower((unsigned char)*c);
    made->model = (struct starpu_perfmodel){.type = STARPU_HISTORY_BASED, .symbol = made->symbol};
    made->codelet = (struct starpu_codelet){.cpu_funcs = {run},
        .nbuffers = STARPU_VARIABLE_NBUFFERS,
        .model = &made->model,
        .name = kernel->op->name};
    return made;
}

tutti_status tutti_codelets_open(const tutti_binding *binding,
    void (*run)(void *buffers[], void *arg), tutti_codelets **codelets)
{
    tutti_codelets *c = calloc(1, sizeof *c + (size_t)binding->nodes * sizeof *c->of);
    if (!c)
        return tutti_fail(
            TUTTI_ERR_NOMEM, "no memory for the codelets of %d nodes", binding->nodes);
    for (int n = 0; n < binding->nodes; n++) {
        const tutti_kernel *kernel = binding->kernel[n];
        if (!kernel) continue;
        c->of[n] = find(c, kernel);
        if (c->of[n]) continue;
        codelet *made = make(kernel, run);
        if (!made) {
            tutti_codelets_close(c);
            return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the codelet of %s", kernel->op->name);
        }
        made->next = c->first;
        c->first = c->of[n] = made;
    }
    *codelets = c;
    return TUTTI_OK;
}

void tutti_codelets_close(tutti_codelets *codelets)
{
    while (codelets && codelets->first) {
        codelet *gone = codelets->first;
        codelets->first = gone->next;
        free(gone);
    }
    free(codelets);
}

struct starpu_codelet *tutti_codelets_get(tutti_codelets *codelets, int node)
{
    return &codelets->of[node]->codelet;
}
