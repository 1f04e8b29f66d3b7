/* apps/data: what folders hold is listed once, by one rank. An index on disk never hides that a folder has
 * changed, and a rank that is told has what it would have listed. */
#include "apps/data/folder_index.h"
#include "apps/data/listed.h"
#include "apps/data/source.h"
#include "apps/data/webp.h"
#include "dag/base/rng.h"
#include "tests/data/fixture.h"
#include "tests/support/testing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <zlib.h>

static const char *const classes[] = {"ant", "bee", "cow"};
enum { CLASSES = 3, EACH = 400 };

static char *folder, *cache;
static int opened;    /* folders that were listed */
static int64_t ahead; /* seconds by which the clock is ahead of that of the file system */
static int64_t fixed; /* what the clock shows; 0: it runs */

/* Counts. */
DIR *opendir(const char *name)
{
    int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    opened++;
    return fd < 0 ? NULL : fdopendir(fd);
}

time_t time(time_t *to)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec = fixed ? (time_t)fixed : now.tv_sec + (time_t)ahead;
    if (to) *to = now.tv_sec;
    return now.tv_sec;
}

static const char *file_of(int class, const char *name)
{
    static char path[4][64];
    static int next;
    char *text = path[next++ % 4];
    snprintf(text, sizeof path[0], "train/%s/%s", classes[class], name);
    return text;
}

static void put_files(int each)
{
    fixture_mkdir(folder, "train");
    for (int c = 0; c < CLASSES; c++) {
        char name[32];
        snprintf(name, sizeof name, "train/%s", classes[c]);
        fixture_mkdir(folder, name);
        for (int i = 0; i < each; i++) {
            snprintf(name, sizeof name, "%d.jpg", i);
            fixture_write(folder, file_of(c, name), "", 0);
        }
    }
}

static void set_up(void)
{
    folder = fixture_folder();
    cache = fixture_folder();
    ahead = 10;
    fixed = 0;
    setenv("XDG_CACHE_HOME", cache, 1);
    put_files(EACH);
}

static void tear_down(void)
{
    fixture_remove(folder);
    fixture_remove(cache);
}

/* ---- the index ---- */

static const char *index_file(void)
{
    return fixture_path(folder, ".tutti-train.index");
}

static int exists(const char *path)
{
    struct stat info;
    return !stat(path, &info) && S_ISREG(info.st_mode);
}

/* All classes and their files, from the disk or with an index of this kind, as bytes. */
static tutti_bytes list(const char *kind)
{
    static const tutti_folder_stamp unknown;
    tutti_names found, files;
    tutti_bytes bytes = {0};
    tutti_folder_index *index = NULL;
    if (kind) ck_assert_ok(tutti_folder_index_open(folder, "train", kind, &index));
    ck_assert(!tutti_names_list(fixture_path(folder, "train"), tutti_names_folder, &found));
    opened = 0;
    for (size_t c = 0; c < found.count; c++) {
        char path[300];
        snprintf(path, sizeof path, "train/%s", found.names[c]);
        int error = kind ? tutti_folder_index_list(index, found.names[c], tutti_names_jpeg, &files)
                         : tutti_names_list(fixture_path(folder, path), tutti_names_jpeg, &files);
        ck_assert_int_eq(error, 0);
        ck_assert_ok(tutti_listed_put(&bytes, found.names[c], &unknown, &files));
        tutti_names_free(&files);
    }
    tutti_folder_index_close(index, 1);
    tutti_names_free(&found);
    return bytes;
}

/* With the index the list is that of the disk, and so many folders were opened for it. Returns what was said. */
static const char *check(const char *what, int expected)
{
    tutti_bytes direct = list(NULL);
    fixture_capture();
    tutti_bytes indexed = list("jpeg");
    const char *said = fixture_uncapture();
    ck_assert_msg(opened == expected, "%s: %d folders were listed instead of %d: %s", what, opened,
        expected, said);
    ck_assert_msg(
        direct.count == indexed.count && !memcmp(direct.bytes, indexed.bytes, direct.count),
        "%s: another list", what);
    tutti_bytes_free(&direct);
    tutti_bytes_free(&indexed);
    return said;
}

START_TEST(folders_are_listed_once)
{
    const char *said = check("first", CLASSES);
    ck_assert_msg(strstr(said, "train: listing 1200 files took") != NULL, "%s", said);
    ck_assert(exists(index_file()));
    ck_assert_str_eq(check("again", 0), "");
}
END_TEST

/* A change of any kind is seen, and is listed once. */
START_TEST(changes_are_seen)
{
    check("first", CLASSES);
    fixture_write(folder, file_of(1, "new.jpg"), "", 0);
    const char *said = check("a new file", 1);
    ck_assert_msg(
        strstr(said, "1 of 3 folders were listed, because the index does not have") != NULL, "%s",
        said);
    ck_assert_str_eq(check("a new file, again", 0), "");
    ck_assert_int_eq(remove(fixture_path(folder, file_of(2, "7.jpg"))), 0);
    check("a file less", 1);
    check("a file less, again", 0);
    ck_assert_int_eq(rename(fixture_path(folder, file_of(0, "1.jpg")),
                         fixture_path(folder, file_of(0, "one.jpg"))),
        0);
    check("another name", 1);
    ck_assert_int_eq(rename(fixture_path(folder, file_of(0, "2.jpg")),
                         fixture_path(folder, file_of(1, "2b.jpg"))),
        0);
    check("moved", 2);
    check("moved, again", 0);
    fixture_write(folder, file_of(1, "notes.txt"), "", 0);
    check("another kind of file", 1);
    check("another kind of file, again", 0);
    fixture_write(folder, file_of(1, "3.jpg"), "changed", 7);
    check("a file's contents", 0);
}
END_TEST

/* tar and rsync set times back. */
START_TEST(times_that_were_set_back_are_seen)
{
    struct stat info;
    const char *bee = fixture_path(folder, "train/bee");
    check("first", CLASSES);
    ck_assert_int_eq(stat(bee, &info), 0);
    fixture_write(folder, file_of(1, "new.jpg"), "", 0);
    const struct timespec times[] = {info.st_atim, info.st_mtim};
    bee = fixture_path(folder, "train/bee");
    ck_assert_int_eq(utimensat(AT_FDCWD, bee, times, 0), 0);
    check("a new file in a folder of the same time", 1);
    check("again", 0);
}
END_TEST

static void rename_class(const char *from, const char *to)
{
    char old[32], new[32];
    snprintf(old, sizeof old, "train/%s", from);
    snprintf(new, sizeof new, "train/%s", to);
    ck_assert_int_eq(rename(fixture_path(folder, old), fixture_path(folder, new)), 0);
}

START_TEST(folders_that_change_places_are_seen)
{
    ck_assert_int_eq(remove(fixture_path(folder, file_of(0, "5.jpg"))), 0);
    check("first", CLASSES);
    rename_class("ant", "x");
    rename_class("bee", "ant");
    rename_class("x", "bee");
    check("two folders with each other's names", 2);
    rename_class("cow", "dog");
    check("another class", 1);
    check("again", 0);
    fixture_mkdir(folder, "train/eel");
    fixture_write(folder, "train/eel/1.jpg", "", 0);
    check("a class more", 1);
    check("again", 0);
    rename_class("eel", ".eel");
    check("a class less", 0);
}
END_TEST

/* A folder that has just changed may change again without another time. */
START_TEST(recent_changes_are_not_trusted)
{
    struct stat info;
    ahead = -600; /* the file server's clock is ahead */
    check("times in the future", CLASSES);
    ck_assert(!exists(index_file()));
    check("again", CLASSES);
    ahead = 10;
    check("later", CLASSES);
    fixture_write(folder, file_of(1, "new.jpg"), "", 0);
    ck_assert_int_eq(stat(fixture_path(folder, "train/bee"), &info), 0);
    fixed = (int64_t)info.st_ctim.tv_sec;
    check("just now", 1);
    fixed += 2;
    check("2 s later", 1);
    fixed += 1;
    check("at last", 1);
    check("and then", 0);
}
END_TEST

/* What is behind a link changes without the folder. */
START_TEST(links_are_not_trusted)
{
    fixture_write(folder, "elsewhere.jpg", "", 0);
    ck_assert_int_eq(symlink(fixture_path(folder, "elsewhere.jpg"),
                         fixture_path(folder, file_of(2, "link.jpg"))),
        0);
    check("first", CLASSES);
    check("again", 1);
    ck_assert_int_eq(remove(fixture_path(folder, "elsewhere.jpg")), 0);
    check("a link to nothing", 1);
    check("a link to nothing, again", 1);
    fixture_write(folder, "elsewhere.jpg", "", 0);
    check("a link that was mended", 1);
}
END_TEST

/* A folder that is a link itself is known by what is behind it. */
START_TEST(links_to_folders_are_followed)
{
    ck_assert_int_eq(rename(fixture_path(folder, "train/cow"), fixture_path(folder, "cattle")), 0);
    ck_assert_int_eq(symlink(fixture_path(folder, "cattle"), fixture_path(folder, "train/cow")), 0);
    check("first", CLASSES);
    check("again", 0);
    fixture_write(folder, "cattle/new.jpg", "", 0);
    check("behind the link", 1);
}
END_TEST

/* Any damage is told, and repaired. */
START_TEST(damage_is_seen)
{
    uint64_t seed = testing_seed(17);
    size_t count;
    check("first", CLASSES);
    uint8_t *whole = fixture_load(index_file(), &count);
    uint8_t *bytes = malloc(2 * count);
    ck_assert_ptr_nonnull(bytes);
    for (uint64_t n = 0; n < 60; n++) {
        size_t at = tutti_rng_below(seed, n, 0, count), left = count;
        memcpy(bytes, whole, count);
        memcpy(bytes + count, whole, count);
        if (n % 3 == 0)
            bytes[at] ^= (uint8_t)(1 + tutti_rng_below(seed, n, 1, 255));
        else if (n % 3 == 1)
            left = at;
        else
            left += 1 + at;
        fixture_write(folder, ".tutti-train.index", bytes, left);
        const char *said = check("damaged", CLASSES);
        ck_assert_msg(
            strstr(said, ".tutti-train.index: it is damaged, or of another version; all folders") !=
                NULL,
            "%s", said);
        ck_assert_str_eq(check("repaired", 0), "");
    }
    free(whole);
    free(bytes);
}
END_TEST

/* Files with the right sum that say what no folder can hold; the first one could be. */
START_TEST(impossible_contents_are_damage)
{
    static const struct {
        const char *text;
        size_t bytes;
    } rows[] = {
#define ROW(text) {text, sizeof text}
#define NO_OTHERS                                                                                  \
    "0\0"                                                                                          \
    "\0"                                                                                           \
    "0\0"                                                                                          \
    "\0"                                                                                           \
    "0\0"                                                                                          \
    "\0"                                                                                           \
    "0\0"
        ROW("ant\0"
            "1 2 3 4 5 1\0" NO_OTHERS "\0"
            "a.jpg"),
        ROW("ant\0"
            "1 2 3 4 5 1\0" NO_OTHERS "\0"
            "../../x.jpg"),
        ROW("ant\0"
            "1 2 3 4 5 1\0" NO_OTHERS "\0"
            ".x.jpg"),
        ROW("ant\0"
            "1 2 3 4 5 1\0" NO_OTHERS "\0"
            ""),
        ROW("ant\0"
            "1 2 3 4 5 2\0" NO_OTHERS "\0"
            "b.jpg\0"
            "a.jpg"),
        ROW("ant\0"
            "1 2 3 4 5 2\0" NO_OTHERS "\0"
            "a.jpg\0"
            "a.jpg"),
        ROW("ant\0"
            "1 2 3 4 5 2\0" NO_OTHERS "\0"
            "a.jpg"),
        ROW("ant\0"
            "1 2 3 4 5 18446744073709551615\0" NO_OTHERS "\0"
            "a.jpg"),
        ROW("ant\0"
            "1 2 3 4 1\0" NO_OTHERS "\0"
            "a.jpg"),
        ROW("ant\0"
            "1 2 3 4 5 1 0\0" NO_OTHERS "\0"
            "a.jpg"),
        ROW("../ant\0"
            "1 2 3 4 5 1\0" NO_OTHERS "\0"
            "a.jpg"),
        ROW("bee\0"
            "1 2 3 4 5 0\0" NO_OTHERS "\0"
            "ant\0"
            "1 2 3 4 5 0\0" NO_OTHERS),
        ROW("ant\0"
            "1 2 3 4 5 0\0"
            "x" NO_OTHERS),
        ROW("ant\0"
            "1 2 3 4 5 0"),
        ROW("ant"),
#undef NO_OTHERS
#undef ROW
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        static const char head[] = "tutti-index-3\0jpeg";
        uint8_t bytes[256];
        memcpy(bytes, head, sizeof head);
        memcpy(bytes + sizeof head, rows[r].text, rows[r].bytes);
        size_t count = sizeof head + rows[r].bytes;
        snprintf((char *)bytes + count, 9, "%08lx", crc32(0, bytes, (unsigned)count));
        fixture_write(folder, ".tutti-train.index", bytes, count + 8);
        const char *said = check("impossible", CLASSES);
        ck_assert_msg(!strstr(said, "damaged") == !r, "row %zu: %s", r, said);
    }
}
END_TEST

/* Where the folder cannot be written to, the index is in the user's folder; here a folder has its name. */
START_TEST(the_cache_has_it_otherwise)
{
    char place[4200];
    fixture_mkdir(folder, ".tutti-train.index");
    const char *said = check("first", CLASSES);
    const char *name = strstr(said, "tutti/index-");
    ck_assert_msg(name != NULL, "%s", said);
    snprintf(place, sizeof place, "%s/%.28s", cache, name);
    ck_assert_msg(exists(place), "%s", place);
    check("again", 0);
    /* The same file counts beside the data. */
    ck_assert_int_eq(remove(index_file()), 0);
    ck_assert_int_eq(rename(place, index_file()), 0);
    check("beside the data", 0);
}
END_TEST

START_TEST(no_place_is_no_failure)
{
    fixture_mkdir(folder, ".tutti-train.index");
    unsetenv("XDG_CACHE_HOME");
    char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
    unsetenv("HOME");
    ck_assert_str_eq(check("no place", CLASSES), "");
    ck_assert_str_eq(check("no place, again", CLASSES), "");
    if (home) setenv("HOME", home, 1);
    free(home);
}
END_TEST

START_TEST(small_data_sets_have_none)
{
    fixture_remove(folder);
    folder = fixture_folder();
    put_files(333);
    ck_assert_str_eq(check("small", CLASSES), "");
    ck_assert(!exists(index_file()));
    fixture_write(folder, file_of(0, "more.jpg"), "", 0);
    check("not small any more", CLASSES);
    ck_assert(exists(index_file()));
}
END_TEST

START_TEST(kinds_are_not_mixed)
{
    check("first", CLASSES);
    tutti_bytes other = list("imagenet");
    ck_assert_int_eq(opened, CLASSES);
    tutti_bytes_free(&other);
    check("jpeg once more", CLASSES);
    check("and again", 0);
}
END_TEST

/* ---- ranks ---- */

/* What rank 0 has told, and what another rank says. */
typedef struct channel {
    tutti_bytes told;
    int calls;
    tutti_status mine, others;
} channel;

static tutti_status give(void *ctx, tutti_status mine, tutti_bytes *bytes)
{
    channel *c = ctx;
    c->calls++;
    c->mine = mine;
    if (mine || c->others) return mine ? mine : c->others;
    return tutti_bytes_append(&c->told, bytes->bytes, bytes->count);
}

static tutti_status take(void *ctx, tutti_status mine, tutti_bytes *bytes)
{
    channel *c = ctx;
    c->calls++;
    c->mine = mine;
    ck_assert_uint_eq(bytes->count, 0);
    if (mine || c->others) return mine ? mine : c->others;
    return tutti_bytes_append(bytes, c->told.bytes, c->told.count);
}

static tutti_status open_as(
    int rank, const char *path, int size, tutti_split split, channel *c, tutti_dataset *d)
{
    const tutti_dataset_options options = {
        .path = path, .size = size, .share = {rank, rank ? take : give, c}};
    c->calls = 0;
    opened = 0;
    return tutti_dataset_open_as(&options, split, d);
}

/* All images of two ranks have the same paths and labels, and rank 1 lists DIR alone. */
static void check_ranks(const char *path, int size)
{
    for (tutti_split split = TUTTI_TRAIN; split <= TUTTI_TEST; split++) {
        channel c = {0};
        tutti_dataset one = {0}, other = {0};
        tutti_sample a = {0}, b = {0};
        ck_assert_ok(open_as(0, path, size, split, &c, &one));
        ck_assert_int_eq(c.calls, 1);
        ck_assert_ok(open_as(1, path, size, split, &c, &other));
        ck_assert_int_eq(c.calls, 1);
        ck_assert_int_eq(opened, 1);
        ck_assert_ptr_eq(one.source, other.source);
        ck_assert_int_eq(one.count, other.count);
        ck_assert_int_gt(one.count, 0);
        ck_assert(one.height == other.height && one.width == other.width &&
                  one.channels == other.channels && one.classes == other.classes &&
                  one.resize == other.resize && !one.listed && !other.listed);
        for (int64_t i = 0; i < one.count; i++) {
            ck_assert_ok(tutti_dataset_fetch(&one, i, &a));
            ck_assert_ok(tutti_dataset_fetch(&other, i, &b));
            ck_assert_str_eq(a.name, b.name);
            ck_assert_int_eq(a.label, b.label);
        }
        tutti_sample_free(&a);
        tutti_sample_free(&b);
        tutti_bytes_free(&c.told);
        tutti_dataset_close(&one);
        tutti_dataset_close(&other);
    }
}

static char *small_folder(void)
{
    char *small = fixture_folder();
    fixture_jpeg_folder(small, 4, 2);
    return small;
}

START_TEST(one_rank_lists_for_all)
{
    char *small = small_folder();
    check_ranks(small, 0); /* jpeg: the size of the first image, too */
    ck_assert_int_eq(remove(fixture_path(small, "test/bee/0.jpg")), 0);
    ck_assert_int_eq(remove(fixture_path(small, "test/bee/1.jpg")), 0);
    check_ranks(small, 0); /* an empty class */
    ck_assert_int_eq(remove(fixture_path(small, "test/bee")), 0);
    check_ranks(small, 10); /* a class that is absent */
    fixture_remove(small);
    small = small_folder();
    ck_assert_int_eq(rename(fixture_path(small, "test"), fixture_path(small, "val")), 0);
    check_ranks(small, 10); /* imagenet */
    fixture_remove(small);
    small = small_folder();
    fixture_mkdir(small, "val"); /* imagenet, with a file of labels */
    ck_assert_int_eq(
        rename(fixture_path(small, "test/ant/0.jpg"), fixture_path(small, "val/a.jpg")), 0);
    ck_assert_int_eq(
        rename(fixture_path(small, "test/bee/0.jpg"), fixture_path(small, "val/b.jpg")), 0);
    ck_assert_int_eq(rename(fixture_path(small, "test"), fixture_path(small, "not-test")), 0);
    fixture_write(small, "val.txt", "b.jpg 1\na.jpg 0\n", 16);
    check_ranks(small, 10);
    fixture_remove(small);
    small = small_folder();
    check_ranks(fixture_path(small, "train"), 10); /* folders */
    fixture_remove(small);
    small = fixture_folder();
    fixture_cifar10(small, 50, 7); /* a source that lists nothing */
    check_ranks(small, 0);
    fixture_remove(small);
}
END_TEST

/* Each open shares once, whatever has failed, so that ranks do not wait for each other in vain. */
START_TEST(failures_are_shared)
{
    char *small = small_folder();
    channel c = {0};
    tutti_dataset d = {0};
    fixture_capture();
    tutti_status absent = open_as(0, "/nowhere/at/all", 0, TUTTI_TRAIN, &c, &d);
    int absent_calls = c.calls;
    ck_assert_ok(open_as(0, small, 0, TUTTI_TRAIN, &c, &d));
    tutti_dataset_close(&d);
    tutti_status elsewhere = open_as(1, "/nowhere/at/all", 0, TUTTI_TRAIN, &c, &d);
    int elsewhere_calls = c.calls;
    c.others = TUTTI_ERR_IO;
    tutti_status other = open_as(1, small, 0, TUTTI_TRAIN, &c, &d);
    tutti_status mine = c.mine;
    c.others = TUTTI_OK;
    /* The other rank's copy of the data lacks a file. */
    remove(fixture_path(small, "train/cow/3.jpg"));
    tutti_status differs = open_as(1, small, 0, TUTTI_TRAIN, &c, &d);
    const char *said = fixture_uncapture();
    ck_assert_int_eq(absent, TUTTI_ERR_IO);
    ck_assert_int_eq(absent_calls, 1);
    ck_assert_int_eq(elsewhere, TUTTI_ERR_IO);
    ck_assert_int_eq(elsewhere_calls, 1);
    ck_assert_int_eq(other, TUTTI_ERR_IO);
    ck_assert_ok(mine);
    ck_assert_int_eq(differs, TUTTI_ERR_IO);
    ck_assert_msg(
        strstr(said, "train/cow/3.jpg: rank 0 has listed it, but here it cannot be found") != NULL,
        "%s", said);
    ck_assert_ptr_null(d.source);
    tutti_bytes_free(&c.told);
    fixture_remove(small);
}
END_TEST

/* Any bytes are refused, or are a list. */
START_TEST(what_is_told_is_checked)
{
    char *small = small_folder();
    uint64_t seed = testing_seed(23);
    channel c = {0};
    tutti_dataset d = {0};
    int refused = 0;
    ck_assert_ok(open_as(0, small, 10, TUTTI_TRAIN, &c, &d));
    tutti_dataset_close(&d);
    tutti_bytes whole = c.told;
    fixture_capture();
    for (uint64_t n = 0; n < 3000; n++) {
        channel damaged = {0};
        size_t count = n % 2 ? whole.count : tutti_rng_below(seed, n, 0, whole.count);
        ck_assert_ok(tutti_bytes_append(&damaged.told, whole.bytes, count));
        for (uint64_t k = 0; k < 1 + n % 4 && count; k++)
            damaged.told.bytes[tutti_rng_below(seed, n, 1 + 2 * k, count)] =
                (uint8_t)tutti_rng_below(seed, n, 2 + 2 * k, n % 3 ? 128 : 2);
        if (open_as(1, small, 10, TUTTI_TRAIN, &damaged, &d))
            refused++;
        else
            tutti_dataset_close(&d);
        tutti_bytes_free(&damaged.told);
    }
    fixture_uncapture();
    printf("%d of 3000 damaged lists were refused\n", refused);
    ck_assert_int_gt(refused, 1500);
    tutti_bytes_free(&whole);
    fixture_remove(small);
}
END_TEST

/* A data set opened a second time, as programs do, is not listed again. */
START_TEST(data_sets_have_an_index)
{
    const tutti_dataset_options options = {.path = folder, .format = "jpeg", .size = 10};
    tutti_dataset d = {0};
    fixture_capture();
    ck_assert_ok(tutti_dataset_open_as(&options, TUTTI_TRAIN, &d));
    const char *said = fixture_uncapture();
    ck_assert_ptr_nonnull(strstr(said, "train: listing 1200 files took"));
    tutti_dataset_close(&d);
    opened = 0;
    ck_assert_ok(tutti_dataset_open_as(&options, TUTTI_TRAIN, &d));
    ck_assert_int_eq(opened, 2); /* DIR, to see that it is not empty, and train */
    ck_assert_int_eq(d.count, CLASSES * EACH);
    tutti_dataset_close(&d);
    fixture_write(folder, file_of(1, "zzz.jpg"), "", 0);
    opened = 0;
    fixture_capture();
    ck_assert_ok(tutti_dataset_open_as(&options, TUTTI_TRAIN, &d));
    fixture_uncapture();
    ck_assert_int_eq(opened, 3);
    ck_assert_int_eq(d.count, CLASSES * EACH + 1);
    tutti_dataset_close(&d);
}
END_TEST

/* An index of a build that leaves out pictures in WebP is not used by one that reads them. */
START_TEST(the_index_knows_of_webp)
{
    const tutti_dataset_options options = {.path = folder, .format = "imagenet", .size = 10};
    const char *kind = tutti_webp_reads() ? "imagenet, webp" : "imagenet";
    tutti_dataset d = {0};
    size_t count;
    fixture_capture();
    ck_assert_ok(tutti_dataset_open_as(&options, TUTTI_TRAIN, &d));
    fixture_uncapture();
    tutti_dataset_close(&d);
    uint8_t *bytes = fixture_load(index_file(), &count);
    tutti_listed from = {(const char *)bytes, (const char *)bytes + count};
    ck_assert_ptr_nonnull(tutti_listed_text(&from));
    ck_assert_str_eq(tutti_listed_text(&from), kind);
    free(bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("index");
    TCase *tcase = testing_case(suite, "index");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, folders_are_listed_once);
    tcase_add_test(tcase, changes_are_seen);
    tcase_add_test(tcase, times_that_were_set_back_are_seen);
    tcase_add_test(tcase, folders_that_change_places_are_seen);
    tcase_add_test(tcase, recent_changes_are_not_trusted);
    tcase_add_test(tcase, links_are_not_trusted);
    tcase_add_test(tcase, links_to_folders_are_followed);
    tcase_add_test(tcase, damage_is_seen);
    tcase_add_test(tcase, impossible_contents_are_damage);
    tcase_add_test(tcase, the_cache_has_it_otherwise);
    tcase_add_test(tcase, no_place_is_no_failure);
    tcase_add_test(tcase, small_data_sets_have_none);
    tcase_add_test(tcase, kinds_are_not_mixed);
    tcase_add_test(tcase, one_rank_lists_for_all);
    tcase_add_test(tcase, failures_are_shared);
    tcase_add_test(tcase, what_is_told_is_checked);
    tcase_add_test(tcase, data_sets_have_an_index);
    tcase_add_test(tcase, the_index_knows_of_webp);
    return testing_run(suite);
}
