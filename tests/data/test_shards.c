/* apps/data: tar files as tar itself writes them, and shards of images in them. */
#include "apps/data/source.h"
#include "apps/data/tar.h"
#include "tests/data/fixture.h"
#include "tests/support/testing.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    refuse(TUTTI_TRAIN, "train-000001.tar: a has an image, but no label", "a.cls");
    shell("tar -cf train-000001.tar c.cls a.jpg");
    refuse(TUTTI_TRAIN, "train-000001.tar: c has a label, but no image", "c.jpg");
    shell("tar -cf train-000001.tar b.cls");
    refuse(TUTTI_TRAIN, "train-000001.tar: byte 512", "not the number of a class");
    shell("rm train-000001.tar && cp a.jpg c.jpg && tar -cf val-000001.tar c.cls c.jpg");
    refuse(TUTTI_TEST, "has label 4", "labels up to 1");
    shell("rm val-*");
    refuse(TUTTI_TEST, "holds no shard val*.tar", folder);
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
    return testing_run(suite);
}
