#include "apps/data/folder_index.h"

#include "apps/data/file.h"
#include "apps/data/listed.h"
#include "dag/base/clock.h"
#include "dag/base/file.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <zlib.h>

static const char magic[] = "tutti-index-3";

enum {
    LEAST_FILES = 1000, /* of a data set that has an index */
    SETTLED_S = 2,      /* after this time a change has another time */
    FUSE = 0x65735546,  /* statfs's f_type */
    SUM_BYTES = 8       /* the file ends in the CRC-32 of what is before, as hexadecimal digits */
};
/* ImageNet-22k has 14 million files with names of 20 bytes. */
#define INDEX_BYTES_MAX ((int64_t)4 << 30)

/* A folder of the file. `at` points to its entry. */
typedef struct known_folder {
    const char *name, *at;
    tutti_folder_stamp stamp;
} known_folder;

struct tutti_folder_index {
    char *root; /* DIR/NAME */
    char *path; /* of the file; NULL: there is none, and is to be none */
    dev_t device;
    tutti_bytes was, is; /* the file, and what it is to be */
    int damaged;
    known_folder *known; /* of `was`, in the order of their names */
    size_t known_count;
    size_t folders, listed, files; /* of all that were asked for */
    size_t kept;                   /* folders that `is` has */
    double begun_s;
};

/* ---- where ---- */

/* A file that is there and can be replaced, or can be created. */
static int is_usable(const char *dir, const char *path)
{
    struct stat info;
    if (access(dir, W_OK)) return 0;
    if (stat(path, &info)) return errno == ENOENT;
    return S_ISREG(info.st_mode) && access(path, R_OK | W_OK) == 0;
}

static char *path_in_cache(const char *root)
{
    char name[64], *whole = realpath(root, NULL);
    if (!whole) return NULL;
    snprintf(name, sizeof name, "index-%016" PRIx64, tutti_rng_stream(whole));
    free(whole);
    return tutti_file_in_cache(name);
}

static int is_file(const char *path)
{
    char head;
    return path && access(path, R_OK) == 0 && tutti_data_file_peek(path, &head, 1) >= 0;
}

/* Where the file is written; *from: where it is read, which may be somebody else's. The caller frees
 * both. */
static char *choose_path(const char *dir, const char *name, const char *root, char **from)
{
    char *beside = tutti_path_format("%s/.tutti-%s.index", dir, name);
    int mine = beside && is_usable(dir, beside);
    char *path = mine ? beside : path_in_cache(root);
    const char *source = mine || is_file(path) ? path : beside;
    *from = source ? strdup(source) : NULL;
    if (!mine) free(beside);
    return path;
}

/* ---- reading ---- */

static int load(const char *path, tutti_bytes *bytes)
{
    tutti_data_file file = {0};
    if (!is_file(path) || tutti_data_file_open(path, &file)) return 0;
    tutti_status status = file.bytes <= INDEX_BYTES_MAX
                              ? tutti_bytes_append(bytes, NULL, (size_t)file.bytes)
                              : TUTTI_ERR_FORMAT;
    if (!status) status = tutti_data_file_read(&file, 0, bytes->bytes, bytes->count);
    tutti_data_file_close(&file);
    return !status;
}

static void write_sum(const tutti_bytes *bytes, size_t count, char text[SUM_BYTES + 1])
{
    uLong sum = crc32_z(crc32_z(0, NULL, 0), bytes->bytes, count);
    snprintf(text, SUM_BYTES + 1, "%08lx", (unsigned long)sum & 0xffffffff);
}

static int add_known(tutti_folder_index *x, size_t *room, const known_folder *folder)
{
    if (x->known_count == *room) {
        size_t more = *room ? 2 * *room : 64;
        known_folder *known = realloc(x->known, more * sizeof *known);
        if (!known) return 0;
        x->known = known;
        *room = more;
    }
    x->known[x->known_count++] = *folder;
    return 1;
}

/* Whether the file is whole. */
static int understand(tutti_folder_index *x, const char *kind)
{
    char sum[SUM_BYTES + 1];
    size_t room = 0;
    if (x->was.count < SUM_BYTES) return 0;
    size_t count = x->was.count - SUM_BYTES;
    write_sum(&x->was, count, sum);
    if (memcmp(x->was.bytes + count, sum, SUM_BYTES) != 0) return 0;
    tutti_listed from = {(const char *)x->was.bytes, (const char *)x->was.bytes + count};
    const char *first = tutti_listed_text(&from), *of = tutti_listed_text(&from);
    if (!first || !of || strcmp(first, magic) != 0) return 0;
    int same = strcmp(of, kind) == 0;
    for (const char *before = NULL; from.at < from.end;) {
        known_folder folder = {.at = from.at};
        if (tutti_listed_take(&from, &folder.name, &folder.stamp, NULL)) return 0;
        if (before && strcmp(before, folder.name) >= 0) return 0;
        before = folder.name;
        if (same && !add_known(x, &room, &folder)) return 0;
    }
    return 1;
}

static void read_index(tutti_folder_index *x, const char *from, const char *kind)
{
    if (!is_file(from)) return;
    if (load(from, &x->was) && understand(x, kind)) return;
    x->damaged = 1;
    x->known_count = 0;
    tutti_log(TUTTI_LOG_WARN,
        "index %s: it is damaged, or of another version; all folders of %s are listed again", from,
        x->root);
}

/* Whether times mean what they say. */
static int has_times(tutti_folder_index *x)
{
    struct stat info;
    struct statfs system;
    if (stat(x->root, &info) || statfs(x->root, &system)) return 0;
    x->device = info.st_dev;
    return (unsigned)system.f_type != FUSE;
}

tutti_status tutti_folder_index_open(
    const char *dir, const char *name, const char *kind, tutti_folder_index **index)
{
    tutti_folder_index *x = calloc(1, sizeof *x);
    char *from = NULL;
    if (x) x->root = tutti_path_format("%s/%s", dir, name);
    if (!x || !x->root) {
        free(x);
        return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to list its images", dir);
    }
    x->begun_s = tutti_clock_s();
    if (has_times(x)) x->path = choose_path(dir, name, x->root, &from);
    if (x->path && from) read_index(x, from, kind);
    if (x->path && (tutti_listed_put_text(&x->is, magic) || tutti_listed_put_text(&x->is, kind))) {
        free(x->path);
        x->path = NULL;
    }
    free(from);
    *index = x;
    return TUTTI_OK;
}

/* ---- listing ---- */

static int by_name(const void *name, const void *folder)
{
    return strcmp(name, ((const known_folder *)folder)->name);
}

/* The state that a folder is in. Opening it makes a client of NFS ask the server; stat alone does not. Returns
 * whether the state says when the folder changes. */
static int look(const tutti_folder_index *x, const char *folder, tutti_folder_stamp *stamp)
{
    struct stat info;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int says = fd >= 0 && !fstat(fd, &info) && info.st_dev == x->device;
    if (fd >= 0) close(fd);
    if (says)
        *stamp = (tutti_folder_stamp){(uint64_t)info.st_ino, (int64_t)info.st_mtim.tv_sec,
            (int64_t)info.st_mtim.tv_nsec, (int64_t)info.st_ctim.tv_sec,
            (int64_t)info.st_ctim.tv_nsec};
    return says;
}

static int is_same(const tutti_folder_stamp *a, const tutti_folder_stamp *b)
{
    return a->inode == b->inode && a->modified_s == b->modified_s &&
           a->modified_ns == b->modified_ns && a->changed_s == b->changed_s &&
           a->changed_ns == b->changed_ns;
}

static int is_final(const tutti_folder_stamp *stamp, int64_t now_s)
{
    return now_s - stamp->modified_s > SETTLED_S && now_s - stamp->changed_s > SETTLED_S;
}

/* What the file says about a folder in this state. Returns whether it says it. */
static int recall(const tutti_folder_index *x, const char *name, const tutti_folder_stamp *stamp,
    tutti_names *list)
{
    const char *folder;
    tutti_folder_stamp then;
    const known_folder *known =
        x->known_count ? bsearch(name, x->known, x->known_count, sizeof *known, by_name) : NULL;
    if (!known || !is_same(&known->stamp, stamp)) return 0;
    tutti_listed from = {known->at, (const char *)x->was.bytes + x->was.count - SUM_BYTES};
    return !tutti_listed_take(&from, &folder, &then, list);
}

/* Without memory there is no file. */
static void remember(tutti_folder_index *x, const char *name, const tutti_folder_stamp *stamp,
    const tutti_names *list)
{
    x->kept++;
    if (!tutti_listed_put(&x->is, name, stamp, list)) return;
    free(x->path);
    x->path = NULL;
}

int tutti_folder_index_list(
    tutti_folder_index *x, const char *name, tutti_names_wanted wanted, tutti_names *list)
{
    tutti_folder_stamp stamp, after;
    int64_t now_s = (int64_t)time(NULL);
    char *folder =
        *name ? tutti_path_format("%s/%s", x->root, name) : tutti_path_format("%s", x->root);
    *list = (tutti_names){0};
    if (!folder) return ENOMEM;
    int says = x->path && look(x, folder, &stamp), error = 0;
    x->folders++;
    if (!says || !recall(x, name, &stamp, list)) {
        error = tutti_names_list(folder, wanted, list);
        x->listed += !error;
        says = says && !error && !list->links && is_final(&stamp, now_s) &&
               look(x, folder, &after) && is_same(&stamp, &after);
    }
    if (says) remember(x, name, &stamp, list);
    x->files += list->count;
    free(folder);
    return error;
}

/* ---- writing ---- */

/* Whether a new file is in its place. */
static int replace(tutti_folder_index *x)
{
    const tutti_file_options file = {.what = "index", .path = x->path, .unsynced = 1, .lenient = 1};
    return !tutti_file_put(&file, x->is.bytes, x->is.count);
}

static void save(tutti_folder_index *x)
{
    char sum[SUM_BYTES + 1];
    int first = !x->was.count, stale = x->listed && !x->damaged;
    write_sum(&x->is, x->is.count, sum);
    if (tutti_bytes_append(&x->is, sum, SUM_BYTES)) return;
    int same = x->is.count == x->was.count && !memcmp(x->is.bytes, x->was.bytes, x->is.count);
    if (!first && stale)
        tutti_log(TUTTI_LOG_INFO,
            "%s: %zu of %zu folders were listed, because the index does not have them as they are "
            "now",
            x->root, x->listed, x->folders);
    if (!same && x->kept && replace(x) && first)
        tutti_log(TUTTI_LOG_INFO,
            "%s: listing %zu files took %.1f s; from now on the index %s saves it", x->root,
            x->files, tutti_clock_s() - x->begun_s, x->path);
}

void tutti_folder_index_close(tutti_folder_index *x, int keep)
{
    if (!x) return;
    if (keep && x->path && x->files >= LEAST_FILES) save(x);
    tutti_bytes_free(&x->was);
    tutti_bytes_free(&x->is);
    free(x->known);
    free(x->path);
    free(x->root);
    free(x);
}
