#include "apps/train/initial.h"

#include "apps/session/weights.h"
#include "apps/train/description.h"
#include "apps/train/weights_file.h"
#include "dag/base/log.h"

#include <stdio.h>
#include <string.h>

typedef struct loading {
    const tutti_trainer *s;
    tutti_weights_file from;
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
static int begins_anew(const loading *l, const char *name, const tutti_tensor *t)
{
    tutti_shape has, wants;
    return !l->s->options->evaluation.only &&
           tutti_weights_find(
               &l->from, l->s->session.net, l->s->options->model->name, t, name, &has, &wants) &&
           is_head(&wants, &has, l->s->train.classes);
}

static void note(loading *l, const char *name)
{
    size_t used = strlen(l->anew);
    snprintf(l->anew + used, sizeof l->anew - used, "%s%s", used ? ", " : "", name);
}

static tutti_status load_tensor(void *ctx, const tutti_tensor *t, void *data)
{
    loading *l = ctx;
    const char *name = source_of(l, t->name);
    l->number++;
    if (!name) return TUTTI_OK;
    if (begins_anew(l, name, t)) {
        note(l, t->name);
        return TUTTI_OK;
    }
    tutti_status status =
        tutti_weights_read(&l->from, l->s->session.net, l->s->options->model->name, t, name, data);
    l->read += !status;
    return status;
}

/* Other programs may use these keys for something else. */
static int is_ours(const tutti_checkpoint *file)
{
    const char *producer = tutti_checkpoint_value(file, "producer");
    return tutti_checkpoint_value(file, "program") || (producer && begins(producer, "Tutti "));
}

/* What an accuracy depends on beside the weights; images of another data set may well differ. */
static void compare_moments(const loading *l, const tutti_description *d)
{
    const tutti_step_options *r = &l->s->session.recipe;
    const size_t bytes = (size_t)d->channels * sizeof *d->mean;
    if (!l->s->options->evaluation.only || !d->normalised || d->channels != l->s->train.channels)
        return;
    if (!memcmp(d->mean, r->mean, bytes) && !memcmp(d->deviation, r->deviation, bytes)) return;
    tutti_log(TUTTI_LOG_WARN,
        "--init-from %s: its images had the mean %s and the deviation %s; those of --data have "
        "others, by which they are normalised here",
        l->s->options->checkpoint.init_from, tutti_checkpoint_value(l->from.file, "mean"),
        tutti_checkpoint_value(l->from.file, "deviation"));
}

static tutti_status check_description(const loading *l)
{
    const char *has = tutti_checkpoint_value(l->from.file, "model"),
               *is = l->s->options->model->name;
    tutti_description d;
    if (!is_ours(l->from.file)) return TUTTI_OK;
    tutti_status status = tutti_description_read(l->from.file, &d);
    if (status) return status;
    compare_moments(l, &d);
    if (!has || l->from.onnx || strcmp(has, is) == 0) return TUTTI_OK;
    if (strchr(has, '#')) /* a file, and the hash of its text */
        return tutti_fail(TUTTI_ERR_FORMAT,
            "--init-from %s: its network is %.*s as it was then, but this run's is %s: give "
            "--model the file that it was trained "
            "with (tutti-network(5))",
            l->s->options->checkpoint.init_from, (int)strcspn(has, "#"), has, is);
    return tutti_fail(TUTTI_ERR_FORMAT,
        "--init-from %s: its model is %s, but this run's is %s: add --model %s",
        l->s->options->checkpoint.init_from, has, is, has);
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
    if (l->s->session.placement.rank != 0) return TUTTI_OK;
    tutti_status status = tutti_weights_open(l->s->options->checkpoint.init_from, &l->from);
    if (!status) status = check_description(l);
    if (status) return status;
    return tutti_weights_match(&l->from, &l->s->session, l->s->options->model->name);
}

/* To the ranks that have each tensor; without a pipeline, to this one, which then tells the others. */
static tutti_status load_tensors(loading *l)
{
    const tutti_training_session *session = &l->s->session;
    if (session->whole) return tutti_weights_spread(session, fill_tensor, l);
    if (session->placement.rank != 0) return TUTTI_OK;
    return tutti_weights_walk(
        session, tutti_weights_count(session), TUTTI_READWRITE, load_tensor, l);
}

/* A run of another network would quietly lack layers. */
static void tell_further(const loading *l)
{
    const char *first = "";
    const int further = l->from.onnx ? tutti_weights_further(&l->from, &first) : 0;
    if (further)
        tutti_log(TUTTI_LOG_WARN,
            "--init-from %s: it has %d tensor%s that the model %s does not have, left out: "
            "\"%s\"%s",
            l->s->options->checkpoint.init_from, further, further == 1 ? "" : "s",
            l->s->options->model->name, first, further == 1 ? "" : " is the first");
}

static tutti_status report_loaded(const loading *l)
{
    const tutti_trainer *s = l->s;
    if (s->session.placement.rank != 0) return TUTTI_OK;
    if (l->read == 0)
        return tutti_fail(TUTTI_ERR_FORMAT, "--init-from %s: no tensor in it fits",
            s->options->checkpoint.init_from);
    if (l->from.torch)
        tutti_log(TUTTI_LOG_INFO, "--init-from %s: weights with PyTorch's names and axes",
            s->options->checkpoint.init_from);
    tell_further(l);
    if (*l->anew)
        tutti_log(TUTTI_LOG_INFO,
            "--init-from %s: a new head for %d classes: %s begin anew, all other weights are from "
            "the file",
            s->options->checkpoint.init_from, s->train.classes, l->anew);
    return TUTTI_OK;
}

tutti_status tutti_initial_load(const tutti_trainer *s)
{
    loading l = {.s = s};
    tutti_exchange *exchange = s->session.exchange;
    tutti_status status = tutti_exchange_agree(exchange, open_file(&l), NULL);
    if (!status) status = tutti_exchange_agree(exchange, load_tensors(&l), NULL);
    if (!status) status = tutti_exchange_agree(exchange, report_loaded(&l), NULL);
    tutti_weights_close(&l.from);
    return status;
}
