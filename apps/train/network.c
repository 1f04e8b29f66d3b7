#include "apps/train/network.h"

#include "apps/session/weights.h"
#include "dag/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RESIZE_MOST = 65535 };

static tutti_status lacks(const tutti_checkpoint *file, const char *what)
{
    return tutti_fail(TUTTI_ERR_FORMAT,
        "checkpoint %s: it does not say %s: continue it with --resume for a step, which saves it "
        "again",
        tutti_checkpoint_path(file), what);
}

/* "0.5,0.25,0.125" */
static int read_floats(const char *text, int count, float *value)
{
    for (int i = 0; text && i < count; i++) {
        char *end;
        value[i] = strtof(text, &end);
        if (end == text || *end != (i < count - 1 ? ',' : '\0')) return 0;
        text = end + 1;
    }
    return text != NULL;
}

static tutti_status describe(tutti_network *n, tutti_step_options *recipe)
{
    const char *name = tutti_checkpoint_value(n->file, "model"),
               *shape = tutti_checkpoint_value(n->file, "shape"),
               *classes = tutti_checkpoint_value(n->file, "classes"),
               *resize = tutti_checkpoint_value(n->file, "resize"),
               *eval_size = tutti_checkpoint_value(n->file, "eval-size");
    tutti_model_input *in = &n->input;
    n->model = name ? tutti_model_find(name) : NULL;
    if (!n->model)
        return tutti_fail(TUTTI_ERR_FORMAT, "checkpoint %s: its model is %s, which is not known",
            tutti_checkpoint_path(n->file), name ? name : "not given");
    char end;
    if (!shape || sscanf(shape, "%dx%dx%d%c", &in->H, &in->W, &in->C, &end) != 3 || in->H < 1 ||
        in->W < 1 || (in->C != 1 && in->C != 3))
        return lacks(n->file, "the size of its images");
    if (eval_size) {
        if (sscanf(eval_size, "%d%c", &in->H, &end) != 1 || in->H < 1 || in->H > RESIZE_MOST)
            return tutti_fail(TUTTI_ERR_FORMAT, "checkpoint %s: eval-size %s is not a size",
                tutti_checkpoint_path(n->file), eval_size);
        in->W = in->H;
    }
    if (!classes || sscanf(classes, "%d%c", &in->classes, &end) != 1 || in->classes < 1)
        return lacks(n->file, "how many classes it has");
    *recipe = (tutti_step_options){.batch = TUTTI_NETWORK_BATCH};
    if (!read_floats(tutti_checkpoint_value(n->file, "mean"), in->C, recipe->mean) ||
        !read_floats(tutti_checkpoint_value(n->file, "deviation"), in->C, recipe->deviation))
        return lacks(n->file, "the mean and the deviation of its images");
    if (resize && (sscanf(resize, "%d%c", &n->resize, &end) != 1 || n->resize < in->H ||
                      n->resize < in->W || n->resize > RESIZE_MOST))
        return tutti_fail(TUTTI_ERR_FORMAT, "checkpoint %s: resize %s is not a size",
            tutti_checkpoint_path(n->file), resize);
    return TUTTI_OK;
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
    const tutti_checkpoint_tensor wanted = {t->name, t->dtype, t->shape, data};
    return needed ? tutti_checkpoint_read(w->n->file, &wanted) : TUTTI_OK;
}

tutti_status tutti_network_open(const char *path, tutti_network *n)
{
    const tutti_training_session_options alone = {.runner = "inline", .workers = 1};
    tutti_step_options recipe;
    tutti_status status = tutti_checkpoint_open(path, &n->file);
    if (!status) status = describe(n, &recipe);
    if (!status) status = tutti_training_session_open(&alone, &n->session);
    if (!status) status = tutti_training_session_build(&n->session, n->model, &n->input, &recipe);
    if (!status) status = tutti_training_session_apply(&n->session);
    if (!status) status = tutti_training_session_start(&n->session);
    if (!status) status = tutti_training_session_init(&n->session);
    walk w = {n, 0};
    if (!status)
        status = tutti_weights_walk(
            &n->session, tutti_weights_count(&n->session), TUTTI_READWRITE, load_tensor, &w);
    return status;
}

tutti_status tutti_network_close(tutti_network *network)
{
    tutti_checkpoint_close(network->file);
    return tutti_training_session_close(&network->session);
}
