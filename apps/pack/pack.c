#include "apps/pack/pack.h"

#include "apps/data/class_names.h"
#include "apps/data/file.h"
#include "apps/pack/manifest.h"
#include "apps/pack/origin.h"
#include "apps/pack/output.h"
#include "apps/pack/workers.h"
#include "apps/terminal/terminal.h"
#include "apps/train/interrupt.h"
#include "dag/base/clock.h"
#include "dag/base/file.h"
#include "dag/base/lock.h"
#include "dag/base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char left_out_file[] = "left-out.txt", lists[] = "left out: ";
static const double show_every_s = 0.2;

typedef struct packing {
    const tutti_pack_plan *plan;
    tutti_dataset sets[2];
    int by_class; /* each folder in the source is a class */
    tutti_pack_manifest manifest;
    tutti_interrupt *interrupt;
    int columns; /* of the terminal */
    double began_s, shown_s;
    int64_t done; /* images in this run */
} packing;

/* ---- what people see ---- */

static void show(packing *p, const tutti_dataset *set)
{
    char line[160], left[TUTTI_TERMINAL_TIME];
    const tutti_pack_manifest *m = &p->manifest;
    double now = tutti_clock_s(), rate = (double)p->done / (now - p->began_s);
    if (!p->columns || now - p->shown_s < show_every_s) return;
    p->shown_s = now;
    int64_t rest = set->count - m->place;
    if (m->split == TUTTI_PACK_TRAIN) rest += p->sets[1].count;
    tutti_terminal_time((double)rest / rate, left);
    snprintf(line, sizeof line,
        "%s %" PRId64 "/%" PRId64 " images, %.0f/s, %s left, %" PRId64 " left out",
        m->split == TUTTI_PACK_TRAIN ? "train" : "val", m->place, set->count, rate, left,
        m->left_out);
    tutti_terminal_show(stderr, p->columns, line);
}

static void report_end(const packing *p)
{
    const tutti_pack_manifest *m = &p->manifest;
    tutti_log(TUTTI_LOG_INFO, "%s: %" PRId64 " images are packed", p->plan->to, m->packed);
    if (m->left_out)
        tutti_log(TUTTI_LOG_WARN, "%s: %" PRId64 " damaged images were left out; %s/%s names them",
            p->plan->to, m->left_out, p->plan->to, left_out_file);
}

/* ---- a split ---- */

static tutti_status interrupted(const packing *p)
{
    tutti_terminal_clear(stderr, p->columns);
    return tutti_fail(TUTTI_ERR_INTERRUPTED, "%s: the same command continues where this run ended",
        tutti_interrupt_name(tutti_interrupt_asked(p->interrupt)));
}

static tutti_status copy_images(
    packing *p, const tutti_dataset *set, tutti_pack_workers *workers, tutti_pack_output *output)
{
    tutti_status status = TUTTI_OK;
    while (!status && p->manifest.place < set->count) {
        const tutti_pack_item *item;
        if (tutti_interrupt_asked(p->interrupt)) return interrupted(p);
        status = tutti_pack_workers_next(workers, &item);
        if (!status) status = tutti_pack_output_put(output, item);
        p->done++;
        show(p, set);
    }
    return status ? status : tutti_pack_output_end(output);
}

static tutti_status pack_split(packing *p)
{
    const tutti_pack_plan *plan = p->plan;
    tutti_pack_manifest *m = &p->manifest;
    const tutti_dataset *set = &p->sets[m->split];
    const tutti_pack_task task = {.recipe = &plan->recipe,
        .dataset = set,
        .first = m->place,
        .shuffled = plan->shuffled && m->split == TUTTI_PACK_TRAIN,
        .seed = plan->seed,
        .threads = plan->threads};
    tutti_pack_workers *workers = NULL;
    tutti_pack_output *output = NULL;
    int records = !strcmp(plan->recipe.format->name, "recordio");
    tutti_status status = tutti_pack_output_open(plan->to, records, plan->shard_bytes, m, &output);
    if (!status) status = tutti_pack_workers_open(&task, &workers);
    if (!status) status = copy_images(p, set, workers, output);
    tutti_pack_workers_close(workers);
    tutti_pack_output_close(output);
    return status;
}

/* ---- files beside the shards ---- */

static tutti_status put_file(const char *folder, const char *name, const tutti_bytes *text)
{
    char *path = tutti_path_format("%s/%s", folder, name);
    if (!path) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to write %s", folder, name);
    const tutti_file_options options = {.what = "list", .path = path};
    tutti_status status = tutti_file_put(&options, text->bytes, text->count);
    free(path);
    return status;
}

/* What the manifest lists, without the word that it has in front. */
static tutti_status put_left_out(const packing *p)
{
    const tutti_bytes *left = &p->manifest.left;
    tutti_bytes text = {0};
    tutti_status status = TUTTI_OK;
    for (size_t at = 0; at < left->count && !status;) {
        const uint8_t *line = left->bytes + at, *end = memchr(line, '\n', left->count - at);
        size_t length = (size_t)(end + 1 - line), skip = strlen(lists);
        status = tutti_bytes_append(&text, line + skip, length - skip);
        at += length;
    }
    if (!status) status = put_file(p->plan->to, left_out_file, &text);
    tutti_bytes_free(&text);
    return status;
}

/* A run may have ended between the last shard and this list. */
static int has_left_out(const packing *p)
{
    char *path = tutti_path_format("%s/%s", p->plan->to, left_out_file);
    int has = path && !access(path, F_OK);
    free(path);
    return has;
}

static tutti_status put_names(const packing *p)
{
    const tutti_dataset *train = &p->sets[0];
    char **names;
    tutti_bytes text = {0};
    tutti_status status =
        tutti_class_names_read(p->plan->from, train->source->name, train->classes, &names);
    if (status || !names) return status; /* shards of others have numbers only */
    for (int i = 0; names[i] && !status; i++) {
        if (strpbrk(names[i], "\r\n"))
            status = tutti_fail(TUTTI_ERR_FORMAT,
                "%s: the folder of class %d has a name of several lines: rename it", p->plan->from,
                i);
        if (!status) status = tutti_bytes_append(&text, names[i], strlen(names[i]));
        if (!status) status = tutti_bytes_append(&text, "\n", 1);
    }
    if (!status) status = put_file(p->plan->to, TUTTI_CLASS_NAMES_FILE, &text);
    tutti_bytes_free(&text);
    tutti_class_names_free(names);
    return status;
}

/* ---- all of it ---- */

static tutti_status pack_all(packing *p)
{
    tutti_pack_manifest *m = &p->manifest;
    const int was_complete = m->split == TUTTI_PACK_DONE;
    tutti_status status = was_complete ? TUTTI_OK : put_names(p);
    while (!status && m->split < TUTTI_PACK_DONE) status = pack_split(p);
    tutti_terminal_clear(stderr, p->columns);
    if (!status && !(was_complete && has_left_out(p))) status = put_left_out(p);
    if (!status) report_end(p);
    return status;
}

static tutti_status go_on(packing *p)
{
    tutti_pack_manifest *m = &p->manifest;
    char source[TUTTI_HASH_TEXT];
    tutti_status status = tutti_pack_origin(p->plan->from, p->by_class, source);
    if (!status) status = tutti_pack_manifest_open(p->plan->to, p->plan->settings, source, m);
    if (status) return status;
    if (m->split < TUTTI_PACK_DONE && (m->place || m->split))
        tutti_log(TUTTI_LOG_INFO, "%s: continues at image %" PRId64 " of %s", p->plan->to, m->place,
            m->split == TUTTI_PACK_TRAIN ? "train" : "val");
    status = pack_all(p);
    tutti_pack_manifest_close(m);
    return status;
}

static tutti_status open_sets(packing *p)
{
    enum { ANY = 224 }; /* nothing is viewed, and images may have any size */
    const tutti_dataset_options options = {.path = p->plan->from, .size = ANY};
    tutti_status status = tutti_dataset_open_as(&options, TUTTI_TRAIN, &p->sets[0]);
    p->by_class = !status && !strcmp(p->sets[0].source->name, "folders");
    return status ? status : tutti_dataset_open_as(&options, TUTTI_TEST, &p->sets[1]);
}

/* Whether a folder is somewhere in another one. */
static int lies_in(const char *folder, const char *other)
{
    char *inner = realpath(folder, NULL), *outer = realpath(other, NULL);
    size_t length = outer && strcmp(outer, "/") != 0 ? strlen(outer) : 0;
    int lies = inner && outer && !strncmp(inner, outer, length) && inner[length] == '/';
    free(inner);
    free(outer);
    return lies;
}

static tutti_status make_folder(const packing *p)
{
    const tutti_pack_plan *plan = p->plan;
    int exists = mkdir(plan->to, 0777) != 0;
    if (exists && errno != EEXIST)
        return tutti_fail(
            TUTTI_ERR_IO, "--to %s: cannot create the folder: %s", plan->to, strerror(errno));
    if (tutti_file_same(plan->from, plan->to))
        return tutti_fail(TUTTI_ERR_USAGE, "--to %s: is --from: give another folder", plan->to);
    if (p->by_class && lies_in(plan->to, plan->from)) {
        if (!exists) rmdir(plan->to);
        return tutti_fail(TUTTI_ERR_USAGE,
            "--to %s: is in --from, where each folder is a class: give a folder elsewhere",
            plan->to);
    }
    return TUTTI_OK;
}

/* The lock comes before anything is looked at in the folder. */
static tutti_status run_locked(packing *p)
{
    tutti_lock *lock = NULL;
    char *path = tutti_path_format("%s/%s", p->plan->to, TUTTI_PACK_MANIFEST);
    tutti_status status =
        path ? tutti_lock_take("manifest", path, &lock)
             : tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to open it", p->plan->to);
    if (!status) status = go_on(p);
    tutti_lock_release(lock);
    free(path);
    return status;
}

tutti_status tutti_pack_run(const tutti_pack_plan *plan, int *signal)
{
    packing p = {
        .plan = plan, .columns = tutti_terminal_columns(STDERR_FILENO), .began_s = tutti_clock_s()};
    *signal = 0;
    tutti_status status = tutti_interrupt_open(&p.interrupt);
    if (status) return status;
    tutti_interrupt_hush(p.interrupt); /* it is reported at the end */
    status = open_sets(&p);
    if (!status) status = make_folder(&p);
    if (!status) status = run_locked(&p);
    for (int s = 0; s < 2; s++) tutti_dataset_close(&p.sets[s]);
    if (status == TUTTI_ERR_INTERRUPTED) *signal = tutti_interrupt_asked(p.interrupt);
    tutti_interrupt_close(p.interrupt);
    return status;
}
