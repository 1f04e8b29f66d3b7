#include "apps/train/network.h"

#include "apps/session/weights.h"
#include "apps/train/description.h"
#include "dag/base/log.h"

#include <string.h>

/* A checkpoint of an early version can say it; other programs' files cannot. */
static tutti_status lacks(const tutti_checkpoint *file, const char *what)
{
    return tutti_fail(TUTTI_ERR_FORMAT, "checkpoint %s: it does not say %s: %s",
        tutti_checkpoint_path(file), what,
        tutti_checkpoint_value(file, "program")
            ? "continue it with --resume for a step, which saves it again"
            : "use it in a run, by --init-from, or add the metadata that doc/checkpoint.md names");
}

static tutti_status describe(tutti_network *n, tutti_step_options *recipe)
{
    const tutti_checkpoint *file = n->weights.file;
    tutti_description d;
    tutti_status status = tutti_description_read(file, &d);
    if (status) return status;
    if (!d.model) return lacks(file, "its model");
    if (!d.height) return lacks(file, "the size of its images");
    if (!d.classes) return lacks(file, "how many classes it has");
    if (!d.normalised) return lacks(file, "the mean and the deviation of its images");
    n->model = d.model;
    n->input = (tutti_model_input){d.eval_size ? d.eval_size : d.height,
        d.eval_size ? d.eval_size : d.width, d.channels, d.classes};
    n->resize = d.resize;
    n->epsilon = d.epsilon;
    *recipe = (tutti_step_options){.batch = TUTTI_NETWORK_BATCH};
    memcpy(recipe->mean, d.mean, sizeof d.mean);
    memcpy(recipe->deviation, d.deviation, sizeof d.deviation);
    return TUTTI_OK;
}

static void compare_epsilon(const tutti_network *n)
{
    const float has = n->epsilon, is = tutti_description_epsilon(n->session.net);
    if (has > 0 && is > 0 && (has < is || has > is))
        tutti_log(TUTTI_LOG_WARN,
            "checkpoint %s: its norm-epsilon is %g, but this version's %s has %g: the results "
            "differ",
            tutti_checkpoint_path(n->weights.file), (double)has, n->model->name, (double)is);
}

typedef struct walk {
    const tutti_network *n;
    int number;
} walk;

/* Parameters, then states, of which evaluation reads only running statistics. */
static tutti_status load_tensor(void *ctx, const tutti_tensor *t, void *data)
{
    walk *w = ctx;
    const char *dot = strrchr(t->name, '.');
    int needed =
        w->number < w->n->session.step->parameters || (dot && strcmp(dot, ".running") == 0);
    w->number++;
    if (!needed) return TUTTI_OK;
    return tutti_weights_read(
        &w->n->weights, w->n->session.net, w->n->model->name, t, t->name, data);
}

tutti_status tutti_network_open(const char *path, tutti_network *n)
{
    const tutti_training_session_options alone = {.runner = "inline", .workers = 1};
    tutti_step_options recipe;
    tutti_status status = tutti_weights_open(path, &n->weights);
    if (!status) status = describe(n, &recipe);
    if (!status) status = tutti_training_session_open(&alone, &n->session);
    if (!status) status = tutti_training_session_build(&n->session, n->model, &n->input, &recipe);
    if (!status) status = tutti_training_session_apply(&n->session);
    if (!status) status = tutti_training_session_start(&n->session);
    if (!status) status = tutti_training_session_init(&n->session);
    if (!status) compare_epsilon(n);
    if (!status) status = tutti_weights_match(&n->weights, &n->session, n->model->name);
    walk w = {n, 0};
    if (!status)
        status = tutti_weights_walk(
            &n->session, tutti_weights_count(&n->session), TUTTI_READWRITE, load_tensor, &w);
    return status;
}

tutti_status tutti_network_close(tutti_network *network)
{
    tutti_weights_close(&network->weights);
    return tutti_training_session_close(&network->session);
}
