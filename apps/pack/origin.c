#include "apps/pack/origin.h"

#include "apps/data/file.h"
#include "apps/data/folder.h"
#include "dag/base/log.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEEPEST = 4 };

static int any(const char *folder, const struct dirent *entry)
{
    (void)folder;
    (void)entry;
    return 1;
}

/* In the source itself, only these are its own. */
static int is_split(const char *name)
{
    return !strcmp(name, "train") || !strcmp(name, "val") || !strcmp(name, "test");
}

static tutti_status add_folder(tutti_hash *hash, const char *folder, int depth);

static tutti_status add_entry(tutti_hash *hash, const char *folder, const char *name, int depth)
{
    struct stat info;
    char *path = tutti_path_format("%s/%s", folder, name);
    if (!path) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to list it", folder);
    tutti_status status = TUTTI_OK;
    if (stat(path, &info)) {
        status = tutti_fail(TUTTI_ERR_IO, "%s: cannot examine it: %s", path, strerror(errno));
    } else if (S_ISDIR(info.st_mode)) {
        tutti_hash_add(hash, name, strlen(name) + 1);
        if (depth ? depth < DEEPEST : is_split(name)) status = add_folder(hash, path, depth + 1);
    } else {
        const int64_t about[] = {
            info.st_size, (int64_t)info.st_mtim.tv_sec, (int64_t)info.st_mtim.tv_nsec};
        tutti_hash_add(hash, name, strlen(name) + 1);
        tutti_hash_add(hash, about, sizeof about);
    }
    free(path);
    return status;
}

static tutti_status add_folder(tutti_hash *hash, const char *folder, int depth)
{
    tutti_names names;
    int error = tutti_names_list(folder, any, &names);
    if (error)
        return tutti_fail(TUTTI_ERR_IO, "%s: cannot list the folder: %s", folder, strerror(error));
    tutti_status status = TUTTI_OK;
    for (size_t i = 0; i < names.count && !status; i++)
        status = add_entry(hash, folder, names.names[i], depth);
    tutti_hash_add(hash, "", 1);
    tutti_names_free(&names);
    return status;
}

tutti_status tutti_pack_origin(const char *folder, char text[TUTTI_HASH_TEXT])
{
    tutti_hash *hash;
    tutti_status status = tutti_hash_new(&hash);
    if (status) return status;
    status = add_folder(hash, folder, 0);
    if (!status) tutti_hash_text(hash, text);
    tutti_hash_free(hash);
    return status;
}
