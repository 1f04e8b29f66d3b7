#include "apps/train/tensorboard.h"

#include "apps/protobuf/protobuf.h"
#include "apps/train/tfrecord.h"
#include "dag/base/file.h"
#include "dag/base/log.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { WALL_TIME = 1, STEP = 2, FILE_VERSION = 3, SUMMARY = 5, SESSION_LOG = 7 }; /* of an Event */
enum { VALUE = 1 };                                                               /* of a Summary */
enum { TAG = 1, SIMPLE_VALUE = 2 };                                               /* of a Value */
enum { STATUS = 1, START = 1 }; /* of a SessionLog */

struct tutti_tensorboard {
    char *path;
    FILE *file;
    int failed; /* errno of the first failure */
};

typedef struct scalar {
    const char *tag;
    double value;
} scalar;

/* ---- events ---- */

static double wall_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Takes and frees what the event is about. */
static void write_event(tutti_tensorboard *board, int64_t step, tutti_protobuf *about)
{
    tutti_protobuf event = {0};
    tutti_protobuf_double(&event, WALL_TIME, wall_time());
    tutti_protobuf_number(&event, STEP, step);
    tutti_protobuf_append(&event, about);
    if (!board->failed && event.failed) board->failed = ENOMEM;
    if (!board->failed && !tutti_tfrecord_write(board->file, event.data, event.size))
        board->failed = errno;
    tutti_protobuf_free(&event);
}

static void write_scalars(tutti_tensorboard *board, int64_t step, int count, const scalar scalars[])
{
    tutti_protobuf summary = {0}, about = {0};
    for (int i = 0; i < count; i++) {
        tutti_protobuf value = {0};
        if (!isfinite(scalars[i].value)) continue;
        tutti_protobuf_text(&value, TAG, scalars[i].tag);
        tutti_protobuf_float(&value, SIMPLE_VALUE, (float)scalars[i].value);
        tutti_protobuf_message(&summary, VALUE, &value);
    }
    if (!summary.size && !summary.failed) return;
    tutti_protobuf_message(&about, SUMMARY, &summary);
    write_event(board, step, &about);
}

void tutti_tensorboard_on_start(tutti_tensorboard *board, const tutti_report_start *start)
{
    tutti_protobuf session = {0}, about = {0};
    tutti_protobuf_number(&session, STATUS, START);
    tutti_protobuf_message(&about, SESSION_LOG, &session);
    write_event(board, start->first_step + 1, &about);
}

void tutti_tensorboard_on_step(tutti_tensorboard *board, const tutti_report_step *s)
{
    const scalar scalars[] = {{"train/loss", s->loss}, {"train/rate", s->rate},
        {"train/images_per_s", s->images_per_s}, {"train/hidden_share", s->hidden_pct / 100}};
    write_scalars(board, s->step, sizeof scalars / sizeof *scalars, scalars);
}

void tutti_tensorboard_on_eval(tutti_tensorboard *board, const tutti_report_eval *e)
{
    const scalar scalars[] = {{"eval/train_loss", e->train_loss}, {"eval/test_loss", e->test_loss},
        {"eval/test_accuracy", e->test_accuracy},
        {"eval/test_top5_accuracy", e->tally ? tutti_tally_best(e->tally) : NAN},
        {"eval/test_macro_f1", e->tally ? tutti_tally_macro(e->tally).f1 : NAN}};
    write_scalars(board, e->step, sizeof scalars / sizeof *scalars, scalars);
}

/* ---- the file ---- */

/* Creates a folder and those above it. */
static tutti_status make_folder(const char *folder)
{
    char *path = strdup(folder);
    if (!path) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a folder's name");
    for (char *at = path + 1; *path && (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(path, 0777); /* the last one tells what went wrong */
        *at = '/';
    }
    free(path);
    if (mkdir(folder, 0777) == 0 || errno == EEXIST) return TUTTI_OK;
    return tutti_fail(
        TUTTI_ERR_IO, "--tensorboard %s: cannot be created: %s", folder, strerror(errno));
}

/* TensorBoard takes the files of a folder in the order of their names, which begin with the time. */
static char *name_file(const char *folder)
{
    char host[65] = "host";
    gethostname(host, sizeof host - 1);
    const size_t size = strlen(folder) + 160;
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%s/events.out.tfevents.%017.6f.%.64s.%ld", folder, wall_time(), host,
            (long)getpid());
    return path;
}

tutti_status tutti_tensorboard_open(const char *folder, tutti_tensorboard **board)
{
    tutti_status status = make_folder(folder);
    if (status) return status;
    tutti_tensorboard *b = calloc(1, sizeof *b);
    if (b) b->path = name_file(folder);
    status = b && b->path ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for --tensorboard");
    if (!status)
        status = tutti_file_stream(
            &(tutti_file_options){.what = "--tensorboard", .path = b->path}, 0, &b->file);
    if (status) {
        tutti_tensorboard_close(b);
        return status;
    }
    tutti_protobuf version = {0};
    tutti_protobuf_text(&version, FILE_VERSION, "brain.Event:2");
    write_event(b, 0, &version);
    *board = b;
    return TUTTI_OK;
}

tutti_status tutti_tensorboard_close(tutti_tensorboard *b)
{
    if (!b) return TUTTI_OK;
    tutti_status status = TUTTI_OK;
    if (b->file && fclose(b->file) && !b->failed) b->failed = errno;
    if (b->failed)
        status = tutti_fail(TUTTI_ERR_IO, "--tensorboard: %s could not be written: %s", b->path,
            strerror(b->failed));
    free(b->path);
    free(b);
    return status;
}
