#include "apps/train/checkpoint_parts.h"

#include "dag/base/log.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char weights[] = ".safetensors", indexes[] = ".safetensors.index.json";

static tutti_status no_memory(const char *path)
{
    return tutti_fail(TUTTI_ERR_NOMEM, "checkpoint %s: no memory", path);
}

static tutti_status add_path(const char *of, const char *path, tutti_checkpoint_parts *parts)
{
    char **wider = realloc(parts->path, (size_t)(parts->count + 1) * sizeof *wider);
    if (!wider) return no_memory(of);
    parts->path = wider;
    parts->path[parts->count] = strdup(path);
    return parts->path[parts->count++] ? TUTTI_OK : no_memory(of);
}

/* "FOLDER/name"; the caller frees it. */
static char *join_path(const char *folder, size_t length, const char *name)
{
    const size_t size = length + strlen(name) + 2;
    char *path = malloc(size);
    if (path) snprintf(path, size, "%.*s%s%s", (int)length, folder, length ? "/" : "", name);
    return path;
}

/* ---- an index ---- */

/* Files of an index are in its folder. */
static tutti_status add_file(const char *index, const char *name, tutti_checkpoint_parts *parts)
{
    const char *slash = strrchr(index, '/');
    if (!name || !*name || strchr(name, '/') || *name == '.')
        return tutti_fail(TUTTI_ERR_FORMAT,
            "checkpoint %s: an index, but \"%s\" in its weight_map is not a file of its folder",
            index, name ? name : "");
    char *path = slash == index ? join_path("/", 1, name)
                                : join_path(index, slash ? (size_t)(slash - index) : 0, name);
    if (!path) return no_memory(index);
    int known = 0;
    for (int i = 0; i < parts->count; i++) known |= strcmp(parts->path[i], path) == 0;
    tutti_status status = known ? TUTTI_OK : add_path(index, path, parts);
    free(path);
    return status;
}

static tutti_status check_files(const char *index, const tutti_checkpoint_parts *parts)
{
    struct stat info;
    for (int i = 0; i < parts->count; i++)
        if (stat(parts->path[i], &info))
            return tutti_fail(TUTTI_ERR_IO,
                "checkpoint %s: an index of %d files: %s cannot be opened: %s: put all of them "
                "beside it",
                index, parts->count, parts->path[i], strerror(errno));
    return TUTTI_OK;
}

static tutti_status read_index(const char *path, tutti_checkpoint_parts *parts)
{
    json_error_t error;
    const char *tensor;
    json_t *file, *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        return tutti_fail(
            TUTTI_ERR_FORMAT, "checkpoint %s: an index that is not JSON: %s", path, error.text);
    tutti_status status = TUTTI_OK;
    parts->map = json_incref(json_object_get(root, "weight_map"));
    json_decref(root);
    if (!json_is_object(parts->map) || !json_object_size(parts->map))
        return tutti_fail(TUTTI_ERR_FORMAT,
            "checkpoint %s: JSON, but not an index of safetensors files: it has no weight_map; "
            "name the file with the weights",
            path);
    json_object_foreach(parts->map, tensor, file)
    {
        if (!status) status = add_file(path, json_string_value(file), parts);
    }
    return status ? status : check_files(path, parts);
}

/* Text that begins as an object, where a safetensors file has its header's length, with zeros. */
static int is_json(const char *path)
{
    char first[8] = "";
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    const size_t bytes = fread(first, 1, sizeof first, file);
    fclose(file);
    if (!bytes || memchr(first, '\0', bytes)) return 0;
    size_t at = 0;
    while (at < bytes && strchr(" \t\r\n", first[at])) at++;
    return at < bytes && first[at] == '{' && (bytes > at + 1 || at > 0);
}

/* ---- a folder ---- */

typedef struct found {
    int count, preferred;
    char name[256]; /* of one of them: the preferred one, or the only one */
} found;

static int ends_with(const char *name, const char *end)
{
    const size_t length = strlen(name), least = strlen(end);
    return length > least && strcmp(name + length - least, end) == 0;
}

static void note(found *f, const char *name, const char *end)
{
    static const char usual[] = "model";
    if (!ends_with(name, end) || f->preferred) return;
    f->count++;
    f->preferred =
        strlen(name) == strlen(usual) + strlen(end) && !strncmp(name, usual, strlen(usual));
    snprintf(f->name, sizeof f->name, "%s", name);
}

/* An index counts more than files, and model.* more than others. */
static tutti_status choose_file(const char *folder, char name[256])
{
    found index = {0}, file = {0};
    const struct dirent *d;
    DIR *all = opendir(folder);
    if (!all)
        return tutti_fail(TUTTI_ERR_IO, "checkpoint %s: cannot open: %s", folder, strerror(errno));
    while ((d = readdir(all))) {
        note(&index, d->d_name, indexes);
        note(&file, d->d_name, weights);
    }
    closedir(all);
    const found *f = index.count ? &index : &file;
    if (f->preferred || f->count == 1) {
        memcpy(name, f->name, sizeof f->name);
        return TUTTI_OK;
    }
    return tutti_fail(TUTTI_ERR_IO, "checkpoint %s: a folder with %d files *%s: name %s", folder,
        f->count, index.count ? indexes : weights,
        f->count ? "one of them"
                 : "the file with the weights, which must be in the safetensors format");
}

tutti_status tutti_checkpoint_parts_find(const char *path, tutti_checkpoint_parts *parts)
{
    struct stat info;
    char name[256];
    if (stat(path, &info) || (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode)))
        return add_path(path, path, parts);
    if (S_ISREG(info.st_mode))
        return is_json(path) ? read_index(path, parts) : add_path(path, path, parts);
    tutti_status status = choose_file(path, name);
    char *within = status ? NULL : join_path(path, strlen(path), name);
    if (!status && !within) return no_memory(path);
    if (!status)
        status = is_json(within) ? read_index(within, parts) : add_path(path, within, parts);
    free(within);
    return status;
}

void tutti_checkpoint_parts_free(tutti_checkpoint_parts *parts)
{
    for (int i = 0; i < parts->count; i++) free(parts->path[i]);
    free(parts->path);
    json_decref(parts->map);
    *parts = (tutti_checkpoint_parts){0};
}
