#include "apps/data/class_names.h"

#include "apps/data/file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NAME = 256 };

/* The sources of names, by format. */
static const struct {
    const char *format, *folder, *file;
} sources[] = {{"jpeg", "train", NULL}, {"imagenet", "train", NULL},
    {"webdataset", NULL, TUTTI_CLASS_NAMES_FILE}, {"recordio", NULL, TUTTI_CLASS_NAMES_FILE},
    {"cifar10", NULL, "batches.meta.txt"}, {"cifar100", NULL, "fine_label_names.txt"}};

/* What folders mean, where a file tells: lines like "n01440764 tench, Tinca tinca". */
static const char *const meanings[] = {"LOC_synset_mapping.txt", "synset_words.txt"};

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

/* Each fills at most `most` names, and returns how many there are. */
static int list_folders(const char *path, int most, char **names)
{
    struct dirent **entry;
    int entries = scandir(path, &entry, NULL, by_bytes), found = 0;
    for (int i = 0; i < entries; i++) {
        if (*entry[i]->d_name != '.' && is_folder(path, entry[i]->d_name)) {
            if (found < most) names[found] = strdup(entry[i]->d_name);
            found++;
        }
        free(entry[i]);
    }
    if (entries >= 0) free(entry);
    return found;
}

static int list_lines(const char *path, int most, char **names)
{
    char line[NAME];
    int found = 0;
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (!*line) continue;
        if (found < most) names[found] = strdup(line);
        found++;
    }
    fclose(file);
    return found;
}

/* Replaces names by what a line says of them. */
static void apply_meaning(const char *line, int count, char **names)
{
    size_t length = strcspn(line, " \t");
    const char *words = line + length + strspn(line + length, " \t");
    for (int i = 0; i < count && *words; i++) {
        if (strlen(names[i]) != length || strncmp(names[i], line, length) != 0) continue;
        char *meaning = strdup(words);
        if (!meaning) return;
        free(names[i]);
        names[i] = meaning;
    }
}

static void apply_meanings(const char *path, int count, char **names)
{
    char line[NAME];
    FILE *file = NULL;
    for (size_t m = 0; m < sizeof meanings / sizeof *meanings && !file; m++) {
        char *at = tutti_path_format("%s/%s", path, meanings[m]);
        file = at ? fopen(at, "re") : NULL;
        free(at);
    }
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\r\n")] = '\0';
        apply_meaning(line, count, names);
    }
    if (file) fclose(file);
}

char **tutti_class_names_read(const char *path, const char *format, int classes)
{
    size_t s = 0, formats = sizeof sources / sizeof *sources;
    while (s < formats && strcmp(sources[s].format, format) != 0) s++;
    if (s == formats) return NULL;
    const char *folder = sources[s].folder, *file = sources[s].file;
    char *at = tutti_path_format("%s/%s", path, folder ? folder : file);
    char **names = at ? calloc((size_t)classes + 1, sizeof *names) : NULL;
    int found = !names   ? 0
                : folder ? list_folders(at, classes, names)
                         : list_lines(at, classes, names);
    free(at);
    int whole = names && found == classes;
    for (int i = 0; whole && i < classes; i++) whole = names[i] != NULL;
    if (whole && folder) apply_meanings(path, classes, names);
    if (whole) return names;
    tutti_class_names_free(names);
    return NULL;
}
