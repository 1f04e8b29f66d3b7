/* apps/tune/file: choices are remembered, also with concurrent writers and whatever the file holds. */
#include "apps/tune/file.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "tests/support/testing.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64], path[128];

/* A new empty folder, in memory if possible: disks are slow. */
static void set_up(void)
{
    strcpy(folder,
        access("/dev/shm", W_OK) ? "/tmp/tutti-tuning-XXXXXX" : "/dev/shm/tutti-tuning-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/tuning.json", folder);
    tutti_log_set_level(TUTTI_LOG_NONE);
}

static void tear_down(void)
{
    char command[160];
    snprintf(command, sizeof command, "rm -rf '%s' '%s.lock'", folder, folder);
    ck_assert_int_eq(system(command), 0);
}

static tutti_tuning example(int lanes)
{
    return (tutti_tuning){
        {tutti_design_find("concurrent"), lanes, 545000, 0, 1}, 40.5, 44.25, 93.5, 0, ""};
}

static void write_file(const char *name, const void *data, size_t bytes)
{
    FILE *file = fopen(name, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(data, 1, bytes, file), bytes);
    ck_assert_int_eq(fclose(file), 0);
}

static int exists(const char *suffix)
{
    char name[160];
    snprintf(name, sizeof name, "%s%s", path, suffix);
    return access(name, F_OK) == 0;
}

START_TEST(file_keeps_choices)
{
    const tutti_tuning first = example(4), second = example(8);
    tutti_tuning found;
    ck_assert(!tutti_tuning_find(path, "a", &found));
    ck_assert(tutti_tuning_save(path, "a", &first));
    ck_assert(tutti_tuning_save(path, "b", &first));
    ck_assert(tutti_tuning_save(path, "a", &second));
    ck_assert(tutti_tuning_find(path, "a", &found));
    ck_assert(tutti_configuration_equal(&found.configuration, &second.configuration));
    ck_assert(found.step_ms == 40.5 && found.default_ms == 44.25 && found.hidden_pct == 93.5);
    ck_assert_uint_eq(strlen(found.date), strlen("2026-05-04"));
    ck_assert(tutti_tuning_find(path, "b", &found));
    ck_assert_int_eq(found.configuration.lanes, 4);
    ck_assert(!tutti_tuning_find(path, "c", &found));
    ck_assert(!exists(".part") && !exists(".damaged"));
}
END_TEST

START_TEST(a_cut_search_is_of_one_run)
{
    tutti_tuning cut = example(4), whole = example(8), found;
    cut.cut = 1;
    unsetenv("TUTTI_RUN");
    ck_assert(!tutti_tuning_save(path, "a", &cut));
    setenv("TUTTI_RUN", "one", 1);
    ck_assert(tutti_tuning_save(path, "a", &cut));
    ck_assert(tutti_tuning_find(path, "a", &found));
    ck_assert(found.cut && tutti_configuration_equal(&found.configuration, &cut.configuration));
    setenv("TUTTI_RUN", "another", 1);
    ck_assert(!tutti_tuning_find(path, "a", &found));
    ck_assert(tutti_tuning_save(path, "a", &whole)); /* for all */
    setenv("TUTTI_RUN", "one", 1);
    ck_assert(!tutti_tuning_save(path, "a", &cut));
    unsetenv("TUTTI_RUN");
    ck_assert(tutti_tuning_find(path, "a", &found));
    ck_assert(!found.cut && found.configuration.lanes == 8);
}
END_TEST

START_TEST(configurations_come_back)
{
    static const char *const bad[] = {"", "funneled", "nothing lanes=1 bucket=1 chunk=1 priority=1",
        "funneled lanes=0 bucket=1 chunk=1 priority=1",
        "funneled lanes=1 bucket=-2 chunk=1 priority=1",
        "funneled lanes=1 bucket=1 chunk=1 priority=2", "funneled lanes=1 bucket=1 chunk=1"};
    const tutti_configuration configuration = example(4).configuration;
    tutti_configuration found;
    char text[TUTTI_CONFIGURATION_TEXT];
    ck_assert(tutti_configuration_restore(tutti_configuration_store(&configuration, text), &found));
    ck_assert(tutti_configuration_equal(&configuration, &found));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!tutti_configuration_restore(bad[i], &found), "%s", bad[i]);
}
END_TEST

START_TEST(file_bears_damage)
{
    static const char *const bad[] = {"", "{", "[]", "null", "{\"choices\": []}",
        "{\"choices\": 7}", "{\"choices\": {}, \"choices\": {}}", "\xff\xfe"};
    const tutti_tuning tuning = example(4);
    tutti_tuning found;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_file(path, bad[i], strlen(bad[i]));
        ck_assert(!tutti_tuning_find(path, "a", &found));
        ck_assert(tutti_tuning_save(path, "a", &tuning));
        ck_assert(tutti_tuning_find(path, "a", &found));
        ck_assert_msg(exists(".damaged"), "after \"%s\"", bad[i]);
    }
}
END_TEST

/* An impossible choice is ignored, and the others are kept. */
START_TEST(file_refuses_what_cannot_be)
{
    static const char *const bad[] = {"7", "{}", "{\"design\": \"naive\"}",
        "{\"design\": \"best\", \"lanes\": 1, \"bucket_bytes\": -1, \"chunk_bytes\": -1, "
        "\"priority\": true, \"step_ms\": 1, "
        "\"default_ms\": "
        "1, "
        "\"hidden_pct\": 1, \"date\": \"d\"}",
        "{\"design\": \"chained\", \"lanes\": 4294967297, \"bucket_bytes\": -1, \"chunk_bytes\": "
        "-1, \"priority\": true, \"step_ms\": 1, "
        "\"default_ms\": 1, \"hidden_pct\": 1, \"date\": \"d\"}",
        "{\"design\": \"chained\", \"lanes\": 1, \"bucket_bytes\": -2, \"chunk_bytes\": -1, "
        "\"priority\": true, \"step_ms\": 1, "
        "\"default_ms\": 1, \"hidden_pct\": 1, \"date\": \"d\"}",
        "{\"design\": \"chained\", \"lanes\": 1, \"bucket_bytes\": 1, \"chunk_bytes\": -1, "
        "\"priority\": true, \"step_ms\": \"1\", "
        "\"default_ms\": 1, \"hidden_pct\": 1, \"date\": \"d\"}",
        "{\"design\": \"chained\", \"lanes\": 1, \"bucket_bytes\": 1, \"chunk_bytes\": -1, "
        "\"priority\": true, \"step_ms\": 1, "
        "\"default_ms\": 1, \"hidden_pct\": 1, \"date\": \"a date that is far too long\"}"};
    const tutti_tuning tuning = example(4);
    tutti_tuning found;
    char text[1024];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int length = snprintf(text, sizeof text, "{\"choices\": {\"a\": %s, \"b\": 1}}", bad[i]);
        write_file(path, text, (size_t)length);
        ck_assert_msg(!tutti_tuning_find(path, "a", &found), "%s", bad[i]);
        ck_assert(tutti_tuning_save(path, "a", &tuning));
        ck_assert(tutti_tuning_find(path, "a", &found));
        json_t *root = json_load_file(path, 0, NULL);
        ck_assert(json_is_integer(json_object_get(json_object_get(root, "choices"), "b")));
        json_decref(root);
    }
    ck_assert(!exists(".damaged"));
}
END_TEST

/* With any bytes changed, and cut anywhere: found or not, but no harm. */
START_TEST(file_bears_any_bytes)
{
    enum { ROUNDS = 1000, MOST = 4096 };
    static char good[MOST], text[MOST];
    uint64_t seed = testing_seed(7), drawn = 0;
    tutti_tuning tuning = example(4), found;
    ck_assert(tutti_tuning_save(path, "a", &tuning) && tutti_tuning_save(path, "b", &tuning));
    FILE *file = fopen(path, "r");
    size_t bytes = fread(good, 1, MOST, file);
    fclose(file);
    for (int i = 0; i < ROUNDS; i++) {
        memcpy(text, good, bytes);
        int changes = (int)tutti_rng_below(seed, 1, drawn++, 4);
        for (int k = 0; k < changes; k++) {
            size_t at = (size_t)tutti_rng_below(seed, 2, drawn++, bytes);
            text[at] = (char)tutti_rng_below(seed, 3, drawn++, 256);
        }
        size_t length = i % 2 ? bytes : (size_t)tutti_rng_below(seed, 4, drawn++, bytes);
        write_file(path, text, length);
        if (tutti_tuning_find(path, "a", &found)) ck_assert_ptr_nonnull(found.configuration.design);
    }
}
END_TEST

START_TEST(file_may_be_out_of_reach)
{
    const tutti_tuning tuning = example(4);
    tutti_tuning found;
    char below[160], fifo[160], huge[160];
    write_file(path, "{}", 2);
    snprintf(below, sizeof below, "%s/tuning.json", path); /* the folder is a file */
    ck_assert(!tutti_tuning_find(below, "a", &found));
    ck_assert(!tutti_tuning_save(below, "a", &tuning));
    ck_assert(!tutti_tuning_find(folder, "a", &found)); /* the file is a folder */
    ck_assert(!tutti_tuning_save(folder, "a", &tuning));
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    ck_assert(!tutti_tuning_find(fifo, "a", &found));
    ck_assert(!tutti_tuning_save(fifo, "a", &tuning));
    snprintf(huge, sizeof huge, "%s/huge", folder);
    write_file(huge, "{", 1);
    ck_assert_int_eq(truncate(huge, (off_t)1 << 40), 0);
    ck_assert(!tutti_tuning_find(huge, "a", &found));
    ck_assert(!tutti_tuning_save(huge, "a", &tuning));
    ck_assert(!tutti_tuning_save("/proc/tutti/tuning.json", "a", &tuning));
}
END_TEST

START_TEST(file_has_many_writers)
{
    enum { WRITERS = 5, CHOICES = 6 };
    char key[32];
    tutti_tuning found;
    for (int w = 0; w < WRITERS; w++) {
        if (fork()) continue;
        for (int c = 0; c < CHOICES; c++) {
            const tutti_tuning tuning = example(1 + w);
            snprintf(key, sizeof key, "%d %d", w, c);
            if (!tutti_tuning_save(path, key, &tuning)) _exit(1);
        }
        _exit(0);
    }
    for (int w = 0, state; w < WRITERS; w++) {
        ck_assert_int_gt(wait(&state), 0);
        ck_assert_int_eq(state, 0);
    }
    for (int w = 0; w < WRITERS; w++)
        for (int c = 0; c < CHOICES; c++) {
            snprintf(key, sizeof key, "%d %d", w, c);
            ck_assert_msg(
                tutti_tuning_find(path, key, &found), "the choice of writer %s is lost", key);
            ck_assert_int_eq(found.configuration.lanes, 1 + w);
        }
}
END_TEST

START_TEST(file_has_a_place)
{
    char place[PATH_MAX], wanted[PATH_MAX];
    ck_assert_ptr_null(tutti_tuning_path("none", place));
    ck_assert_str_eq(tutti_tuning_path("here", place), "here");
    setenv("XDG_CACHE_HOME", folder, 1);
    setenv("HOME", folder, 1);
    snprintf(wanted, sizeof wanted, "%s/tutti/tuning.json", folder);
    ck_assert_str_eq(tutti_tuning_path(NULL, place), wanted);
    const tutti_tuning tuning = example(4);
    ck_assert(tutti_tuning_save(place, "a", &tuning));
    setenv("XDG_CACHE_HOME", "not/absolute", 1);
    snprintf(wanted, sizeof wanted, "%s/.cache/tutti/tuning.json", folder);
    ck_assert_str_eq(tutti_tuning_path(NULL, place), wanted);
    ck_assert(tutti_tuning_save(place, "a", &tuning));
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    ck_assert_ptr_null(tutti_tuning_path(NULL, place));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tuning file");
    TCase *test = testing_case(suite, "file");
    tcase_add_checked_fixture(test, set_up, tear_down);
    tcase_add_test(test, file_keeps_choices);
    tcase_add_test(test, a_cut_search_is_of_one_run);
    tcase_add_test(test, configurations_come_back);
    tcase_add_test(test, file_bears_damage);
    tcase_add_test(test, file_refuses_what_cannot_be);
    tcase_add_test(test, file_bears_any_bytes);
    tcase_add_test(test, file_may_be_out_of_reach);
    tcase_add_test(test, file_has_many_writers);
    tcase_add_test(test, file_has_a_place);
    return testing_run(suite);
}
