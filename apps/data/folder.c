#include "apps/data/folder.h"

#include "apps/data/file.h"
#include "apps/data/other_file.h"
#include "apps/data/webp.h"
#include "dag/base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

void tutti_names_free(tutti_names *list)
{
    for (size_t i = 0; i < list->count; i++) free(list->names[i]);
    free(list->names);
    *list = (tutti_names){0};
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* DT_DIR or DT_REG, links followed; DT_UNKNOWN for anything else. */
static int entry_type(const char *folder, const struct dirent *entry)
{
    if (entry->d_type == DT_DIR || entry->d_type == DT_REG) return entry->d_type;
    struct stat st;
    char *path = tutti_path_format("%s/%s", folder, entry->d_name);
    int rc = path ? stat(path, &st) : -1;
    free(path);
    if (rc) return DT_UNKNOWN;
    return S_ISDIR(st.st_mode) ? DT_DIR : S_ISREG(st.st_mode) ? DT_REG : DT_UNKNOWN;
}

static int is_link(const char *folder, const struct dirent *entry)
{
    struct stat st;
    if (entry->d_type != DT_UNKNOWN) return entry->d_type == DT_LNK;
    char *path = tutti_path_format("%s/%s", folder, entry->d_name);
    int is = path && !lstat(path, &st) && S_ISLNK(st.st_mode);
    free(path);
    return is;
}

int tutti_names_folder(const char *folder, const struct dirent *entry)
{
    return entry_type(folder, entry) == DT_DIR;
}

static int is_file_named(const char *folder, const struct dirent *entry, const char *const *endings)
{
    const char *dot = strrchr(entry->d_name, '.');
    if (!dot) return 0;
    while (*endings && strcasecmp(dot, *endings)) endings++;
    return *endings && entry_type(folder, entry) == DT_REG;
}

int tutti_names_jpeg(const char *folder, const struct dirent *entry)
{
    static const char *const endings[] = {".jpg", ".jpeg", NULL};
    return is_file_named(folder, entry, endings);
}

int tutti_names_image(const char *folder, const struct dirent *entry)
{
    static const char *const endings[] = {".jpg", ".jpeg", ".png", ".webp", NULL},
                             *const without_webp[] = {".jpg", ".jpeg", ".png", NULL};
    return is_file_named(folder, entry, tutti_webp_reads() ? endings : without_webp);
}

const char *tutti_names_image_endings(void)
{
    return tutti_webp_reads() ? ".jpg, .jpeg, .png or .webp" : ".jpg, .jpeg or .png";
}

long tutti_names_index(const tutti_names *list, const char *name)
{
    char *const *at =
        list->count ? bsearch(&name, list->names, list->count, sizeof *list->names, by_name) : NULL;
    return at ? (long)(at - list->names) : -1;
}

static int append_name(tutti_names *list, size_t *room, const char *name)
{
    if (list->count == *room) {
        size_t more = *room ? 2 * *room : 64;
        char **names = realloc(list->names, more * sizeof *names);
        if (!names) return ENOMEM;
        list->names = names;
        *room = more;
    }
    char *copy = strdup(name);
    if (!copy) return ENOMEM;
    list->names[list->count++] = copy;
    return 0;
}

static void count_other(const char *folder, const struct dirent *entry, tutti_names *list)
{
    const char *dot = strrchr(entry->d_name, '.');
    int type = entry_type(folder, entry);
    tutti_other kind = type == DT_DIR                                ? TUTTI_OTHER_FOLDER
                       : type != DT_REG                              ? TUTTI_OTHER_ODD
                       : dot && tutti_other_file_is_picture(dot + 1) ? TUTTI_OTHER_PICTURE
                                                                     : TUTTI_OTHER_FILE;
    if (!list->others[kind]++) snprintf(list->other[kind], TUTTI_OTHER_NAME, "%s", entry->d_name);
}

/* Appends what is wanted in ROOT/BELOW and in its folders. */
static int append_below(const char *root, const char *below, int depth, tutti_names_wanted wanted,
    tutti_names *list, size_t *room)
{
    enum { DEEPEST = 16 };
    tutti_names files = {0}, folders = {0};
    if (depth > DEEPEST) return ELOOP;
    char *folder = tutti_path_format("%s%s%s", root, *below ? "/" : "", below);
    int error = folder ? tutti_names_list(folder, wanted, &files) : ENOMEM;
    if (!error) error = tutti_names_list(folder, tutti_names_folder, &folders);
    for (size_t i = 0; i < files.count + folders.count && !error; i++) {
        const int is_file = i < files.count;
        char *path = tutti_path_format("%s%s%s", below, *below ? "/" : "",
            is_file ? files.names[i] : folders.names[i - files.count]);
        error = !path     ? ENOMEM
                : is_file ? append_name(list, room, path)
                          : append_below(root, path, depth + 1, wanted, list, room);
        free(path);
    }
    for (int k = 0; k < TUTTI_OTHERS; k++) {
        if (k == TUTTI_OTHER_FOLDER) continue;
        if (!list->others[k]) memcpy(list->other[k], files.other[k], TUTTI_OTHER_NAME);
        list->others[k] += files.others[k];
    }
    tutti_names_free(&files);
    tutti_names_free(&folders);
    free(folder);
    return error;
}

int tutti_names_list_below(const char *folder, tutti_names_wanted wanted, tutti_names *list)
{
    size_t room = 0;
    *list = (tutti_names){0};
    int error = append_below(folder, "", 1, wanted, list, &room);
    if (error)
        tutti_names_free(list);
    else if (list->count)
        qsort(list->names, list->count, sizeof *list->names, by_name);
    return error;
}

int tutti_names_list(const char *folder, tutti_names_wanted wanted, tutti_names *list)
{
    *list = (tutti_names){0};
    DIR *dir = opendir(folder);
    if (!dir) return errno;
    int error = 0;
    size_t room = 0;
    while (!error) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry) {
            error = errno;
            break;
        }
        if (*entry->d_name == '.') continue;
        list->links += (size_t)is_link(folder, entry);
        if (wanted(folder, entry))
            error = append_name(list, &room, entry->d_name);
        else
            count_other(folder, entry, list);
    }
    closedir(dir);
    if (error)
        tutti_names_free(list);
    else if (list->count)
        qsort(list->names, list->count, sizeof *list->names, by_name);
    return error;
}

/* ---- messages ---- */

tutti_status tutti_names_fail(const char *folder, int error, const char *absent)
{
    return tutti_fail(error == ENOMEM ? TUTTI_ERR_NOMEM : TUTTI_ERR_IO,
        "%s: cannot list the folder: %s%s", folder, strerror(error), error == ENOENT ? absent : "");
}

tutti_status tutti_names_compare(const char *root, const char *first, const char *last)
{
    const char *const paths[] = {first, last};
    for (int i = 0; i < 2; i++) {
        struct stat info;
        if (!paths[i])
            return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory for the list of its images", root);
        if (stat(paths[i], &info))
            return tutti_fail(TUTTI_ERR_IO,
                "%s: rank 0 has listed it, but here it cannot be found: %s; every rank has to see "
                "the same files",
                paths[i], strerror(errno));
    }
    return TUTTI_OK;
}

void tutti_left_out_add(tutti_left_out *left, const char *folder, const tutti_names *found)
{
    for (int k = 0; k < TUTTI_OTHERS; k++) {
        if (!left->count[k] && found->others[k])
            snprintf(left->example[k], sizeof left->example[k], "%s%s%s", folder,
                *folder ? "/" : "", found->other[k]);
        left->count[k] += found->others[k];
    }
}

void tutti_left_out_warn(
    const tutti_left_out *left, const char *root, const char *wanted, const char *where)
{
    static const char *const kinds[TUTTI_OTHERS] = {[TUTTI_OTHER_FOLDER] = "folders",
        [TUTTI_OTHER_PICTURE] = "pictures",
        [TUTTI_OTHER_FILE] = "other files",
        [TUTTI_OTHER_ODD] = "broken links or special files"};
    char list[TUTTI_OTHERS * (sizeof left->example[0] + 64)] = "";
    size_t used = 0;
    for (int k = 0; k < TUTTI_OTHERS; k++)
        if (left->count[k])
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%zu %s (such as %s)",
                used ? ", " : "", left->count[k], kinds[k], left->example[k]);
    if (used)
        tutti_log(TUTTI_LOG_WARN, "%s: leaves out %s; read are only %s files in %s", root, list,
            wanted, where);
}
