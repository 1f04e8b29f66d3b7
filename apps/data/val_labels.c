#include "apps/data/val_labels.h"

#include "apps/data/file.h"
#include "dag/base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char caffe[] = "val.txt", kaggle[] = "LOC_val_solution.csv",
                  kit[] = "ILSVRC2012_validation_ground_truth.txt";

enum { NO_LABEL = -1, NAME_MAX_BYTES = 256 };
/* Kaggle's file has 50,000 lines of up to a few hundred bytes. */
#define FILE_BYTES_MAX ((int64_t)64 << 20)

typedef struct label_file {
    const char *path;
    const tutti_names *classes, *images;
    int32_t *labels;
} label_file;

/* The path of a file in DIR or DIR/val, or NULL; the caller frees it. */
static char *find_file(const char *dir, const char *name)
{
    for (int p = 0; p < 2; p++) {
        char head, *path = p ? tutti_path_format("%s/val/%s", dir, name)
                             : tutti_path_format("%s/%s", dir, name);
        if (path && tutti_data_file_peek(path, &head, 1) >= 0) return path;
        free(path);
    }
    return NULL;
}

static tutti_status fail_line(const label_file *f, long line, const char *why)
{
    return tutti_fail(TUTTI_ERR_FORMAT, "%s: line %ld: %s", f->path, line, why);
}

/* "NAME LABEL" */
static tutti_status read_caffe(const label_file *f, long line, char *text)
{
    char *space = strchr(text, ' '), *end;
    if (!space) return fail_line(f, line, "is not an image's name and the number of its class");
    *space = '\0';
    errno = 0;
    long label = strtol(space + 1, &end, 10);
    if (errno || end == space + 1 || *end || label < 0 || (size_t)label >= f->classes->count)
        return fail_line(f, line, "the class is not a number below that of the folders of train");
    const char *slash = strrchr(text, '/');
    long image = tutti_names_index(f->images, slash ? slash + 1 : text);
    if (image >= 0) f->labels[image] = (int32_t)label;
    return TUTTI_OK;
}

/* An image by its name without the ending, or -1. */
static long find_stem(const tutti_names *images, const char *stem)
{
    static const char *const endings[] = {".JPEG", ".jpg", ".jpeg", ".JPG", ".png"};
    char name[NAME_MAX_BYTES];
    long image = -1;
    for (size_t e = 0; e < sizeof endings / sizeof *endings && image < 0; e++) {
        snprintf(name, sizeof name, "%s%s", stem, endings[e]);
        image = tutti_names_index(images, name);
    }
    return image;
}

/* "NAME,WNID X Y X Y [WNID X Y X Y]..."; the first line names the columns. */
static tutti_status read_kaggle(const label_file *f, long line, char *text)
{
    char *comma = strchr(text, ',');
    if (line == 1 && !strncmp(text, "ImageId", 7)) return TUTTI_OK;
    if (!comma) return fail_line(f, line, "is not an image's name, a comma and a class's name");
    *comma = '\0';
    comma[1 + strcspn(comma + 1, " ")] = '\0';
    long class = tutti_names_index(f->classes, comma + 1);
    if (class < 0) return fail_line(f, line, "the class is not a folder of train");
    long image = find_stem(f->images, text);
    if (image >= 0) f->labels[image] = (int32_t) class;
    return TUTTI_OK;
}

static tutti_status read_lines(
    const label_file *f, char *text, tutti_status (*read)(const label_file *, long, char *))
{
    tutti_status status = TUTTI_OK;
    long number = 0;
    for (char *line = text, *next; line && *line && !status; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = '\0';
        line[strcspn(line, "\r")] = '\0';
        number++;
        if (*line) status = read(f, number, line);
    }
    for (size_t i = 0; i < f->images->count && !status; i++)
        if (f->labels[i] == NO_LABEL)
            status = tutti_fail(
                TUTTI_ERR_FORMAT, "%s: has no line for the image %s", f->path, f->images->names[i]);
    return status;
}

static tutti_status read_file(
    const label_file *f, tutti_status (*read)(const label_file *, long, char *))
{
    tutti_data_file file = {0};
    tutti_status status = tutti_data_file_open(f->path, &file);
    if (status) return status;
    char *text = file.bytes <= FILE_BYTES_MAX ? calloc(1, (size_t)file.bytes + 1) : NULL;
    if (!text)
        status = tutti_fail(
            TUTTI_ERR_NOMEM, "%s: no memory for its %lld bytes", f->path, (long long)file.bytes);
    else
        status = tutti_data_file_read(&file, 0, text, (size_t)file.bytes);
    if (!status) status = read_lines(f, text, read);
    free(text);
    tutti_data_file_close(&file);
    return status;
}

static tutti_status fail_none(const char *dir)
{
    char *truth = find_file(dir, kit);
    tutti_status status =
        truth ? tutti_fail(TUTTI_ERR_FORMAT,
                    "%s: numbers classes in the development kit's own order, which train does not "
                    "tell: put %s (Caffe's) or %s (Kaggle's) beside it",
                    truth, caffe, kaggle)
              : tutti_fail(TUTTI_ERR_FORMAT,
                    "%s/val: holds images, but no folders of classes: sort the images into folders "
                    "like those of train, or add %s (Caffe's) or %s (Kaggle's)",
                    dir, caffe, kaggle);
    free(truth);
    return status;
}

tutti_status tutti_val_labels_read(
    const char *dir, const tutti_names *classes, const tutti_names *images, int32_t *labels)
{
    char *by_number = find_file(dir, caffe), *by_name = find_file(dir, kaggle);
    label_file f = {by_number ? by_number : by_name, classes, images, labels};
    for (size_t i = 0; i < images->count; i++) labels[i] = NO_LABEL;
    tutti_status status =
        f.path ? read_file(&f, by_number ? read_caffe : read_kaggle) : fail_none(dir);
    free(by_number);
    free(by_name);
    return status;
}
