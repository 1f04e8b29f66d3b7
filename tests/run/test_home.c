/* dag/run/home: where StarPU keeps its measurements. Folders that cannot be written are found before StarPU starts. */
#include "config.h" /* first: it asks libc for nftw */

#include "dag/base/log.h"
#include "dag/run/home.h"
#include "tests/support/testing.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <signal.h>
#include <unistd.h>

static char root[64], home[96], tmp[96], file[96], private[128], deep[600];
static char warning[2048];
static int warnings;

static void take(void *ctx, tutti_log_level level, const char *sentence)
{
    (void)ctx;
    if (level != TUTTI_LOG_WARN) return;
    snprintf(warning, sizeof warning, "%s", sentence);
    warnings++;
}

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *walk)
{
    (void)s, (void)kind, (void)walk;
    return remove(path);
}

static void open_folders(void)
{
    snprintf(root, sizeof root, "/tmp/tutti-home.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
    snprintf(home, sizeof home, "%s/home", root);
    snprintf(tmp, sizeof tmp, "%s/tmp", root);
    snprintf(file, sizeof file, "%s/file", root);
    snprintf(private, sizeof private, "%s/tutti-starpu-%lu", tmp, (unsigned long)geteuid());
    snprintf(deep, sizeof deep, "%s/%0250d", root, 0);
    ck_assert_int_eq(mkdir(home, 0700) | mkdir(tmp, 0700), 0);
    FILE *made = fopen(file, "w");
    ck_assert_ptr_nonnull(made);
    fclose(made);
    tutti_log_to(take, NULL);
}

static void close_folders(void)
{
    tutti_log_to(NULL, NULL);
    nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* NULL: not set */
static tutti_status prepare(
    const char *models, const char *xdg, const char *starpu, const char *user)
{
    const char *const names[] = {
        "STARPU_PERF_MODEL_DIR", "XDG_CACHE_HOME", "STARPU_HOME", "HOME", "TMPDIR"};
    const char *const values[] = {models, xdg, starpu, user, tmp};
    for (int i = 0; i < 5; i++)
        if (values[i])
            setenv(names[i], values[i], 1);
        else
            unsetenv(names[i]);
    warnings = 0;
    return tutti_run_home_prepare();
}

/* What StarPU can use stays as it is, and nothing is said. */
START_TEST(what_is_well_stays)
{
    char new[128], inside[256];
    ck_assert_ok(prepare(NULL, NULL, NULL, home));
    ck_assert_ptr_null(getenv("STARPU_HOME"));
    snprintf(new, sizeof new, "%s/new/folder", home);
    ck_assert_ok(prepare(NULL, NULL, new, "/proc/none"));
    ck_assert_str_eq(getenv("STARPU_HOME"), new);
    snprintf(inside, sizeof inside, "%s/.starpu/sampling/bus", new);
    ck_assert_int_eq(access(inside, W_OK), 0);
    ck_assert_ok(prepare(new, NULL, NULL, home));
    ck_assert_ok(prepare(NULL, new, home, "/proc/none"));
    ck_assert_str_eq(getenv("XDG_CACHE_HOME"), new);
    ck_assert_int_eq(warnings, 0);
    ck_assert_int_ne(access(private, F_OK), 0);
}
END_TEST

START_TEST(what_is_not_is_mended)
{
    const struct {
        const char *models, *xdg, *starpu, *home, *to, *says;
    } rows[] = {
        {NULL, NULL, NULL, NULL, private, "HOME (not set)"},
        {NULL, NULL, NULL, "", private, "HOME (empty)"},
        {NULL, NULL, NULL, "/proc/none", private, "HOME /proc/none (No such file"},
        {NULL, NULL, NULL, file, private, "(Not a directory)"},
        {NULL, NULL, NULL, deep, private, "(longer than 200 characters)"},
        {NULL, NULL, "/proc/none", home, home, "STARPU_HOME /proc/none"},
        {NULL, "/proc/none", home, "/proc/none", home, "XDG_CACHE_HOME /proc/none"},
        {NULL, home, "/proc/none", "/proc/none", home, "STARPU_HOME /proc/none"},
        {"/proc/none", NULL, NULL, home, home, "STARPU_PERF_MODEL_DIR /proc/none"},
        {home, NULL, NULL, "/proc/none", private, "HOME /proc/none"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_ok(prepare(rows[i].models, rows[i].xdg, rows[i].starpu, rows[i].home));
        ck_assert_int_eq(warnings, 1);
        ck_assert_msg(strstr(warning, rows[i].says) != NULL, "%zu: %s", i, warning);
        ck_assert_str_eq(getenv("STARPU_HOME"), rows[i].to);
        if (rows[i].xdg) ck_assert_str_eq(getenv("XDG_CACHE_HOME"), rows[i].to);
    }
    struct stat found;
    ck_assert_int_eq(stat(private, &found), 0);
    ck_assert_int_eq(found.st_mode & 0777, 0700);
    tutti_log_set_rank(1); /* rank 0 says it */
    ck_assert_ok(prepare(NULL, NULL, NULL, NULL));
    ck_assert_int_eq(warnings, 0);
    tutti_log_set_rank(-1);
}
END_TEST

/* What was measured before the last boot counts as not measured; each folder that StarPU may look into counts. */
START_TEST(what_is_measured)
{
    char path[512], host[128] = "";
    gethostname(host, sizeof host - 1);
    ck_assert_ok(prepare(NULL, NULL, home, "/proc/none"));
    ck_assert_int_eq(tutti_run_home_is_measured(), 0);
    tutti_run_home_set_measured();
    ck_assert_int_eq(tutti_run_home_is_measured(), 1);
    setenv("XDG_CACHE_HOME", "/proc/none", 1);
    ck_assert_int_eq(tutti_run_home_is_measured(), 0);
    unsetenv("XDG_CACHE_HOME");
    snprintf(path, sizeof path, "%s/.starpu/sampling/bus/%s.tutti", home, host);
    FILE *mark = fopen(path, "w");
    ck_assert_ptr_nonnull(mark);
    fputs("another boot", mark);
    fclose(mark);
    ck_assert_int_eq(tutti_run_home_is_measured(), 0);
    unlink(path);
    ck_assert_int_eq(tutti_run_home_is_measured(), 0);
}
END_TEST

START_TEST(nowhere)
{
    const struct rlimit small = {1 << 11, RLIM_INFINITY};
    struct rlimit before;
    ck_assert_int_eq(symlink(home, private), 0); /* somebody else's */
    ck_assert_int_eq(prepare(NULL, NULL, NULL, "/proc/none"), TUTTI_ERR_IO);
    ck_assert_ptr_nonnull(strstr(tutti_last_error(), "is not this user's alone"));
    ck_assert_ptr_nonnull(strstr(tutti_last_error(), "set STARPU_HOME to a folder"));
    ck_assert_int_eq(unlink(private), 0);
    ck_assert_int_eq(mkdir(private, 0777) | chmod(private, 0777), 0);
    ck_assert_int_eq(prepare(NULL, NULL, NULL, "/proc/none"), TUTTI_ERR_IO);
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    ck_assert_int_eq(prepare(NULL, NULL, NULL, home), TUTTI_ERR_IO); /* as on a full disk */
    setrlimit(RLIMIT_FSIZE, &before);
    ck_assert_ptr_nonnull(strstr(tutti_last_error(), "No space left on device"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("home");
    TCase *tcase = testing_case(suite, "home");
    tcase_add_checked_fixture(tcase, open_folders, close_folders);
    tcase_add_test(tcase, what_is_well_stays);
    tcase_add_test(tcase, what_is_not_is_mended);
    tcase_add_test(tcase, what_is_measured);
    tcase_add_test(tcase, nowhere);
    return testing_run(suite);
}
