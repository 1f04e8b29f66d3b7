#include "apps/train/weights_file.h"

#include "apps/architecture/architecture.h"
#include "apps/session/weights.h"
#include "apps/train/torch.h"
#include "dag/base/log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As in doc/checkpoint.md. */
const char tutti_axes_checkpoint[] =
    "convolution weight: out,height,width,in; dense weight: out,in (of height,width,channel); "
    "scaleshift: scale,shift by channel; running: mean,variance by channel";
const char tutti_axes_torch[] = "convolution weight: out,in,height,width; dense weight: out,in (of "
                                "channel,height,width)";

static int begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static int ends_with(const char *text, const char *with)
{
    const size_t length = strlen(text), end = strlen(with);
    return length > end && strcmp(text + length - end, with) == 0;
}

/* ---- axes ---- */

/* Whether a name is one that only checkpoints have. */
static int is_checkpoints(const tutti_checkpoint *file, const char *name)
{
    static const char *const kept[] = {"m.", "square."};
    tutti_shape shape;
    if (ends_with(name, ".scaleshift") || ends_with(name, ".running")) return 1;
    for (size_t k = 0; k < sizeof kept / sizeof *kept; k++)
        if (begins_with(name, kept[k]) &&
            tutti_checkpoint_find(file, name + strlen(kept[k]), &shape))
            return 1;
    return 0;
}

tutti_status tutti_weights_axes(const tutti_checkpoint *file, int *torch)
{
    const char *axes = tutti_checkpoint_value(file, "axes"),
               *format = tutti_checkpoint_value(file, "format"), *name;
    *torch = 0;
    for (int i = 0; (name = tutti_checkpoint_name(file, i)); i++)
        if (is_checkpoints(file, name)) return TUTTI_OK;
    if (axes && strcmp(axes, tutti_axes_checkpoint) == 0) return TUTTI_OK;
    if (axes && strcmp(axes, tutti_axes_torch) != 0)
        return tutti_fail(TUTTI_ERR_FORMAT,
            "checkpoint %s: axes: \"%s\" are unknown to this version: they must be those of a "
            "checkpoint or of tutti-export --format torch",
            tutti_checkpoint_path(file), axes);
    if (!axes && format && (!strcmp(format, "tf") || !strcmp(format, "flax")))
        return tutti_fail(TUTTI_ERR_FORMAT,
            "checkpoint %s: format %s: its axes are not PyTorch's: save the weights from PyTorch's "
            "model",
            tutti_checkpoint_path(file), format);
    *torch = axes || format || !tutti_checkpoint_value(file, "program") ||
             !tutti_checkpoint_value(file, "step");
    return TUTTI_OK;
}

/* ---- names ---- */

/* The copy of a name without the words that wrappers of PyTorch's put into it. NULL: no memory. */
static char *unwrap(const char *name)
{
    static const char *const words[] = {
        "module.", "_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module."};
    enum { WORDS = sizeof words / sizeof *words };
    char *plain = malloc(strlen(name) + 1), *to = plain;
    while (plain && *name) {
        int w = 0;
        while (w < WORDS && !begins_with(name, words[w])) w++;
        if (w < WORDS) {
            name += strlen(words[w]);
            continue;
        }
        while (*name && *name != '.') *to++ = *name++;
        if (*name) *to++ = *name++;
    }
    if (plain) *to = '\0';
    return plain;
}

static tutti_status list_names(tutti_weights_file *f)
{
    int count = 0;
    while (tutti_checkpoint_name(f->file, count)) count++;
    f->prefix = strdup("");
    f->name = calloc((size_t)count + 1, sizeof *f->name);
    if (!f->prefix || !f->name)
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for names of tensors");
    for (; f->names < count; f->names++) {
        tutti_weights_name *n = &f->name[f->names];
        n->name = tutti_checkpoint_name(f->file, f->names);
        n->plain = unwrap(n->name);
        if (!n->plain) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for names of tensors");
    }
    return TUTTI_OK;
}

tutti_status tutti_weights_open(const char *path, tutti_weights_file *f)
{
    void *image;
    size_t bytes;
    f->onnx = tutti_architecture_has_weights(path);
    tutti_status status = f->onnx ? tutti_architecture_weights(path, &image, &bytes)
                                  : tutti_checkpoint_open(path, &f->file);
    if (!status && f->onnx) status = tutti_checkpoint_open_image(path, image, bytes, &f->file);
    if (!status) status = tutti_weights_axes(f->file, &f->torch);
    return status ? status : list_names(f);
}

void tutti_weights_close(tutti_weights_file *f)
{
    for (int i = 0; i < f->names; i++) free(f->name[i].plain);
    free(f->name);
    free(f->prefix);
    tutti_checkpoint_close(f->file);
    *f = (tutti_weights_file){0};
}

/* ---- the prefix ---- */

typedef struct prefix {
    const char *text; /* the first `length` characters */
    int length, found;
} prefix;

typedef struct prefixes {
    int count;
    prefix *list;
} prefixes;

static tutti_status count_prefix(prefixes *all, const char *text, int length)
{
    int p = 0;
    while (p < all->count &&
           (all->list[p].length != length || memcmp(all->list[p].text, text, (size_t)length) != 0))
        p++;
    if (p == all->count) {
        prefix *wider = realloc(all->list, (size_t)(p + 1) * sizeof *wider);
        if (!wider) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for names of tensors");
        all->list = wider;
        all->list[all->count++] = (prefix){text, length, 0};
    }
    all->list[p].found++;
    return TUTTI_OK;
}

/* Counts what stands before this name in the file. */
static tutti_status count_name(const tutti_weights_file *f, prefixes *all, const char *wanted)
{
    tutti_status status = TUTTI_OK;
    const int least = (int)strlen(wanted);
    for (int i = 0; i < f->names && !status; i++) {
        const char *plain = f->name[i].plain;
        const int before = (int)strlen(plain) - least;
        if (before >= 0 && strcmp(plain + before, wanted) == 0 &&
            (before == 0 || plain[before - 1] == '.'))
            status = count_prefix(all, plain, before);
    }
    return status;
}

static tutti_status count_names(const tutti_weights_file *f, const tutti_training_session *session,
    const char *model, prefixes *all, int *wanted)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < tutti_weights_parameters(session) && !status; i++) {
        const tutti_tensor *t = tutti_weights_get(session, i);
        tutti_torch_part part[TUTTI_TORCH_PARTS];
        const int parts = tutti_torch_describe(session->net, model, t, t->name, part);
        *wanted += parts;
        for (int p = 0; p < parts && !status; p++) status = count_name(f, all, part[p].name);
    }
    return status;
}

/* No prefix counts more than others, unless hardly any name is without one. */
static const prefix *find_best(const prefixes *all)
{
    const prefix *best = NULL, *none = NULL;
    for (int p = 0; p < all->count; p++) {
        if (!best || all->list[p].found > best->found) best = &all->list[p];
        if (!all->list[p].length) none = &all->list[p];
    }
    return none && 2 * none->found >= best->found ? none : best;
}

/* wanted: how many names the net has; a prefix counts only if most of them have it. */
static tutti_status choose_prefix(
    tutti_weights_file *f, const prefixes *all, int wanted, const char *model)
{
    const char *path = tutti_checkpoint_path(f->file);
    const prefix *best = find_best(all);
    if (!best || (best->length && 2 * best->found < wanted))
        return tutti_fail(TUTTI_ERR_FORMAT,
            "checkpoint %s: no tensor in it fits the model %s; its first one is \"%s\": rename "
            "them "
            "as doc/checkpoint.md says",
            path, model, f->names ? f->name[0].name : "");
    for (int p = 0; best->length && p < all->count; p++) {
        const prefix *other = &all->list[p];
        if (other == best || !other->length || 2 * other->found < best->found) continue;
        return tutti_fail(TUTTI_ERR_FORMAT,
            "checkpoint %s: more than one network is in it, \"%.*s\" and \"%.*s\": save only the "
            "tensors of one",
            path, best->length, best->text, other->length, other->text);
    }
    free(f->prefix);
    f->prefix = strndup(best->text, (size_t)best->length);
    if (!f->prefix) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for names of tensors");
    if (best->length)
        tutti_log(TUTTI_LOG_INFO, "checkpoint %s: the names of its tensors begin with \"%s\"", path,
            f->prefix);
    return TUTTI_OK;
}

tutti_status tutti_weights_match(
    tutti_weights_file *f, const tutti_training_session *session, const char *model)
{
    prefixes all = {0};
    int wanted = 0;
    if (!f->torch) return TUTTI_OK;
    tutti_status status = count_names(f, session, model, &all, &wanted);
    if (!status) status = choose_prefix(f, &all, wanted, model);
    free(all.list);
    return status;
}

/* ---- tensors ---- */

/* What the file calls a tensor of PyTorch's, in `full`: PREFIX + name in its own spelling, or else the
 * bare name: networks of a backbone with a prefix may have a head without. FORMAT: twice. */
static tutti_status choose_spelling(
    const tutti_weights_file *f, const char *name, char full[], size_t size)
{
    const tutti_weights_name *found = NULL;
    tutti_shape shape;
    snprintf(full, size, "%s%s", f->prefix, name);
    if (tutti_checkpoint_find(f->file, full, &shape)) return TUTTI_OK;
    for (int i = 0; i < f->names; i++) {
        if (strcmp(f->name[i].plain, full) != 0) continue;
        if (found)
            return tutti_fail(TUTTI_ERR_FORMAT,
                "checkpoint %s: tensor \"%s\" is there twice, as \"%s\" and \"%s\": save one of "
                "them",
                tutti_checkpoint_path(f->file), name, found->name, f->name[i].name);
        found = &f->name[i];
    }
    if (found)
        snprintf(full, size, "%s", found->name);
    else if (tutti_checkpoint_find(f->file, name, &shape))
        snprintf(full, size, "%s", name);
    return TUTTI_OK;
}

static tutti_status spell(const tutti_weights_file *f, const char *name, char full[], size_t size)
{
    tutti_status status = choose_spelling(f, name, full, size);
    for (int i = 0; i < f->names && !status; i++)
        if (strcmp(f->name[i].name, full) == 0) f->name[i].used = 1;
    return status;
}

int tutti_weights_further(const tutti_weights_file *f, const char **first)
{
    int further = 0;
    for (int i = 0; i < f->names; i++)
        if (!f->name[i].used && !further++) *first = f->name[i].name;
    return further;
}

enum { FULL = 512 };

int tutti_weights_find(const tutti_weights_file *f, const tutti_net *net, const char *model,
    const tutti_tensor *tensor, const char *name, tutti_shape *has, tutti_shape *wants)
{
    tutti_torch_part part[TUTTI_TORCH_PARTS];
    char full[FULL];
    *wants = tensor->shape;
    if (!f->torch) return tutti_checkpoint_find(f->file, name, has);
    if (!tutti_torch_describe(net, model, tensor, name, part)) return 0;
    *wants = tutti_torch_shape(&part[0]);
    return !spell(f, part[0].name, full, sizeof full) && tutti_checkpoint_find(f->file, full, has);
}

static tutti_status read_part(
    const tutti_weights_file *f, const tutti_torch_part *part, float *ours)
{
    char full[FULL];
    float *theirs = malloc((size_t)part->count * sizeof *theirs);
    if (!theirs) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the tensor %s", part->name);
    const tutti_checkpoint_tensor wanted = {full, TUTTI_F32, tutti_torch_shape(part), theirs};
    tutti_status status = spell(f, part->name, full, sizeof full);
    if (!status) status = tutti_checkpoint_read(f->file, &wanted);
    if (!status) tutti_torch_unpack(part, theirs, ours);
    free(theirs);
    return status;
}

/* Of running statistics, the second half are variances. */
static tutti_status check_values(
    const tutti_weights_file *f, const tutti_tensor *t, const char *name, const float *value)
{
    const int64_t count = tutti_shape_count(&t->shape);
    const int64_t variances = ends_with(name, ".running") ? count / 2 : count;
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(value[i]) || (i >= variances && value[i] < 0))
            return tutti_fail(TUTTI_ERR_FORMAT, "checkpoint %s: tensor \"%s\" has the value %g, %s",
                tutti_checkpoint_path(f->file), name, (double)value[i],
                isfinite(value[i]) ? "which is not a variance"
                                   : "which is not finite: take a file from before that");
    return TUTTI_OK;
}

tutti_status tutti_weights_read(const tutti_weights_file *f, const tutti_net *net,
    const char *model, const tutti_tensor *tensor, const char *name, void *data)
{
    const tutti_checkpoint_tensor wanted = {name, tensor->dtype, tensor->shape, data};
    tutti_torch_part part[TUTTI_TORCH_PARTS];
    tutti_status status = TUTTI_OK;
    if (f->torch) {
        const int parts = tutti_torch_describe(net, model, tensor, name, part);
        if (parts == 0)
            return tutti_fail(TUTTI_ERR_UNSUPPORTED,
                "checkpoint %s: the tensor %s has no name in PyTorch",
                tutti_checkpoint_path(f->file), name);
        for (int p = 0; p < parts && !status; p++) status = read_part(f, &part[p], data);
    } else
        status = tutti_checkpoint_read(f->file, &wanted);
    if (!status && tensor->dtype == TUTTI_F32) status = check_values(f, tensor, name, data);
    return status;
}
