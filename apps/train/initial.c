#include "apps/train/initial.h"

#include "apps/session/weights.h"
#include "apps/train/checkpoint.h"
#include "apps/train/torch.h"
#include "dag/base/log.h"

#include <stdio.h>
#include <string.h>

typedef struct loading {
    const tutti_trainer *s;
    tutti_checkpoint *from;
    int torch;       /* the file has PyTorch's names and axes */
    int number;      /* of the tensor in the walk */
    int64_t read;    /* tensors */
    char anew[1024]; /* the names of those that keep their initial values */
} loading;

static int begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static int ends(const char *text, const char *with)
{
    size_t length = strlen(text), end = strlen(with);
    return length > end && strcmp(text + length - end, with) == 0;
}

/* The name in the file of what a tensor begins as; NULL: it is the update rule's, which begins anew. */
static const char *source_of(const loading *l, const char *name)
{
    static const char average[] = "average.";
    if (begins(name, average)) return name + sizeof average - 1;
    if (l->number < tutti_weights_parameters(&l->s->session)) return name;
    return ends(name, ".running") ? name : NULL;
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

/* Whether the file's tensor belongs to a head for other classes, which begins anew. */
static int begins_anew(const loading *l, const char *name, const tutti_shape *wanted)
{
    tutti_shape theirs;
    return !l->s->options->evaluate && tutti_checkpoint_find(l->from, name, &theirs) &&
           is_head(wanted, &theirs, l->s->train.classes);
}

static void note(loading *l, const char *name)
{
    size_t used = strlen(l->anew);
    snprintf(l->anew + used, sizeof l->anew - used, "%s%s", used ? ", " : "", name);
}

static tutti_status load_ours(loading *l, const char *name, const tutti_tensor *t, void *data)
{
    if (begins_anew(l, name, &t->shape)) {
        note(l, t->name);
        return TUTTI_OK;
    }
    const tutti_checkpoint_tensor wanted = {name, t->dtype, t->shape, data};
    tutti_status status = tutti_checkpoint_read(l->from, &wanted);
    l->read += !status;
    return status;
}

static tutti_status load_theirs(loading *l, const char *name, const tutti_tensor *t, void *data)
{
    tutti_torch_part part[TUTTI_TORCH_PARTS];
    int parts = tutti_torch_describe(l->s->session.net, l->s->options->model->name, t, name, part);
    if (parts == 0)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "--init-from %s: the tensor %s has no name in PyTorch", l->s->options->init_from, name);
    const tutti_shape wanted = tutti_torch_shape(&part[0]);
    if (begins_anew(l, part[0].name, &wanted)) {
        note(l, t->name);
        return TUTTI_OK;
    }
    tutti_status status = tutti_torch_read(l->from, parts, part, data);
    l->read += !status;
    return status;
}

static tutti_status load_tensor(void *ctx, const tutti_tensor *t, void *data)
{
    loading *l = ctx;
    const char *name = source_of(l, t->name);
    l->number++;
    if (!name) return TUTTI_OK;
    return l->torch ? load_theirs(l, name, t, data) : load_ours(l, name, t, data);
}

/* A checkpoint of Tutti says at which step it was saved, and has its pairs in one tensor; what has
 * neither is a state dictionary of PyTorch's. */
static int is_torch(const loading *l)
{
    const tutti_training_session *session = &l->s->session;
    tutti_shape shape;
    if (tutti_checkpoint_value(l->from, "step")) return 0;
    for (int i = 0; i < tutti_weights_parameters(session); i++) {
        const char *name = tutti_weights_get(session, i)->name;
        if (ends(name, ".scaleshift") && tutti_checkpoint_find(l->from, name, &shape)) return 0;
    }
    return 1;
}

static tutti_status check_model(const loading *l)
{
    const char *has = tutti_checkpoint_value(l->from, "model"), *is = l->s->options->model->name;
    if (!has || strcmp(has, is) == 0) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_FORMAT,
        "--init-from %s: its model is %s, but this run's is %s: add --model %s",
        l->s->options->init_from, has, is, has);
}

static tutti_status fill_tensor(void *ctx, const tutti_tensor *t, void *data, int *filled)
{
    loading *l = ctx;
    const int64_t had = l->read;
    tutti_status status = load_tensor(l, t, data);
    *filled = l->read > had;
    return status;
}

static tutti_status open_file(loading *l)
{
    if (l->s->session.rank != 0) return TUTTI_OK;
    tutti_status status = tutti_checkpoint_open(l->s->options->init_from, &l->from);
    if (status) return status;
    l->torch = is_torch(l);
    return check_model(l);
}

/* To the ranks that have each tensor; without a pipeline, to this one, which then tells the others. */
static tutti_status load_tensors(loading *l)
{
    const tutti_training_session *session = &l->s->session;
    if (session->whole) return tutti_weights_spread(session, fill_tensor, l);
    if (session->rank != 0) return TUTTI_OK;
    return tutti_weights_walk(
        session, tutti_weights_count(session), TUTTI_READWRITE, load_tensor, l);
}

static tutti_status tell(const loading *l)
{
    const tutti_trainer *s = l->s;
    if (s->session.rank != 0) return TUTTI_OK;
    if (l->read == 0)
        return tutti_fail(
            TUTTI_ERR_FORMAT, "--init-from %s: no tensor in it fits", s->options->init_from);
    if (l->torch)
        tutti_log(TUTTI_LOG_INFO, "--init-from %s: weights with PyTorch's names and axes",
            s->options->init_from);
    if (*l->anew)
        tutti_log(TUTTI_LOG_INFO,
            "--init-from %s: a new head for %d classes: %s begin anew, all other weights are from "
            "the file",
            s->options->init_from, s->train.classes, l->anew);
    return TUTTI_OK;
}

tutti_status tutti_initial_load(const tutti_trainer *s)
{
    loading l = {.s = s};
    tutti_exchange *exchange = s->session.exchange;
    tutti_status status = tutti_exchange_agree(exchange, open_file(&l), NULL);
    if (!status) status = tutti_exchange_agree(exchange, load_tensors(&l), NULL);
    if (!status) status = tutti_exchange_agree(exchange, tell(&l), NULL);
    tutti_checkpoint_close(l.from);
    return status;
}
