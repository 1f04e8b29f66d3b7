/* Readers on damaged files: a small valid data set with one file mutated by seed is opened and read to
 * the end; shards are checked, too. And labels of images without folders of classes, whose file has its
 * lines in any order: every image gets its own.
 *
 * Usage: fuzz_readers [ITERATIONS]. Every run must end with a status and a message, or with images whose
 * labels are in range; a crash, a hang (the guard's deadline) or, with sanitizers, an invalid access fails
 * the test. If the program dies, the file under test remains; a failure prints its iteration, which
 * together with the seed determines it. */
#include "apps/data/recordio_check.h"
#include "apps/data/source.h"
#include "apps/data/tar_check.h"
#include "apps/data/webp.h"
#include "dag/base/rng.h"
#include "tests/data/fixture.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 4000, BYTES_MAX = 1 << 17, IMAGES_MAX = 64 };

typedef struct target {
    const char *format;
    const char *files[3]; /* to be mutated */
    char *folder;
    uint8_t *bytes[3];
    size_t count[3];
} target;

static target targets[] = {
    {.format = "cifar10", .files = {"data_batch_1.bin", "data_batch_5.bin", "test_batch.bin"}},
    {.format = "cifar100", .files = {"train.bin", "test.bin", "train.bin"}},
    {.format = "idx",
        .files = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte"}},
    {.format = "idx",
        .files = {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz",
            "t10k-images-idx3-ubyte.gz"}},
    {.format = "jpeg", .files = {"train/ant/0.jpg", "train/bee/0.jpg", "test/cow/0.jpg"}},
    {.format = "webdataset", .files = {"train-0.tar", "train-1.tar", "val-0.tar"}},
    {.format = "recordio", .files = {"train.rec", "train.idx", "val.rec"}},
    {.format = "imagenet", .files = {"val.txt", "train/bee/0.jpg", "val/1.JPEG"}},
};
enum { TARGETS = sizeof targets / sizeof *targets };

/* The draws of one iteration. */
typedef struct dice {
    uint64_t seed, iteration, next;
} dice;

static size_t roll(dice *d, size_t bound)
{
    return (size_t)tutti_rng_below(d->seed, d->iteration, d->next++, bound ? bound : 1);
}

/* A shard in each of the formats that tar writes; two have long names, one a link, a sparse file, a
 * description and another archive after its end. */
static void make_shards(const char *folder)
{
    char command[4096];
    snprintf(command, sizeof command,
        "cd '%s' && n=$(printf %%0120d 7) && echo 0 > a.cls && cp a.cls $n.cls && cp a.jpg $n.jpg "
        "&& "
        "tar --format=ustar -cf train-0.tar a.jpg a.cls && "
        "tar --format=gnu -cf train-1.tar $n.jpg $n.cls a.jpg a.cls && "
        "tar --format=pax -cf val-0.tar $n.jpg $n.cls a.cls a.jpg && "
        "ln -s a.jpg b.jpg && truncate -s 5000 b.cls && echo '{\"label\": 0}' > a.json && "
        "tar --format=gnu -S -cf more.tar a.jpg a.cls a.json b.jpg b.cls && "
        "cat more.tar >> train-0.tar && rm *.jpg *.cls *.json more.tar",
        folder);
    fixture_write_jpeg(folder, "a.jpg", 40, 30, 3, 90);
    if (system(command) != 0) abort();
}

/* Two records of labels 0 and 1 with the same picture. */
static void make_records(const char *folder)
{
    static uint8_t bytes[1 << 14];
    uint8_t *to = bytes;
    size_t count;
    uint8_t *jpeg = fixture_jpeg(40, 30, 3, 90, &count);
    char index[64];
    int second = 0;
    for (int i = 0; i < 2; i++) {
        const uint32_t one = i ? 0x3f800000 : 0; /* 1.0 or 0.0 */
        const uint32_t head[] = {0xced7230a, (uint32_t)(24 + count), 0, one, (uint32_t)i, 0, 0, 0};
        if (i) second = (int)(to - bytes);
        for (size_t w = 0; w < sizeof head / sizeof *head; w++)
            for (int b = 0; b < 4; b++) *to++ = (uint8_t)(head[w] >> (8 * b));
        memcpy(to, jpeg, count);
        to += (count + 3) / 4 * 4;
    }
    free(jpeg);
    snprintf(index, sizeof index, "0\t0\n1\t%d\n", second);
    fixture_write(folder, "train.rec", bytes, (size_t)(to - bytes));
    fixture_write(folder, "val.rec", bytes, (size_t)(to - bytes));
    fixture_write(folder, "train.idx", index, strlen(index));
}

/* Without folders of classes in val. */
static void make_imagenet(const char *folder)
{
    static const char *const classes[] = {"ant", "bee", "cow"};
    fixture_jpeg_folder(folder, 1, 0);
    fixture_mkdir(folder, "val");
    for (int k = 0; k < 3; k++) {
        char name[64];
        snprintf(name, sizeof name, "test/%s", classes[k]);
        if (remove(fixture_path(folder, name)) != 0) abort();
        snprintf(name, sizeof name, "val/%d.JPEG", k);
        fixture_write_jpeg(folder, name, 16, 12, 3, 90);
    }
    fixture_write_png(folder, "val/1.JPEG", 16, 12, 90, 6);
    if (remove(fixture_path(folder, "test")) != 0) abort();
    fixture_write(folder, "val.txt", "0.JPEG 0\n1.JPEG 1\n2.JPEG 2\n", 27);
}

static void make_targets(void)
{
    for (int t = 0; t < TARGETS; t++) targets[t].folder = fixture_folder();
    fixture_cifar10(targets[0].folder, 10, 2);
    fixture_cifar100(targets[1].folder, 3, 2);
    fixture_idx(targets[2].folder, 6, 4, 5, 7, 0);
    fixture_idx(targets[3].folder, 6, 4, 5, 7, 1);
    fixture_jpeg_folder(targets[4].folder, 1, 1);
    fixture_write_jpeg(targets[4].folder, "train/bee/0.jpg", 16, 12, 1, 90);
    fixture_write_jpeg(targets[4].folder, "test/cow/0.jpg", 16, 12, 4, 90);
    if (tutti_webp_reads()) /* what a file is, its bytes say */
        fixture_write(targets[4].folder, "train/ant/0.jpg", fixture_webp, sizeof fixture_webp);
    make_shards(targets[5].folder);
    make_records(targets[6].folder);
    make_imagenet(targets[7].folder);
    for (int t = 0; t < TARGETS; t++)
        for (int f = 0; f < 3; f++)
            targets[t].bytes[f] = fixture_load(
                fixture_path(targets[t].folder, targets[t].files[f]), &targets[t].count[f]);
}

static void drop_targets(void)
{
    for (int t = 0; t < TARGETS; t++) {
        fixture_remove(targets[t].folder);
        for (int f = 0; f < 3; f++) free(targets[t].bytes[f]);
    }
}

/* Applies one change. Headers are short, so half of the changes affect the first 32 bytes. */
static size_t mutate(dice *d, uint8_t *bytes, size_t count)
{
    static const uint8_t edges[] = {0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff};
    size_t at = roll(d, roll(d, 2) && count > 32 ? 32 : count), n;
    switch (roll(d, 7)) {
    case 0: /* flip a bit */
        if (count) bytes[at] ^= (uint8_t)(1u << roll(d, 8));
        return count;
    case 1: /* any byte */
        if (count) bytes[at] = (uint8_t)roll(d, 256);
        return count;
    case 2: /* an extreme 32-bit value */
        for (n = 0; n < 4 && at + n < count; n++) bytes[at + n] = edges[roll(d, sizeof edges)];
        return count;
    case 3: /* cut off */
        return roll(d, count + 1);
    case 4: /* make longer */
        n = roll(d, 5000);
        if (count + n > BYTES_MAX) n = BYTES_MAX - count;
        memset(bytes + count, edges[roll(d, sizeof edges)], n);
        return count + n;
    case 5: /* leave out */
        n = roll(d, count - at < 40 ? count - at : 40);
        memmove(bytes + at, bytes + at + n, count - at - n);
        return count - n;
    default: /* repeat */
        n = roll(d, count - at < 40 ? count - at : 40);
        if (count + n > BYTES_MAX) return count;
        memmove(bytes + at + n, bytes + at, count - at);
        return count + n;
    }
}

static int report(const dice *d, const target *t, const char *file, const char *what)
{
    printf("iteration %llu: %s/%s: %s\n", (unsigned long long)d->iteration, t->folder, file, what);
    return 1;
}

/* Reads every image twice into memory of exactly its size; both results must be equal. Counts refused
 * images. */
static int read_all(
    const dice *d, const target *t, const char *file, const tutti_dataset *data, int *refused)
{
    size_t bytes = (size_t)data->height * (size_t)data->width * (size_t)data->channels;
    uint8_t *one = malloc(bytes), *two = malloc(bytes);
    int bad = !one || !two;
    int64_t images = data->count < IMAGES_MAX ? data->count : IMAGES_MAX;
    for (int64_t i = 0; i < images && !bad; i++) {
        int32_t label = -1, again = -1;
        memset(one, 0x55, bytes);
        memset(two, 0xaa, bytes);
        tutti_status a = tutti_dataset_read(data, i, one, &label);
        tutti_status b = tutti_dataset_read(data, i, two, &again);
        bad = a != b || (a && a != TUTTI_ERR_FORMAT);
        if (!a)
            bad |= label != again || label < 0 || label >= data->classes ||
                   memcmp(one, two, bytes) != 0;
        *refused += a != TUTTI_OK;
    }
    free(one);
    free(two);
    return bad ? report(d, t, file, "reading it gave a wrong status, label or image") : 0;
}

/* What tutti-pack --check does. */
static int check_shard(const dice *d, const target *t, const char *name, int *refused)
{
    int is_tar = !strcmp(t->format, "webdataset"), indexed = 0;
    if (!is_tar && strcmp(t->format, "recordio") != 0) return 0;
    tutti_data_file file = {0};
    tutti_shard_tally tally;
    const char *shard = is_tar || strcmp(name, "train.idx") != 0 ? name : "train.rec";
    if (tutti_data_file_open(fixture_path(t->folder, shard), &file)) return 1;
    if (tutti_shard_tally_open(&tally)) return 1;
    tutti_status status = is_tar ? tutti_tar_check(&file, &tally)
                                 : tutti_recordio_check(&file, fixture_path(t->folder, "train.idx"),
                                       &indexed, &tally);
    tutti_shard_tally_close(&tally);
    tutti_data_file_close(&file);
    *refused += status != TUTTI_OK;
    return status && status != TUTTI_ERR_FORMAT ? report(d, t, name, tutti_status_name(status)) : 0;
}

static int try_one(dice *d, int refused[TARGETS])
{
    static uint8_t bytes[BYTES_MAX];
    size_t which = roll(d, TARGETS), f = roll(d, 3), changes = 1 + roll(d, 4);
    target *t = &targets[which];
    size_t count = t->count[f];
    memcpy(bytes, t->bytes[f], count);
    while (changes--) count = mutate(d, bytes, count);
    fixture_write(t->folder, t->files[f], bytes, count);
    int bad = check_shard(d, t, t->files[f], &refused[which]);
    for (int look = 0; look < 4 && !bad; look++) {
        tutti_dataset data = {0};
        tutti_status status = tutti_dataset_open(
            t->folder, look % 2 ? t->format : NULL, look / 2 ? TUTTI_TEST : TUTTI_TRAIN, &data);
        if (status) {
            refused[which]++;
            if (status != TUTTI_ERR_FORMAT)
                bad = report(d, t, t->files[f], tutti_status_name(status));
            continue;
        }
        bad = read_all(d, t, t->files[f], &data, &refused[which]);
        tutti_dataset_close(&data);
    }
    fixture_write(t->folder, t->files[f], t->bytes[f], t->count[f]);
    return bad;
}

/* ---- labels in any order ---- */

enum { LABELLED = 12, CLASSES = 3, TEXT = 1 << 13 };
static const char *const class_names[CLASSES] = {"ant", "bee", "cow"};

/* A file of labels under test: who is in it, and how it is written. */
typedef struct labelled {
    char *folder;
    int count, label[LABELLED];
    int kaggle, missing; /* missing: the image that has no line; -1 */
} labelled;

static void print_line(dice *d, const labelled *l, int image, char *text)
{
    size_t used = strlen(text);
    const char *class = class_names[image < LABELLED ? l->label[image] : 0];
    const char *end = roll(d, 2) ? "\r\n" : "\n", *folder = roll(d, 2) ? "val/" : "";
    if (l->kaggle)
        snprintf(text + used, TEXT - used, "x%d,%s %zu 1 2 3%s%s", image, class, roll(d, 500),
            roll(d, 2) ? " cow 1 2 3 4" : "", end);
    else
        snprintf(text + used, TEXT - used, "%sx%d.JPEG %d%s", folder, image,
            image < LABELLED ? l->label[image] : 0, end);
}

/* All images but the missing one and some that do not exist, in a random order, with empty lines. */
static void write_labels(dice *d, const labelled *l)
{
    static char text[TEXT];
    int order[2 * LABELLED];
    for (int i = 0; i < 2 * LABELLED; i++) {
        int other = (int)roll(d, (size_t)i + 1);
        order[i] = order[other];
        order[other] = i;
    }
    snprintf(text, sizeof text, "%s", l->kaggle && roll(d, 2) ? "ImageId,PredictionString\n" : "");
    for (int i = 0; i < 2 * LABELLED; i++) {
        int is_there = order[i] < l->count, is_none = order[i] >= LABELLED;
        if (order[i] != l->missing && (is_there || is_none)) print_line(d, l, order[i], text);
        if (!roll(d, 6)) strcat(text, "\n");
    }
    fixture_write(
        l->folder, l->kaggle ? "val/LOC_val_solution.csv" : "val/val.txt", text, strlen(text));
}

/* The images of val are sorted by name: x0, x1, x10, x11, x2 ... */
static int check_labels(const labelled *l)
{
    tutti_dataset data = {0};
    tutti_sample sample = {0};
    tutti_status status = tutti_dataset_open(l->folder, "imagenet", TUTTI_TEST, &data);
    if (l->missing >= 0) {
        if (!status) tutti_dataset_close(&data);
        return status != TUTTI_ERR_FORMAT;
    }
    if (status) return 1;
    int bad = data.count != l->count || data.classes != CLASSES;
    for (int64_t i = 0; i < data.count && !bad; i++) {
        int image = -1;
        bad = tutti_dataset_fetch(&data, i, &sample) != TUTTI_OK;
        const char *name = strrchr(sample.name, '/');
        bad |= !name || sscanf(name, "/x%d.JPEG", &image) != 1 || image < 0 || image >= l->count;
        bad = bad || sample.label != l->label[image];
    }
    tutti_sample_free(&sample);
    tutti_dataset_close(&data);
    return bad;
}

static int try_labels(dice *d)
{
    labelled l = {.folder = fixture_folder(),
        .count = 1 + (int)roll(d, LABELLED),
        .kaggle = (int)roll(d, 2),
        .missing = -1};
    make_imagenet(l.folder);
    remove(fixture_path(l.folder, "val.txt"));
    for (int k = 0; k < 3; k++) {
        char name[32];
        snprintf(name, sizeof name, "val/%d.JPEG", k);
        remove(fixture_path(l.folder, name));
    }
    for (int i = 0; i < l.count; i++) {
        char name[32];
        snprintf(name, sizeof name, "val/x%d.JPEG", i);
        fixture_write(l.folder, name, "", 0); /* nothing is decoded */
        l.label[i] = (int)roll(d, CLASSES);
    }
    if (!roll(d, 4)) l.missing = (int)roll(d, (size_t)l.count);
    write_labels(d, &l);
    int bad = check_labels(&l);
    if (bad)
        printf("iteration %llu: labels of %d images: %s, missing %d\n",
            (unsigned long long)d->iteration, l.count, l.kaggle ? "Kaggle's" : "Caffe's",
            l.missing);
    fixture_remove(l.folder);
    return bad;
}

int main(int argc, char **argv)
{
    enum { LABELS_EVERY = 40 };
    const long least = testing_fewer() ? ITERATIONS / 2 : ITERATIONS;
    const long iterations = argc > 1 ? atol(argv[1]) : least;
    dice d = {.seed = testing_seed(1)};
    int refused[TARGETS] = {0}, failures = 0;
    make_targets();
    for (long i = 0; i < iterations; i++) {
        d.iteration = (uint64_t)i;
        d.next = 0;
        fixture_capture();
        int bad = try_one(&d, refused);
        if (i % LABELS_EVERY == 0) bad |= try_labels(&d);
        const char *said = fixture_uncapture();
        if (bad) printf("%s", said);
        failures += bad;
    }
    for (int t = 0; t < TARGETS; t++) {
        printf("%s: %d refusals\n", targets[t].format, refused[t]);
        /* Without refusals the fuzzer proves nothing. */
        failures += iterations >= least && refused[t] == 0;
    }
    drop_targets();
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
