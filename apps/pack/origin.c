#include "apps/pack/origin.h"

#include "apps/data/file.h"
#include "apps/data/folder.h"
#include "dag/base/log.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* How deep folders are listed. Readers go as deep below a class; elsewhere they stay above four. */
enum { DEEPEST_IN_CLASSES = 16, DEEPEST = 4 };

typedef struct listing {
    tutti_hash *hash;
    int by_class; /* every folder is a class */
} listing;

static int any(const char *folder, const struct dirent *entry)
{
    (void)folder;
    (void)entry;
    return 1;
}

static int is_split(const char *name)
{
    return !strcmp(name, "train") || !strcmp(name, "val") || !strcmp(name, "test");
}

/* Whether images may be in a folder that is so deep in the source. */
static int is_read(const listing *l, const char *name, int depth)
{
    if (l->by_class) return depth < DEEPEST_IN_CLASSES;
    return depth ? depth < DEEPEST : is_split(name);
}

static tutti_status add_folder(const listing *l, const char *folder, int depth);

static tutti_status add_entry(const listing *l, const char *folder, const char *name, int depth)
{
    tutti_hash *hash = l->hash;
    struct stat info;
    char *path = tutti_path_format("%s/%s", folder, name);
    if (!path) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to list it", folder);
    tutti_status status = TUTTI_OK;
    /* lstat: of a link to nothing, which readers leave out */
    if (stat(path, &info) && lstat(path, &info)) {
        status = tutti_fail(TUTTI_ERR_IO, "%s: cannot examine it: %s", path, strerror(errno));
    } else if (S_ISDIR(info.st_mode)) {
        tutti_hash_add(hash, name, strlen(name) + 1);
        if (is_read(l, name, depth)) status = add_folder(l, path, depth + 1);
    } else {
        const int64_t about[] = {
            info.st_size, (int64_t)info.st_mtim.tv_sec, (int64_t)info.st_mtim.tv_nsec};
        tutti_hash_add(hash, name, strlen(name) + 1);
        tutti_hash_add(hash, about, sizeof about);
    }
    free(path);
    return status;
}

static tutti_status add_folder(const listing *l, const char *folder, int depth)
{
    tutti_names names;
    int error = tutti_names_list(folder, any, &names);
    if (error)
        return tutti_fail(TUTTI_ERR_IO, "%s: cannot list the folder: %s", folder, strerror(error));
    tutti_status status = TUTTI_OK;
    for (size_t i = 0; i < names.count && !status; i++)
        status = add_entry(l, folder, names.names[i], depth);
    tutti_hash_add(l->hash, "", 1);
    tutti_names_free(&names);
    return status;
}

tutti_status tutti_pack_origin(const char *folder, int by_class, char text[TUTTI_HASH_TEXT])
{
    listing l = {.by_class = by_class};
    tutti_status status = tutti_hash_new(&l.hash);
    if (status) return status;
    status = add_folder(&l, folder, 0);
    if (!status) tutti_hash_text(l.hash, text);
    tutti_hash_free(l.hash);
    return status;
}
