#include "apps/train/initial.h"

#include "apps/session/weights.h"
#include "apps/train/checkpoint.h"
#include "dag/base/log.h"

#include <stdio.h>
#include <string.h>

typedef struct loading {
    const tutti_trainer *s;
    tutti_checkpoint *from;
    int number;      /* of the tensor in the walk */
    int64_t read;    /* tensors */
    char anew[1024]; /* the names of those that keep their initial values */
} loading;

static int begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The name in the file of what a tensor begins as; NULL: it is the update rule's, which begins anew. */
static const char *source_of(const loading *l, const char *name)
{
    static const char average[] = "average.", running[] = ".running";
    size_t length = strlen(name), end = sizeof running - 1;
    if (begins(name, average)) return name + sizeof average - 1;
    if (l->number < l->s->session.step->parameters) return name;
    return length > end && strcmp(name + length - end, running) == 0 ? name : NULL;
}

/* Whether shapes differ, and only where ours has the number of classes. */
static int is_head(const tutti_shape *ours, const tutti_shape *theirs, int classes)
{
    if (ours->rank != theirs->rank) return 0;
    int differs = 0;
    for (int d = 0; d < ours->rank; d++) {
        if (ours->dim[d] == theirs->dim[d]) continue;
        if (ours->dim[d] != classes) return 0;
        differs = 1;
    }
    return differs;
}

static void note(loading *l, const char *name)
{
    size_t used = strlen(l->anew);
    snprintf(l->anew + used, sizeof l->anew - used, "%s%s", used ? ", " : "", name);
}

static tutti_status load_tensor(void *ctx, const tutti_tensor *t, void *data)
{
    loading *l = ctx;
    tutti_shape theirs;
    const char *name = source_of(l, t->name);
    l->number++;
    if (!name) return TUTTI_OK;
    if (!l->s->options->evaluate && tutti_checkpoint_find(l->from, name, &theirs) &&
        is_head(&t->shape, &theirs, l->s->train.classes)) {
        note(l, t->name);
        return TUTTI_OK;
    }
    const tutti_checkpoint_tensor wanted = {name, t->dtype, t->shape, data};
    tutti_status status = tutti_checkpoint_read(l->from, &wanted);
    l->read += !status;
    return status;
}

static tutti_status check_model(const loading *l)
{
    const char *has = tutti_checkpoint_value(l->from, "model"), *is = l->s->options->model->name;
    if (!has || strcmp(has, is) == 0) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_FORMAT,
        "--init-from %s: its model is %s, but this run's is %s: add --model %s",
        l->s->options->init_from, has, is, has);
}

tutti_status tutti_initial_load(const tutti_trainer *s)
{
    loading l = {.s = s};
    tutti_status status = tutti_checkpoint_open(s->options->init_from, &l.from);
    if (status) return status;
    status = check_model(&l);
    if (!status)
        status = tutti_weights_walk(
            &s->session, tutti_weights_count(&s->session), TUTTI_READWRITE, load_tensor, &l);
    if (!status && l.read == 0)
        status = tutti_fail(
            TUTTI_ERR_FORMAT, "--init-from %s: no tensor in it fits", s->options->init_from);
    if (!status && *l.anew)
        tutti_log(TUTTI_LOG_INFO,
            "--init-from %s: a new head for %d classes: %s begin anew, all other weights are from "
            "the file",
            s->options->init_from, s->train.classes, l.anew);
    tutti_checkpoint_close(l.from);
    return status;
}
