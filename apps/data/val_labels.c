#include "apps/data/val_labels.h"

#include "apps/data/file.h"
#include "dag/base/lines.h"
#include "dag/base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char caffe[] = "val.txt", kaggle[] = "LOC_val_solution.csv",
                  kit[] = "ILSVRC2012_validation_ground_truth.txt";

enum { NO_LABEL = -1, NAME_MAX_BYTES = 256 };

typedef struct label_file {
    const char *path;
    const tutti_names *classes, *images;
    int32_t *labels;
    size_t strangers; /* lines for images that are not there */
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

/* An image may have several lines, if they agree. */
static tutti_status set_label(
    label_file *f, const tutti_lines *lines, const char *name, long image, long label)
{
    if (image < 0) {
        f->strangers++;
        return TUTTI_OK;
    }
    if (f->labels[image] != NO_LABEL && f->labels[image] != label)
        return tutti_lines_fail(lines, "says that %s is of class %ld, but an earlier line says %d",
            name, label, f->labels[image]);
    f->labels[image] = (int32_t)label;
    return TUTTI_OK;
}

/* "NAME LABEL"; a name may have blanks. */
static tutti_status read_caffe(label_file *f, const tutti_lines *lines, char *text)
{
    char *blank = tutti_lines_last_blank(text), *number = blank, *end;
    if (!blank)
        return tutti_lines_fail(lines, "is not an image's name and the number of its class");
    while (tutti_lines_is_blank(*number)) number++;
    *blank = '\0';
    errno = 0;
    long label = strtol(number, &end, 10);
    if (errno || end == number || *end || label < 0 || (size_t)label >= f->classes->count)
        return tutti_lines_fail(
            lines, "the class is not a number below that of the folders of train");
    const char *slash = strrchr(text, '/'), *name = slash ? slash + 1 : text;
    return set_label(f, lines, name, tutti_names_index(f->images, name), label);
}

/* An image by its name without the ending, or -1. */
static long find_stem(const tutti_names *images, const char *stem)
{
    static const char *const endings[] = {".JPEG", ".jpg", ".jpeg", ".JPG", ".png", ".PNG", ".Jpg",
        ".Jpeg", ".Png", ".webp", ".WEBP", ""};
    char name[NAME_MAX_BYTES];
    long image = -1;
    for (size_t e = 0; e < sizeof endings / sizeof *endings && image < 0; e++) {
        snprintf(name, sizeof name, "%s%s", stem, endings[e]);
        image = tutti_names_index(images, name);
    }
    return image;
}

/* The class whose name a text begins with, before a blank or its end, or -1. Of several, the longest. */
static long find_class(const tutti_names *classes, char *text)
{
    long class = tutti_names_index(classes, text);
    for (char *end = text + strlen(text); class < 0 && end > text; end--) {
        if (!tutti_lines_is_blank(*end)) continue;
        *end = '\0';
        class = tutti_names_index(classes, text);
    }
    return class;
}

/* Without the quotes that spreadsheets put around a field, and the blanks around it. */
static char *unquote(char *field)
{
    field += strspn(field, " \t\"");
    char *end = field + strlen(field);
    while (end > field && (tutti_lines_is_blank(end[-1]) || end[-1] == '"')) *--end = '\0';
    return field;
}

/* "NAME,WNID X Y X Y [WNID X Y X Y]..."; the first line may name the columns. */
static tutti_status read_kaggle(label_file *f, const tutti_lines *lines, char *text)
{
    char *comma = strchr(text, ',');
    if (!comma)
        return tutti_lines_fail(lines, "is not an image's name, a comma and a class's name");
    *comma = '\0';
    const char *name = unquote(text);
    if (lines->number == 1 && !strcasecmp(name, "ImageId")) return TUTTI_OK;
    long class = find_class(f->classes, unquote(comma + 1));
    if (class < 0) return tutti_lines_fail(lines, "the class is not a folder of train");
    return set_label(f, lines, name, find_stem(f->images, name), class);
}

static tutti_status check_images(const label_file *f, int tells)
{
    for (size_t i = 0; i < f->images->count; i++)
        if (f->labels[i] == NO_LABEL)
            return tutti_fail(
                TUTTI_ERR_FORMAT, "%s: has no line for the image %s", f->path, f->images->names[i]);
    if (f->strangers && tells)
        tutti_log(TUTTI_LOG_WARN, "%s: has %zu lines for images that are not in val; val has %zu",
            f->path, f->strangers, f->images->count);
    return TUTTI_OK;
}

static tutti_status read_file(
    label_file *f, int tells, tutti_status (*read)(label_file *, const tutti_lines *, char *))
{
    tutti_lines lines;
    char *text;
    tutti_status status = tutti_lines_open(f->path, &lines);
    if (status) return status;
    while (!(status = tutti_lines_next(&lines, &text)) && text)
        if ((status = read(f, &lines, text))) break;
    tutti_lines_close(&lines);
    return status ? status : check_images(f, tells);
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

tutti_status tutti_val_labels_read(const char *dir, const tutti_names *classes,
    const tutti_names *images, int tells, int32_t *labels)
{
    char *by_number = find_file(dir, caffe), *by_name = find_file(dir, kaggle);
    label_file f = {by_number ? by_number : by_name, classes, images, labels, 0};
    for (size_t i = 0; i < images->count; i++) labels[i] = NO_LABEL;
    tutti_status status =
        f.path ? read_file(&f, tells, by_number ? read_caffe : read_kaggle) : fail_none(dir);
    free(by_number);
    free(by_name);
    return status;
}
