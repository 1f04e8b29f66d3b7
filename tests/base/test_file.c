/* dag/base/file and lock: existing files are neither lost nor written through, each file has one writer, and
 * leftovers of dead processes do not get in the way. */
#include "dag/base/file.h"
#include "dag/base/lock.h"
#include "dag/base/log.h"
#include "tests/support/testing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64], path[96];
static int without_flock, without_links;

/* Simulates a file system without flock. */
int flock(int fd, int how)
{
    if (!without_flock) return (int)syscall(SYS_flock, fd, how);
    errno = ENOLCK;
    return -1;
}

int link(const char *from, const char *to)
{
    if (!without_links) return (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
    errno = EOPNOTSUPP;
    return -1;
}

/* ---- what the tests do ---- */

static void set_up(void)
{
    strcpy(
        folder, access("/dev/shm", W_OK) ? "/tmp/tutti-file-XXXXXX" : "/dev/shm/tutti-file-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/f", folder);
    without_flock = without_links = 0;
    tutti_log_set_level(TUTTI_LOG_NONE);
}

static void tear_down(void)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

/* The path of a name in the folder, valid for the next few calls. */
static const char *named(const char *name)
{
    static char full[4][160];
    static int turn;
    char *text = full[turn++ % 4];
    snprintf(text, sizeof full[0], "%s/%s", folder, name);
    return text;
}

static void put_plain(const char *name, const char *text)
{
    FILE *file = fopen(named(name), "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static const char *content(const char *name)
{
    static char text[4096];
    FILE *file = fopen(named(name), "r");
    if (!file) return "(none)";
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static int files_in_folder(void)
{
    int count = 0;
    DIR *all = opendir(folder);
    while (readdir(all)) count++;
    closedir(all);
    return count - 2;
}

static tutti_status put(const char *text, int keep)
{
    return tutti_file_put(
        &(tutti_file_options){.what = "test", .path = path, .keep = keep}, text, strlen(text));
}

/* What an action writes to stderr. */
static char said[4096];
#define SAYING(action)                                                                             \
    do {                                                                                           \
        FILE *words = tmpfile();                                                                   \
        int saved = dup(STDERR_FILENO);                                                            \
        dup2(fileno(words), STDERR_FILENO);                                                        \
        tutti_log_set_level(TUTTI_LOG_INFO);                                                       \
        action;                                                                                    \
        tutti_log_set_level(TUTTI_LOG_NONE);                                                       \
        dup2(saved, STDERR_FILENO);                                                                \
        close(saved);                                                                              \
        rewind(words);                                                                             \
        said[fread(said, 1, sizeof said - 1, words)] = '\0';                                       \
        fclose(words);                                                                             \
    } while (0)
#define ck_assert_said(words) ck_assert_msg(strstr(said, words), "no \"%s\" in \"%s\"", words, said)

/* ---- files ---- */

START_TEST(earlier_files_are_kept)
{
    char text[8];
    for (int i = 1; i <= 5; i++) {
        snprintf(text, sizeof text, "%d", i);
        ck_assert_ok(put(text, 3));
    }
    ck_assert_str_eq(content("f"), "5");
    ck_assert_str_eq(content("f.1"), "4");
    ck_assert_str_eq(content("f.2"), "3");
    ck_assert_str_eq(content("f.3"), "2");
    ck_assert_int_eq(files_in_folder(), 4);
    ck_assert_ok(put("6", 0));
    ck_assert_str_eq(content("f"), "6");
    ck_assert_str_eq(content("f.1"), "4");

    without_links = 1;
    ck_assert_ok(put("7", 1));
    ck_assert_str_eq(content("f.1"), "6");
    without_links = 0;
    ck_assert_int_eq(syscall(SYS_unlinkat, AT_FDCWD, named("f.1"), 0), 0);
    ck_assert_int_eq(link(path, named("f.1")), 0); /* one file already */
    ck_assert_ok(put("8", 1));
    ck_assert_str_eq(content("f.1"), "7");
    ck_assert_int_eq(files_in_folder(), 4);

    tutti_file_options anew = {.what = "test", .path = path, .keep = 3, .anew = 1};
    ck_assert_ok(tutti_file_put(&anew, "9", 1));
    ck_assert_str_eq(content("f"), "9");
    ck_assert_int_eq(files_in_folder(), 1);
}
END_TEST

START_TEST(links_are_followed)
{
    ck_assert_int_eq(mkdir(named("far"), 0755), 0);
    ck_assert_int_eq(symlink("far/real", path), 0); /* dangling */
    ck_assert_ok(put("1", 1));
    ck_assert_str_eq(content("far/real"), "1");
    ck_assert_ok(put("2", 1));
    struct stat info;
    ck_assert(lstat(path, &info) == 0 && S_ISLNK(info.st_mode));
    ck_assert_str_eq(content("far/real"), "2");
    ck_assert_str_eq(content("far/real.1"), "1");
    ck_assert_int_eq(files_in_folder(), 2);

    ck_assert_int_eq(symlink("b", named("a")), 0);
    ck_assert_int_eq(symlink("a", named("b")), 0);
    const tutti_file_options loop = {.what = "test", .path = named("a")};
    SAYING(ck_assert_int_eq(tutti_file_put(&loop, "x", 1), TUTTI_ERR_IO));
    ck_assert_said("Too many levels");
}
END_TEST

START_TEST(planted_links_are_not)
{
    if (geteuid() != 0) { /* only root can create files of other users */
        testing_left_out("links of another user", "needs root");
        return;
    }
    ck_assert_int_eq(chmod(folder, 01777), 0);
    ck_assert_int_eq(chown(folder, 1, 1), 0);
    put_plain("victim", "safe");
    ck_assert_int_eq(symlink("victim", path), 0);
    ck_assert_int_eq(lchown(path, 65534, 65534), 0);
    SAYING(ck_assert_int_eq(put("x", 0), TUTTI_ERR_IO));
    ck_assert_said("a link of another user");
    ck_assert_str_eq(content("victim"), "safe");
    ck_assert_int_eq(chown(folder, 65534, 1), 0); /* the folder's owner may */
    ck_assert_ok(put("x", 0));
    ck_assert_str_eq(content("victim"), "x");
}
END_TEST

START_TEST(what_is_no_file_is_not_replaced)
{
    ck_assert_int_eq(mkdir(path, 0755), 0);
    SAYING(ck_assert_int_eq(put("x", 0), TUTTI_ERR_IO));
    ck_assert_said("Is a directory");
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    SAYING(ck_assert_int_eq(put("x", 0), TUTTI_ERR_IO));
    ck_assert_said("not a regular file");
    const tutti_file_options device = {.what = "test", .path = "/dev/null"};
    ck_assert_int_eq(tutti_file_put(&device, "x", 1), TUTTI_ERR_IO);
    struct stat info;
    ck_assert(stat("/dev/null", &info) == 0 && S_ISCHR(info.st_mode));
    const tutti_file_options nowhere = {.what = "test", .path = named("no/such/f")};
    SAYING(ck_assert_int_eq(tutti_file_put(&nowhere, "x", 1), TUTTI_ERR_IO));
    ck_assert_said("No such file");
    ck_assert_int_eq(files_in_folder(), 1);
}
END_TEST

START_TEST(permissions_stay)
{
    struct stat info;
    ck_assert_ok(put("1", 0));
    ck_assert_int_eq(chmod(path, 0640), 0);
    ck_assert_ok(put("2", 1));
    ck_assert(stat(path, &info) == 0 && (info.st_mode & 0777) == 0640);
}
END_TEST

static int verified;

static tutti_status say_no(const char *part)
{
    verified += access(part, R_OK) == 0;
    return TUTTI_ERR_FORMAT;
}

START_TEST(a_failure_leaves_what_was_there)
{
    static char much[1 << 16];
    struct rlimit before, limit = {sizeof much / 2, RLIM_INFINITY};
    ck_assert_ok(put("before", 1));
    const tutti_file_options wrong = {.what = "test", .path = path, .keep = 1, .verify = say_no};
    ck_assert_int_eq(tutti_file_put(&wrong, "x", 1), TUTTI_ERR_FORMAT);
    ck_assert_int_eq(verified, 1);

    const tutti_file_options full = {.what = "test", .path = path, .keep = 1, .anew = 1};
    getrlimit(RLIMIT_FSIZE, &before);
    limit.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    tutti_status status = TUTTI_OK;
    SAYING(status = tutti_file_put(&full, much, sizeof much));
    setrlimit(RLIMIT_FSIZE, &before);
    ck_assert_int_eq(status, TUTTI_ERR_IO);
    ck_assert_said("could not be saved");
    ck_assert_str_eq(content("f"), "before");
    ck_assert_int_eq(files_in_folder(), 1);
}
END_TEST

/* A part with a name of its own is cut to what was there at a sync, and gone on with. */
START_TEST(parts_are_continued)
{
    const tutti_file_options options = {.what = "test", .path = path};
    tutti_file file;
    ck_assert_ok(tutti_file_begin_at(&options, 0, &file));
    tutti_file_write(&file, "one ", 4);
    ck_assert_ok(tutti_file_sync(&file));
    tutti_file_write(&file, "lost", 4);
    tutti_file_keep(&file);
    ck_assert_str_eq(content("f.part"), "one lost");
    ck_assert_str_eq(content("f"), "(none)");
    ck_assert_ok(tutti_file_begin_at(&options, 4, &file));
    tutti_file_write(&file, "two", 3);
    ck_assert_ok(tutti_file_end(&file));
    ck_assert_str_eq(content("f"), "one two");
    ck_assert_int_eq(files_in_folder(), 1);
    put_plain("f.part", "one");
    tutti_status status = TUTTI_OK;
    SAYING(status = tutti_file_begin_at(&options, 4, &file));
    ck_assert_int_eq(status, TUTTI_ERR_FORMAT);
    ck_assert_said("f.part: has 3 bytes, but 4 were written before");
    ck_assert_ok(tutti_file_begin_at(&options, 0, &file));
    tutti_file_drop(&file);
    ck_assert_int_eq(files_in_folder(), 1);
}
END_TEST

static tutti_status stream(const char *text, int append)
{
    FILE *out = NULL;
    const tutti_file_options options = {.what = "test", .path = path, .keep = 1};
    tutti_status status = tutti_file_stream(&options, append, &out);
    if (status) return status;
    fputs(text, out);
    fclose(out);
    return TUTTI_OK;
}

START_TEST(streams_keep_or_continue)
{
    static char longer[9001];
    ck_assert_ok(stream("one\n", 0));
    ck_assert_ok(stream("two\nthr", 0));
    ck_assert_str_eq(content("f"), "two\nthr");
    ck_assert_str_eq(content("f.1"), "one\n");
    ck_assert_ok(stream("three\n", 1)); /* after the last complete line */
    ck_assert_str_eq(content("f"), "two\nthree\n");
    ck_assert_str_eq(content("f.1"), "one\n");

    memset(longer, 'x', sizeof longer - 1); /* a torn line beyond a block; only a torn line */
    ck_assert_ok(stream(longer, 1));
    ck_assert_ok(stream("four\n", 1));
    ck_assert_str_eq(content("f"), "two\nthree\nfour\n");
    put_plain("f", longer);
    ck_assert_ok(stream("five\n", 1));
    ck_assert_str_eq(content("f"), "five\n");

    put_plain("f", "{}\n{1}");
    ck_assert_ok(stream("{2}\n", 1)); /* as an editor leaves it */
    ck_assert_str_eq(content("f"), "{}\n{1}\n{2}\n");

    put_plain("f", "");
    ck_assert_ok(stream("six\n", 0)); /* nothing worth keeping */
    ck_assert_str_eq(content("f.1"), "one\n");
    const tutti_file_options device = {.what = "test", .path = "/dev/null"};
    FILE *out;
    ck_assert_ok(tutti_file_stream(&device, 0, &out));
    fclose(out);
}
END_TEST

/* ---- locks ---- */

/* A child that takes the lock, reports it, and lives until it is killed. */
static pid_t hold(void)
{
    int ready[2];
    char byte = 0;
    ck_assert_int_eq(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        tutti_lock *lock;
        byte = tutti_lock_take("test", path, &lock) == TUTTI_OK ? 'y' : 'n';
        if (write(ready[1], &byte, 1) == 1) pause();
        _exit(0);
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    ck_assert_int_eq(byte, 'y');
    close(ready[0]);
    close(ready[1]);
    return child;
}

static void end(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* Writes a lock as a process on `host` would leave it. */
static void leave_lock(const char *host, const char *boot, const char *run)
{
    char text[512];
    snprintf(text, sizeof text,
        "host %s\nprocess 4711\nsince 2026-01-02 03:04:05 UTC\nbegan 1\nboot %s\nmachine m\nrun "
        "%s\n",
        host, boot, run);
    put_plain("f.lock", text);
}

static void read_boot(char boot[64])
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(boot, 64, file));
    boot[strcspn(boot, "\n")] = '\0';
    fclose(file);
}

START_TEST(one_writer_a_file)
{
    tutti_lock *lock = NULL;
    char word[32];
    for (int i = 0; i < 4; i++) {
        without_flock = i & 1;
        without_links = i >> 1;
        pid_t child = hold();
        SAYING(ck_assert_int_eq(tutti_lock_take("test", path, &lock), TUTTI_ERR_IO));
        ck_assert_said("another run is writing it: process ");
        snprintf(word, sizeof word, "process %ld on host ", (long)child);
        ck_assert_said(word);
        ck_assert_said(", since 20");
        ck_assert_int_eq(files_in_folder(), 1);
        end(child); /* leaves its lock and a part file */
        put_plain("f.0123456789abcdef.part", "torn");
        put_plain("f.0123456789abcde.part", "the user's own");
        ck_assert_ok(tutti_lock_take("test", path, &lock));
        ck_assert_str_eq(content("f.0123456789abcdef.part"), "(none)");
        ck_assert_str_eq(content("f.0123456789abcde.part"), "the user's own");
        unlink(named("f.0123456789abcde.part"));
        SAYING(ck_assert_int_eq(tutti_lock_take("test", path, &(tutti_lock *){0}), TUTTI_ERR_IO));
        ck_assert_said("two files of this run have the same name");
        tutti_lock_release(lock);
        ck_assert_int_eq(files_in_folder(), 0);
    }
}
END_TEST

/* One that was killed while it made its lock, one that makes it now, and one that has only begun to. */
START_TEST(unfinished_locks_are_removed)
{
    static const char *const dead = "f.lock.0123456789abcdef.part";
    static const char *const living = "f.lock.0123456789abcdee.part";
    static const char *const begun = "f.lock.0123456789abcded.part";
    tutti_lock *lock;
    for (int i = 0; i < 2; i++) {
        without_flock = i;
        const pid_t child = hold();
        put_plain(dead, content("f.lock"));
        end(child);
        ck_assert_ok(tutti_lock_take("test", path, &lock));
        ck_assert_str_eq(content(dead), "(none)");
        put_plain(living, content("f.lock")); /* this process's */
        tutti_lock_release(lock);
        put_plain(begun, "");
        const int fd = open(named(living), O_RDONLY);
        ck_assert_int_ge(fd, 0);
        flock(fd, LOCK_EX | LOCK_NB);
        ck_assert_ok(tutti_lock_take("test", path, &lock));
        ck_assert_str_ne(content(living), "(none)");
        ck_assert_str_eq(content(begun), "");
        tutti_lock_release(lock);
        close(fd);
        unlink(named(living));
        unlink(named(begun));
        ck_assert_int_eq(files_in_folder(), 0);
    }
}
END_TEST

START_TEST(a_link_and_its_file_are_one)
{
    tutti_lock *lock, *other;
    ck_assert_int_eq(mkdir(named("far"), 0755), 0);
    ck_assert_int_eq(symlink("far/real", path), 0);
    ck_assert_ok(tutti_lock_take("test", path, &lock));
    ck_assert_int_eq(tutti_lock_take("test", named("far/real"), &other), TUTTI_ERR_IO);
    tutti_lock_release(lock);
    ck_assert_ok(tutti_lock_take("test", named("far/real"), &other));
    tutti_lock_release(other);
    tutti_lock_release(NULL);
}
END_TEST

START_TEST(other_hosts_are_believed)
{
    char boot[64];
    tutti_lock *lock;
    read_boot(boot);
    leave_lock("elsewhere", "another", "r1");
    SAYING(ck_assert_int_eq(tutti_lock_take("test", path, &lock), TUTTI_ERR_IO));
    ck_assert_said(
        "process 4711 on host elsewhere, since 2026-01-02 03:04:05 UTC; when that process");
    ck_assert_said("has ended, delete ");
    ck_assert_said("/f.lock");
    setenv("TUTTI_RUN", "r2", 1);
    ck_assert_int_eq(tutti_lock_take("test", path, &lock), TUTTI_ERR_IO);
    setenv("TUTTI_RUN", "r1", 1); /* the previous attempt of this run */
    ck_assert_ok(tutti_lock_take("test", path, &lock));
    tutti_lock_release(lock);
    unsetenv("TUTTI_RUN");
    leave_lock("elsewhere", "another", "r3");
    tutti_lock_name_run("r3");
    ck_assert_ok(tutti_lock_take("test", path, &lock));
    tutti_lock_release(lock);
    tutti_lock_name_run(NULL);

    leave_lock("elsewhere", boot, "");
    /* Stale: the boot id is this host's, and nobody holds the flock. */
    ck_assert_ok(tutti_lock_take("test", path, &lock));
    tutti_lock_release(lock);
    put_plain("f.lock", "");
    SAYING(ck_assert_int_eq(tutti_lock_take("test", path, &lock), TUTTI_ERR_IO));
    ck_assert_said("does not name its run: delete that file");
    unlink(named("f.lock"));
    put_plain("victim", "safe");
    ck_assert_int_eq(symlink("victim", named("f.lock")), 0);
    ck_assert_int_eq(tutti_lock_take("test", path, &lock), TUTTI_ERR_IO);
    ck_assert_str_eq(content("victim"), "safe");
    ck_assert_int_eq(files_in_folder(), 2);
}
END_TEST

/* Children that all find a dead process's lock: never do two of them hold it. None ends before all have tried. */
static void contend_once(int children)
{
    char boot[64], took[8] = "";
    int holds = 0, answers[2];
    pid_t child[8];
    read_boot(boot);
    leave_lock("here", boot, "");
    ck_assert_int_eq(pipe(answers), 0);
    for (int i = 0; i < children; i++)
        if ((child[i] = fork()) == 0) {
            tutti_lock *lock;
            const char answer = tutti_lock_take("test", path, &lock) ? 'n' : 'y';
            if (write(answers[1], &answer, 1) != 1) _exit(1);
            for (;;) pause();
        }
    close(answers[1]);
    for (int i = 0; i < children; i++) ck_assert_int_eq((int)read(answers[0], &took[i], 1), 1);
    close(answers[0]);
    for (int i = 0; i < children; i++) {
        holds += took[i] == 'y';
        kill(child[i], SIGKILL); /* the lock stays */
        waitpid(child[i], NULL, 0);
    }
    ck_assert_int_eq(holds, 1);
}

START_TEST(a_dead_ones_lock_is_taken_by_one)
{
    for (int round = 0; round < 4; round++) contend_once(8);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("file");
    TCase *tcase = testing_case(suite, "file");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, earlier_files_are_kept);
    tcase_add_test(tcase, links_are_followed);
    tcase_add_test(tcase, planted_links_are_not);
    tcase_add_test(tcase, what_is_no_file_is_not_replaced);
    tcase_add_test(tcase, permissions_stay);
    tcase_add_test(tcase, a_failure_leaves_what_was_there);
    tcase_add_test(tcase, parts_are_continued);
    tcase_add_test(tcase, streams_keep_or_continue);
    tcase_add_test(tcase, one_writer_a_file);
    tcase_add_test(tcase, unfinished_locks_are_removed);
    tcase_add_test(tcase, a_link_and_its_file_are_one);
    tcase_add_test(tcase, other_hosts_are_believed);
    tcase_add_test(tcase, a_dead_ones_lock_is_taken_by_one);
    return testing_run(suite);
}
