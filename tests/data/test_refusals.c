/* apps/data: what readers must refuse, with which status and which words in the message. */
#include "apps/data/source.h"
#include "tests/data/fixture.h"
#include "tests/support/testing.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* Whether the message has all the words of a list that ends with NULL. */
static void check_message(const char *message, const char *const *words)
{
    ck_assert_msg(*message, "no message");
    for (; *words; words++)
        ck_assert_msg(strstr(message, *words) != NULL, "'%s' is not in: %s", *words, message);
}

#define refuse(status, path, format, split, ...)                                                   \
    refuse_(status, path, format, split, (const char *const[]){__VA_ARGS__, NULL})
static void refuse_(tutti_status expected, const char *path, const char *format, tutti_split split,
    const char *const *words)
{
    tutti_dataset d = {0};
    fixture_capture();
    tutti_status status = tutti_dataset_open(path, format, split, &d);
    const char *message = fixture_uncapture();
    ck_assert_msg(status == expected, "%s instead of %s: %s", tutti_status_name(status),
        tutti_status_name(expected), message);
    ck_assert_ptr_null(d.source);
    check_message(message, words);
}

#define refuse_image(status, split, index, ...)                                                    \
    refuse_image_(status, split, index, (const char *const[]){__VA_ARGS__, NULL})
static void refuse_image_(
    tutti_status expected, tutti_split split, int64_t index, const char *const *words)
{
    tutti_dataset d = {0};
    uint8_t *pixels;
    int32_t label = -7;
    ck_assert_ok(tutti_dataset_open(folder, NULL, split, &d));
    pixels = malloc((size_t)(d.height * d.width * d.channels));
    fixture_capture();
    tutti_status status = tutti_dataset_read(&d, index, pixels, &label);
    const char *message = fixture_uncapture();
    ck_assert_msg(status == expected, "%s: %s", tutti_status_name(status), message);
    ck_assert_int_eq(label, -7);
    check_message(message, words);
    free(pixels);
    tutti_dataset_close(&d);
}

static void poke(const char *name, long offset, int value)
{
    FILE *file = fopen(fixture_path(folder, name), "r+b");
    ck_assert_ptr_nonnull(file);
    fseek(file, offset, SEEK_SET);
    fputc(value, file);
    fclose(file);
}

START_TEST(folders)
{
    refuse(TUTTI_ERR_IO, fixture_path(folder, "nowhere"), NULL, TUTTI_TRAIN, "nowhere",
        "No such file");
    refuse(TUTTI_ERR_IO, fixture_path(folder, "nowhere"), "cifar10", TUTTI_TRAIN, "nowhere",
        "No such file");
    refuse(TUTTI_ERR_IO, folder, NULL, TUTTI_TRAIN, folder, "empty");
    refuse(TUTTI_ERR_IO, "", NULL, TUTTI_TRAIN, "No such file");
    fixture_write(folder, "notes.txt", "hello", 5);
    refuse(
        TUTTI_ERR_IO, fixture_path(folder, "notes.txt"), NULL, TUTTI_TRAIN, "notes.txt", "folder");
    refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TRAIN, folder, "looked for", "data_batch_1..5.bin",
        "train.bin", "train-images-idx3-ubyte", "<class>/*.jpg");
    refuse(TUTTI_ERR_USAGE, folder, "png", TUTTI_TRAIN, "'png'",
        "cifar10, cifar100, folders, idx, imagenet, jpeg, recordio, synthetic, webdataset");
}
END_TEST

START_TEST(synthetic_sizes_are_checked)
{
    refuse(TUTTI_ERR_USAGE, "synthetic:", NULL, TUTTI_TRAIN, "synthetic:224x224x3:1000");
    refuse(TUTTI_ERR_USAGE, "synthetic:8x8x3:10x", NULL, TUTTI_TRAIN, "HxWxC:classes");
    refuse(TUTTI_ERR_USAGE, "synthetic:0x8x3:10", NULL, TUTTI_TRAIN, "sides are 1 to 4096");
    refuse(TUTTI_ERR_USAGE, "synthetic:8x8x2:10", NULL, TUTTI_TRAIN, "channels 1 or 3");
    refuse(TUTTI_ERR_USAGE, "synthetic:8x8x3:0", NULL, TUTTI_TRAIN, "classes 1 to");
}
END_TEST

START_TEST(near_misses_get_advice)
{
    fixture_write(folder, "data_batch_1", "", 0);
    refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TRAIN, folder, "Python version", "binary version");
    ck_assert_int_eq(remove(fixture_path(folder, "data_batch_1")), 0);
    fixture_mkdir(folder, "cifar-10-batches-bin");
    char below[4096];
    snprintf(below, sizeof below, "%s/cifar-10-batches-bin", folder);
    fixture_cifar10(below, 5, 1);
    refuse(
        TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TRAIN, "/cifar-10-batches-bin", "give that folder");
}
END_TEST

START_TEST(two_data_sets_in_one_folder)
{
    fixture_cifar10(folder, 5, 1);
    fixture_idx(folder, 3, 3, 4, 4, 1);
    refuse(TUTTI_ERR_USAGE, folder, NULL, TUTTI_TRAIN, folder, "cifar10, idx");
    tutti_dataset d;
    ck_assert_ok(tutti_dataset_open(folder, "idx", TUTTI_TEST, &d));
    tutti_dataset_close(&d);
}
END_TEST

START_TEST(cifar10_files)
{
    fixture_cifar10(folder, 15, 4);
    poke("data_batch_2.bin", 3073, 10);
    refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TRAIN, "data_batch_2.bin", "record 1", "byte 3073",
        "label 10", "0..9");
    poke("data_batch_2.bin", 3073, 9);
    fixture_truncate(folder, "data_batch_4.bin", 2 * 3073 + 100);
    refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TRAIN, "data_batch_4.bin", "truncated",
        "6246 bytes", "record 2");
    fixture_truncate(folder, "data_batch_4.bin", 0);
    refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TRAIN, "data_batch_4.bin", "truncated");
    ck_assert_int_eq(remove(fixture_path(folder, "data_batch_4.bin")), 0);
    refuse(TUTTI_ERR_IO, folder, NULL, TUTTI_TRAIN, "data_batch_4.bin", "No such file");
    fixture_mkdir(folder, "data_batch_4.bin");
    refuse(TUTTI_ERR_IO, folder, NULL, TUTTI_TRAIN, "data_batch_4.bin", "not a regular file");
    poke("test_batch.bin", 0, 200);
    refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TEST, "test_batch.bin", "record 0", "label 200");
}
END_TEST

/* Half of an original file is a whole number of records, but not a valid data set. */
START_TEST(cifar10_half_a_file)
{
    fixture_cifar10(folder, 15, 4);
    for (int i = 1; i <= 5; i++) {
        char name[32];
        snprintf(name, sizeof name, "data_batch_%d.bin", i);
        fixture_truncate(folder, name, 10000 * 3073);
    }
    fixture_truncate(folder, "test_batch.bin", 5000 * 3073);
    refuse(
        TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TEST, "test_batch.bin", "truncated", "5000", "10000");
    fixture_truncate(folder, "data_batch_5.bin", 10001 * 3073);
    refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TRAIN, "data_batch_5.bin", "too long", "10001");
}
END_TEST

START_TEST(cifar10_shrinks_while_open)
{
    fixture_cifar10(folder, 15, 4);
    tutti_dataset d;
    uint8_t pixels[3072];
    int32_t label;
    ck_assert_ok(tutti_dataset_open(folder, NULL, TUTTI_TEST, &d));
    fixture_truncate(folder, "test_batch.bin", 3073);
    ck_assert_ok(tutti_dataset_read(&d, 0, pixels, &label));
    fixture_capture();
    tutti_status status = tutti_dataset_read(&d, 2, pixels, &label);
    const char *message = fixture_uncapture();
    ck_assert_int_eq(status, TUTTI_ERR_FORMAT);
    check_message(message, (const char *const[]){"test_batch.bin", "ends at byte", "6146", NULL});
    tutti_dataset_close(&d);
}
END_TEST

START_TEST(cifar100_files)
{
    fixture_cifar100(folder, 13, 5);
    poke("train.bin", 3074 * 12, 20);
    refuse(
        TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TRAIN, "train.bin", "record 12", "label 20", "0..19");
    poke("test.bin", 1, 100);
    refuse(
        TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TEST, "test.bin", "record 0", "label 100", "0..99");
    fixture_truncate(folder, "train.bin", 3074 * 13 - 1);
    refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TRAIN, "train.bin", "truncated");
}
END_TEST

/* Each row corrupts one byte in the header of train-images-idx3-ubyte (or -labels-idx1-), a file with 3
 * images of 4x4. */
static const struct {
    int labels;
    long offset;
    int value;
    const char *word;
} headers[] = {
    {0, 0, 7, "begins with 07 00"},
    {0, 2, 0x0d, "type 0x0d"},
    {0, 3, 1, "1 dimensions"},
    {0, 4, 0x80, "declares 2147483651 images of 4x4"},
    {0, 7, 2, "declares 2 images of 4x4 (32 bytes)"},
    {0, 7, 4, "declares 4 images of 4x4 (64 bytes)"},
    {0, 7, 0, "declares 0 elements"},
    {0, 8, 0xff, "pixels per side"},
    {0, 11, 0, "declares 0 pixels per side"},
    {0, 15, 5, "declares 3 images of 4x5"},
    {1, 3, 3, "3 dimensions"},
    {1, 4, 0x7f, "labels"},
    {1, 7, 4, "declares 4 labels (4 bytes)"},
    {1, 8, 10, "label 0 is 10"},
};

/* The same corrupt bytes in plain and in gzip files. */
START_TEST(idx_headers)
{
    static const char *const names[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte"};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        const char *name = names[headers[i].labels];
        fixture_idx(folder, 3, 3, 4, 4, 0);
        poke(name, headers[i].offset, headers[i].value);
        refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TRAIN, name, headers[i].word);
        size_t count;
        uint8_t *bytes = fixture_load(fixture_path(folder, name), &count);
        fixture_write_gzip(folder, name, bytes, count); /* recognised without the .gz */
        free(bytes);
        refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TRAIN, name, headers[i].word);
    }
}
END_TEST

START_TEST(idx_files)
{
    fixture_idx(folder, 3, 5, 4, 4, 0);
    ck_assert_int_eq(rename(fixture_path(folder, "t10k-labels-idx1-ubyte"),
                         fixture_path(folder, "train-labels-idx1-ubyte")),
        0);
    refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TRAIN, "holds 3 images", "holds 5 labels");
    refuse(TUTTI_ERR_IO, folder, NULL, TUTTI_TEST, "t10k-labels-idx1-ubyte", "missing");
    fixture_truncate(folder, "train-images-idx3-ubyte", 15);
    refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TRAIN, "train-images-idx3-ubyte", "too short");
}
END_TEST

START_TEST(idx_gzip_files)
{
    const char *name = "train-images-idx3-ubyte.gz";
    fixture_idx(folder, 3, 3, 4, 4, 1);
    size_t count;
    uint8_t *bytes = fixture_load(fixture_path(folder, name), &count);
    fixture_truncate(folder, name, (int64_t)count - 6); /* within the checksum */
    refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TRAIN, name, "truncated");
    fixture_truncate(folder, name, 20);
    refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TRAIN, name, "truncated");
    bytes[count - 8] ^= 1;
    fixture_write(folder, name, bytes, count);
    refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TRAIN, name, "damaged", "(incorrect data check)");
    free(bytes);
}
END_TEST

START_TEST(permissions)
{
    fixture_cifar10(folder, 5, 1);
    int root = geteuid() == 0;
    ck_assert_int_eq(chmod(folder, 0755), 0);
    ck_assert_int_eq(chmod(fixture_path(folder, "data_batch_1.bin"), 0), 0);
    if (root) ck_assert_int_eq(seteuid(65534), 0);
    refuse(
        TUTTI_ERR_IO, folder, NULL, TUTTI_TRAIN, "data_batch_1.bin", "Permission denied", "chmod");
    if (root) ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(chmod(folder, 0), 0);
    if (root) ck_assert_int_eq(seteuid(65534), 0);
    refuse(TUTTI_ERR_IO, folder, NULL, TUTTI_TRAIN, folder, "Permission denied");
    if (root) ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(chmod(folder, 0755), 0);
}
END_TEST

START_TEST(pipes_do_not_block)
{
    fixture_cifar10(folder, 5, 1);
    ck_assert_int_eq(remove(fixture_path(folder, "data_batch_3.bin")), 0);
    ck_assert_int_eq(mkfifo(fixture_path(folder, "data_batch_3.bin"), 0600), 0);
    refuse(TUTTI_ERR_IO, folder, NULL, TUTTI_TRAIN, "data_batch_3.bin", "not a regular file");
}
END_TEST

START_TEST(jpeg_folders)
{
    fixture_jpeg_folder(folder, 1, 1);
    refuse(TUTTI_ERR_FORMAT, folder, "folders", TUTTI_TRAIN, "has a folder test, which",
        "leave out --format");
    fixture_mkdir(folder, "test/dog");
    refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TEST, "test/dog", "not in the training set");
    fixture_mkdir(folder, "train/dog");
    refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TRAIN, "train/dog", "no .jpg");
    fixture_write(folder, "train/dog/1.png", "x", 1);
    refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TRAIN, "train/dog",
        "only pictures of other kinds such as 1.png; convert them");
    ck_assert_int_eq(remove(fixture_path(folder, "train/dog/1.png")), 0);
    fixture_mkdir(folder, "train/dog/1.jpg");
    refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TRAIN, "train/dog", "only folders such as 1.jpg",
        "put images into");
    ck_assert_int_eq(rmdir(fixture_path(folder, "train/dog/1.jpg")), 0);
    fixture_write(folder, "train/dog/notes.txt", "x", 1);
    refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TRAIN, "only others such as notes.txt");
    fixture_mkdir(folder, "other");
    fixture_mkdir(folder, "other/train");
    refuse(TUTTI_ERR_FORMAT, fixture_path(folder, "other"), NULL, TUTTI_TRAIN, "other/train",
        "<class>");
    refuse(TUTTI_ERR_FORMAT, fixture_path(folder, "other"), "jpeg", TUTTI_TEST, "other/train",
        "<class>");
    refuse(TUTTI_ERR_IO, fixture_path(folder, "train"), "jpeg", TUTTI_TRAIN, "train/train",
        "No such file");
    /* The name of a picture, but not a picture. */
    fixture_write(folder, "train/ant/0.jpg", "hello", 5);
    refuse(TUTTI_ERR_FORMAT, folder, "jpeg", TUTTI_TRAIN, "train/ant/0.jpg", "is text",
        "download failed");
    fixture_write(folder, "train/ant/0.jpg", "", 0);
    refuse(TUTTI_ERR_FORMAT, folder, "jpeg", TUTTI_TRAIN, "train/ant/0.jpg", "0 bytes");
}
END_TEST

/* What is left out is reported once for a split, by kind, with an example. */
START_TEST(left_out_files_are_named)
{
    static const struct {
        tutti_split split;
        const char *format;
        size_t folders, pictures, files, odd;
    } cases[] = {{TUTTI_TRAIN, "imagenet", 1, 3, 2, 1}, {TUTTI_TRAIN, "jpeg", 1, 4, 2, 1},
        {TUTTI_TEST, "jpeg", 0, 0, 1, 0}};
    static const char *const stray[] = {"train/ant/a.heic", "train/cow/b.GIF", "train/photo.jpg",
        "train/ant/notes.txt", "train/cow/no-ending", "train/cow/.hidden", "test/bee/list.csv"};
    fixture_jpeg_folder(folder, 1, 1);
    fixture_mkdir(folder, "train/bee/more.jpg");
    fixture_write_jpeg(folder, "train/bee/more.jpg/1.jpg", 16, 12, 3, 90);
    fixture_write_png(folder, "train/bee/1.PNG", 16, 12, 90, 1);
    for (size_t i = 0; i < sizeof stray / sizeof *stray; i++)
        fixture_write(folder, stray[i], "x", 1);
    ck_assert_int_eq(symlink("nothing", fixture_path(folder, "train/ant/link.jpg")), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tutti_dataset d = {0};
        char words[64];
        fixture_capture();
        tutti_status status = tutti_dataset_open(folder, cases[i].format, cases[i].split, &d);
        const char *said = fixture_uncapture();
        ck_assert_msg(!status, "%s", said);
        ck_assert_msg(strchr(said, '\n') == said + strlen(said) - 1, "not one line: %s", said);
        snprintf(words, sizeof words, "%zu folders (such as bee/more.jpg)", cases[i].folders);
        ck_assert_msg(!strstr(said, words) == !cases[i].folders, "%s", said);
        snprintf(words, sizeof words, "%zu pictures (such as ", cases[i].pictures);
        ck_assert_msg(!strstr(said, words) == !cases[i].pictures, "%s", said);
        snprintf(words, sizeof words, "%zu other files (such as ", cases[i].files);
        ck_assert_msg(strstr(said, words) != NULL, "%s", said);
        snprintf(words, sizeof words, "%zu broken links or special files (such as ant/link.jpg",
            cases[i].odd);
        ck_assert_msg(!strstr(said, words) == !cases[i].odd, "%s", said);
        ck_assert_msg(!strstr(said, ".png") == (i > 0), "%s", said);
        tutti_dataset_close(&d);
    }
    tutti_dataset d = {0};
    const char *path = fixture_path(folder, "train");
    fixture_capture();
    tutti_status status = tutti_dataset_open(path, "folders", TUTTI_TRAIN, &d);
    const char *said = fixture_uncapture();
    ck_assert_msg(!status, "%s", said);
    check_message(said, (const char *const[]){"/train: leaves out 3 pictures (such as photo.jpg), ",
                            "2 other files (such as ", "1 broken links or special files (such as ",
                            "in the folders of classes\n", NULL});
    ck_assert_msg(strchr(said, '\n') == said + strlen(said) - 1, "not one line: %s", said);
    tutti_dataset_close(&d);
}
END_TEST

/* DIR/train/{ant,bee,cow} and val; `flat`: val has no folders of classes. */
static void imagenet_folder(int flat)
{
    fixture_jpeg_folder(folder, 2, 1);
    ck_assert_int_eq(rename(fixture_path(folder, "test"), fixture_path(folder, "val")), 0);
    if (!flat) return;
    static const char *const classes[] = {"ant", "bee", "cow"};
    for (int k = 0; k < 3; k++) {
        char from[32], to[32];
        snprintf(from, sizeof from, "val/%s/0.jpg", classes[k]);
        snprintf(to, sizeof to, "val/%d.JPEG", k);
        ck_assert_int_eq(rename(fixture_path(folder, from), fixture_path(folder, to)), 0);
        snprintf(from, sizeof from, "val/%s", classes[k]);
        ck_assert_int_eq(rmdir(fixture_path(folder, from)), 0);
    }
}

static void write_text(const char *name, const char *text)
{
    fixture_write(folder, name, text, strlen(text));
}

START_TEST(imagenet_folders)
{
    imagenet_folder(0);
    fixture_mkdir(folder, "val/dog");
    refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TEST, "val/dog", "not in the training set");
    fixture_mkdir(folder, "train/dog");
    refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TRAIN, "train/dog", "no .jpg");
    fixture_write_jpeg(folder, "train/dog/1.png", 16, 12, 3, 40); /* a JPEG that is called PNG */
    refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TEST, "val/dog", "no .jpg");
    ck_assert_int_eq(rmdir(fixture_path(folder, "val/dog")), 0);
    refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TEST, "val: has no folder dog", "not unpacked");
}
END_TEST

START_TEST(validation_labels)
{
    imagenet_folder(1);
    refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TEST, "val: holds images", "val.txt",
        "LOC_val_solution.csv");
    write_text("ILSVRC2012_validation_ground_truth.txt", "490\n361\n171\n");
    refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TEST, "ground_truth.txt", "own order", "val.txt");
    write_text("LOC_val_solution.csv", "ImageId,PredictionString\n0,ant 1 2 3 4\n1,dog 1 2 3 4\n");
    refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TEST, "LOC_val_solution.csv: line 3",
        "not a folder of train");
    write_text("LOC_val_solution.csv", "0 ant\n");
    refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TEST, "line 1", "a comma");
    write_text("val/val.txt", "0.JPEG 0\n1.JPEG\n");
    refuse(
        TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TEST, "val/val.txt: line 2", "number of its class");
    write_text("val/val.txt", "0.JPEG 0\n1.JPEG 3\n");
    refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TEST, "val/val.txt: line 2", "below that of");
    write_text("val/val.txt", "0.JPEG 0\n1.JPEG 1x\n");
    refuse(TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TEST, "val/val.txt: line 2", "below that of");
    write_text("val/val.txt", "0.JPEG 0\n2.JPEG 1\n");
    refuse(
        TUTTI_ERR_FORMAT, folder, NULL, TUTTI_TEST, "val/val.txt", "no line for the image 1.JPEG");
}
END_TEST

/* Removes the third component from a marker segment; their number is `count_at` bytes after the
 * marker. */
static void drop_component(uint8_t *bytes, size_t *count, int marker, size_t count_at, size_t size)
{
    for (size_t i = 0; i + 20 < *count; i++) {
        if (bytes[i] != 0xff || bytes[i + 1] != marker) continue;
        size_t third = i + count_at + 1 + 2 * size;
        bytes[i + 3] = (uint8_t)(bytes[i + 3] - size);
        bytes[i + count_at] = 2;
        memmove(bytes + third, bytes + third + size, *count - third - size);
        *count -= size;
        return;
    }
    ck_abort_msg("no marker %x", (unsigned)marker);
}

/* Changes the size in the header, and nothing else. */
static void claim_size(uint8_t *bytes, size_t count, int width, int height)
{
    for (size_t i = 0; i + 9 < count; i++) {
        if (bytes[i] != 0xff || bytes[i + 1] != 0xc0) continue;
        bytes[i + 5] = (uint8_t)(height >> 8);
        bytes[i + 6] = (uint8_t)height;
        bytes[i + 7] = (uint8_t)(width >> 8);
        bytes[i + 8] = (uint8_t)width;
        return;
    }
    ck_abort_msg("no frame header");
}

/* 16x12 pixels of 2 components: no colour space has two. */
static uint8_t *two_components(size_t *count)
{
    enum { SOF0 = 0xc0, SOS = 0xda };
    uint8_t *bytes = fixture_jpeg(16, 12, 3, 40, count);
    drop_component(bytes, count, SOF0, 9, 3);
    drop_component(bytes, count, SOS, 4, 2);
    return bytes;
}

START_TEST(jpeg_files)
{
    fixture_jpeg_folder(folder, 2, 1);
    size_t count;
    uint8_t *bytes = fixture_load(fixture_path(folder, "train/bee/0.jpg"), &count);
    int64_t bee = 2;
    for (size_t keep = 3; keep < count - 2; keep += 29) {
        fixture_write(folder, "train/bee/0.jpg", bytes, keep);
        refuse_image(TUTTI_ERR_FORMAT, TUTTI_TRAIN, bee, "train/bee/0.jpg", "corrupt");
    }
    free(bytes);
    fixture_write_jpeg(folder, "train/bee/0.jpg", 17, 12, 3, 40);
    refuse_image(TUTTI_ERR_FORMAT, TUTTI_TRAIN, bee, "train/bee/0.jpg", "17x12", "16x12");
    bytes = fixture_jpeg(16, 12, 3, 40, &count);
    claim_size(bytes, count, 30000, 30000);
    fixture_write(folder, "train/bee/0.jpg", bytes, count);
    refuse_image(
        TUTTI_ERR_FORMAT, TUTTI_TRAIN, bee, "train/bee/0.jpg", "30000x30000", "64 million");
    free(bytes);
    fixture_truncate(folder, "train/bee/0.jpg", ((int64_t)512 << 20) + 1);
    refuse_image(
        TUTTI_ERR_FORMAT, TUTTI_TRAIN, bee, "train/bee/0.jpg", "536870913 bytes cannot be");
    bytes = two_components(&count);
    fixture_write(folder, "train/bee/0.jpg", bytes, count);
    refuse_image(TUTTI_ERR_FORMAT, TUTTI_TRAIN, bee, "train/bee/0.jpg", "2 components");
    free(bytes);
    ck_assert_int_eq(remove(fixture_path(folder, "test/ant/0.jpg")), 0);
    fixture_write_jpeg(folder, "test/ant/0.jpg", 12, 16, 1, 40);
    refuse_image(TUTTI_ERR_FORMAT, TUTTI_TEST, 0, "test/ant/0.jpg", "12x16", "16x12");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("refusals");
    TCase *tcase = testing_case(suite, "refusals");
    tcase_add_checked_fixture(tcase, make_folder, drop_folder);
    tcase_add_test(tcase, folders);
    tcase_add_test(tcase, synthetic_sizes_are_checked);
    tcase_add_test(tcase, near_misses_get_advice);
    tcase_add_test(tcase, two_data_sets_in_one_folder);
    tcase_add_test(tcase, cifar10_files);
    tcase_add_test(tcase, cifar10_half_a_file);
    tcase_add_test(tcase, cifar10_shrinks_while_open);
    tcase_add_test(tcase, cifar100_files);
    tcase_add_test(tcase, idx_headers);
    tcase_add_test(tcase, idx_files);
    tcase_add_test(tcase, idx_gzip_files);
    tcase_add_test(tcase, permissions);
    tcase_add_test(tcase, pipes_do_not_block);
    tcase_add_test(tcase, jpeg_folders);
    tcase_add_test(tcase, left_out_files_are_named);
    tcase_add_test(tcase, imagenet_folders);
    tcase_add_test(tcase, validation_labels);
    tcase_add_test(tcase, jpeg_files);
    return testing_run(suite);
}
