/* apps/data: every reader on valid data. Refusals are in test_refusals.c. */
#include "apps/data/source.h"
#include "tests/data/fixture.h"
#include "tests/support/testing.h"

#include <math.h>
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

/* Opens by content and expects a format, shape and count. */
static tutti_dataset open_expected(tutti_split split, const char *format, int64_t count, int height,
    int width, int channels, int classes)
{
    tutti_dataset d = {0};
    ck_assert_ok(tutti_dataset_open(folder, NULL, split, &d));
    ck_assert_str_eq(d.source->name, format);
    ck_assert_int_eq(d.count, count);
    ck_assert_int_eq(d.height, height);
    ck_assert_int_eq(d.width, width);
    ck_assert_int_eq(d.channels, channels);
    ck_assert_int_eq(d.classes, classes);
    return d;
}

/* Checks every image against the fixture; images of this split are numbered from 0. */
static void check_images(const tutti_dataset *d)
{
    size_t bytes = (size_t)(d->height * d->width * d->channels);
    uint8_t *pixels = malloc(bytes);
    for (int i = 0; i < (int)d->count; i++) {
        int32_t label = -1;
        ck_assert_ok(tutti_dataset_read(d, i, pixels, &label));
        ck_assert_int_eq(label, fixture_label(i, d->classes));
        for (size_t p = 0; p < bytes; p++) {
            int c = (int)p % d->channels, x = (int)p / d->channels % d->width,
                y = (int)p / d->channels / d->width;
            ck_assert_int_eq(pixels[p], fixture_pixel(i, y, x, c));
        }
    }
    free(pixels);
}

START_TEST(cifar10_is_read)
{
    fixture_cifar10(folder, 15, 4);
    for (tutti_split split = TUTTI_TRAIN; split <= TUTTI_TEST; split++) {
        tutti_dataset d =
            open_expected(split, "cifar10", split == TUTTI_TRAIN ? 15 : 4, 32, 32, 3, 10);
        check_images(&d);
        tutti_dataset_close(&d);
        ck_assert_ptr_null(d.source);
        tutti_dataset_close(&d);
    }
}
END_TEST

START_TEST(cifar100_is_read)
{
    fixture_cifar100(folder, 13, 5);
    for (tutti_split split = TUTTI_TRAIN; split <= TUTTI_TEST; split++) {
        tutti_dataset d =
            open_expected(split, "cifar100", split == TUTTI_TRAIN ? 13 : 5, 32, 32, 3, 100);
        check_images(&d);
        tutti_dataset_close(&d);
    }
}
END_TEST

START_TEST(idx_is_read)
{
    fixture_idx(folder, 70, 9, 5, 7, _i);
    for (tutti_split split = TUTTI_TRAIN; split <= TUTTI_TEST; split++) {
        tutti_dataset d = open_expected(split, "idx", split == TUTTI_TRAIN ? 70 : 9, 5, 7, 1, 10);
        check_images(&d);
        tutti_dataset_close(&d);
    }
}
END_TEST

/* The contents decide, not the name: a gzip file without .gz, and the dotted spelling of the names. */
START_TEST(idx_names_may_vary)
{
    fixture_idx(folder, 70, 9, 5, 7, 1);
    ck_assert_int_eq(rename(fixture_path(folder, "train-images-idx3-ubyte.gz"),
                         fixture_path(folder, "train-images-idx3-ubyte")),
        0);
    ck_assert_int_eq(rename(fixture_path(folder, "train-labels-idx1-ubyte.gz"),
                         fixture_path(folder, "train-labels.idx1-ubyte.gz")),
        0);
    tutti_dataset d = open_expected(TUTTI_TRAIN, "idx", 70, 5, 7, 1, 10);
    check_images(&d);
    tutti_dataset_close(&d);
}
END_TEST

static void check_shade(
    const tutti_dataset *d, int64_t index, int32_t label, int red, int green, int blue)
{
    uint8_t pixels[16 * 12 * 3];
    int32_t found = -1;
    ck_assert_ok(tutti_dataset_read(d, index, pixels, &found));
    ck_assert_int_eq(found, label);
    for (int p = 0; p < 16 * 12; p++) {
        int y = p / 16;
        ck_assert_int_le(abs(pixels[3 * p] - red - y), 4);
        ck_assert_int_le(abs(pixels[3 * p + 1] - green - y), 4);
        ck_assert_int_le(abs(pixels[3 * p + 2] - blue - y), 4);
    }
}

START_TEST(jpegs_are_read)
{
    fixture_jpeg_folder(folder, 2, 1);
    fixture_write(folder, "train/ant/.hidden", "", 0);
    tutti_dataset d = open_expected(TUTTI_TRAIN, "jpeg", 6, 12, 16, 3, 3);
    for (int i = 0; i < 6; i++) {
        int shade = 40 + 80 * (i / 2) + i % 2;
        check_shade(&d, i, i / 2, shade, shade + 8, shade + 16);
    }
    tutti_dataset_close(&d);
    /* A class without test images does not shift the labels of later classes. */
    ck_assert_int_eq(remove(fixture_path(folder, "test/bee/0.jpg")), 0);
    d = open_expected(TUTTI_TEST, "jpeg", 2, 12, 16, 3, 3);
    check_shade(&d, 0, 0, 40, 48, 56);
    check_shade(&d, 1, 2, 200, 208, 216);
    tutti_dataset_close(&d);
}
END_TEST

/* Pixels that are stored as they are take many bytes; here zeros follow the picture. */
START_TEST(large_files_are_read)
{
    fixture_jpeg_folder(folder, 1, 1);
    fixture_truncate(folder, "train/bee/0.jpg", (int64_t)65 << 20);
    tutti_dataset d = open_expected(TUTTI_TRAIN, "jpeg", 3, 12, 16, 3, 3);
    check_shade(&d, 1, 1, 120, 128, 136);
    tutti_dataset_close(&d);
}
END_TEST

START_TEST(grey_and_cmyk_jpegs_become_rgb)
{
    fixture_jpeg_folder(folder, 1, 1);
    fixture_write_jpeg(folder, "train/bee/grey.jpeg", 16, 12, 1, 90);
    fixture_write_jpeg(folder, "train/cow/cmyk.JPG", 16, 12, 4, 200);
    tutti_dataset d = open_expected(TUTTI_TRAIN, "jpeg", 5, 12, 16, 3, 3);
    check_shade(&d, 2, 1, 90, 90, 90);
    uint8_t pixels[16 * 12 * 3];
    int32_t label;
    ck_assert_ok(tutti_dataset_read(&d, 4, pixels, &label));
    ck_assert_int_eq(label, 2);
    for (int i = 0; i < 16 * 12 * 3; i++) { /* libjpeg writes the Adobe marker: inverted inks */
        int ink = 200 + i / 48, expected = ink * ink / 255;
        ck_assert_int_le(abs(pixels[i] - expected), 4);
    }
    tutti_dataset_close(&d);
}
END_TEST

/* Views of photographs in ILSVRC's layout; labels by folder, or from a file in any order. */
START_TEST(imagenet_is_read)
{
    static const char *const files[] = {NULL, "val.txt", "val/LOC_val_solution.csv"};
    static const char *const texts[] = {NULL, "2.JPEG 2\r\nval/0.JPEG 0\r\n1.JPEG 1\r\n",
        "ImageId,PredictionString\n1,bee 1 2 3 4 bee 5 6 7 8 \n2,cow 1 2 3 4\n0,ant 1 2 3 "
        "4\n9,ant\n"};
    static const char *const classes[] = {"ant", "bee", "cow"};
    fixture_jpeg_folder(folder, 2, 1);
    ck_assert_int_eq(rename(fixture_path(folder, "test"), fixture_path(folder, "val")), 0);
    for (int k = 0; k < 3 && _i; k++) {
        char from[32], to[32];
        snprintf(from, sizeof from, "val/%s/0.jpg", classes[k]);
        snprintf(to, sizeof to, "val/%d.JPEG", k);
        ck_assert_int_eq(rename(fixture_path(folder, from), fixture_path(folder, to)), 0);
        snprintf(from, sizeof from, "val/%s", classes[k]);
        ck_assert_int_eq(remove(fixture_path(folder, from)), 0);
    }
    if (_i) fixture_write(folder, files[_i], texts[_i], strlen(texts[_i]));
    fixture_mkdir(folder, "test"); /* as ILSVRC has it: without labels */
    fixture_write(folder, "test/1.JPEG", "", 0);
    for (tutti_split split = TUTTI_TRAIN; split <= TUTTI_TEST; split++) {
        const tutti_dataset_options options = {.path = folder, .size = 10};
        tutti_dataset d = {0};
        ck_assert_ok(tutti_dataset_open_as(&options, split, &d));
        ck_assert_str_eq(d.source->name, "imagenet");
        ck_assert_int_eq(d.count, split == TUTTI_TRAIN ? 6 : 3);
        ck_assert(d.height == 10 && d.width == 10 && d.channels == 3 && d.classes == 3);
        for (int i = 0; i < (int)d.count; i++) {
            uint8_t pixels[10 * 10 * 3];
            int32_t label = -1;
            int class = split == TUTTI_TRAIN ? i / 2 : i;
            ck_assert_ok(tutti_dataset_read(&d, i, pixels, &label));
            ck_assert_int_eq(label, class);
            ck_assert_int_le(abs(pixels[0] - 41 - 80 * class), 4);
        }
        tutti_dataset_close(&d);
    }
    tutti_dataset d = {0};
    ck_assert_ok(tutti_dataset_open(folder, NULL, TUTTI_TRAIN, &d));
    ck_assert(d.height == 224 && d.width == 224 && d.resize == 256);
    tutti_dataset_close(&d);
}
END_TEST

/* The names of a split's images, each with a newline before and behind it; the caller frees. */
static char *names_of(const char *path, tutti_split split, double held_out, uint64_t seed)
{
    const tutti_dataset_options options = {
        .path = path, .size = 10, .held_out = held_out, .held_out_seed = seed};
    static const char *const classes[] = {"ant", "bee", "cow"};
    tutti_dataset d = {0};
    tutti_sample sample = {0};
    char *names = strdup("\n");
    fixture_capture();
    ck_assert_ok(tutti_dataset_open_as(&options, split, &d));
    ck_assert_ptr_nonnull(
        split == TUTTI_TRAIN ? "" : strstr(fixture_uncapture(), "are held out for evaluation"));
    if (split == TUTTI_TRAIN) fixture_uncapture();
    ck_assert_str_eq(d.source->name, "folders");
    ck_assert(d.height == 10 && d.width == 10 && d.channels == 3 && d.classes == 3);
    for (int i = 0; i < (int)d.count; i++) {
        char class[32];
        ck_assert_ok(tutti_dataset_fetch(&d, i, &sample));
        snprintf(class, sizeof class, "/%s/", classes[sample.label]);
        ck_assert_ptr_nonnull(strstr(sample.name, class));
        size_t used = strlen(names);
        names = realloc(names, used + strlen(sample.name) + 2);
        sprintf(names + used, "%s\n", sample.name);
    }
    tutti_sample_free(&sample);
    tutti_dataset_close(&d);
    return names;
}

static int count_lines(const char *text)
{
    int lines = -1;
    for (; *text; text++) lines += *text == '\n';
    return lines;
}

/* Whether a line is in both texts. */
static int share_a_line(const char *a, const char *b)
{
    char line[2 * TUTTI_SAMPLE_NAME];
    for (const char *end; (end = strchr(++a, '\n')); a = end) {
        snprintf(line, sizeof line, "\n%.*s\n", (int)(end - a), a);
        if (strstr(b, line)) return 1;
    }
    return 0;
}

/* Photographs in folders of classes and folders in these; a part of each class is held out, by name. */
START_TEST(folders_of_classes_are_split)
{
    fixture_jpeg_folder(folder, 6, 0);
    const char *mine = fixture_path(folder, "mine");
    ck_assert_int_eq(rename(fixture_path(folder, "train"), mine), 0);
    ck_assert_int_eq(remove(fixture_path(folder, "test/ant")), 0);
    fixture_mkdir(folder, "mine/ant/old");
    fixture_mkdir(folder, "mine/ant/old/er");
    ck_assert_int_eq(rename(fixture_path(folder, "mine/ant/5.jpg"),
                         fixture_path(folder, "mine/ant/old/er/5.jpg")),
        0);
    mine = fixture_path(folder, "mine");
    char *train = names_of(mine, TUTTI_TRAIN, 0.34, 0), *test = names_of(mine, TUTTI_TEST, 0.34, 0);
    ck_assert_int_eq(count_lines(train), 3 * 4);
    ck_assert_int_eq(count_lines(test), 3 * 2);
    ck_assert(!share_a_line(train, test));
    ck_assert(strstr(train, "ant/old/er/5.jpg") || strstr(test, "ant/old/er/5.jpg"));
    /* With another seed others, with another share at least one. */
    char *other = names_of(mine, TUTTI_TEST, 0.34, 1), *few = names_of(mine, TUTTI_TEST, 0.01, 0);
    ck_assert_str_ne(other, test);
    ck_assert_int_eq(count_lines(few), 3);
    /* What is added to a class changes no other class. */
    ck_assert_int_eq(
        rename(fixture_path(folder, "mine/cow/0.jpg"), fixture_path(folder, "mine/cow/9.jpg")), 0);
    char *later = names_of(fixture_path(folder, "mine"), TUTTI_TEST, 0.34, 0);
    ck_assert_int_eq(strncmp(later, test, (size_t)(strstr(test, "/cow/") - test)), 0);
    free(train);
    free(test);
    free(other);
    free(few);
    free(later);
    tutti_dataset d = {0};
    fixture_mkdir(folder, "mine/dog");
    fixture_capture();
    tutti_status status = tutti_dataset_open(fixture_path(folder, "mine"), NULL, TUTTI_TRAIN, &d);
    ck_assert_ptr_nonnull(strstr(fixture_uncapture(), "/dog: this class holds no .jpg, .jpeg"));
    ck_assert_int_eq(status, TUTTI_ERR_FORMAT);
    fixture_capture();
    status = tutti_dataset_open(fixture_path(folder, "mine/ant"), "folders", TUTTI_TRAIN, &d);
    ck_assert_ptr_nonnull(strstr(fixture_uncapture(), "holds one folder of a class; there must"));
    ck_assert_int_eq(status, TUTTI_ERR_FORMAT);
}
END_TEST

START_TEST(synthetic_needs_no_files)
{
    for (tutti_split split = TUTTI_TRAIN; split <= TUTTI_TEST; split++) {
        tutti_dataset a = {0}, b = {0};
        ck_assert_ok(tutti_dataset_open("synthetic", NULL, split, &a));
        ck_assert_ok(tutti_dataset_open("anything", "synthetic", split, &b));
        ck_assert_int_eq(a.count, split == TUTTI_TRAIN ? 50000 : 10000);
        for (int i = 0; i < 20; i++) {
            uint8_t one[3072], two[3072];
            int32_t label, same;
            ck_assert_ok(tutti_dataset_read(&a, a.count - 1 - i, one, &label));
            ck_assert_ok(tutti_dataset_read(&b, a.count - 1 - i, two, &same));
            ck_assert_mem_eq(one, two, sizeof one);
            ck_assert_int_eq(label, same);
        }
        tutti_dataset_close(&a);
        tutti_dataset_close(&b);
    }
}
END_TEST

START_TEST(synthetic_has_the_size_asked_for)
{
    tutti_dataset d = {0};
    ck_assert_ok(tutti_dataset_open("synthetic:20x33x1:7", NULL, TUTTI_TEST, &d));
    ck_assert(d.height == 20 && d.width == 33 && d.channels == 1 && d.classes == 7);
    ck_assert_int_eq(d.count, 10000);
    uint8_t *pixels = malloc(224 * 224 * 3);
    int32_t label;
    ck_assert_ptr_nonnull(pixels);
    ck_assert_ok(tutti_dataset_read(&d, 13, pixels, &label));
    ck_assert_int_eq(label, 6);
    tutti_dataset_close(&d);
    ck_assert_ok(tutti_dataset_open("synthetic:224x224x3:1000", NULL, TUTTI_TRAIN, &d));
    ck_assert_int_eq(d.count, 2000);
    ck_assert_ok(tutti_dataset_read(&d, 1999, pixels, &label));
    ck_assert_int_eq(label, 999);
    double sum = 0; /* the last rows are filled, too */
    for (int i = 223 * 224 * 3; i < 224 * 224 * 3; i++) sum += pixels[i];
    ck_assert_double_eq_tol(sum / (224 * 3), 128, 30);
    tutti_dataset_close(&d);
    free(pixels);
}
END_TEST

/* Hashes of weights depend on every pixel. (FNV-1a of the last 300 test images, from the last on.) */
START_TEST(synthetic_images_stay)
{
    static const struct {
        const char *path;
        uint64_t hash;
    } rows[] = {
        {"synthetic", 0x8610f613d2014bc3},
        {"synthetic:20x33x1:7", 0x8bbf2edc6c683df8},
        {"synthetic:7x5x3:3", 0x0e5bd6db27d99701},
        {"synthetic:1x1x1:2", 0x18b9aca4c58eb532},
        {"synthetic:64x31x3:5", 0x8bad233d96c15d35},
    };
    uint8_t pixels[64 * 31 * 3];
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        tutti_dataset d = {0};
        int32_t label;
        uint64_t hash = 14695981039346656037u;
        ck_assert_ok(tutti_dataset_open(rows[k].path, NULL, TUTTI_TEST, &d));
        size_t bytes = (size_t)(d.height * d.width * d.channels);
        for (int i = 1; i <= 300; i++) {
            ck_assert_ok(tutti_dataset_read(&d, d.count - i, pixels, &label));
            for (size_t p = 0; p < bytes; p++) hash = (hash ^ pixels[p]) * 1099511628211u;
        }
        ck_assert_msg(hash == rows[k].hash, "%s: %#llx", rows[k].path, (unsigned long long)hash);
        tutti_dataset_close(&d);
    }
}
END_TEST

/* Images of more bytes than are added at a time, and of no multiple of that. */
START_TEST(moments_of_each_channel)
{
    enum { BYTES = 7 * 5 * 3 };
    tutti_dataset d = {0};
    uint64_t sum[3] = {0}, square[3] = {0};
    ck_assert_ok(tutti_dataset_open("synthetic:7x5x3:3", NULL, TUTTI_TEST, &d));
    for (int64_t i = 0; i < d.count; i++) {
        uint8_t pixels[BYTES];
        int32_t label;
        ck_assert_ok(tutti_dataset_read(&d, i, pixels, &label));
        for (int p = 0; p < BYTES; p++) {
            sum[p % 3] += pixels[p];
            square[p % 3] += (uint64_t)pixels[p] * pixels[p];
        }
    }
    float m[3], s[3];
    ck_assert_ok(tutti_dataset_moments(&d, 0, m, s));
    double n = (double)d.count * BYTES / 3;
    for (int c = 0; c < 3; c++) {
        double mean = (double)sum[c] / n;
        ck_assert_float_eq(m[c], (float)(mean / 255));
        ck_assert_float_eq(s[c], (float)(sqrt((double)square[c] / n - mean * mean) / 255));
    }
    tutti_dataset_close(&d);
}
END_TEST

/* Comparison with each class's mean training image classifies most test images: there is something to
 * learn. */
START_TEST(synthetic_can_be_learnt)
{
    enum { BYTES = 3072, TRAIN = 1000, TEST = 300 };
    static double mean[10][BYTES];
    tutti_dataset train = {0}, test = {0};
    ck_assert_ok(tutti_dataset_open("synthetic", NULL, TUTTI_TRAIN, &train));
    ck_assert_ok(tutti_dataset_open("synthetic", NULL, TUTTI_TEST, &test));
    uint8_t pixels[BYTES];
    int32_t label;
    for (int i = 0; i < TRAIN; i++) {
        ck_assert_ok(tutti_dataset_read(&train, i, pixels, &label));
        for (int p = 0; p < BYTES; p++) mean[label][p] += (pixels[p] - 128.0) * 10 / TRAIN;
    }
    int right = 0;
    for (int i = 0; i < TEST; i++) {
        ck_assert_ok(tutti_dataset_read(&test, i, pixels, &label));
        double best = 1e30;
        int guess = -1;
        for (int k = 0; k < 10; k++) {
            double distance = 0;
            for (int p = 0; p < BYTES; p++) {
                double delta = pixels[p] - 128.0 - mean[k][p];
                distance += delta * delta;
            }
            if (distance < best) best = distance, guess = k;
        }
        right += guess == label;
    }
    printf("synthetic: nearest mean names %d of %d\n", right, TEST);
    ck_assert_int_gt(right, TEST / 2);
    tutti_dataset_close(&train);
    tutti_dataset_close(&test);
}
END_TEST

START_TEST(moments_are_those_of_the_pixels)
{
    enum { N = 70, BYTES = 35 };
    fixture_idx(folder, N, 9, 5, 7, 0);
    tutti_dataset d = open_expected(TUTTI_TRAIN, "idx", N, 5, 7, 1, 10);
    double sum = 0, square = 0;
    for (int i = 0; i < N; i++)
        for (int p = 0; p < BYTES; p++) {
            double v = fixture_pixel(i, p / 7, p % 7, 0) / 255.0;
            sum += v;
            square += v * v;
        }
    double mean = sum / (N * BYTES), deviation = sqrt(square / (N * BYTES) - mean * mean);
    float m, s;
    ck_assert_ok(tutti_dataset_moments(&d, 0, &m, &s));
    ck_assert_float_eq_tol(m, (float)mean, 1e-5f);
    ck_assert_float_eq_tol(s, (float)deviation, 1e-5f);
    tutti_dataset_close(&d);
}
END_TEST

/* Damaged images do not count where they may be left out. */
START_TEST(moments_without_damaged_images)
{
    tutti_dataset d;
    float whole[3], part[3], deviation[3];
    fixture_jpeg_folder(folder, 2, 1);
    for (int k = 0; k < 3; k++) {
        static const char *const names[] = {
            "train/ant/1.jpg", "train/bee/1.jpg", "train/cow/1.jpg"};
        fixture_write_jpeg(folder, names[k], 16, 12, 3, 40 + 80 * k); /* as 0.jpg */
    }
    ck_assert_ok(tutti_dataset_open(folder, "jpeg", TUTTI_TRAIN, &d));
    ck_assert_ok(tutti_dataset_moments(&d, 1, whole, deviation));
    fixture_write(folder, "train/ant/1.jpg", "", 0);
    fixture_write(folder, "train/bee/1.jpg", "hello", 5);
    fixture_truncate(folder, "train/cow/1.jpg", 200);
    ck_assert_ok(tutti_dataset_moments(&d, 1, part, deviation));
    ck_assert_mem_eq(whole, part, sizeof whole);
    fixture_capture();
    tutti_status status = tutti_dataset_moments(&d, 0, part, deviation);
    const char *said = fixture_uncapture();
    ck_assert_int_eq(status, TUTTI_ERR_FORMAT);
    ck_assert_msg(strstr(said, "train/ant/1.jpg") && strstr(said, "--bad-images skip"), "%s", said);
    for (int k = 0; k < 3; k++) {
        static const char *const names[] = {
            "train/ant/0.jpg", "train/bee/0.jpg", "train/cow/0.jpg"};
        fixture_write(folder, names[k], "", 0);
    }
    fixture_capture();
    status = tutti_dataset_moments(&d, 1, part, deviation);
    fixture_uncapture();
    ck_assert_int_eq(status, TUTTI_ERR_FORMAT);
    tutti_dataset_close(&d);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("readers");
    TCase *tcase = testing_case(suite, "readers");
    tcase_add_checked_fixture(tcase, make_folder, drop_folder);
    tcase_add_test(tcase, cifar10_is_read);
    tcase_add_test(tcase, cifar100_is_read);
    tcase_add_loop_test(tcase, idx_is_read, 0, 2);
    tcase_add_test(tcase, idx_names_may_vary);
    tcase_add_test(tcase, jpegs_are_read);
    tcase_add_test(tcase, large_files_are_read);
    tcase_add_test(tcase, grey_and_cmyk_jpegs_become_rgb);
    tcase_add_loop_test(tcase, imagenet_is_read, 0, 3);
    tcase_add_test(tcase, folders_of_classes_are_split);
    tcase_add_test(tcase, synthetic_needs_no_files);
    tcase_add_test(tcase, synthetic_has_the_size_asked_for);
    tcase_add_test(tcase, synthetic_images_stay);
    tcase_add_test(tcase, synthetic_can_be_learnt);
    tcase_add_test(tcase, moments_are_those_of_the_pixels);
    tcase_add_test(tcase, moments_of_each_channel);
    tcase_add_test(tcase, moments_without_damaged_images);
    return testing_run(suite);
}
