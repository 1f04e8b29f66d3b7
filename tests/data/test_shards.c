/* apps/data: tar files as tar itself writes them, and shards of images in them. */
#include "apps/data/assign.h"
#include "apps/data/recordio_check.h"
#include "apps/data/source.h"
#include "apps/data/tar.h"
#include "apps/data/tar_check.h"
#include "tests/data/fixture.h"
#include "tests/support/testing.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char *folder;

static void make_folder(void)
{
    folder = fixture_folder();
}

static void drop_folder(void)
{
    fixture_remove(folder);
}

static void shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void shell(const char *format, ...)
{
    char command[4096];
    int used = snprintf(command, sizeof command, "cd '%s' && ", folder);
    va_list args;
    va_start(args, format);
    vsnprintf(command + used, sizeof command - (size_t)used, format, args);
    va_end(args);
    ck_assert_msg(system(command) == 0, "%s", command);
}

static const char *const formats[] = {"ustar", "gnu", "pax", "v7"};
enum { FORMATS = sizeof formats / sizeof *formats };

/* Names of up to 240 bytes, where the format has them; folders and links are passed over. */
START_TEST(entries_are_found)
{
    char longest[260], path[600];
    int is_long = _i == 1 || _i == 2;
    memset(longest, 'n', 240);
    strcpy(longest + (is_long ? 240 : 60), ".txt");
    fixture_mkdir(folder, "in");
    snprintf(path, sizeof path, "in/%s", longest);
    fixture_write(folder, path, "first", 5);
    fixture_write(folder, "in/empty", "", 0);
    fixture_write(folder, "in/z", "zzz", 3);
    shell("ln -s z in/link && tar --format=%s -cf a.tar in in/%s in/empty in/link in/z --sort=name",
        formats[_i], longest);
    tutti_data_file file = {0};
    ck_assert_ok(tutti_data_file_open(fixture_path(folder, "a.tar"), &file));
    tutti_tar_entry entry;
    int64_t at = 0;
    int found = 1, firsts = 0, empties = 0, lasts = 0;
    while (found) {
        char text[8] = "";
        ck_assert_ok(tutti_tar_next(&file, &at, &entry, &found));
        if (!found) break;
        ck_assert_int_lt(entry.bytes, 8);
        ck_assert_ok(tutti_data_file_read(&file, entry.offset, text, (size_t)entry.bytes));
        firsts += !strcmp(entry.name, path) && !strcmp(text, "first");
        empties += !strcmp(entry.name, "in/empty") && !entry.bytes;
        lasts += !strcmp(entry.name, "in/z") && !strcmp(text, "zzz");
    }
    ck_assert(firsts >= 1 && empties >= 1 && lasts >= 1);
    tutti_data_file_close(&file);
}
END_TEST

/* train-000000.tar, train-000001.tar and val-000000.tar; classes 0 to 2. */
static void make_shards(const char *format)
{
    fixture_mkdir(folder, "in");
    for (int i = 0; i < 7; i++) {
        char name[40], label[8];
        snprintf(name, sizeof name, "in/%04d.jpg", i);
        fixture_write_jpeg(folder, name, 40 + i, 30, 3, 20 + 30 * i);
        snprintf(name, sizeof name, "in/%04d.cls", i);
        snprintf(label, sizeof label, "%d", i % 3);
        fixture_write(folder, name, label, strlen(label));
    }
    shell("tar --format=%s --sort=name -cf train-000000.tar in/0000.cls in/0000.jpg in/0001.* && "
          "tar --format=%s --sort=name -C in -cf train-000001.tar 0002.jpg 0002.cls 0003.jpg "
          "0003.cls "
          "&& tar --format=%s --sort=name -cf val-000000.tar in/0004.* in/0005.* in/0006.* "
          "&& rm -r in",
        format, format, format);
}

START_TEST(shards_are_read)
{
    make_shards(formats[_i]);
    for (tutti_split split = TUTTI_TRAIN; split <= TUTTI_TEST; split++) {
        const tutti_dataset_options options = {
            .path = folder, .format = _i == 3 ? "webdataset" : NULL, .size = 16};
        tutti_dataset d = {0};
        ck_assert_ok(tutti_dataset_open_as(&options, split, &d));
        ck_assert_str_eq(d.source->name, "webdataset");
        ck_assert_int_eq(d.count, split == TUTTI_TRAIN ? 4 : 3);
        ck_assert_int_eq(d.classes, 3);
        for (int i = 0; i < (int)d.count; i++) {
            uint8_t pixels[16 * 16 * 3];
            int32_t label = -1;
            int image = split == TUTTI_TRAIN ? i : 4 + i;
            ck_assert_ok(tutti_dataset_read(&d, i, pixels, &label));
            ck_assert_int_eq(label, image % 3);
            ck_assert_int_le(abs(pixels[0] - 22 - 30 * image), 4);
        }
        tutti_dataset_close(&d);
    }
}
END_TEST

static void refuse(tutti_split split, const char *word, const char *another)
{
    tutti_dataset d = {0};
    fixture_capture();
    tutti_status status = tutti_dataset_open(folder, "webdataset", split, &d);
    const char *said = fixture_uncapture();
    ck_assert_int_eq(status, TUTTI_ERR_FORMAT);
    ck_assert_msg(strstr(said, word) && strstr(said, another), "%s: %s, %s", said, word, another);
}

START_TEST(damaged_shards)
{
    make_shards("ustar");
    size_t count;
    uint8_t *bytes = fixture_load(fixture_path(folder, "train-000001.tar"), &count);
    fixture_truncate(folder, "train-000001.tar", 700);
    refuse(TUTTI_TEST, "train-000001.tar: byte 0: an entry goes beyond the end", "pack the file");
    fixture_truncate(folder, "train-000001.tar", 0);
    refuse(TUTTI_TRAIN, "train-000001.tar: byte 0", "truncated");
    bytes[3] ^= 1;
    fixture_write(folder, "train-000001.tar", bytes, count);
    refuse(TUTTI_TRAIN, "train-000001.tar: byte 0", "no tar header");
    free(bytes);
    fixture_write(folder, "a.jpg", "x", 1);
    fixture_write(folder, "b.cls", "1x", 2);
    fixture_write(folder, "c.cls", "4", 1);
    shell("tar -cf train-000001.tar a.jpg");
    refuse(TUTTI_TRAIN, "train-000001.tar: byte 512: a has an image, but no label", "a.cls");
    shell("tar -cf train-000001.tar c.cls a.jpg");
    refuse(TUTTI_TRAIN, "train-000001.tar: byte 512: c has a label, but no image", "c.jpg");
    shell("tar -cf train-000001.tar b.cls");
    refuse(TUTTI_TRAIN, "train-000001.tar: byte 512", "not the number of a class");
    shell("rm train-000001.tar && cp a.jpg c.jpg && tar -cf val-000001.tar c.cls c.jpg");
    refuse(TUTTI_TEST, "has label 4", "labels up to 1");
    shell("rm val-*");
    refuse(TUTTI_TEST, "holds no shard val*.tar", folder);
}
END_TEST

static uint8_t *put(uint8_t *to, uint64_t value, int bytes)
{
    for (int b = 0; b < bytes; b++) *to++ = (uint8_t)(value >> (8 * b));
    return to;
}

/* Appends a record with an image and `labels` labels, cut into parts at every multiple of 4 where it holds the magic
 * number. Returns the end. */
static uint8_t *put_record(uint8_t *to, int label, int labels, const uint8_t *image, size_t count)
{
    static uint8_t whole[1 << 16];
    static const uint8_t cut[4] = {0x0a, 0x23, 0xd7, 0xce};
    float value = (float)label, other = 77;
    uint32_t bits, other_bits;
    memcpy(&bits, &value, 4);
    memcpy(&other_bits, &other, 4);
    uint8_t *w = put(put(put(put(whole, (uint64_t)labels, 4), labels ? 0 : bits, 4), 1, 8), 0, 8);
    for (int l = 0; l < labels; l++) w = put(w, l ? other_bits : bits, 4);
    if (count) memcpy(w, image, count);
    size_t bytes = (size_t)(w - whole) + count, begin = 0;
    for (size_t at = 0; at <= bytes; at += 4) {
        int is_cut = at + 4 <= bytes && !memcmp(whole + at, cut, 4), is_last = at + 4 > bytes;
        if (!is_cut && !is_last) continue;
        size_t length = (is_last ? bytes : at) - begin;
        uint64_t part = is_last ? (begin ? 3 : 0) : begin ? 2 : 1;
        to = put(put(to, 0xced7230a, 4), part << 29 | length, 4);
        memcpy(to, whole + begin, length);
        memset(to + length, 0, 3);
        to += (length + 3) / 4 * 4;
        begin = at + 4;
    }
    return to;
}

/* train.rec and val.rec with 3 images each; some have two labels. In one, what follows the picture holds the magic
 * number, twice. */
static void make_records(int64_t offset[3])
{
    static uint8_t bytes[1 << 16], image[1 << 14];
    for (int split = 0; split < 2; split++) {
        uint8_t *end = bytes;
        for (int i = 0; i < 3; i++) {
            size_t count;
            uint8_t *jpeg = fixture_jpeg(40 + i, 30, 3, 20 + 60 * i, &count);
            memcpy(image, jpeg, count);
            if (i == 1)
                for (int copy = 0; copy < 2; copy++) {
                    count = (count + 3) / 4 * 4 + 4;
                    memcpy(image + count - 4, "\x0a\x23\xd7\xce", 4);
                }
            offset[i] = end - bytes;
            end = put_record(end, 2 - i, i == 2 ? 2 : 0, image, count);
            free(jpeg);
        }
        fixture_write(folder, split ? "val.rec" : "train.rec", bytes, (size_t)(end - bytes));
    }
}

static void check_record(const tutti_dataset *d, int index, int image)
{
    uint8_t pixels[16 * 16 * 3];
    int32_t label = -1;
    ck_assert_ok(tutti_dataset_read(d, index, pixels, &label));
    ck_assert_int_eq(label, 2 - image);
    ck_assert_int_le(abs(pixels[0] - 22 - 60 * image), 4);
}

/* Three ranks: two share a disk; the third has a shard of theirs, one of its own, and one of the same
 * name as theirs with other bytes. */
START_TEST(shards_are_assigned)
{
    static const char *const disks[2][3] = {
        {"a.tar", "b.tar", "c.tar"}, {"a.tar", "b.tar", "d.tar"}};
    static const char *const wanted[3][2] = {{"a.tar", NULL}, {"b.tar", NULL}, {"b.tar", "d.tar"}};
    tutti_bytes list[3] = {{0}};
    tutti_names names[3] = {{0}};
    char disk[2][512];
    for (int d = 0; d < 2; d++) {
        snprintf(disk[d], sizeof disk[d], "%s/disk%d", folder, d);
        mkdir(disk[d], 0777);
        for (int i = 0; i < 3; i++)
            fixture_write(disk[d], disks[d][i], "xxxxxxxxx", i == 1 ? 5 + d : 5);
    }
    for (int r = 0; r < 3; r++) {
        names[r].names = calloc(3, sizeof *names[r].names);
        for (int i = 0; i < 3; i++) names[r].names[names[r].count++] = strdup(disks[r / 2][i]);
        ck_assert_ok(tutti_shard_list(disk[r / 2], &names[r], &list[r]));
    }
    int seen = 0;
    for (int r = 0; r < 3; r++) {
        int without;
        int64_t shards;
        ck_assert_ok(tutti_assign_shards(list, 3, r, &names[r], &without, &shards));
        ck_assert_int_eq(without, -1);
        ck_assert_int_eq(shards, 5); /* a, b, b of other bytes, c, d */
        seen += (int)names[r].count;
        for (size_t i = 0; i < names[r].count; i++)
            ck_assert_msg(r == 2 || strcmp(names[r].names[i], "d.tar") != 0, "rank %d", r);
        for (int i = 0; i < 2 && wanted[r][i]; i++)
            ck_assert_msg(
                tutti_names_index(&names[r], wanted[r][i]) >= 0, "rank %d, %s", r, wanted[r][i]);
    }
    ck_assert_int_eq(seen, 5);
    tutti_bytes few[3] = {list[0], list[0], {0}};
    tutti_names none = {0};
    int without;
    int64_t shards;
    ck_assert_ok(tutti_assign_shards(few, 3, 2, &none, &without, &shards));
    ck_assert_int_eq(without, 2); /* it has nothing */
    for (int r = 0; r < 3; r++) {
        tutti_bytes_free(&list[r]);
        tutti_names_free(&names[r]);
    }
}
END_TEST

START_TEST(records_are_read)
{
    const tutti_dataset_options options = {.path = folder, .size = 16};
    tutti_dataset d = {0};
    int64_t offset[3];
    char index[100];
    make_records(offset);
    ck_assert_ok(tutti_dataset_open_as(&options, TUTTI_TRAIN, &d));
    ck_assert_str_eq(d.source->name, "recordio");
    ck_assert(d.count == 3 && d.classes == 3);
    for (int i = 0; i < 3; i++) check_record(&d, i, i);
    tutti_sample sample = {0}; /* the parts of a record are joined */
    ck_assert_ok(tutti_dataset_fetch(&d, 1, &sample));
    ck_assert_mem_eq(sample.bytes + sample.count - 8, "\x0a\x23\xd7\xce\x0a\x23\xd7\xce", 8);
    tutti_sample_free(&sample);
    tutti_dataset_close(&d);
    snprintf(index, sizeof index, "7\t%d\n9\t%d\r\n", (int)offset[2], (int)offset[0]);
    fixture_write(folder, "val.idx", index, strlen(index));
    ck_assert_ok(tutti_dataset_open_as(&options, TUTTI_TEST, &d));
    ck_assert_int_eq(d.count, 2);
    check_record(&d, 0, 2);
    check_record(&d, 1, 0);
    tutti_dataset_close(&d);
}
END_TEST

static tutti_status check_file(const char *name)
{
    tutti_data_file file = {0};
    tutti_shard_tally tally;
    int indexed;
    ck_assert_ok(tutti_data_file_open(fixture_path(folder, name), &file));
    ck_assert_ok(tutti_shard_tally_open(&tally));
    fixture_capture();
    tutti_status status =
        strstr(name, ".tar")
            ? tutti_tar_check(&file, &tally)
            : tutti_recordio_check(&file, fixture_path(folder, "train.idx"), &indexed, &tally);
    fixture_uncapture();
    tutti_shard_tally_close(&tally);
    tutti_data_file_close(&file);
    return status;
}

static void refuse_records(const char *word, const char *another)
{
    tutti_dataset d = {0};
    fixture_capture();
    tutti_status status = tutti_dataset_open(folder, "recordio", TUTTI_TRAIN, &d);
    const char *said = fixture_uncapture();
    ck_assert_int_eq(status, TUTTI_ERR_FORMAT);
    ck_assert_msg(strstr(said, word) && strstr(said, another), "%s: %s, %s", said, word, another);
}

START_TEST(damaged_records)
{
    int64_t offset[3];
    size_t count;
    make_records(offset);
    uint8_t *bytes = fixture_load(fixture_path(folder, "train.rec"), &count);
    fixture_truncate(folder, "train.rec", (int64_t)count - 8);
    refuse_records("train.rec: byte", "a record is truncated");
    fixture_truncate(folder, "train.rec", 0);
    refuse_records("train.rec", "holds no images");
    fixture_write(folder, "train.rec", bytes, count);
    fixture_write(folder, "train.idx", "1\t4\n", 4);
    refuse_records("train.rec: byte 4", "no record of RecordIO");
    fixture_write(folder, "train.idx", "1\t0\n2,5\n", 8);
    refuse_records("train.idx: line 2", "remove the file");
    fixture_write(folder, "train.idx", "1\t99999999\n", 11);
    refuse_records("byte 99999999", "truncated");
    ck_assert_int_eq(remove(fixture_path(folder, "train.idx")), 0);
    bytes[15] = 0x42; /* the first label */
    bytes[14] = 0x01;
    fixture_write(folder, "train.rec", bytes, count);
    refuse_records("train.rec: byte 8", "not the number of a class");
    bytes[8] = 0xff; /* 255 labels in a shorter record */
    put(bytes, 0xced7230a, 4);
    put(bytes + 4, 24 + 4 * 255 - 4, 4);
    memset(bytes + 24, 0, 4 * 255);
    fixture_write(folder, "train.rec", bytes, 8 + 24 + 4 * 255 - 4);
    refuse_records("train.rec: byte 8", "too short for its labels");
    ck_assert_int_eq(check_file("train.rec"), TUTTI_ERR_FORMAT);
    free(bytes);
}
END_TEST

/* The zeros behind the last record belong to it, too. */
START_TEST(records_without_padding)
{
    static uint8_t bytes[1 << 16], image[1 << 14];
    size_t count;
    uint8_t *jpeg = fixture_jpeg(40, 30, 3, 90, &count);
    memcpy(image, jpeg, count);
    free(jpeg);
    count = (count + 3) / 4 * 4 + 1;
    const uint8_t *end = put_record(bytes, 0, 0, image, count);
    fixture_write(folder, "train.rec", bytes, (size_t)(end - bytes));
    ck_assert_ok(check_file("train.rec"));
    fixture_write(folder, "train.rec", bytes, (size_t)(end - bytes) - 1);
    refuse_records("train.rec: byte 0", "a record is truncated");
    ck_assert_int_eq(check_file("train.rec"), TUTTI_ERR_FORMAT);
}
END_TEST

/* A record whose id is the number at which records are cut. */
START_TEST(records_cut_before_the_image)
{
    static uint8_t bytes[1 << 16];
    const tutti_dataset_options options = {.path = folder, .size = 16};
    tutti_dataset d = {0};
    size_t count;
    uint8_t *jpeg = fixture_jpeg(40, 30, 3, 20, &count);
    put_record(bytes, 2, 0, NULL, 0);
    put(bytes + 4, 1u << 29 | 8, 4); /* flag and label */
    uint8_t *to = put(put(bytes + 16, 0xced7230a, 4), 3u << 29 | (12 + count), 4);
    memset(to, 0, 12 + count + 3);
    memcpy(to + 12, jpeg, count);
    to += (12 + count + 3) / 4 * 4;
    free(jpeg);
    fixture_write(folder, "train.rec", bytes, (size_t)(to - bytes));
    ck_assert_ok(check_file("train.rec"));
    ck_assert_ok(tutti_dataset_open_as(&options, TUTTI_TRAIN, &d));
    ck_assert_int_eq(d.count, 1);
    check_record(&d, 0, 0);
    tutti_dataset_close(&d);
}
END_TEST

/* A picture, and zeros behind it. */
START_TEST(large_records_are_read)
{
    static uint8_t bytes[1 << 16];
    enum { LENGTH = 65 << 20 };
    const tutti_dataset_options options = {.path = folder, .size = 16};
    tutti_dataset d = {0};
    size_t count;
    uint8_t *jpeg = fixture_jpeg(40, 30, 3, 20, &count);
    const uint8_t *end = put_record(bytes, 2, 0, jpeg, count);
    free(jpeg);
    put(bytes + 4, LENGTH, 4);
    fixture_write(folder, "train.rec", bytes, (size_t)(end - bytes));
    fixture_truncate(folder, "train.rec", 8 + LENGTH);
    ck_assert_ok(check_file("train.rec"));
    ck_assert_ok(tutti_dataset_open_as(&options, TUTTI_TRAIN, &d));
    check_record(&d, 0, 0);
    tutti_dataset_close(&d);
}
END_TEST

/* ---- what would be lost without a word ---- */

/* Opens the training set. Returns what was said; *count: its images, -1 if it was refused. */
static const char *open_train(const char *format, int64_t *count, int64_t *classes)
{
    tutti_dataset d = {0};
    fixture_capture();
    tutti_status status = tutti_dataset_open(folder, format, TUTTI_TRAIN, &d);
    const char *said = fixture_uncapture();
    ck_assert(!status || status == TUTTI_ERR_FORMAT);
    *count = status ? -1 : d.count;
    *classes = status ? -1 : d.classes;
    if (!status) tutti_dataset_close(&d);
    return said;
}

/* How train-0.tar is made of a.jpg, a.cls, b.jpg, b.cls and others; what training reads of it, and
 * warns of; and whether a check refuses it. */
static const struct {
    const char *make;
    int images, is_refused;
    const char *said; /* NULL: nothing */
} shard_cases[] = {
    {"tar -cf train-0.tar a.jpg a.cls b.jpg b.cls", 2, 0, NULL},
    /* hidden files */
    {"touch ._a.jpg ._a.cls .DS_Store && mkdir __MACOSX PaxHeaders.7 .git && touch __MACOSX/x.jpg "
     "PaxHeaders.7/a.cls .git/x.cls && tar -cf train-0.tar ._a.jpg a.jpg ._a.cls .DS_Store "
     "__MACOSX/x.jpg PaxHeaders.7/a.cls a.cls .git/x.cls ./._a.jpg ./b.jpg b.cls",
        -1, 1, "b has an image, but no label"}, /* "./b" is another key */
    {"touch ._a.jpg ._a.cls .DS_Store && mkdir __MACOSX PaxHeaders.7 .git && touch __MACOSX/x.jpg "
     "PaxHeaders.7/a.cls .git/x.cls && tar -cf train-0.tar ._a.jpg a.jpg ._a.cls .DS_Store "
     "__MACOSX/x.jpg PaxHeaders.7/a.cls a.cls .git/x.cls b.jpg ./._a.jpg b.cls",
        2, 0, NULL},
    {"truncate -s 65M b.jpg && tar -cf train-0.tar a.jpg a.cls b.jpg b.cls", 2, 0, NULL},
    {"touch Thumbs.db notes && tar -cf train-0.tar a.jpg Thumbs.db a.cls b.cls notes b.jpg", 2, 0,
        NULL},
    /* names twice */
    {"tar -cf train-0.tar a.jpg a.cls && tar -rf train-0.tar a.jpg a.cls", 1, 1,
        "1 images replace an earlier one of the same key"},
    {"tar -cf train-0.tar a.jpg a.cls && echo 1 > a.cls && tar -rf train-0.tar a.cls", 1, 1,
        "1 labels contradict another one"},
    {"cp a.jpg a.png && tar -cf train-0.tar a.jpg a.png a.cls", 1, 1, "1 images replace"},
    {"tar -cf train-0.tar a.cls && tar -rf train-0.tar a.cls a.jpg", 1, 1, "1 labels repeat"},
    {"cp b.jpg b.2019.jpg && cp b.cls b.2019.cls && tar -cf train-0.tar a.jpg a.cls b.2019.jpg "
     "b.2019.cls",
        1, 1, "1 labels have a further dot in their names"},
    {"cp a.jpg a.seg.png && tar -cf train-0.tar a.jpg a.seg.png a.cls", 1, 0, NULL},
    /* descriptions */
    {"echo '{\"label\": 0, \"width\": 5}' > a.json && tar -cf train-0.tar a.jpg a.json a.cls", 1, 0,
        NULL},
    {"echo '{\"label\": 1}' > a.json && tar -cf train-0.tar a.json a.jpg a.cls b.jpg b.cls", 2, 1,
        "1 labels contradict another one of the same key; the last .cls counts; the first:"},
    {"echo '{\"class_id\": 3}' > b.json && tar -cf train-0.tar a.jpg a.cls b.jpg b.cls b.json", 2,
        1, "1 labels contradict"},
    {"echo '{\"label\": 0' > b.json && tar -cf train-0.tar b.jpg b.cls b.json", 1, 0, NULL},
    /* folders of classes, one image with the label of another; folders that are parts; both right */
    {"mkdir x y && for i in 1 2 3 4; do cp a.jpg x/$i.jpg && cp b.jpg y/$i.jpg && cp a.cls "
     "x/$i.cls && "
     "cp b.cls y/$i.cls; done && cp a.cls y/3.cls && tar -cf train-0.tar --sort=name x y",
        8, 0, "1 labels are not those of nearly all other images in the same folder"},
    {"mkdir x y && for i in 1 2 3 4; do cp a.jpg x/$i.jpg && cp b.jpg y/$i.jpg && cp a.cls "
     "x/$i.cls && "
     "cp a.cls y/$i.cls; done && cp b.cls y/3.cls && cp b.cls x/2.cls && tar -cf train-0.tar "
     "--sort=name x y",
        8, 0, NULL},
    {"mkdir x y && for i in 1 2; do cp a.jpg x/$i.jpg && cp b.jpg y/$i.jpg && cp a.cls x/$i.cls && "
     "cp b.cls y/$i.cls; done && tar -cf train-0.tar --sort=name x y",
        4, 0, NULL},
    /* no plain files */
    {"ln -s a.jpg c.jpg && cp a.cls c.cls && tar -cf train-0.tar a.jpg a.cls c.jpg c.cls", 1, 1,
        "1 entries are no plain files"},
    {"ln a.jpg c.jpg && ln a.cls c.cls && tar -cf train-0.tar a.jpg a.cls c.jpg c.cls b.jpg b.cls",
        2, 1, "2 entries are no plain files"},
    {"mkfifo c.jpg && tar -cf train-0.tar a.jpg a.cls c.jpg b.jpg b.cls", 2, 1, "(a pipe)"},
    {"truncate -s 9M b.jpg && tar --format=gnu -S -cf train-0.tar a.jpg a.cls b.jpg b.cls", 1, 1,
        "b.jpg (a sparse file)"},
    {"truncate -s 9M b.jpg && tar --format=pax -S -cf train-0.tar a.jpg a.cls b.jpg b.cls", 1, 1,
        "b.jpg (a sparse file)"},
    {"for i in $(seq 30); do printf x | dd of=b.jpg bs=1 seek=${i}M 2> dd.log; done; "
     "tar --format=gnu -S -cf train-0.tar a.jpg a.cls b.jpg b.cls",
        1, 1, "b.jpg (a sparse file)"},
    {"mkdir d && cp a.* d && tar -cf train-0.tar d b.jpg b.cls", 2, 0, NULL},
    /* ends */
    {"tar -cf 1 a.jpg a.cls && tar -cf 2 b.jpg b.cls && cat 1 2 > train-0.tar", 2, 1,
        "1 archives follow another one"},
    {"tar -b1 -cf 1 a.jpg a.cls && tar -cf 2 b.jpg b.cls && cat 1 1 2 > train-0.tar", 3, 1,
        "2 archives follow another one"},
    {"tar -cf train-0.tar a.jpg a.cls && echo more >> train-0.tar", 1, 1,
        "1 shards continue after tar's mark of the end"},
    {"tar -b1 -cf train-0.tar a.jpg a.cls && truncate -s -512 train-0.tar", 1, 1,
        "1 shards end within tar's mark of the end"},
    {"tar -b1 -cf train-0.tar a.jpg a.cls && truncate -s -1024 train-0.tar", -1, 1, "truncated"},
    {"tar -cf 1 a.jpg a.cls && tar -b1 -cf 2 b.jpg b.cls && truncate -s -1024 2 && cat 1 2 > "
     "train-0.tar",
        -1, 1, "truncated"},
    /* extended headers */
    {"head -c 300000 /dev/zero | tr '\\0' y > y && tar --format=pax --pax-option=\"$(head -c 90000 "
     "y),"
     "comment:=$(head -c 120000 y | tr y z)\" -cf train-0.tar a.jpg a.cls b.jpg b.cls 2> tar.log "
     "|| "
     "tar --format=pax --pax-option=\"comment:=$(head -c 120000 y)\" -cf train-0.tar a.jpg a.cls "
     "b.jpg b.cls",
        2, 0, NULL},
    {"d=$(printf %0200d 7) && d=$d/$d/$d/$d/$d/$d && mkdir -p $d && cp a.* b.* $d && tar "
     "--format=gnu "
     "-cf train-0.tar $d/a.jpg $d/a.cls && tar --format=gnu -rf train-0.tar $d/b.jpg $d/b.cls",
        2, 0, NULL},
    {"d=$(printf %0200d 7) && d=$d/$d/$d/$d/$d/$d && mkdir -p $d && cp a.* b.* $d && tar "
     "--format=pax "
     "-cf train-0.tar $d/a.jpg $d/a.cls && tar --format=pax -rf train-0.tar $d/b.jpg $d/b.cls",
        2, 0, NULL},
    /* labels as editors write them */
    {"printf '\\357\\273\\277 0 \\r\\n\\r\\n' > a.cls && tar -cf train-0.tar a.jpg a.cls", 1, 0,
        NULL},
    {"printf '0\\n1\\n' > a.cls && tar -cf train-0.tar a.jpg a.cls", -1, 1,
        "not the number of a class"},
    {"printf -- '-1' > a.cls && tar -cf train-0.tar a.jpg a.cls", -1, 1,
        "not the number of a class"},
};
enum { SHARD_CASES = sizeof shard_cases / sizeof *shard_cases };

/* Whatever a check refuses, training refuses or warns of. */
START_TEST(nothing_is_lost_without_a_word)
{
    int64_t count, classes;
    fixture_write_jpeg(folder, "a.jpg", 40, 30, 3, 20);
    fixture_write_jpeg(folder, "b.jpg", 40, 30, 3, 90);
    shell("echo 0 > a.cls && echo 1 > b.cls");
    shell("%s", shard_cases[_i].make);
    const char *wanted = shard_cases[_i].said, *said = open_train("webdataset", &count, &classes);
    ck_assert_msg(count == shard_cases[_i].images, "%lld images: %s", (long long)count, said);
    ck_assert_msg(wanted ? strstr(said, wanted) != NULL : !*said, "%s instead of %s", said, wanted);
    ck_assert_msg(!check_file("train-0.tar") == !shard_cases[_i].is_refused, "the check");
}
END_TEST

/* A record with labels and no image is not an image, and its numbers are no classes. */
START_TEST(records_without_images)
{
    static uint8_t bytes[1 << 16];
    int64_t count, classes, offset[3];
    char index[100];
    size_t jpeg_count;
    uint8_t *jpeg = fixture_jpeg(40, 30, 3, 90, &jpeg_count), *end = bytes;
    for (int head = 0; head < 3; head++) { /* with one label, with several, in the end as well */
        end = put_record(bytes, 5000000, head ? 2 : 0, NULL, 0);
        offset[0] = end - bytes;
        end = put_record(end, 1, 0, jpeg, jpeg_count);
        offset[1] = end - bytes;
        end = put_record(end, 0, 2, jpeg, jpeg_count);
        offset[2] = end - bytes;
        if (head == 2) end = put_record(end, 90000, 2, NULL, 0);
        fixture_write(folder, "train.rec", bytes, (size_t)(end - bytes));
        const char *said = open_train("recordio", &count, &classes);
        ck_assert_msg(count == 2 && classes == 2, "%s", said);
        ck_assert_ptr_nonnull(
            strstr(said, head == 2 ? "2 records hold no image" : "1 records hold no image"));
        ck_assert_ok(check_file("train.rec"));
        snprintf(index, sizeof index, "0\t0\n1\t%d\n2\t%d\n%s", (int)offset[0], (int)offset[1],
            head == 2 ? "" : "\n");
        fixture_write(folder, "train.idx", index, strlen(index));
        said = open_train("recordio", &count, &classes);
        ck_assert(count == 2 && classes == 2);
        ck_assert(!strstr(said, "not in the index") == (head != 2));
        ck_assert_int_eq(remove(fixture_path(folder, "train.idx")), 0);
    }
    free(jpeg);
}
END_TEST

/* An index that lacks records, or has some twice. */
START_TEST(indices_that_lack_records)
{
    int64_t count, classes, offset[3];
    char index[100];
    make_records(offset);
    snprintf(index, sizeof index, "0\t%d\n1\t%d\n", (int)offset[1], (int)offset[1]);
    fixture_write(folder, "train.idx", index, strlen(index));
    const char *said = open_train("recordio", &count, &classes);
    ck_assert_int_eq(count, 2);
    ck_assert_ptr_nonnull(strstr(said, "train.rec: 2 records are not in the index"));
    ck_assert_ptr_nonnull(strstr(said, "1 lines of the index repeat a record"));
    ck_assert_int_eq(check_file("train.rec"), TUTTI_ERR_FORMAT);
    snprintf(
        index, sizeof index, "0\t%d\r1\t%d\r2\t%d", (int)offset[1], (int)offset[0], (int)offset[2]);
    fixture_write(folder, "train.idx", index, strlen(index));
    ck_assert_str_eq(open_train("recordio", &count, &classes), "");
    ck_assert_int_eq(count, 3);
    ck_assert_ok(check_file("train.rec"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shards");
    TCase *tcase = testing_case(suite, "shards");
    tcase_add_checked_fixture(tcase, make_folder, drop_folder);
    tcase_add_loop_test(tcase, entries_are_found, 0, FORMATS);
    tcase_add_loop_test(tcase, shards_are_read, 0, FORMATS);
    tcase_add_test(tcase, damaged_shards);
    tcase_add_test(tcase, shards_are_assigned);
    tcase_add_test(tcase, records_are_read);
    tcase_add_test(tcase, damaged_records);
    tcase_add_test(tcase, records_without_padding);
    tcase_add_test(tcase, records_cut_before_the_image);
    tcase_add_test(tcase, large_records_are_read);
    tcase_add_loop_test(tcase, nothing_is_lost_without_a_word, 0, SHARD_CASES);
    tcase_add_test(tcase, records_without_images);
    tcase_add_test(tcase, indices_that_lack_records);
    return testing_run(suite);
}
