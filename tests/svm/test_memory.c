/* What tutti-svm holds in memory: for rows, and for the values that a file has. */
#include "apps/svm/predict.h"
#include "apps/svm/scale.h"
#include "apps/svm/train.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static tutti_svm_world world = {.size = 1, .workers = 1};
static struct rlimit usual;

#if defined(__SANITIZE_ADDRESS__) ||                                                               \
    defined(__SANITIZE_THREAD__) /* whose malloc ends the program instead */
static void allow(rlim_t more)
{
    (void)more;
}
#else
/* From now on this many bytes may be added. */
static void allow(rlim_t more)
{
    long pages = 0;
    FILE *mine = fopen("/proc/self/statm", "re");
    ck_assert(mine && fscanf(mine, "%ld", &pages) == 1);
    fclose(mine);
    const struct rlimit less = {
        (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + more, usual.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &less), 0);
}
#endif

static void save_limit(void)
{
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &usual), 0);
}

static void restore_limit(void)
{
    setrlimit(RLIMIT_AS, &usual);
}

static void put(tutti_rows *rows, uint32_t index, double value)
{
    ck_assert_ok(tutti_rows_put(rows, index, value));
}

/* The decisions of all pairs for all rows would take 150 MB. */
START_TEST(folds_keep_votes_alone)
{
    enum { ROWS = 100000, CLASSES = 20 };
    tutti_rows rows = {0};
    tutti_svm_classes classes;
    tutti_svm_training t = {.world = &world,
        .settings = {.eps = 1e-3, .working_set = 8, .most_steps = 1000000, .balance = 1.2},
        .C = 1,
        .seed = 1};
    int64_t right = 0;
    for (int r = 0; r < ROWS; r++) {
        ck_assert_ok(tutti_rows_add(&rows, r % CLASSES));
        put(&rows, (uint32_t)(r % CLASSES) + 1, 1);
    }
    ck_assert_ok(tutti_svm_classes_find(&world, &rows, &classes));
    allow(64 << 20);
    ck_assert_ok(tutti_svm_cross_validate(&t, &rows, &classes, 2, &right));
    ck_assert_int_eq(right, ROWS);
    tutti_svm_classes_free(&classes);
    tutti_rows_free(&rows);
}
END_TEST

/* Of two features, however large their indices. */
START_TEST(ranges_are_those_of_features)
{
    enum { LAST = INT32_MAX };
    tutti_rows rows = {0};
    tutti_svm_scaling s;
    for (int r = 0; r < 3; r++) {
        ck_assert_ok(tutti_rows_add(&rows, r));
        put(&rows, 7, 2 + r);
        if (r) put(&rows, LAST, 10 * r);
    }
    allow(32 << 20);
    ck_assert_ok(tutti_svm_scaling_measure(&world, &rows, -1, 1, &s));
    ck_assert_ok(tutti_svm_scaling_apply(&s, &rows));
    static const struct {
        uint32_t index;
        double value;
    } scaled[] = {{7, -1}, {LAST, -1}, {7, 1}, {LAST, 1}}; /* the second row has 0 twice */
    ck_assert_int_eq(rows.nonzeros, 4);
    for (int k = 0; k < 4; k++)
        ck_assert(
            rows.index[k] == scaled[k].index && tutti_rows_value(&rows, k) == scaled[k].value);
    char text[] = "x\n-1 1\n7 2 4\n2147483647 0 20\n";
    tutti_lines lines;
    tutti_svm_scaling again;
    ck_assert_ok(tutti_lines_of("here", text, strlen(text), &lines));
    ck_assert_ok(tutti_svm_scaling_parse(&lines, &again));
    ck_assert_int_eq(again.count, 2);
    ck_assert(again.index[1] == LAST && again.max[1] == 20 && s.max[1] == 20);
    tutti_svm_scaling_free(&again);
    tutti_svm_scaling_free(&s);
    tutti_rows_free(&rows);
}
END_TEST

/* The rows have one value each, and 36 MB of them when they are scaled; their text takes 20 MB. */
START_TEST(scaled_rows_are_written_in_pieces)
{
    enum { ROWS = 10000, FEATURES = 300 };
    char path[] = "/tmp/tutti-svm-memory.XXXXXX";
    tutti_rows rows = {0};
    tutti_svm_scaling s;
    tutti_svm_output output;
    for (int r = 0; r < ROWS; r++) {
        ck_assert_ok(tutti_rows_add(&rows, r % 2));
        put(&rows, (uint32_t)(r % FEATURES) + 1, 1);
    }
    rows.columns = FEATURES;
    const int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    ck_assert_ok(tutti_svm_scaling_measure(&world, &rows, -1, 1, &s));
    ck_assert_ok(tutti_svm_output_begin(&world, "rows", path, &output));
    output.piece = 1 << 20;
    allow(16 << 20);
    ck_assert_ok(tutti_svm_output_end(&output, tutti_svm_scaling_write_rows(&s, &rows, &output)));
    FILE *in = fopen(path, "r");
    int64_t lines = 0, words = 0;
    for (int c; in && (c = getc(in)) != EOF;) {
        lines += c == '\n';
        words += c == ':';
    }
    ck_assert_int_eq(lines, ROWS);
    ck_assert_int_eq(words, (int64_t)ROWS * FEATURES);
    fclose(in);
    close(file);
    unlink(path);
    tutti_svm_scaling_free(&s);
    tutti_rows_free(&rows);
}
END_TEST

/* The model scales all rows to 30 million values, which would take 360 MB. */
START_TEST(rows_to_predict_are_scaled_in_pieces)
{
    enum { ROWS = 100000, FEATURES = 300 };
    char data[] = "/tmp/tutti-svm-memory.XXXXXX", model[] = "/tmp/tutti-svm-memory.XXXXXX";
    const int data_file = mkstemp(data), model_file = mkstemp(model);
    FILE *out = fopen(data, "w"), *of_model = fopen(model, "w");
    ck_assert(data_file >= 0 && model_file >= 0 && out && of_model);
    for (int r = 0; r < ROWS; r++)
        fprintf(out, "%d %d:%d\n", r % 3 ? 1 : -1, FEATURES, r % 3 ? 1 : 0);
    fprintf(of_model,
        "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 0\nlabel 1 -1\n"
        "nr_sv 1 0\nSV\n1 %d:1 \nx\n-1 1\n",
        FEATURES);
    for (int f = 1; f <= FEATURES; f++) fprintf(of_model, "%d 0 1\n", f);
    ck_assert(!fclose(out) && !fclose(of_model));
    const tutti_svm_predict_options options = {.model = model, .data = data};
    int64_t right = 0, count = 0;
    allow(96 << 20);
    ck_assert_ok(tutti_svm_predict(&world, &options, &right, &count));
    ck_assert_int_eq(count, ROWS);
    ck_assert_int_eq(right, ROWS);
    close(data_file);
    close(model_file);
    unlink(data);
    unlink(model);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("svm_memory");
    TCase *tcase = testing_case(suite, "memory");
    tcase_add_checked_fixture(tcase, save_limit, restore_limit);
    tcase_add_test(tcase, folds_keep_votes_alone);
    tcase_add_test(tcase, ranges_are_those_of_features);
    tcase_add_test(tcase, scaled_rows_are_written_in_pieces);
    tcase_add_test(tcase, rows_to_predict_are_scaled_in_pieces);
    return testing_run(suite);
}
