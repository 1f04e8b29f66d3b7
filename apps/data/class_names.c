#include "apps/data/class_names.h"

#include "apps/data/file.h"
#include "dag/base/lines.h"
#include "dag/base/log.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The sources of names, by format. */
static const struct {
    const char *format, *folder, *file;
} sources[] = {{"jpeg", "train", NULL}, {"imagenet", "train", NULL}, {"folders", ".", NULL},
    {"webdataset", NULL, TUTTI_CLASS_NAMES_FILE}, {"recordio", NULL, TUTTI_CLASS_NAMES_FILE},
    {"cifar10", NULL, "batches.meta.txt"}, {"cifar100", NULL, "fine_label_names.txt"}};

/* What folders mean, where a file tells: lines like "n01440764 tench, Tinca tinca". */
static const char *const meaning_files[] = {"LOC_synset_mapping.txt", "synset_words.txt"};

void tutti_class_names_free(char **names)
{
    for (int i = 0; names && names[i]; i++) free(names[i]);
    free(names);
}

static int is_folder(const char *folder, const char *name)
{
    struct stat info;
    char *path = tutti_path_format("%s/%s", folder, name);
    int is = path && stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    free(path);
    return is;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Names as they are found. */
typedef struct name_list {
    char **names;
    int most, found; /* room for `most` of them, and one more */
} name_list;

static tutti_status add_name(name_list *list, const char *name)
{
    if (list->found++ >= list->most) return TUTTI_OK;
    list->names[list->found - 1] = strdup(name);
    if (list->names[list->found - 1]) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the names of classes");
}

static tutti_status list_folders(const char *path, name_list *list)
{
    struct dirent **entry;
    int entries = scandir(path, &entry, NULL, by_bytes);
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < entries; i++) {
        if (!status && *entry[i]->d_name != '.' && is_folder(path, entry[i]->d_name))
            status = add_name(list, entry[i]->d_name);
        free(entry[i]);
    }
    if (entries >= 0) free(entry);
    return status;
}

static int is_there(const char *path)
{
    char head;
    return tutti_data_file_peek(path, &head, 1) >= 0;
}

/* A name in each line. After an empty one, the others would be those of wrong classes. */
static tutti_status list_lines(const char *path, name_list *list)
{
    tutti_lines lines;
    char *line;
    if (!is_there(path)) return TUTTI_OK;
    tutti_status status = tutti_lines_open(path, &lines);
    if (status) return status;
    while (!(status = tutti_lines_next(&lines, &line)) && line) {
        int expected = list->found + 1;
        if (lines.number != expected) {
            lines.number = expected;
            status = tutti_lines_fail(&lines, "is empty: the class %d has no name", list->found);
        }
        if (!status) status = add_name(list, line);
        if (status) break;
    }
    tutti_lines_close(&lines);
    return status;
}

static int by_name(const void *key, const void *at)
{
    return strcmp(key, *(char *const *)at);
}

/* Finds the folder that a line begins with, the longest of several, and what it says of it. */
static char *split_meaning(char *line, const name_list *list, size_t *which)
{
    char *meaning = NULL;
    for (char *blank = line; *blank; blank++) {
        char was = *blank;
        if (!tutti_lines_is_blank(was)) continue;
        *blank = '\0';
        char **at = bsearch(line, list->names, (size_t)list->found, sizeof *list->names, by_name);
        *blank = was;
        if (!at) continue;
        *which = (size_t)(at - list->names);
        meaning = blank;
    }
    while (meaning && tutti_lines_is_blank(*meaning)) meaning++;
    return meaning;
}

/* Folders are sorted; meanings [out]: one for each, or NULL. */
static tutti_status read_meanings(const char *path, const name_list *list, char **meanings)
{
    tutti_lines lines;
    char *line;
    tutti_status status = tutti_lines_open(path, &lines);
    if (status) return status;
    while (!(status = tutti_lines_next(&lines, &line)) && line) {
        size_t which = 0;
        char *meaning = split_meaning(line, list, &which);
        if (!meaning) continue;
        free(meanings[which]);
        meanings[which] = strdup(meaning);
    }
    tutti_lines_close(&lines);
    return status;
}

/* Replaces the names of folders by what a file says of them. */
static tutti_status apply_meanings(const char *path, const name_list *list)
{
    char *at = NULL, **meanings = calloc((size_t)list->found, sizeof *meanings);
    int known = 0;
    for (size_t f = 0; f < sizeof meaning_files / sizeof *meaning_files && !at; f++) {
        at = tutti_path_format("%s/%s", path, meaning_files[f]);
        if (at && is_there(at)) break;
        free(at);
        at = NULL;
    }
    tutti_status status = at && meanings ? read_meanings(at, list, meanings) : TUTTI_OK;
    for (int i = 0; meanings && i < list->found; i++) {
        if (!meanings[i]) continue;
        known++;
        free(list->names[i]);
        list->names[i] = meanings[i];
    }
    if (at && !status && known < list->found)
        tutti_log(TUTTI_LOG_WARN,
            "%s: %d of %d classes have no line \"FOLDER NAME\": they are called as their folders",
            at, list->found - known, list->found);
    free(meanings);
    free(at);
    return status;
}

/* The bytes of a character in UTF-8; 0 if the bytes are not UTF-8. */
static size_t character_bytes(const unsigned char *at)
{
    size_t count = *at < 0x80   ? 1
                   : *at < 0xc2 ? 0
                   : *at < 0xe0 ? 2
                   : *at < 0xf0 ? 3
                   : *at < 0xf5 ? 4
                                : 0;
    for (size_t i = 1; i < count; i++)
        if ((at[i] & 0xc0) != 0x80) return 0;
    return count;
}

/* Checkpoints and reports are UTF-8, and would lose a name that is not. */
static void make_utf8(const char *path, const name_list *list)
{
    int changed = 0, first = 0;
    for (int i = 0; i < list->found; i++) {
        int is_wrong = 0;
        for (unsigned char *at = (unsigned char *)list->names[i]; *at;) {
            size_t count = character_bytes(at);
            if (!count) *at = '?';
            is_wrong |= !count;
            at += count ? count : 1;
        }
        if (is_wrong && !changed++) first = i;
    }
    if (changed)
        tutti_log(TUTTI_LOG_WARN,
            "%s: %d names of classes are not UTF-8: they are shown with ?, such as %s", path,
            changed, list->names[first]);
}

/* Returns whether there is a name for each class. */
static int check_count(const char *path, int is_file, const name_list *list)
{
    if (!list->found || list->found == list->most) return list->found > 0;
    int fits = is_file && list->found > list->most;
    tutti_log(TUTTI_LOG_WARN, "%s: has %d names, but the data has %d classes: %s", path,
        list->found, list->most,
        fits ? "those beyond are not used" : "classes are called by their numbers");
    return fits;
}

/* at: the file or folder that has the names. */
static tutti_status read_names(
    const char *path, const char *at, int is_file, name_list *list, int *whole)
{
    tutti_status status = is_file ? list_lines(at, list) : list_folders(at, list);
    *whole = !status && check_count(at, is_file, list);
    if (!*whole) return status;
    if (list->found > list->most) list->found = list->most;
    if (!is_file) status = apply_meanings(path, list);
    if (!status) make_utf8(at, list);
    return status;
}

tutti_status tutti_class_names_read(
    const char *path, const char *format, int classes, char ***names)
{
    size_t s = 0, formats = sizeof sources / sizeof *sources;
    while (s < formats && strcmp(sources[s].format, format) != 0) s++;
    *names = NULL;
    if (s == formats) return TUTTI_OK;
    const char *folder = sources[s].folder, *file = sources[s].file;
    char *at = tutti_path_format("%s/%s", path, folder ? folder : file);
    name_list list = {calloc((size_t)classes + 1, sizeof *list.names), classes, 0};
    int whole = 0;
    tutti_status status = at && list.names
                              ? read_names(path, at, !folder, &list, &whole)
                              : tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory for names", path);
    free(at);
    if (!status && whole)
        *names = list.names;
    else
        tutti_class_names_free(list.names);
    return status;
}
