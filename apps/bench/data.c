#include "config.h" /* first: it asks libc for mkstemp */

#include "apps/bench/peer.h"
#include "apps/bench/photos.h"
#include "apps/bench/result.h"
#include "apps/bench/rows.h"
#include "apps/bench/settings.h"
#include "apps/data/decode.h"
#include "apps/data/settings.h"
#include "apps/terminal/terminal.h"
#include "dag/base/clock.h"
#include "dag/base/conf.h"
#include "dag/base/log.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHANNELS = 3, MOST_BLOCKS = 1000, MOST_THREADS = 64, MOST_PEERS = TUTTI_PEER_VARIANTS };
/* Of 255: libraries weight pixels differently, and round in between. */
static const double mean_tolerance = 1;

typedef struct options {
    const char *data, *format, *augment, *peer, *variants, *json, *csv;
    int64_t size, images, threads, blocks;
    double timeout_s;
} options;

#define AT(member) .offset = offsetof(options, member)
static const tutti_setting settings[] = {
    {TUTTI_CONF_HEADING, .help = "Options"},
    {TUTTI_CONF_TEXT, "data", "PATH", .flags = TUTTI_CONF_REQUIRED, AT(data),
        .help = "a data set of image files, such as train/<class>/*.JPEG"},
    {TUTTI_CONF_TEXT, "format", "NAME", AT(format),
        .help = "format of the data set; if omitted, recognised by content"},
    {TUTTI_CONF_INT, "size", "N", .fallback = "224", .low = 8, .high = 1024, AT(size),
        .help = "the network sees squares of N pixels a side"},
    {TUTTI_CONF_CHOICE, "augment", "HOW", .fallback = "standard", .choice = tutti_augment_choice,
        AT(augment), .help = "how images vary, as for tutti-imagenet; peers know only standard"},
    {TUTTI_CONF_INT, "images", "N", .fallback = "200", .low = 1, .high = 1e6, AT(images),
        .help = "images per block, evenly spaced in the training split; they are kept in memory"},
    {TUTTI_CONF_INT, "threads", "N", .fallback = "2", .low = 2, .high = MOST_THREADS, AT(threads),
        .help = "threads to compare with one"},
    {TUTTI_CONF_INT, "blocks", "N", .fallback = "7", .low = 1, .high = MOST_BLOCKS, AT(blocks),
        .help = "blocks of each of what is compared, in turns"},
    TUTTI_BENCH_SETTING_PEER(AT(peer)),
    {TUTTI_CONF_TEXT, "peer-variants", "LIST", .fallback = "pillow", AT(variants),
        .help = "libraries to compare with: pillow, pillow-draft (shrinks while it decodes), "
                "torchvision, torchvision-decode (nothing else), dali; several take turns"},
    TUTTI_BENCH_SETTINGS_RUN("300", options),
    {0},
};
static const tutti_conf conf = {
    .program = "tutti-bench data",
    .usage = "--data PATH [OPTION]...",
    .summary = "Times one thread, and several, that make what a network sees from the bytes of "
               "photographs: decoding, a random crop, resizing and a flip, beside decoding alone "
               "and beside other libraries on one thread. First verifies that all make the same "
               "pictures.",
    .settings = settings,
};

/* The sides, in the order of their turns. */
enum { WHOLE, DECODING, THREADS, SIDES };

typedef struct bench {
    options o;
    tutti_result *result;
    tutti_photos photos;
    tutti_decoder *decoder[MOST_THREADS];
    size_t image_bytes;
    uint8_t *pixels, *again; /* all views, made by one thread and by several */
    char program[4096];      /* the peer's command; "": there is none */
    char file[64];           /* the photographs, for peers; "": not written */
    tutti_peer_variants variants;
    int peers;
    tutti_peer *peer[MOST_PEERS];
    double *block_s[SIDES + MOST_PEERS]; /* seconds for all images, by block; the peers' last */
} bench;

/* ---- making the views of all images ---- */

typedef struct work {
    const bench *b;
    const tutti_view_choice *choice;
    uint8_t *pixels; /* NULL: only decode */
    atomic_int_least64_t next;
    atomic_int status;
} work;

typedef struct worker {
    pthread_t thread;
    work *work;
    tutti_decoder *decoder;
} worker;

static void *make_images(void *worker_)
{
    const worker *me = worker_;
    work *w = me->work;
    const bench *b = w->b;
    for (int64_t i; (i = atomic_fetch_add(&w->next, 1)) < b->photos.count;) {
        int32_t label;
        uint8_t *to = w->pixels ? w->pixels + (size_t)i * b->image_bytes : NULL;
        tutti_status status =
            tutti_decoder_make(me->decoder, &b->photos.dataset, w->choice, i, to, &label);
        if (!status) continue;
        const char *fault = tutti_decoder_fault(me->decoder);
        if (*fault) tutti_fail(status, "%s", fault);
        atomic_store(&w->status, (int)status);
    }
    return NULL;
}

/* Makes the views of all images once. *seconds: how long it took. */
static tutti_status make_all(
    const bench *b, const tutti_view_choice *choice, int threads, uint8_t *pixels, double *seconds)
{
    work w = {.b = b, .choice = choice, .pixels = pixels};
    worker crew[MOST_THREADS];
    int started = 1;
    double begin = tutti_clock_s();
    for (int i = 0; i < threads; i++) crew[i] = (worker){.work = &w, .decoder = b->decoder[i]};
    while (started < threads &&
           pthread_create(&crew[started].thread, NULL, make_images, &crew[started]) == 0)
        started++;
    make_images(&crew[0]);
    for (int i = 1; i < started; i++) pthread_join(crew[i].thread, NULL);
    *seconds = tutti_clock_s() - begin;
    if (started < threads)
        return tutti_fail(
            TUTTI_ERR_NOMEM, "--threads %d: only %d could be started", threads, started);
    return (tutti_status)atomic_load(&w.status);
}

/* ---- verifying ---- */

static double mean_of(const uint8_t *pixels, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) sum += pixels[i];
    return (double)sum / (double)count;
}

/* What an evaluation sees, the peers' and ours: the same photographs, cut and resized alike. */
static tutti_status verify_peers(bench *b)
{
    const tutti_view_choice evaluation = {0};
    double seconds;
    tutti_status status = make_all(b, &evaluation, 1, b->pixels, &seconds);
    if (status) return status;
    double ours = mean_of(b->pixels, (size_t)b->photos.count * b->image_bytes);
    for (int i = 0; i < b->peers; i++) {
        double mean = tutti_peer_number(b->peer[i], "mean");
        if (!(fabs(mean - ours) <= mean_tolerance))
            return tutti_fail(TUTTI_ERR_INTERNAL,
                "%s: the mean of what an evaluation sees is %.3f instead of %.3f, so it makes "
                "other "
                "pictures",
                tutti_peer_about(b->peer[i]), mean, ours);
        printf("verified: what an evaluation sees has the mean %.3f, and %.3f from %s\n", ours,
            mean, tutti_peer_about(b->peer[i]));
    }
    return TUTTI_OK;
}

static tutti_view_choice choice_of(const bench *b, int64_t block)
{
    return (tutti_view_choice){
        .augment = tutti_augment_find(b->o.augment), .crop = 1, .seed = 1, .epoch = block};
}

static tutti_status verify_threads(bench *b)
{
    const tutti_view_choice choice = choice_of(b, 0);
    double seconds;
    tutti_status status = make_all(b, &choice, 1, b->pixels, &seconds);
    if (!status) status = make_all(b, &choice, (int)b->o.threads, b->again, &seconds);
    if (status) return status;
    if (memcmp(b->pixels, b->again, (size_t)b->photos.count * b->image_bytes) != 0)
        return tutti_fail(
            TUTTI_ERR_INTERNAL, "%" PRId64 " threads make other pixels than one", b->o.threads);
    printf("verified: %" PRId64 " threads make the same pixels as one\n", b->o.threads);
    return TUTTI_OK;
}

/* ---- timing ---- */

static tutti_status time_block(bench *b, int64_t block)
{
    const tutti_view_choice choice = choice_of(b, block);
    tutti_status status = make_all(b, &choice, 1, b->pixels, &b->block_s[WHOLE][block]);
    if (!status) status = make_all(b, &choice, 1, NULL, &b->block_s[DECODING][block]);
    if (!status)
        status = make_all(b, &choice, (int)b->o.threads, b->pixels, &b->block_s[THREADS][block]);
    for (int i = 0; i < b->peers && !status; i++)
        status = tutti_peer_block(b->peer[i], b->o.timeout_s, &b->block_s[SIDES + i][block]);
    return status;
}

static tutti_status time_blocks(bench *b)
{
    int columns = tutti_terminal_columns(STDERR_FILENO);
    tutti_status status = TUTTI_OK;
    for (int64_t block = 0; block < b->o.blocks && !status; block++) {
        char text[64];
        snprintf(text, sizeof text, "block %" PRId64 "/%" PRId64, block + 1, b->o.blocks);
        tutti_terminal_show(stderr, columns, text);
        status = time_block(b, block);
    }
    tutti_terminal_clear(stderr, columns);
    return status;
}

/* ---- results ---- */

static void report_speed(bench *b, const char *name, int side)
{
    double speed[MOST_BLOCKS];
    for (int64_t k = 0; k < b->o.blocks; k++)
        speed[k] = (double)b->photos.count / b->block_s[side][k];
    tutti_result_series(b->result, name, "images/s", (int)b->o.blocks, speed);
}

/* Ratios of values from the same block, measured under the same conditions. */
static void report_ratio(bench *b, const char *name, int above, int below)
{
    double ratio[MOST_BLOCKS];
    for (int64_t k = 0; k < b->o.blocks; k++)
        ratio[k] = b->block_s[above][k] / b->block_s[below][k];
    tutti_result_series(b->result, name, "x", (int)b->o.blocks, ratio);
}

static void report_results(bench *b)
{
    char name[160];
    report_speed(b, "one thread", WHOLE);
    report_speed(b, "one thread, decoding alone", DECODING);
    snprintf(name, sizeof name, "%" PRId64 " threads", b->o.threads);
    report_speed(b, name, THREADS);
    for (int i = 0; i < b->peers; i++) report_speed(b, tutti_peer_about(b->peer[i]), SIDES + i);
    report_ratio(b, "as fast as decoding alone", DECODING, WHOLE);
    snprintf(name, sizeof name, "%" PRId64 " threads, times as fast as one", b->o.threads);
    report_ratio(b, name, WHOLE, THREADS);
    for (int i = 0; i < b->peers; i++) {
        snprintf(
            name, sizeof name, "one thread, times as fast as %s", tutti_peer_about(b->peer[i]));
        report_ratio(b, name, SIDES + i, WHOLE);
    }
}

/* ---- setting up ---- */

static tutti_status start_peers(bench *b)
{
    if (!*b->program) return TUTTI_OK;
    if (tutti_augment_find(b->o.augment) != TUTTI_AUGMENT_STANDARD)
        return tutti_conf_refuse(
            &conf, "augment", b->o.augment, "peers know only standard: add --peer none");
    const char *folder = getenv("TMPDIR");
    snprintf(b->file, sizeof b->file, "%.32s/tutti-bench-data.XXXXXX",
        folder && *folder && strlen(folder) <= 32 ? folder : "/tmp");
    tutti_status status = tutti_photos_write(&b->photos, b->file);
    if (status) b->file[0] = '\0';
    for (int i = 0; i < b->variants.count && !status; i++) {
        char command[8192];
        snprintf(command, sizeof command,
            "exec %s --photos '%s' --size %" PRId64 " --resize %d --blocks %" PRId64
            " --variant %s",
            b->program, b->file, b->o.size, b->photos.dataset.resize, b->o.blocks,
            b->variants.word[i]);
        status = tutti_peer_start(command, b->o.timeout_s, &b->peer[b->peers]);
        if (!status) b->peers++;
    }
    if (*b->file) unlink(b->file); /* peers have read it before they say that they are ready */
    b->file[0] = '\0';
    return status;
}

static tutti_status load(bench *b)
{
    const tutti_dataset_options data = {
        .path = b->o.data, .format = b->o.format, .size = (int)b->o.size};
    double pixels, bytes;
    tutti_status status = tutti_photos_load(&data, b->o.images, &b->photos);
    if (!status) status = tutti_photos_describe(&b->photos, &pixels, &bytes);
    if (status) return status;
    b->image_bytes = (size_t)b->o.size * (size_t)b->o.size * CHANNELS;
    b->pixels = malloc((size_t)b->photos.count * b->image_bytes);
    b->again = malloc((size_t)b->photos.count * b->image_bytes);
    if (!b->pixels || !b->again)
        return tutti_fail(
            TUTTI_ERR_NOMEM, "--images %" PRId64 ": no memory for their pixels", b->o.images);
    printf("%" PRId64 " photographs of %.0f kB and %.0f thousand pixels on average, to %" PRId64
           "x%" PRId64 " (%s); medians over %" PRId64 " blocks\n",
        b->photos.count, bytes / 1e3, pixels / 1e3, b->o.size, b->o.size, b->o.augment,
        b->o.blocks);
    return TUTTI_OK;
}

static tutti_status set_up(bench *b)
{
    tutti_status status = tutti_result_open(b->o.json, b->o.csv, &b->result);
    for (int i = 0; i < SIDES + MOST_PEERS && !status; i++) {
        b->block_s[i] = calloc((size_t)b->o.blocks, sizeof **b->block_s);
        if (!b->block_s[i])
            status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for the times of blocks");
    }
    for (int i = 0; i < b->o.threads && !status; i++) status = tutti_decoder_new(&b->decoder[i]);
    return status ? status : load(b);
}

static tutti_status take_down(bench *b)
{
    for (int i = 0; i < b->peers; i++) tutti_peer_stop(b->peer[i]);
    for (int i = 0; i < MOST_THREADS; i++) tutti_decoder_free(b->decoder[i]);
    for (int i = 0; i < SIDES + MOST_PEERS; i++) free(b->block_s[i]);
    tutti_photos_free(&b->photos);
    free(b->pixels);
    free(b->again);
    return tutti_result_close(b->result);
}

static tutti_status run(int argc, char **argv)
{
    static const tutti_peer_script script = {.file = "photos_peer.py", .module = "PIL"};
    bench b = {0};
    int go;
    tutti_status status = tutti_conf_start(&conf, argc, argv, &b.o, &go);
    if (!go) return status;
    status = tutti_peer_split_variants(&conf, b.o.variants, &b.variants);
    if (!status) status = tutti_peer_program(b.o.peer, &script, b.program, sizeof b.program);
    if (status) return status;
    status = set_up(&b);
    if (!status) status = start_peers(&b);
    if (!status) status = verify_threads(&b);
    if (!status) status = verify_peers(&b);
    if (!status) status = time_blocks(&b);
    if (!status) report_results(&b);
    tutti_status closed = take_down(&b);
    return status ? status : closed;
}

const tutti_bench tutti_bench_data = {
    "data", "photographs, from their bytes to what a network sees", run};
