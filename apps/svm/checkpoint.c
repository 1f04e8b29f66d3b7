#include "apps/svm/checkpoint.h"

#include "apps/svm/memory.h"
#include "apps/train/checkpoint.h"
#include "dag/base/conf.h"

#include <stdio.h>
#include <string.h>

/* A tensor of the file: every rank's part of it, or on rank 0 all of it where the ranks have the same. */
typedef struct item {
    char name[32];
    tutti_dtype dtype;
    void *data;
    int64_t count; /* of this rank */
    int same;      /* the same on all ranks */
    void *whole;   /* on rank 0 */
} item;

enum { OF_MACHINE = 1, OF_STATE = 4 };

/* Lists the tensors: those of the machine, then those of the state. */
static item *list_items(const tutti_svm_machine *m, const tutti_svm_state *s, int *count)
{
    const int classes = m ? m->classes : 0;
    item *all = tutti_svm_new(OF_MACHINE + classes + OF_STATE, sizeof *all), *at = all;
    if (!all) return NULL;
    if (m)
        *at++ = (item){"results", TUTTI_U8, m->result,
            tutti_svm_pairs(classes) * (int64_t)sizeof *m->result, 1, NULL};
    for (int c = 0; c + 1 < classes; c++, at++) {
        *at = (item){"", TUTTI_F64, m->coefficient + c * m->rows, m->rows, 0, NULL};
        snprintf(at->name, sizeof at->name, "coefficient.%d", c);
    }
    if (s) {
        *at++ = (item){"words", TUTTI_I64, s->word, s->words, 1, NULL};
        *at++ = (item){"alpha", TUTTI_F64, s->alpha, s->samples, 0, NULL};
        *at++ = (item){"f", TUTTI_F64, s->f, s->samples, 0, NULL};
        *at++ = (item){"eliminated", TUTTI_I8, s->eliminated, s->samples, 0, NULL};
    }
    *count = (int)(at - all);
    return all;
}

/* What this rank adds to the tensor. */
static int64_t part_of(const tutti_svm_world *world, const item *i)
{
    return i->same && world->rank ? 0 : i->count;
}
static int64_t bytes_of(const tutti_svm_world *world, const item *i)
{
    return part_of(world, i) * (int64_t)tutti_dtype_bytes(i->dtype);
}

/* The tensors as rank 0's file has them; *tensor is NULL elsewhere. */
static tutti_status make_tensors(
    tutti_svm_world *world, item *items, int count, tutti_checkpoint_tensor **tensor)
{
    tutti_status made = items ? TUTTI_OK : TUTTI_ERR_NOMEM;
    *tensor = world->rank ? NULL : tutti_svm_new(count + 1, sizeof **tensor);
    if (!world->rank && !*tensor) made = TUTTI_ERR_NOMEM;
    tutti_status status = tutti_svm_agree(world, made);
    for (int k = 0; k < count && !status; k++) {
        int64_t before, all;
        status = tutti_svm_place(world, part_of(world, &items[k]), &before, &all);
        if (status || world->rank) continue;
        items[k].whole = tutti_svm_new(all, tutti_dtype_bytes(items[k].dtype));
        if (!items[k].whole) made = TUTTI_ERR_NOMEM;
        (*tensor)[k] = (tutti_checkpoint_tensor){
            items[k].name, items[k].dtype, tutti_shape_of(all), items[k].whole};
    }
    return status ? status : tutti_svm_agree(world, made);
}

static void free_items(item *items, int count, tutti_checkpoint_tensor *tensor)
{
    for (int k = 0; items && k < count; k++) free(items[k].whole);
    free(items);
    free(tensor);
}

tutti_status tutti_svm_checkpoint_save(tutti_svm_world *world, const char *path,
    const char *settings, const char *data, const tutti_svm_machine *m,
    const tutti_svm_state *state)
{
    char pairs[32];
    int count = 0;
    item *items = list_items(m, state, &count);
    tutti_checkpoint_tensor *tensor = NULL;
    tutti_status status = make_tensors(world, items, count, &tensor);
    for (int k = 0; k < count && !status; k++)
        status =
            tutti_svm_collect(world, items[k].data, bytes_of(world, &items[k]), items[k].whole);
    snprintf(pairs, sizeof pairs, "%d", m->pairs);
    if (!status && !world->rank) {
        const tutti_checkpoint_place place = {.path = path};
        const tutti_checkpoint_pair pair[] = {
            {"svm_settings", settings}, {"svm_pairs", pairs}, {"svm_data", data}};
        status = tutti_checkpoint_save(&place, 3, pair, count, tensor);
    }
    free_items(items, count, tensor);
    return tutti_svm_agree(world, status);
}

/* Rank 0 opens the file. *pairs: of the machine. */
static tutti_status open_file(const char *path, const char *settings, const char *data,
    int64_t *pairs, tutti_checkpoint **file)
{
    tutti_conf_difference difference;
    tutti_status status = tutti_checkpoint_open(path, file);
    if (status) return status;
    const char *text = tutti_checkpoint_value(*file, "svm_settings");
    const char *number = tutti_checkpoint_value(*file, "svm_pairs");
    const char *had = tutti_checkpoint_value(*file, "svm_data");
    if (!text || !number)
        return tutti_fail(TUTTI_ERR_FORMAT, "%s is not a checkpoint of tutti-svm", path);
    *pairs = atoll(number);
    if (tutti_conf_compare(text, settings, &difference))
        return tutti_fail(TUTTI_ERR_FORMAT,
            "the checkpoint %s was made with %s %s, this run has %s", path, difference.name,
            difference.a, difference.b);
    if (had && strcmp(had, data) != 0)
        return tutti_fail(TUTTI_ERR_FORMAT,
            "the checkpoint %s is of other data: the data file had %s, and has %s", path, had,
            data);
    return TUTTI_OK;
}

tutti_status tutti_svm_checkpoint_load(tutti_svm_world *world, const char *path,
    const char *settings, const char *data, tutti_svm_machine *m, const tutti_svm_state *state)
{
    int count = 0;
    int64_t pairs = 0;
    item *items = list_items(m, state, &count);
    tutti_checkpoint_tensor *tensor = NULL;
    tutti_checkpoint *file = NULL;
    tutti_status status = make_tensors(world, items, count, &tensor);
    if (!status && !world->rank) status = open_file(path, settings, data, &pairs, &file);
    for (int k = 0; k < count && !status && !world->rank; k++)
        status = tutti_checkpoint_read(file, &tensor[k]);
    tutti_checkpoint_close(file);
    status = tutti_svm_agree(world, status);
    for (int k = 0; k < count && !status; k++)
        status = tutti_svm_spread(world, items[k].whole, bytes_of(world, &items[k]), items[k].data);
    for (int k = 0; k < count && !status; k++)
        if (items[k].same)
            status = tutti_svm_broadcast(
                world, items[k].data, items[k].count * (int64_t)tutti_dtype_bytes(items[k].dtype));
    if (!status) status = tutti_svm_sum(world, &pairs);
    free_items(items, count, tensor);
    if (status || !m) return status;
    m->pairs = (int)pairs;
    if (pairs < 0 || pairs >= tutti_svm_pairs(m->classes))
        return tutti_fail(TUTTI_ERR_FORMAT, "the checkpoint %s is of other data", path);
    for (int p = 0; p < m->pairs; p++) m->rho[p] = m->result[p].rho;
    return TUTTI_OK;
}
