#include "apps/export/torch_file.h"

#include "apps/session/weights.h"
#include "apps/train/description.h"
#include "apps/train/torch.h"
#include "config.h"
#include "dag/base/log.h"

#include <stdlib.h>
#include <string.h>

typedef struct gathering {
    const tutti_network *network;
    int number; /* of the tensor in the walk */
    int parts;
    tutti_torch_part *part;
    float **data; /* of each part */
} gathering;

static tutti_status add_part(gathering *g, const tutti_torch_part *part, const float *ours)
{
    float *theirs = malloc((size_t)part->count * sizeof *theirs);
    if (!theirs) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the tensor %s", part->name);
    tutti_torch_pack(part, ours, theirs);
    g->part[g->parts] = *part;
    g->data[g->parts++] = theirs;
    return TUTTI_OK;
}

/* Parameters and running statistics; what the optimizer keeps is left out. */
static tutti_status add_tensor(void *ctx, const tutti_tensor *t, void *data)
{
    gathering *g = ctx;
    const tutti_training_session *session = &g->network->session;
    const char *dot = strrchr(t->name, '.');
    tutti_torch_part part[TUTTI_TORCH_PARTS];
    if (g->number++ >= session->step->parameters && !(dot && strcmp(dot, ".running") == 0))
        return TUTTI_OK;
    int parts = tutti_torch_describe(session->net, g->network->model->name, t, t->name, part);
    tutti_status status = TUTTI_OK;
    if (parts == 0)
        status = tutti_fail(TUTTI_ERR_UNSUPPORTED, "the tensor %s has no name in PyTorch", t->name);
    for (int p = 0; p < parts && !status; p++) status = add_part(g, &part[p], data);
    return status;
}

static tutti_status save(const gathering *g, const char *path)
{
    enum { OWN = 3 };
    const tutti_checkpoint_place place = {.path = path};
    tutti_checkpoint_pair pair[OWN + TUTTI_DESCRIPTION_KEYS] = {
        {"format", "pt"}, {"producer", "Tutti " PACKAGE_VERSION}, {"axes", tutti_axes_torch}};
    tutti_description_text about;
    tutti_description_of(g->network->weights.file, &about);
    const int pairs = tutti_description_append(&about, OWN, pair);
    tutti_checkpoint_tensor *list = calloc((size_t)g->parts, sizeof *list);
    if (!list) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a list of %d tensors", g->parts);
    for (int i = 0; i < g->parts; i++)
        list[i] = (tutti_checkpoint_tensor){
            g->part[i].name, TUTTI_F32, tutti_torch_shape(&g->part[i]), g->data[i]};
    tutti_status status = tutti_checkpoint_save(&place, pairs, pair, g->parts, list);
    free(list);
    return status;
}

tutti_status tutti_torch_save(tutti_network *network, const char *path)
{
    const tutti_training_session *session = &network->session;
    const int tensors = tutti_weights_count(session);
    const size_t most = (size_t)tensors * TUTTI_TORCH_PARTS;
    gathering g = {.network = network};
    g.part = calloc(most, sizeof *g.part);
    g.data = calloc(most, sizeof *g.data);
    tutti_status status =
        g.part && g.data
            ? tutti_weights_walk(session, tensors, TUTTI_READ, add_tensor, &g)
            : tutti_fail(TUTTI_ERR_NOMEM, "no memory for a list of %d tensors", tensors);
    if (!status) status = save(&g, path);
    for (int i = 0; i < g.parts; i++) free(g.data[i]);
    free(g.part);
    free(g.data);
    return status;
}
