#include "apps/train/outputs.h"

#include "dag/base/file.h"
#include "dag/base/log.h"
#include "dag/base/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char what[] = "checkpoint";

/* Whether the two options name the same file, even if only earlier versions of it exist. */
static tutti_status compare_names(const char *resume, const char *checkpoint, int *one)
{
    char *a = NULL, *b = NULL;
    *one = 0;
    if (!resume || !checkpoint) return TUTTI_OK;
    tutti_status status =
        tutti_file_target(&(tutti_file_options){.what = what, .path = resume}, &a);
    if (!status)
        status = tutti_file_target(&(tutti_file_options){.what = what, .path = checkpoint}, &b);
    if (!status) *one = strcmp(a, b) == 0 || tutti_file_same(a, b);
    free(a);
    free(b);
    return status;
}

static int is_there(const char *path)
{
    struct stat info;
    return path && stat(path, &info) == 0 && info.st_size > 0; /* mktemp makes empty files */
}

/* No checkpoint is overwritten unless the user has asked for it. */
static tutti_status check_nothing_is_lost(const tutti_outputs *outputs)
{
    const tutti_train_options *o = outputs->options;
    char *target;
    if (!o->checkpoint.file || outputs->continues || o->checkpoint.overwrite) return TUTTI_OK;
    tutti_status status =
        tutti_file_target(&(tutti_file_options){.what = what, .path = o->checkpoint.file}, &target);
    if (status) return status;
    char *earlier = tutti_file_earlier(target, 1);
    const char *lost = is_there(target) ? o->checkpoint.file : is_there(earlier) ? earlier : NULL;
    if (!lost && is_there(outputs->best))
        status = tutti_fail(TUTTI_ERR_USAGE,
            "--checkpoint %s: %s already exists, and this run does not continue from it: add "
            "--overwrite to replace it, or choose another name",
            o->checkpoint.file, outputs->best);
    if (lost)
        status = tutti_fail(TUTTI_ERR_USAGE,
            "--checkpoint %s: %s already exists, and this run does not continue from it: add "
            "--resume %s to continue, or --overwrite to replace it",
            o->checkpoint.file, lost, o->checkpoint.file);
    free(earlier);
    free(target);
    return status;
}

static tutti_status lock_all(tutti_outputs *outputs)
{
    const tutti_train_options *o = outputs->options;
    const struct {
        const char *what, *path;
    } file[TUTTI_OUTPUTS] = {{what, o->checkpoint.file}, {"--json", o->outputs.json},
        {"trace", o->outputs.trace}, {"--csv", o->outputs.csv}, {"--report", o->outputs.page},
        {"--metrics", o->outputs.metrics}, {"--find-lr", o->find_rate.picture}};
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < TUTTI_OUTPUTS && !status; i++)
        if (file[i].path && !(i > 0 && tutti_file_is_device(file[i].path)))
            status = tutti_lock_take(file[i].what, file[i].path, &outputs->lock[i]);
    return status;
}

static tutti_status name_best(tutti_outputs *outputs)
{
    const char *path = outputs->options->checkpoint.file;
    size_t size = strlen(path) + sizeof ".best";
    outputs->best = malloc(size);
    if (!outputs->best) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a file's name");
    snprintf(outputs->best, size, "%s.best", path);
    return TUTTI_OK;
}

static tutti_status claim_all(tutti_outputs *outputs)
{
    const tutti_train_options *o = outputs->options;
    tutti_status status = o->checkpoint.keep_best ? name_best(outputs) : TUTTI_OK;
    if (!status) status = lock_all(outputs);
    if (!status)
        status = compare_names(o->checkpoint.resume, o->checkpoint.file, &outputs->resumed_here);
    outputs->continues |= outputs->resumed_here;
    return status ? status : check_nothing_is_lost(outputs);
}

tutti_status tutti_outputs_claim(
    const tutti_train_options *options, int continues, int restored, tutti_outputs *outputs)
{
    *outputs = (tutti_outputs){.options = options, .continues = continues};
    tutti_status status = options->check_only ? TUTTI_OK : claim_all(outputs);
    if (!status && options->checkpoint.resume && !restored)
        status = tutti_checkpoint_open_newest(
            options->checkpoint.resume, &outputs->resumed, &outputs->earlier);
    return status;
}

tutti_status tutti_outputs_resumed(tutti_outputs *outputs)
{
    tutti_checkpoint_close(outputs->resumed);
    outputs->resumed = NULL;
    if (!outputs->earlier || !outputs->resumed_here) return TUTTI_OK;
    const tutti_file_options file = {.what = what, .path = outputs->options->checkpoint.file};
    return tutti_file_restore(&file, outputs->earlier);
}

tutti_checkpoint_place tutti_outputs_place(const tutti_outputs *outputs, int best)
{
    if (best) return (tutti_checkpoint_place){.path = outputs->best};
    return (tutti_checkpoint_place){outputs->options->checkpoint.file,
        (int)outputs->options->checkpoint.keep, !outputs->continues};
}

int tutti_outputs_lost_best(const tutti_outputs *outputs, int64_t step)
{
    tutti_checkpoint *best = NULL;
    int64_t has = 0;
    if (!outputs->best) return 0;
    if (!is_there(outputs->best) || tutti_checkpoint_open(outputs->best, &best)) return 1;
    const char *text = tutti_checkpoint_value(best, "step");
    const int older = !text || !tutti_number_int(text, &has) || has < step;
    tutti_checkpoint_close(best);
    return older;
}

void tutti_outputs_release(tutti_outputs *outputs)
{
    tutti_checkpoint_close(outputs->resumed);
    outputs->resumed = NULL;
    free(outputs->best);
    outputs->best = NULL;
    for (int i = 0; i < TUTTI_OUTPUTS; i++) {
        tutti_lock_release(outputs->lock[i]);
        outputs->lock[i] = NULL;
    }
}
