/* apps/data: text files as people, editors and spreadsheets write them: names of classes, labels of
 * images, indices of records. */
#include "apps/data/class_names.h"
#include "apps/data/source.h"
#include "dag/base/lines.h"
#include "tests/data/fixture.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The names, or NULL; what was logged is in *said. */
static char **read_names(
    const char *folder, const char *format, int classes, tutti_status expected, const char **said)
{
    char **names = (char **)folder; /* to be replaced */
    fixture_capture();
    tutti_status status = tutti_class_names_read(folder, format, classes, &names);
    *said = fixture_uncapture();
    ck_assert_msg(status == expected, "%s: %s", tutti_status_name(status), *said);
    return names;
}

static void write_text(const char *path, const char *text, size_t count)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fwrite(text, 1, count, file);
    fclose(file);
}

/* Files of names as editors write them. Each names two classes. */
static const struct {
    const char *text;
    size_t count;                       /* 0: that of the string */
    const char *words, *first, *second; /* words: of the error or the warning */
    tutti_status status;
} name_files[] = {
    {"ant\nbee\n", 0, NULL, "ant", "bee", TUTTI_OK},
    {"ant\nbee", 0, NULL, "ant", "bee", TUTTI_OK},
    {"ant\r\nbee\r\n\r\n", 0, NULL, "ant", "bee", TUTTI_OK},
    {"ant\rbee\r", 0, NULL, "ant", "bee", TUTTI_OK},
    {"\xef\xbb\xbf ant \t\n\tbig  bee \n \n\n", 0, NULL, "ant", "big  bee", TUTTI_OK},
    {"ant\n\nbee\n", 0, "classes.txt: line 2: is empty", NULL, NULL, TUTTI_ERR_FORMAT},
    {"ant\nb\0e\n", 8, "classes.txt: line 2: has a zero byte", NULL, NULL, TUTTI_ERR_FORMAT},
    {"\xff\xfe"
     "a\0\n\0",
        6, "classes.txt: line 1: is UTF-16", NULL, NULL, TUTTI_ERR_FORMAT},
    {"\xfe\xff\0a\0\n", 6, "is UTF-16", NULL, NULL, TUTTI_ERR_FORMAT},
    {"a\0\n\0b\0\n\0", 8, "is UTF-16", NULL, NULL, TUTTI_ERR_FORMAT},
    {"ant\n", 0, "has 1 names, but the data has 2 classes", NULL, NULL, TUTTI_OK},
    {"ant\nbee\ncow\n", 0, "has 3 names, but the data has 2 classes", "ant", "bee", TUTTI_OK},
    {"ant\nb\xe4r\n", 0, "1 names of classes are not UTF-8", "ant", "b?r", TUTTI_OK},
    {"ant\nb\xc3\xa4r\n", 0, NULL, "ant", "b\xc3\xa4r", TUTTI_OK},
};

START_TEST(files_of_names)
{
    char folder[] = "/tmp/tutti-names-XXXXXX", path[128], lengthy[3002] = "";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/" TUTTI_CLASS_NAMES_FILE, folder);
    const char *said;
    for (size_t i = 0; i < sizeof name_files / sizeof *name_files; i++) {
        const char *text = name_files[i].text, *words = name_files[i].words;
        write_text(path, text, name_files[i].count ? name_files[i].count : strlen(text));
        char **names = read_names(folder, "webdataset", 2, name_files[i].status, &said);
        ck_assert_msg(words ? strstr(said, words) != NULL : !*said, "%zu: %s", i, said);
        ck_assert(!names == !name_files[i].first);
        if (!names) continue;
        ck_assert_str_eq(names[0], name_files[i].first);
        ck_assert_str_eq(names[1], name_files[i].second);
        ck_assert_ptr_null(names[2]);
        tutti_class_names_free(names);
    }
    memset(lengthy, 'x', 3000);
    lengthy[1500] = '\n'; /* two names of 1500 bytes */
    write_text(path, lengthy, 3000);
    char **names = read_names(folder, "recordio", 2, TUTTI_OK, &said);
    ck_assert_ptr_nonnull(names);
    ck_assert_uint_eq(strlen(names[0]), 1500);
    ck_assert_uint_eq(strlen(names[1]), 1499);
    tutti_class_names_free(names);
    unlink(path);
    rmdir(folder);
}
END_TEST

START_TEST(names_of_classes)
{
    const char *said;
    char folder[] = "/tmp/tutti-names-XXXXXX", path[128];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    static const char *const made[] = {"train", "train/b", "train/a c", "train/.hidden"};
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, made[i]);
        ck_assert_int_eq(mkdir(path, 0700), 0);
    }
    snprintf(path, sizeof path, "%s/batches.meta.txt", folder);
    FILE *file = fopen(path, "w");
    fputs("airplane\r\nbird\n\n", file);
    fclose(file);
    char **names = read_names(folder, "jpeg", 2, TUTTI_OK, &said);
    ck_assert_ptr_nonnull(names);
    ck_assert_str_eq(names[0], "a c");
    ck_assert_str_eq(names[1], "b");
    ck_assert_ptr_null(names[2]);
    tutti_class_names_free(names);
    names = read_names(folder, "cifar10", 2, TUTTI_OK, &said);
    ck_assert_str_eq(names[0], "airplane");
    ck_assert_str_eq(names[1], "bird");
    tutti_class_names_free(names);
    snprintf(path, sizeof path, "%s/" TUTTI_CLASS_NAMES_FILE, folder);
    file = fopen(path, "w");
    fputs("a c\nb\n", file);
    fclose(file);
    static const char *const same[] = {"imagenet", "webdataset", "recordio"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        names = read_names(folder, same[i], 2, TUTTI_OK, &said);
        ck_assert_ptr_nonnull(names);
        ck_assert_str_eq(names[0], "a c");
        ck_assert_str_eq(names[1], "b");
        tutti_class_names_free(names);
    }
    unlink(path);
    snprintf(path, sizeof path, "%s/batches.meta.txt", folder);
    ck_assert_ptr_null(read_names(folder, "jpeg", 3, TUTTI_OK, &said));
    ck_assert_ptr_nonnull(strstr(said, "has 2 names, but the data has 3 classes"));
    ck_assert_ptr_null(read_names(folder, "jpeg", 1, TUTTI_OK, &said));
    ck_assert_ptr_nonnull(strstr(said, "has 2 names, but the data has 1 classes"));
    ck_assert_ptr_null(read_names(folder, "cifar100", 2, TUTTI_OK, &said));
    ck_assert_ptr_null(read_names(folder, "synthetic", 2, TUTTI_OK, &said));
    char words[128];
    snprintf(words, sizeof words, "%s/synset_words.txt", folder);
    file = fopen(words, "w");
    fputs("c no folder\nb bee, Apis\r\na\n", file);
    fclose(file);
    names = read_names(folder, "imagenet", 2, TUTTI_OK, &said);
    ck_assert_str_eq(names[0], "a c");
    ck_assert_str_eq(names[1], "bee, Apis");
    ck_assert_ptr_nonnull(strstr(said, "1 of 2 classes have no line"));
    tutti_class_names_free(names);
    static const char meanings[] = "\xef\xbb\xbf"
                                   "a c\tant  colony\rb  bee";
    write_text(words, meanings, sizeof meanings - 1);
    names = read_names(folder, "imagenet", 2, TUTTI_OK, &said);
    ck_assert_str_eq(names[0], "ant  colony");
    ck_assert_str_eq(names[1], "bee");
    ck_assert_str_eq(said, "");
    tutti_class_names_free(names);
    unlink(words);
    tutti_class_names_free(NULL);
    unlink(path);
    for (size_t i = 4; i-- > 0;) {
        snprintf(path, sizeof path, "%s/%s", folder, made[i]);
        rmdir(path);
    }
    rmdir(folder);
}
END_TEST

/* ---- labels of images ---- */

static const char *const val_images[] = {"ant 0.jpg", "bee.1.png", "cow.JPEG", "4.PNG"};
enum { VAL_IMAGES = 4 };
static const int val_labels[VAL_IMAGES] = {0, 1, 2, 1}; /* of the images as they are listed above */

/* DIR/train/{ant,bee,big cow}, and images of val. */
static char *make_set(void)
{
    static const char *const folders[] = {
        "train", "train/ant", "train/bee", "train/big cow", "val"};
    static const char *const train[] = {
        "train/ant/0.jpg", "train/bee/0.jpg", "train/big cow/0.jpg"};
    char *folder = fixture_folder(), name[64];
    for (size_t f = 0; f < sizeof folders / sizeof *folders; f++) fixture_mkdir(folder, folders[f]);
    for (int i = 0; i < 3; i++) fixture_write(folder, train[i], "x", 1);
    for (int i = 0; i < VAL_IMAGES; i++) {
        snprintf(name, sizeof name, "val/%s", val_images[i]);
        fixture_write(folder, name, "x", 1);
    }
    return folder;
}

static const struct {
    const char *file, *text, *words; /* words: of the error or the warning; NULL: none */
    tutti_status status;
} label_files[] = {
    {"val.txt", "ant 0.jpg 0\nbee.1.png 1\ncow.JPEG 2\n4.PNG 1\n", NULL, TUTTI_OK},
    {"val.txt", "ant 0.jpg\t0\rbee.1.png \t 1 \r4.PNG 1\r\rcow.JPEG 2", NULL, TUTTI_OK},
    {"val.txt",
        "\xef\xbb\xbf"
        "4.PNG 1\r\n  val/ant 0.jpg 0\r\nx/bee.1.png 1\r\ncow.JPEG 2\r\n\r\n",
        NULL, TUTTI_OK},
    {"val.txt", "ant 0.jpg 0\nbee.1.png 1\ncow.JPEG 2\n4.PNG 1\n4.PNG 1\n", NULL, TUTTI_OK},
    {"val.txt", "ant 0.jpg 0\nbee.1.png 1\ncow.JPEG 2\n4.PNG 1\n5.PNG 1\n6.PNG 1\n",
        "val.txt: has 2 lines for images that are not in val", TUTTI_OK},
    {"val.txt", "ant 0.jpg 0\nbee.1.png 1\ncow.JPEG 2\n4.PNG 1\n\n4.PNG 2\n",
        "val.txt: line 6: says that 4.PNG is of class 2, but an earlier line says 1",
        TUTTI_ERR_FORMAT},
    {"val.txt", "ant 0.jpg 0\nbee.1.png\n", "val.txt: line 2: is not an image's name",
        TUTTI_ERR_FORMAT},
    {"val.txt", "ant 0.jpg 3\n", "val.txt: line 1: the class is not a number below",
        TUTTI_ERR_FORMAT},
    {"LOC_val_solution.csv",
        "ImageId,PredictionString\nant 0,ant 1 2 3 4\nbee.1,bee 1 2 3 4 bee 1 2 3 4\n"
        "cow,big cow 1 2 3 4\n4,bee 1 2 3 4 \n",
        NULL, TUTTI_OK},
    {"LOC_val_solution.csv",
        "\xef\xbb\xbf"
        "ImageId,PredictionString\r\n\"ant 0\",\"ant 1 2 3 4\"\r\n bee.1 , bee\r\n"
        "\"cow\", \"big cow\t1 2 3 4\" \r\n4,bee\r\n",
        NULL, TUTTI_OK},
    {"LOC_val_solution.csv", "4,bee 1 2 3 4\n4,ant 1 2 3 4\n",
        "LOC_val_solution.csv: line 2: says that 4 is of class 0", TUTTI_ERR_FORMAT},
    {"LOC_val_solution.csv", "4,big 1 2 3 4\n", "line 1: the class is not a folder of train",
        TUTTI_ERR_FORMAT},
};

START_TEST(files_of_labels)
{
    char *folder = make_set();
    for (size_t i = 0; i < sizeof label_files / sizeof *label_files; i++) {
        const char *text = label_files[i].text, *words = label_files[i].words;
        tutti_dataset data = {0};
        fixture_write(folder, label_files[i].file, text, strlen(text));
        fixture_capture();
        tutti_status status = tutti_dataset_open(folder, "imagenet", TUTTI_TEST, &data);
        const char *said = fixture_uncapture();
        ck_assert_msg(status == label_files[i].status, "%zu: %s", i, said);
        ck_assert_msg(words ? strstr(said, words) != NULL : !*said, "%zu: %s", i, said);
        if (remove(fixture_path(folder, label_files[i].file)) != 0) abort();
        if (status) continue;
        ck_assert_int_eq(data.count, VAL_IMAGES);
        tutti_sample sample = {0};
        for (int64_t k = 0; k < VAL_IMAGES; k++) {
            ck_assert_ok(tutti_dataset_fetch(&data, k, &sample));
            int image = 0;
            while (!strstr(sample.name, val_images[image])) image++;
            ck_assert_msg(sample.label == val_labels[image], "%zu: %s", i, sample.name);
        }
        tutti_sample_free(&sample);
        tutti_dataset_close(&data);
    }
    fixture_remove(folder);
}
END_TEST

/* ---- the reader itself ---- */

/* Lines of any length, whatever ends them, and their numbers. */
START_TEST(lines_of_any_length)
{
    enum { MOST = 100000 };
    static const char *const ends[] = {"\n", "\r\n", "\r"};
    for (int e = 0; e < 3; e++) {
        char *text = malloc(4 * MOST);
        size_t count = 0;
        for (size_t length = 1; length < MOST; length *= 3) {
            memset(text + count, 'a' + (int)(length % 26), length);
            count += length;
            memcpy(text + count, ends[e], strlen(ends[e]));
            count += strlen(ends[e]);
        }
        tutti_lines lines;
        ck_assert_ok(tutti_lines_of("text", text, count, &lines));
        int64_t number = 0;
        for (size_t length = 1; length < MOST; length *= 3) {
            char *line;
            ck_assert_ok(tutti_lines_next(&lines, &line));
            ck_assert_uint_eq(strlen(line), length);
            ck_assert_int_eq(*line, 'a' + (int)(length % 26));
            ck_assert_int_eq(lines.number, ++number);
        }
        char *line;
        ck_assert_ok(tutti_lines_next(&lines, &line));
        ck_assert_ptr_null(line);
        tutti_lines_close(&lines);
        free(text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("texts");
    TCase *tcase = testing_case(suite, "texts");
    tcase_add_test(tcase, names_of_classes);
    tcase_add_test(tcase, files_of_names);
    tcase_add_test(tcase, files_of_labels);
    tcase_add_test(tcase, lines_of_any_length);
    return testing_run(suite);
}
