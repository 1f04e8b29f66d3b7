/* apps/data: batches read ahead, from a fake source that can be slow or fail. */
#include "apps/data/prefetch.h"
#include "apps/data/view.h"
#include "apps/data/sampler.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "tests/data/fixture.h"
#include "tests/support/testing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIDE = 6,
    CHANNELS = 3,
    PIXELS = SIDE * SIDE * CHANNELS,
    COUNT = 101,
    CLASSES = 10,
    BATCH = 7
};

typedef struct fake {
    int64_t bad_image; /* -1: none */
    double delay_s;
    atomic_int gate; /* 0: reads wait until it opens */
} fake;

static tutti_status fake_fetch(const tutti_dataset *d, int64_t index, tutti_sample *sample)
{
    fake *f = d->state;
    while (!atomic_load(&f->gate)) tutti_clock_sleep(0.001);
    /* Unequal times: with several threads, batches become ready out of order. */
    tutti_clock_sleep(f->delay_s * (double)(index % 3));
    if (index == f->bad_image) return tutti_fail(TUTTI_ERR_FORMAT, "image %d is bad", (int)index);
    tutti_status status = tutti_sample_reserve(sample, PIXELS);
    if (status) return status;
    for (int p = 0; p < PIXELS; p++)
        sample->bytes[p] = (uint8_t)fixture_pixel(
            (int)index, p / (SIDE * CHANNELS), p / CHANNELS % SIDE, p % CHANNELS);
    sample->kind = TUTTI_SAMPLE_PIXELS;
    sample->height = sample->width = SIDE;
    sample->channels = CHANNELS;
    sample->label = fixture_label((int)index, CLASSES);
    return TUTTI_OK;
}

static const tutti_image_source fake_source = {.name = "fake", .summary = "", .fetch = fake_fetch};

static tutti_dataset fake_dataset(fake *f)
{
    return (tutti_dataset){.source = &fake_source,
        .count = COUNT,
        .height = SIDE,
        .width = SIDE,
        .channels = CHANNELS,
        .classes = CLASSES,
        .state = f};
}

static tutti_prefetch_options options_for(const tutti_dataset *d, int train)
{
    return (tutti_prefetch_options){.dataset = d,
        .train = train,
        .ranks = 1,
        .batch = BATCH,
        .augment = 1,
        .crop_epochs = 2,
        .seed = 77};
}

/* Compares row `row` of a step with the pure functions. */
static void check_row(const tutti_prefetch_options *o, const tutti_batch *b, int64_t row)
{
    static const uint8_t zeros[PIXELS];
    tutti_sampler s = {.count = COUNT,
        .batch = o->batch,
        .rank = o->rank,
        .ranks = o->ranks,
        .train = o->train,
        .window = o->window,
        .seed = o->seed};
    int64_t epoch, image = tutti_sampler_image(&s, b->step, row, &epoch);
    const uint8_t *found = b->images + row * PIXELS;
    if (image < 0) {
        ck_assert_int_eq(b->labels[row], -1);
        ck_assert_mem_eq(found, zeros, sizeof zeros);
        return;
    }
    uint8_t pixels[PIXELS], expected[PIXELS];
    int32_t label;
    ck_assert_ok(tutti_dataset_read(o->dataset, image, pixels, &label));
    tutti_view_choice choice = {.augment = o->train ? o->augment : TUTTI_AUGMENT_NONE,
        .crop = epoch < 2,
        .seed = o->seed,
        .epoch = epoch};
    if (o->train) choice.rand_augment = o->rand_augment;
    if (o->train) choice.jitter = o->jitter;
    if (o->train) choice.erase = o->erase;
    const tutti_view_shape shape = {SIDE, SIDE, 0};
    tutti_view view = tutti_view_choose(&choice, &shape, image, SIDE, SIDE);
    tutti_view_copy(&view, SIDE, SIDE, CHANNELS, pixels, expected);
    tutti_rand_augment_apply(&view.rand_augment, SIDE, SIDE, pixels, expected);
    tutti_jitter_apply(&view.jitter, (int64_t)SIDE * SIDE, expected);
    tutti_erase_apply(&view.erase, SIDE, CHANNELS, expected);
    ck_assert_int_eq(b->labels[row], label);
    ck_assert_mem_eq(found, expected, sizeof expected);
}

static void check_steps(const tutti_prefetch_options *o, int steps)
{
    tutti_prefetch *p = NULL;
    ck_assert_ok(tutti_prefetch_open(o, &p));
    for (int64_t step = o->first_step; step < o->first_step + steps; step++) {
        const tutti_batch *b = NULL;
        ck_assert_ok(tutti_prefetch_next(p, 30, &b));
        ck_assert_int_eq(b->step, step);
        for (int64_t row = 0; row < o->batch; row++) check_row(o, b, row);
        tutti_prefetch_release((void *)b);
    }
    tutti_prefetch_close(p);
}

static const struct {
    int threads, depth;
} teams[] = {{0, 0}, {1, 1}, {2, 2}, {3, 5}, {5, 2}, {4, 16}};
enum { TEAMS = sizeof teams / sizeof *teams };

/* Any number of threads gives the result of the pure functions, bit for bit; so do a resumed run and each of
 * several ranks. */
START_TEST(batches_are_the_same_for_any_team)
{
    fake f = {.bad_image = -1, .delay_s = 20e-6, .gate = 1};
    tutti_dataset d = fake_dataset(&f);
    tutti_prefetch_options o = options_for(&d, 1);
    o.threads = teams[_i].threads;
    o.depth = teams[_i].depth;
    check_steps(&o, 40);
    o.first_step = 33;
    o.ranks = 3;
    for (o.rank = 0; o.rank < o.ranks; o.rank++) check_steps(&o, 12);
    o.augment = 0;
    o.rank = 1;
    check_steps(&o, 5);
    o.jitter = (tutti_jitter_range){{8000, 6000, 4000}};
    o.rand_augment = (tutti_rand_range){2, 9};
    o.erase = 0.5;
    check_steps(&o, 12);
    o.window = 16;
    for (o.rank = 0; o.rank < o.ranks; o.rank++) check_steps(&o, 12);
}
END_TEST

START_TEST(an_evaluation_ends_with_padding)
{
    fake f = {.bad_image = -1, .gate = 1};
    tutti_dataset d = fake_dataset(&f);
    tutti_prefetch_options o = options_for(&d, 0);
    o.threads = teams[_i].threads;
    o.depth = teams[_i].depth;
    o.ranks = 4;
    int64_t steps = tutti_prefetch_steps(&d, 0, o.ranks, o.batch, 1);
    ck_assert_int_eq(steps, 4);                          /* 101 images, 28 per step */
    o.jitter = (tutti_jitter_range){{8000, 6000, 4000}}; /* of training only */
    o.rand_augment = (tutti_rand_range){2, 9};
    o.erase = 0.5;
    for (o.rank = 0; o.rank < o.ranks; o.rank++) check_steps(&o, (int)steps);
    tutti_prefetch *p;
    const tutti_batch *b;
    o.rank = 0;
    o.first_step = steps - 1;
    ck_assert_ok(tutti_prefetch_open(&o, &p));
    ck_assert_ok(tutti_prefetch_next(p, 30, &b));
    fixture_capture();
    tutti_status status = tutti_prefetch_next(p, 30, &b);
    ck_assert_ptr_nonnull(strstr(fixture_uncapture(), "4 steps"));
    ck_assert_int_eq(status, TUTTI_ERR_INVAL);
    tutti_prefetch_release((void *)b);
    tutti_prefetch_close(p);
}
END_TEST

/* With two views every batch comes unchanged, then mirrored. */
START_TEST(an_evaluation_shows_mirror_images)
{
    fake f = {.bad_image = -1, .gate = 1};
    tutti_dataset d = fake_dataset(&f);
    tutti_prefetch_options o = options_for(&d, 0);
    o.threads = 3;
    tutti_prefetch *p;
    o.views = 2;
    int64_t steps = tutti_prefetch_steps(&d, 0, o.ranks, o.batch, 1);
    uint8_t first[BATCH * PIXELS];
    ck_assert_ok(tutti_prefetch_open(&o, &p));
    for (int64_t step = 0; step < 2 * steps; step++) {
        const tutti_batch *b = NULL;
        ck_assert_ok(tutti_prefetch_next(p, 30, &b));
        tutti_batch plain = *b;
        plain.step = step / 2;
        if (step % 2 == 0)
            for (int64_t row = 0; row < BATCH; row++) check_row(&o, &plain, row);
        for (int e = 0; e < BATCH * PIXELS && step % 2 == 1; e++) {
            int c = e % CHANNELS, x = e / CHANNELS % SIDE, line = e - e % (SIDE * CHANNELS);
            ck_assert_int_eq(b->images[e], first[line + (SIDE - 1 - x) * CHANNELS + c]);
        }
        memcpy(first, b->images, sizeof first);
        tutti_prefetch_release((void *)b);
    }
    tutti_prefetch_close(p);
}
END_TEST

/* The step with the bad image fails, however often it is asked for; those before it arrive. */
START_TEST(a_failure_comes_at_its_step)
{
    fake f = {.bad_image = -1, .delay_s = 50e-6, .gate = 1};
    tutti_dataset d = fake_dataset(&f);
    tutti_prefetch_options o = options_for(&d, 1);
    tutti_sampler s = {.count = COUNT, .batch = BATCH, .ranks = 1, .train = 1, .seed = o.seed};
    const int bad_step = 9;
    o.threads = teams[_i].threads;
    o.depth = teams[_i].depth;
    f.bad_image = tutti_sampler_image(&s, bad_step, 3, NULL);
    fixture_capture();
    tutti_prefetch *p;
    const tutti_batch *b;
    tutti_status opened = tutti_prefetch_open(&o, &p), late = TUTTI_OK, again = TUTTI_OK;
    int delivered = 0;
    while (!opened && !(late = tutti_prefetch_next(p, 30, &b))) {
        delivered++;
        tutti_prefetch_release((void *)b);
    }
    if (!opened) again = tutti_prefetch_next(p, 30, &b);
    tutti_prefetch_close(p);
    const char *message = fixture_uncapture();
    ck_assert_ok(opened);
    ck_assert_int_eq(delivered, bad_step);
    ck_assert_int_eq(late, TUTTI_ERR_FORMAT);
    ck_assert_int_eq(again, TUTTI_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(message, "is bad"));
}
END_TEST

/* A JPEG folder with damaged images among its 24: the batches, and what is said about them. */
static char *skip_some(const char *folder, int threads, int64_t limit, tutti_status *end,
    int64_t *left_out, uint8_t *images, int32_t *labels)
{
    enum { STEPS = 9, B = 8, BYTES = 16 * 12 * 3 };
    tutti_dataset d = {0};
    ck_assert_ok(tutti_dataset_open(folder, NULL, TUTTI_TRAIN, &d));
    tutti_bad_images bad = {.limit = limit};
    const tutti_prefetch_options o = {
        .dataset = &d, .train = 1, .ranks = 1, .batch = B, .threads = threads, .bad = &bad};
    tutti_prefetch *p;
    fixture_capture();
    *end = tutti_prefetch_open(&o, &p);
    for (int step = 0; step < STEPS && !*end; step++) {
        const tutti_batch *b;
        *end = tutti_prefetch_next(p, 30, &b);
        if (*end) break;
        memcpy(images + step * B * BYTES, b->images, B * BYTES);
        memcpy(labels + step * B, b->labels, B * sizeof *labels);
        tutti_prefetch_release((void *)b);
    }
    tutti_prefetch_close(p);
    char *said = strdup(fixture_uncapture());
    *left_out = bad.count;
    tutti_bad_images_free(&bad);
    tutti_dataset_close(&d);
    return said;
}

static int count_word(const char *text, const char *word)
{
    int n = 0;
    while ((text = strstr(text, word))) n++, text++;
    return n;
}

/* Three epochs: each damaged image is a row without a label, and is named once; with any number of threads the same. */
START_TEST(damaged_images_may_be_left_out)
{
    enum { ROWS = 9 * 8, BYTES = ROWS * 16 * 12 * 3 };
    static uint8_t first[BYTES], images[BYTES];
    static const int teams_of[] = {1, 2, 7};
    int32_t first_labels[ROWS], labels[ROWS];
    char *folder = fixture_folder(), *first_words = NULL;
    tutti_status end;
    int64_t left_out;
    fixture_jpeg_folder(folder, 8, 1);
    fixture_write(folder, "train/ant/3.jpg", "hello", 5);
    fixture_write(folder, "train/cow/0.jpg", "", 0);
    for (int t = 0; t < 3; t++) {
        char *said = skip_some(
            folder, teams_of[t], 2, &end, &left_out, t ? images : first, t ? labels : first_labels);
        ck_assert_int_eq(end, TUTTI_OK);
        ck_assert_int_eq(left_out, 2);
        ck_assert_int_eq(count_word(said, "train/ant/3.jpg: is text"), 1);
        ck_assert_int_eq(count_word(said, "train/cow/0.jpg: 0 bytes"), 1);
        ck_assert_int_eq(count_word(said, "error"), 0);
        if (t) ck_assert_mem_eq(images, first, BYTES);
        if (t) ck_assert_mem_eq(labels, first_labels, sizeof labels);
        if (t) ck_assert_str_eq(said, first_words);
        free(t ? said : NULL);
        if (!t) first_words = said;
    }
    int empty = 0;
    for (int row = 0; row < ROWS; row++) {
        int sum = 0;
        for (int i = 0; i < BYTES / ROWS; i++) sum += first[row * (BYTES / ROWS) + i];
        empty += first_labels[row] == -1;
        ck_assert_int_eq(first_labels[row] == -1, sum == 0);
    }
    ck_assert_int_eq(empty, 3 * 2);
    char *said = skip_some(folder, 3, 1, &end, &left_out, images, labels);
    ck_assert_int_eq(end, TUTTI_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(said, "1 damaged images were left out already"));
    free(said);
    free(first_words);
    fixture_remove(folder);
}
END_TEST

START_TEST(a_late_batch_is_a_timeout_and_comes_later)
{
    fake f = {.bad_image = -1};
    tutti_dataset d = fake_dataset(&f);
    tutti_prefetch_options o = options_for(&d, 1);
    tutti_prefetch *p;
    const tutti_batch *b = NULL;
    ck_assert_ok(tutti_prefetch_open(&o, &p));
    fixture_capture();
    double start = tutti_clock_s();
    tutti_status status = tutti_prefetch_next(p, 0.05, &b);
    double waited_s = tutti_clock_s() - start;
    const char *message = fixture_uncapture();
    ck_assert_int_eq(status, TUTTI_ERR_TIMEOUT);
    ck_assert_ptr_null(b);
    ck_assert(waited_s >= 0.05 && waited_s < 20);
    ck_assert_ptr_nonnull(strstr(message, "step 0"));
    atomic_store(&f.gate, 1);
    ck_assert_ok(tutti_prefetch_next(p, 30, &b));
    ck_assert_int_eq(b->step, 0);
    tutti_prefetch_release((void *)b);
    tutti_prefetch_close(p);
}
END_TEST

/* A caller that releases no batches gets an error that explains why no more come. */
START_TEST(held_batches_are_named)
{
    enum { DEPTH = 3 };
    fake f = {.bad_image = -1, .gate = 1};
    tutti_dataset d = fake_dataset(&f);
    tutti_prefetch_options o = options_for(&d, 1);
    o.depth = DEPTH;
    o.threads = 2;
    tutti_prefetch *p;
    const tutti_batch *held[DEPTH], *more;
    ck_assert_ok(tutti_prefetch_open(&o, &p));
    for (int i = 0; i < DEPTH; i++) ck_assert_ok(tutti_prefetch_next(p, 30, &held[i]));
    fixture_capture();
    tutti_status status = tutti_prefetch_next(p, 0.02, &more);
    ck_assert_ptr_nonnull(strstr(fixture_uncapture(), "none was returned"));
    ck_assert_int_eq(status, TUTTI_ERR_TIMEOUT);
    /* Held batches stay unchanged while others are filled, in whatever order they are released. */
    tutti_prefetch_release((void *)held[1]);
    for (int i = 0; i < 20; i++) {
        ck_assert_ok(tutti_prefetch_next(p, 30, &more));
        ck_assert_int_eq(more->step, DEPTH + i);
        for (int64_t row = 0; row < BATCH; row++) {
            check_row(&o, held[0], row);
            check_row(&o, held[2], row);
        }
        tutti_prefetch_release((void *)more);
    }
    tutti_prefetch_release((void *)held[2]);
    tutti_prefetch_release((void *)held[0]);
    tutti_prefetch_close(p);
}
END_TEST

/* A bound on the memory makes fewer batches, three at least, and the log says how many. */
START_TEST(memory_is_bounded)
{
    enum { BATCH_BYTES = BATCH * PIXELS };
    fake f = {.bad_image = -1, .gate = 1};
    tutti_dataset d = fake_dataset(&f);
    tutti_prefetch_options o = options_for(&d, 1);
    tutti_prefetch *p = NULL;
    const tutti_batch *held[4], *more;
    o.threads = 2;
    o.depth = 16;
    o.tell = 1;
    o.memory_bytes = 4 * BATCH_BYTES + 1;
    fixture_capture();
    tutti_status opened = tutti_prefetch_open(&o, &p);
    const char *said = fixture_uncapture();
    ck_assert_ok(opened);
    ck_assert_msg(
        strstr(said, "4 batches of 0.0 MB (0.0 MB in all) are read ahead by 2 threads") != NULL, "%s", said);
    for (int i = 0; i < 4; i++) ck_assert_ok(tutti_prefetch_next(p, 30, &held[i]));
    fixture_capture();
    tutti_status fifth = tutti_prefetch_next(p, 0.02, &more);
    ck_assert_ptr_nonnull(strstr(fixture_uncapture(), "4 of 4 batches are in use"));
    ck_assert_int_eq(fifth, TUTTI_ERR_TIMEOUT);
    for (int i = 0; i < 4; i++) tutti_prefetch_release((void *)held[i]);
    tutti_prefetch_close(p);
    o.memory_bytes = 3 * BATCH_BYTES - 1;
    fixture_capture();
    opened = tutti_prefetch_open(&o, &p);
    ck_assert_ptr_nonnull(strstr(fixture_uncapture(), "do not fit into --data-memory"));
    ck_assert_int_eq(opened, TUTTI_ERR_INVAL);
}
END_TEST

static void *release_slowly(void *batch)
{
    tutti_clock_sleep(0.001);
    tutti_prefetch_release(batch);
    return NULL;
}

START_TEST(any_thread_may_release)
{
    fake f = {.bad_image = -1, .gate = 1};
    tutti_dataset d = fake_dataset(&f);
    tutti_prefetch_options o = options_for(&d, 1);
    o.depth = 2;
    o.threads = 2;
    tutti_prefetch *p;
    pthread_t threads[30];
    ck_assert_ok(tutti_prefetch_open(&o, &p));
    for (int i = 0; i < 30; i++) {
        const tutti_batch *b;
        ck_assert_ok(tutti_prefetch_next(p, 30, &b));
        ck_assert_int_eq(b->step, i);
        ck_assert_int_eq(pthread_create(&threads[i], NULL, release_slowly, (void *)b), 0);
    }
    for (int i = 0; i < 30; i++) pthread_join(threads[i], NULL);
    tutti_prefetch_close(p);
}
END_TEST

/* Windows of images that are in the order of their classes get a sentence; other sources do not, nor does a
 * window of all images. */
START_TEST(windows_of_few_classes_are_named)
{
    static const tutti_image_source by_class = {
        .name = "sorted", .by_class = 1, .fetch = fake_fetch};
    static const int64_t windows[] = {20, 20, COUNT, 0};
    fake f = {.bad_image = -1, .gate = 1};
    tutti_dataset d = fake_dataset(&f);
    for (int i = 0; i < 4; i++) {
        if (i) d.source = &by_class;
        tutti_prefetch_options o = options_for(&d, 1);
        tutti_prefetch *p = NULL;
        o.window = windows[i];
        o.tell = 1;
        fixture_capture();
        tutti_status opened = tutti_prefetch_open(&o, &p);
        const char *said = fixture_uncapture();
        ck_assert_ok(opened);
        ck_assert_msg(
            (i == 1) == (strstr(said, "warning: --shuffle window:20: format sorted") != NULL),
            "%d: %s", i, said);
        tutti_prefetch_close(p);
    }
}
END_TEST

/* Whatever the threads are doing: waiting for room, reading, or nothing yet. */
START_TEST(close_does_not_hang)
{
    fake f = {.bad_image = -1, .delay_s = 0.002, .gate = 1};
    tutti_dataset d = fake_dataset(&f);
    tutti_prefetch_options o = options_for(&d, 1);
    o.batch = 100; /* a batch takes 0.2 s: close does not wait for it */
    tutti_prefetch_close(NULL);
    for (int i = 0; i < 12; i++) {
        tutti_prefetch *p;
        o.threads = 1 + i % 4;
        ck_assert_ok(tutti_prefetch_open(&o, &p));
        tutti_clock_sleep(i * 0.003);
        tutti_prefetch_close(p);
    }
}
END_TEST

START_TEST(impossible_options)
{
    fake f = {.bad_image = -1, .gate = 1};
    tutti_dataset d = fake_dataset(&f);
    struct {
        int64_t batch, first_step;
        int rank, ranks, threads;
        tutti_status expected;
    } rows[] = {
        {0, 0, 0, 1, 1, TUTTI_ERR_INVAL},
        {-4, 0, 0, 1, 1, TUTTI_ERR_INVAL},
        {COUNT + 1, 0, 0, 1, 1, TUTTI_ERR_INVAL},
        {COUNT / 4 + 1, 0, 0, 4, 1, TUTTI_ERR_INVAL},
        {INT64_MAX, 0, 0, 4, 1, TUTTI_ERR_INVAL},
        {4, 0, 3, 3, 1, TUTTI_ERR_INVAL},
        {4, 0, 0, 0, 1, TUTTI_ERR_INVAL},
        {4, -1, 0, 1, 1, TUTTI_ERR_INVAL},
        {4, 0, 0, 1, 100000, TUTTI_ERR_INVAL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tutti_prefetch_options o = options_for(&d, 1);
        tutti_prefetch *p = NULL;
        o.batch = rows[i].batch;
        o.first_step = rows[i].first_step;
        o.rank = rows[i].rank;
        o.ranks = rows[i].ranks;
        o.threads = rows[i].threads;
        fixture_capture();
        tutti_status status = tutti_prefetch_open(&o, &p);
        const char *message = fixture_uncapture();
        ck_assert_msg(
            status == rows[i].expected && *message, "row %zu: %s", i, tutti_status_name(status));
        ck_assert_ptr_null(p);
    }
    tutti_prefetch_options o = options_for(&d, 1);
    tutti_prefetch *p = NULL;
    o.window = -5;
    fixture_capture();
    tutti_status status = tutti_prefetch_open(&o, &p);
    ck_assert_ptr_nonnull(strstr(fixture_uncapture(), "within runs of -5"));
    ck_assert_int_eq(status, TUTTI_ERR_INVAL);
    /* An evaluation accepts any batch size that fits in memory. */
    o = options_for(&d, 0);
    o.batch = INT64_MAX / 8;
    fixture_capture();
    status = tutti_prefetch_open(&o, &p);
    ck_assert_ptr_nonnull(strstr(fixture_uncapture(), "smaller batch"));
    ck_assert_int_eq(status, TUTTI_ERR_NOMEM);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("prefetch");
    TCase *tcase = testing_case(suite, "prefetch");
    tcase_add_loop_test(tcase, batches_are_the_same_for_any_team, 0, TEAMS);
    tcase_add_loop_test(tcase, an_evaluation_ends_with_padding, 0, TEAMS);
    tcase_add_loop_test(tcase, a_failure_comes_at_its_step, 0, TEAMS);
    tcase_add_test(tcase, damaged_images_may_be_left_out);
    tcase_add_test(tcase, a_late_batch_is_a_timeout_and_comes_later);
    tcase_add_test(tcase, held_batches_are_named);
    tcase_add_test(tcase, an_evaluation_shows_mirror_images);
    tcase_add_test(tcase, memory_is_bounded);
    tcase_add_test(tcase, any_thread_may_release);
    tcase_add_test(tcase, close_does_not_hang);
    tcase_add_test(tcase, windows_of_few_classes_are_named);
    tcase_add_test(tcase, impossible_options);
    return testing_run(suite);
}
