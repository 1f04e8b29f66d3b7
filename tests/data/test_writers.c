/* apps/data: what writes shards is read back by what reads them, and by others; damage is found. */
#include "apps/data/decode.h"
#include "apps/data/jpeg_write.h"
#include "apps/data/recordio_check.h"
#include "apps/data/recordio_write.h"
#include "apps/data/tar_check.h"
#include "apps/data/tar_write.h"
#include "tests/data/fixture.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *folder;

static void make_folder(void)
{
    folder = fixture_folder();
}

static void drop_folder(void)
{
    fixture_remove(folder);
}

/* ---- tar ---- */

/* The field of a size, where POSIX has it: 12 bytes from 124 on. */
START_TEST(sizes_of_headers)
{
    static const struct {
        int64_t bytes;
        const char field[13];
    } rows[] = {{0, "00000000000"}, {1, "00000000001"}, {0777, "00000000777"},
        {((int64_t)1 << 33) - 1, "77777777777"}, {(int64_t)1 << 33, "\x80\0\0\0\0\0\0\x02\0\0\0\0"},
        {0x123456789abc, "\x80\0\0\0\0\0\x12\x34\x56\x78\x9a\xbc"}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        uint8_t block[TUTTI_TAR_BLOCK];
        tutti_tar_header("name", rows[r].bytes, block);
        ck_assert_mem_eq(block + 124, rows[r].field, 12);
        ck_assert(tutti_tar_recognise(block)); /* the sum is right */
    }
}
END_TEST

/* Names around the length of the field, to the longest that a file system has. */
START_TEST(tars_come_back)
{
    static const size_t lengths[] = {1, 99, 100, 101, 255, 511, 512, 1000};
    enum { NAMES = sizeof lengths / sizeof *lengths, CONTENTS = 1100 };
    char name[NAMES][1001], command[2048];
    uint8_t contents[CONTENTS], found_bytes[CONTENTS];
    tutti_bytes tar = {0};
    for (int i = 0; i < CONTENTS; i++) contents[i] = (uint8_t)(i * 7);
    for (int n = 0; n < NAMES; n++) {
        memset(name[n], 'a' + n, lengths[n]);
        name[n][lengths[n]] = '\0';
        ck_assert_ok(tutti_tar_append(&tar, name[n], contents, (size_t)n * 157));
        ck_assert_int_eq(tar.count % TUTTI_TAR_BLOCK, 0);
    }
    ck_assert_ok(tutti_tar_append_end(&tar));
    fixture_write(folder, "a.tar", tar.bytes, tar.count);
    tutti_bytes_free(&tar);

    tutti_data_file file = {0};
    tutti_tar_entry entry;
    int64_t at = 0;
    int found;
    ck_assert_ok(tutti_data_file_open(fixture_path(folder, "a.tar"), &file));
    for (int n = 0; n < NAMES; n++) {
        ck_assert_ok(tutti_tar_next(&file, &at, &entry, &found));
        ck_assert(found);
        ck_assert_str_eq(entry.name, name[n]);
        ck_assert_int_eq(entry.bytes, n * 157);
        ck_assert_ok(tutti_data_file_read(&file, entry.offset, found_bytes, (size_t)entry.bytes));
        ck_assert_mem_eq(found_bytes, contents, (size_t)entry.bytes);
    }
    ck_assert_ok(tutti_tar_next(&file, &at, &entry, &found));
    ck_assert(!found);
    tutti_data_file_close(&file);

    /* GNU tar reads it, and Python does where it is installed. */
    const char *path = fixture_path(folder, "a.tar");
    snprintf(command, sizeof command,
        "test $(tar -tf '%s' | awk '{ s += length } END { print s }') = %d", path,
        1 + 99 + 100 + 101 + 255 + 511 + 512 + 1000);
    ck_assert_msg(system(command) == 0, "%s", command);
    if (access("/usr/bin/python3", X_OK)) {
        testing_left_out("Python's tarfile as the reader", "there is no /usr/bin/python3");
        return;
    }
    snprintf(command, sizeof command,
        "/usr/bin/python3 -c \"import tarfile, sys\nt = tarfile.open('%s')\n"
        "sizes = [(len(m.name), len(t.extractfile(m).read()), m.mode, m.uid) for m in t]\n"
        "wanted = [1, 99, 100, 101, 255, 511, 512, 1000]\n"
        "sys.exit(sizes != [(n, 157 * i, 0o444, 0) for i, n in enumerate(wanted)])\"",
        path);
    ck_assert_msg(system(command) == 0, "%s", command);
}
END_TEST

/* ---- records ---- */

/* Images that hold the magic number at the begin, at the end, twice in a row, and beside a word's
 * begin, where it is nothing. */
static const struct {
    const char *bytes;
    size_t count;
} images[] = {{"abcd", 4}, {"abcde", 5}, {"\x0a\x23\xd7\xce", 4}, {"abcd\x0a\x23\xd7\xce", 8},
    {"\x0a\x23\xd7\xce\x0a\x23\xd7\xce"
     "x",
        9},
    {"a\x0a\x23\xd7\xce"
     "bcd",
        8},
    {"\x0a\x23\xd7\xce"
     "abc\x0a\x23\xd7\xce",
        11},
    {"", 0}};
enum { IMAGES = sizeof images / sizeof *images };

START_TEST(records_come_back)
{
    tutti_bytes records = {0};
    char index[IMAGES * TUTTI_RECORDIO_LINE] = "";
    for (int i = 0; i < IMAGES; i++) {
        char line[TUTTI_RECORDIO_LINE];
        int length = tutti_recordio_line((uint64_t)i, (int64_t)records.count, line);
        ck_assert_int_eq(length, strlen(line));
        strcat(index, line);
        ck_assert_ok(tutti_recordio_append(
            &records, i * 100, (uint64_t)i, images[i].bytes, images[i].count));
        ck_assert_int_eq(records.count % 4, 0);
    }
    fixture_write(folder, "train.rec", records.bytes, records.count);
    for (int indexed = 0; indexed < 2; indexed++) {
        tutti_dataset d = {0};
        tutti_sample sample = {0};
        if (indexed) fixture_write(folder, "train.idx", index, strlen(index));
        ck_assert_ok(tutti_dataset_open(folder, "recordio", TUTTI_TRAIN, &d));
        ck_assert_int_eq(d.count, IMAGES);
        for (int i = 0; i < IMAGES; i++) {
            ck_assert_ok(tutti_dataset_fetch(&d, i, &sample));
            ck_assert_int_eq(sample.label, i * 100);
            ck_assert_int_eq(sample.count, images[i].count);
            ck_assert_mem_eq(sample.bytes, images[i].bytes, sample.count);
        }
        tutti_sample_free(&sample);
        tutti_dataset_close(&d);
    }
    tutti_bytes_free(&records);
}
END_TEST

/* ---- JPEGs ---- */

/* A picture with a slope comes back within what quality 90 allows; better quality needs more bytes. */
START_TEST(jpegs_come_back)
{
    enum { WIDTH = 67, HEIGHT = 35 };
    uint8_t pixels[WIDTH * HEIGHT * 3];
    const uint8_t *found;
    int width, height;
    tutti_sample sample = {.kind = TUTTI_SAMPLE_FILE};
    tutti_bytes good = {0}, poor = {0};
    tutti_decoder *decoder;
    for (int i = 0; i < WIDTH * HEIGHT * 3; i++)
        pixels[i] = (uint8_t)(40 + i / 3 % WIDTH + 2 * (i / 3 / WIDTH) + 5 * (i % 3));
    ck_assert_ok(tutti_jpeg_append(&good, pixels, WIDTH, HEIGHT, 90));
    ck_assert_ok(tutti_jpeg_append(&poor, pixels, WIDTH, HEIGHT, 10));
    ck_assert_uint_gt(good.count, poor.count);
    sample.bytes = good.bytes;
    sample.count = good.count;
    ck_assert_ok(tutti_decoder_new(&decoder));
    ck_assert_ok(tutti_decoder_check(decoder, &sample));
    ck_assert_ok(tutti_decoder_shrink(decoder, &sample, HEIGHT, &found, &width, &height));
    ck_assert(width == WIDTH && height == HEIGHT);
    for (int i = 0; i < WIDTH * HEIGHT * 3; i++) ck_assert_int_le(abs(found[i] - pixels[i]), 8);
    ck_assert_ok(tutti_decoder_shrink(decoder, &sample, 10, &found, &width, &height));
    ck_assert(width == 19 && height == 10);
    /* row 4 of 10 is about row 15 of 35, column 9 of 19 about column 33 of 67 */
    ck_assert_int_le(abs(found[(4 * 19 + 9) * 3] - (40 + 33 + 2 * 15)), 6);
    sample.count /= 2;
    ck_assert_int_eq(tutti_decoder_check(decoder, &sample), TUTTI_ERR_FORMAT);
    ck_assert_int_eq(
        tutti_decoder_shrink(decoder, &sample, 10, &found, &width, &height), TUTTI_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(tutti_decoder_fault(decoder), "corrupt JPEG"));
    tutti_decoder_free(decoder);
    tutti_bytes_free(&good);
    tutti_bytes_free(&poor);
}
END_TEST

/* ---- checks ---- */

static tutti_status check(const char *name, const char *index, tutti_shard_tally *tally)
{
    tutti_data_file file = {0};
    int indexed = 0;
    ck_assert_ok(tutti_data_file_open(fixture_path(folder, name), &file));
    ck_assert_ok(tutti_shard_tally_open(tally));
    fixture_capture();
    tutti_status status =
        index ? tutti_recordio_check(&file, fixture_path(folder, index), &indexed, tally)
              : tutti_tar_check(&file, tally);
    tutti_data_file_close(&file);
    return status;
}

static void accept(const char *name, const char *index, int count)
{
    tutti_shard_tally tally;
    tutti_status status = check(name, index, &tally);
    const char *said = fixture_uncapture();
    ck_assert_msg(!status, "%s", said);
    ck_assert(tally.images == count && tally.least == 3 && tally.most == 2 + count &&
              tally.classes == count && !tally.others);
    tutti_shard_tally_close(&tally);
}

static void refuse(const char *name, const char *index, const char *word)
{
    tutti_shard_tally tally;
    tutti_status status = check(name, index, &tally);
    const char *said = fixture_uncapture();
    ck_assert_msg(status == TUTTI_ERR_FORMAT && strstr(said, word), "%s instead of %s", said, word);
    ck_assert_msg(strstr(said, name) || (index && strstr(said, index)), "%s", said);
    tutti_shard_tally_close(&tally);
}

static void put(const char *name, const tutti_bytes *bytes, size_t count, int64_t flip)
{
    if (flip >= 0) bytes->bytes[flip] ^= 0xff;
    fixture_write(folder, name, bytes->bytes, count);
    if (flip >= 0) bytes->bytes[flip] ^= 0xff;
}

START_TEST(tars_are_checked)
{
    size_t count;
    uint8_t *jpeg = fixture_jpeg(40, 30, 3, 90, &count);
    tutti_bytes tar = {0}, more = {0};
    ck_assert_ok(tutti_tar_append(&tar, "a/0.cls", "3", 1));
    ck_assert_ok(tutti_tar_append(&tar, "a/0.jpg", jpeg, count));
    size_t first = tar.count;
    ck_assert_ok(tutti_tar_append(&tar, "a/1.jpg", jpeg, count));
    ck_assert_ok(tutti_tar_append(&tar, "a/1.cls", "4", 1));
    size_t files = tar.count;
    ck_assert_ok(tutti_tar_append_end(&tar));
    put("a.tar", &tar, tar.count, -1);
    accept("a.tar", NULL, 2);
    for (size_t cut = 0; cut < tar.count; cut += 100) {
        put("a.tar", &tar, cut, -1);
        refuse("a.tar", NULL, "byte");
    }
    put("a.tar", &tar, files + 512, -1);
    refuse("a.tar", NULL, "truncated");
    put("a.tar", &tar, tar.count, (int64_t)first + 3);
    refuse("a.tar", NULL, "no tar header");
    put("a.tar", &tar, tar.count, 512);
    refuse("a.tar", NULL, "byte 512: a/0 has a label that is not the number");
    put("a.tar", &tar, tar.count, 1537); /* the second byte of the image */
    refuse("a.tar", NULL, "byte 1536: is neither a JPEG nor a PNG");
    memset(tar.bytes + first, 0, TUTTI_TAR_BLOCK);
    put("a.tar", &tar, tar.count, -1);
    refuse("a.tar", NULL, "a header before it was overwritten");

    ck_assert_ok(tutti_tar_append(&more, "0.cls", "3", 1));
    ck_assert_ok(tutti_tar_append_end(&more));
    put("a.tar", &more, more.count, -1);
    refuse("a.tar", NULL, "byte 512: 0 has a label, but no image");
    more.count = 0;
    ck_assert_ok(tutti_tar_append(&more, "0.jpg", jpeg, count));
    ck_assert_ok(tutti_tar_append(&more, "0.png", jpeg, count));
    ck_assert_ok(tutti_tar_append_end(&more));
    put("a.tar", &more, more.count, -1);
    refuse("a.tar", NULL, "0 has two images");
    more.count = 0;
    ck_assert_ok(tutti_tar_append(&more, "0.jpg", jpeg, count));
    ck_assert_ok(tutti_tar_append_end(&more));
    put("a.tar", &more, more.count, -1);
    refuse("a.tar", NULL, "byte 512: 0 has an image, but no label");
    tutti_bytes_free(&tar);
    tutti_bytes_free(&more);
    free(jpeg);
}
END_TEST

START_TEST(records_are_checked)
{
    size_t count;
    uint8_t *jpeg = fixture_jpeg(40, 30, 3, 90, &count);
    tutti_bytes records = {0};
    char index[64];
    ck_assert_ok(tutti_recordio_append(&records, 3, 0, jpeg, count));
    int second = (int)records.count;
    ck_assert_ok(tutti_recordio_append(&records, 4, 1, jpeg, count));
    put("a.rec", &records, records.count, -1);
    accept("a.rec", "a.idx", 2);
    for (size_t cut = 4; cut < records.count; cut += 100) {
        put("a.rec", &records, cut, -1);
        if (cut != (size_t)second) refuse("a.rec", "a.idx", "byte");
    }
    put("a.rec", &records, records.count, second);
    refuse("a.rec", "a.idx", "this is no record");
    put("a.rec", &records, records.count, second + 15);
    refuse("a.rec", "a.idx", "a label is not the number");
    put("a.rec", &records, records.count, second + 33);
    refuse("a.rec", "a.idx", "neither a JPEG nor a PNG");
    put("a.rec", &records, records.count, -1);
    snprintf(index, sizeof index, "1\t%d\n0\t0\n", second);
    fixture_write(folder, "a.idx", index, strlen(index));
    accept("a.rec", "a.idx", 2);
    fixture_write(folder, "a.idx", "0\t0\n", 4);
    refuse("a.rec", "a.idx", "has no line for the record");
    fixture_write(folder, "a.idx", "0\t0\n1\t0\n", 8);
    refuse("a.rec", "a.idx", "a.idx: line 2: its record was listed before");
    fixture_write(folder, "a.idx", "0\t0\n1\t4\n", 8);
    refuse("a.rec", "a.idx", "a.idx: line 2: no record begins");
    fixture_write(folder, "a.idx", "0\t0\n1,4\n", 8);
    refuse("a.rec", "a.idx", "a.idx: line 2: is not a key");
    tutti_bytes_free(&records);
    free(jpeg);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("writers");
    TCase *tcase = testing_case(suite, "writers");
    tcase_add_checked_fixture(tcase, make_folder, drop_folder);
    tcase_add_test(tcase, sizes_of_headers);
    tcase_add_test(tcase, tars_come_back);
    tcase_add_test(tcase, records_come_back);
    tcase_add_test(tcase, jpegs_come_back);
    tcase_add_test(tcase, tars_are_checked);
    tcase_add_test(tcase, records_are_checked);
    return testing_run(suite);
}
