/* LIBSVM's text: rows on any number of ranks, what is refused, ranges and models. */
#include "apps/svm/model.h"
#include "apps/svm/predict.h"
#include "apps/svm/read.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "tests/support/testing.h"
#include "tests/svm/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/tutti-svm-text.XXXXXX", scaled_path[] = "/tmp/tutti-svm-text.XXXXXX";

static void put(const char *text, size_t bytes)
{
    FILE *out = fopen(path, "w");
    if (!out || fwrite(text, 1, bytes, out) != bytes || fclose(out)) abort();
}

typedef struct reading {
    tutti_rows rows[8];
    int64_t columns[8];
} reading;

static tutti_status read_rank(tutti_svm_world *world, void *ctx)
{
    reading *r = ctx;
    tutti_status status = tutti_svm_read(world, path, &r->rows[world->rank]);
    r->columns[world->rank] = r->rows[world->rank].columns;
    return status;
}

static tutti_status read_on(int ranks, reading *r)
{
    const tutti_svm_world_options options = {.timeout_s = 60};
    memset(r, 0, sizeof *r);
    return tutti_svm_world_local(&options, ranks, read_rank, r);
}

START_TEST(ranks_read_the_rows_of_a_file)
{
    static const char text[] =
        "+1 1:0.5 3:-2e-3 7:1\r\n-1\n3.5 2147483647:123456789.125\n0 2:.5 \n\n\n";
    static const double values[] = {0.5, -2e-3, 1, 123456789.125, .5};
    put(text, strlen(text));
    for (int P = 1; P <= 8; P++) {
        reading r;
        int64_t count = 0, nonzeros = 0;
        ck_assert_ok(read_on(P, &r));
        for (int rank = 0; rank < P; rank++) {
            ck_assert_int_eq(r.rows[rank].from, count);
            ck_assert_int_eq(r.columns[rank], 2147483647);
            for (int64_t k = 0; k < r.rows[rank].nonzeros; k++)
                ck_assert(tutti_rows_value(&r.rows[rank], k) == values[nonzeros + k]);
            count += r.rows[rank].count;
            nonzeros += r.rows[rank].nonzeros;
            tutti_rows_free(&r.rows[rank]);
        }
        ck_assert_int_eq(count, 4);
        ck_assert_int_eq(nonzeros, 5);
    }
}
END_TEST

/* ---- what ranks write together ---- */

static const char *const texts[] = {
    "first", "", "a longer text of rank 2, in several pieces", "last"};

static tutti_status write_rank(tutti_svm_world *world, void *ctx)
{
    tutti_svm_output output;
    tutti_status status = tutti_svm_output_begin(world, "texts", path, &output);
    if (status) return status;
    output.piece = *(const int64_t *)ctx;
    status = tutti_svm_output_write(&output, texts[world->rank], strlen(texts[world->rank]));
    return tutti_svm_output_end(&output, status);
}

START_TEST(ranks_write_a_file_in_pieces)
{
    const tutti_svm_world_options options = {.timeout_s = 60};
    const int64_t pieces[] = {1, 7, 46, 51, 52, 1000};
    for (int P = 1; P <= 4; P++) {
        char whole[128] = "", read[128] = "";
        for (int r = 0; r < P; r++) strcat(whole, texts[r]);
        for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
            ck_assert_ok(tutti_svm_world_local(&options, P, write_rank, (void *)&pieces[i]));
            FILE *in = fopen(path, "r");
            ck_assert_ptr_nonnull(in);
            read[fread(read, 1, sizeof read - 1, in)] = '\0';
            fclose(in);
            ck_assert_str_eq(read, whole);
        }
    }
}
END_TEST

typedef struct scaled {
    double lower;
    int64_t piece;
} scaled;

static tutti_status write_scaled_rank(tutti_svm_world *world, void *ctx)
{
    const scaled *how = ctx;
    tutti_svm_output output;
    tutti_rows rows = {0};
    tutti_svm_scaling s = {0};
    tutti_status status = tutti_svm_read(world, path, &rows);
    if (!status) status = tutti_svm_scaling_measure(world, &rows, how->lower, 1, &s);
    if (!status) status = tutti_svm_output_begin(world, "rows", scaled_path, &output);
    if (!status) {
        output.piece = how->piece;
        status = tutti_svm_output_end(&output, tutti_svm_scaling_write_rows(&s, &rows, &output));
    }
    tutti_svm_scaling_free(&s);
    tutti_rows_free(&rows);
    return status;
}

/* Features 3 and 9 are in some rows alone, and one row has none; numbers as large as a double can be. */
START_TEST(scaled_rows_are_the_same_on_any_number_of_ranks)
{
    static const char text[] = "1 3:2 4:1\n-1 3:4 4:-1\n2\n1 4:3 9:-1.5e308\n5 3:3 9:1.5e308\n";
    static const char *const written[] = {
        "1 3:0.5 4:0.5 9:0.5 \n-1 3:1 9:0.5 \n2 4:0.25 9:0.5 \n1 4:1 \n5 3:0.75 4:0.25 9:1 \n",
        "1 \n-1 3:1 4:-1 \n2 3:-1 4:-0.5 \n1 3:-1 4:1 9:-1 \n5 3:0.5 4:-0.5 9:1 \n"};
    const tutti_svm_world_options options = {.timeout_s = 60};
    put(text, strlen(text));
    for (int k = 0; k < 2; k++)
        for (int P = 1; P <= 4; P++)
            for (int64_t piece = 1; piece < 1000; piece *= 30) {
                scaled how = {.lower = -k, .piece = piece};
                char read[256] = "";
                ck_assert_ok(tutti_svm_world_local(&options, P, write_scaled_rank, &how));
                FILE *in = fopen(scaled_path, "r");
                ck_assert_ptr_nonnull(in);
                read[fread(read, 1, sizeof read - 1, in)] = '\0';
                fclose(in);
                ck_assert_str_eq(read, written[k]);
            }
}
END_TEST

/* Ranges may have features that the rows lack, and 0 may become another value. */
START_TEST(scaled_rows_have_the_features_of_their_ranges)
{
    char text[] = "x\n-1 1\n3 1 2\n1 0 2\n2 0 1\n1 0 1\n";
    tutti_svm_scaling scaling;
    tutti_lines lines;
    reading r;
    ck_assert_ok(tutti_lines_of("here", text, strlen(text), &lines));
    ck_assert_ok(tutti_svm_scaling_parse(&lines, &scaling));
    put("1 1:1\n", 6);
    ck_assert_ok(read_on(1, &r));
    ck_assert_int_eq(r.rows[0].columns, 1);
    ck_assert_ok(tutti_svm_scaling_apply(&scaling, &r.rows[0]));
    ck_assert_int_eq(r.rows[0].nonzeros, 3);
    ck_assert_int_eq(r.rows[0].index[2], 3);
    ck_assert(tutti_rows_value(&r.rows[0], 2) == -3);
    ck_assert_int_eq(r.rows[0].columns, 3);
    tutti_rows_free(&r.rows[0]);
    tutti_svm_scaling_free(&scaling);
}
END_TEST

START_TEST(wrong_ranges_are_refused)
{
    static const char *const wrong[] = {"y\n0 1\n1 0 1\n", "x\n-inf 1\n1 0 1\n",
        "x\n0 inf\n1 0 1\n", "x\nnan 1\n1 0 1\n", "x\n1 1\n1 0 1\n", "x\n0 1\n1 0 inf\n",
        "x\n0 1\n0 0 1\n", "x\n0 1\n1 0\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char *text = strdup(wrong[i]);
        tutti_lines lines;
        tutti_svm_scaling s;
        ck_assert_ok(tutti_lines_of("here", text, strlen(text), &lines));
        ck_assert_msg(tutti_svm_scaling_parse(&lines, &s) == TUTTI_ERR_FORMAT, "%s", wrong[i]);
        free(text);
    }
}
END_TEST

static const struct {
    const char *text, *says;
} bad[] = {
    {"", "it is empty"},
    {"\n\n", "has no rows"},
    {"1 0:1\n", "line 1: the index '0'"},
    {"1 1:1\n1 2:1 2:1\n", "line 2: the index '2' does not follow"},
    {"1 3:1 2:1\n", "indices of a line ascend"},
    {"1 2147483648:1\n", "the index '2147483648'"},
    {"1 99999999999999999999:1\n", "is not a number from 1"},
    {"1 1:nan\n", "the value 'nan'"},
    {"1 1:inf\n", "the value 'inf'"},
    {"1 1:1e999\n", "the value '1e999'"},
    {"1 1:1e\n", "the value '1e'"},
    {"1 1:--1\n", "the value '--1'"},
    {"1e999 1:1\n", "the label '1e999'"},
    {"1 1:0x10\n", "the value '0x10'"},
    {"1 1:\n", "the value ''"},
    {"1 :1\n", "the index ''"},
    {"1 1\n", "the word '1' is not INDEX:VALUE"},
    {"x 1:1\n", "the label 'x'"},
    {"nan 1:1\n", "the label 'nan'"},
    {"1:1\n", "the label '1:1'"},
    {"1 1:1\n\n1 1:1\n", "line 2 is empty, and more lines follow"},
    {"\n1 1:1\n", "line 1 is empty"},
    {"1 1:\x1b[2J\n", "\\x1b"},
    {"\xff\xfe"
     "1 1:1\n",
        "UTF-16"},
};

START_TEST(bad_text_is_refused_on_all_ranks)
{
    put(bad[_i].text, strlen(bad[_i].text));
    for (int P = 1; P <= 4; P++) {
        reading r;
        ck_assert(read_on(P, &r) != TUTTI_OK);
        ck_assert_msg(strstr(tutti_last_error(), bad[_i].says) != NULL, "%s", tutti_last_error());
    }
}
END_TEST

/* 0.000...01 and 1000...0 with all their digits, too. */
START_TEST(numbers_of_every_size_are_read)
{
    char text[2000] = "-1e-310 1:1e-310 2:-1e-400 3:", zeros[310];
    memset(zeros, '0', sizeof zeros - 1);
    zeros[sizeof zeros - 1] = '\0';
    sprintf(text + strlen(text), "1%.308s.000000 4:0.%.299s1\n", zeros, zeros);
    static const double values[] = {1e-310, 0, 1e308, 1e-300};
    reading r;
    put(text, strlen(text));
    ck_assert_ok(read_on(1, &r));
    ck_assert_int_eq(r.rows[0].nonzeros, 4);
    for (int64_t k = 0; k < 4; k++) ck_assert(tutti_rows_value(&r.rows[0], k) == values[k]);
    ck_assert(r.rows[0].label[0] == -1e-310);
    tutti_rows_free(&r.rows[0]);
}
END_TEST

START_TEST(marks_and_missing_ends_are_taken)
{
    static const char text[] = "\xef\xbb\xbf"
                               "1 1:1\n2 2:2";
    reading r;
    put(text, strlen(text));
    ck_assert_ok(read_on(2, &r));
    ck_assert_int_eq(r.rows[0].count + r.rows[1].count, 2);
    tutti_rows_free(&r.rows[0]);
    tutti_rows_free(&r.rows[1]);
}
END_TEST

/* The text is changed. */
static tutti_status parse_model(char *text, tutti_svm_model *m)
{
    tutti_lines lines;
    tutti_status status = tutti_lines_of("here", text, strlen(text), &lines);
    return status ? status : tutti_svm_model_parse(&lines, m);
}

static char *print_model(const tutti_svm_model *m)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) abort();
    tutti_svm_model_print_head(m, out);
    for (int64_t r = 0; r < m->rows.count; r++)
        tutti_svm_model_print_vector(
            &m->rows, r, m->classes, m->coefficient + r, m->rows.count, out);
    tutti_svm_scaling_print(&m->scaling, out);
    if (fclose(out)) abort();
    return text;
}

static const char model_text[] =
    "svm_type c_svc\nkernel_type polynomial\ndegree 2\ngamma 0.5\ncoef0 1\nnr_class 3\n"
    "total_sv 4\nrho 0.25 -1 3\nlabel 5 -1 2\nprobA 1 2 3\nprobB 4 5 6\nnr_sv 1 2 1\nSV\n"
    "1 0.5 1:1 3:0.10000000000000001 \n-1 0.25 2:-2 \n0 1 \n-0.5 -1 1:0.5 2:0.33333333 \n"
    "x\n-1 1\n1 0 1\n3 -2 4\n";

START_TEST(a_model_that_is_read_is_written_as_it_was)
{
    tutti_svm_model m;
    char *text = strdup(model_text);
    ck_assert_ok(parse_model(text, &m));
    free(text);
    text = print_model(&m);
    tutti_svm_model again;
    char *copy = strdup(text);
    ck_assert_ok(parse_model(copy, &again));
    char *second = print_model(&again);
    ck_assert_str_eq(text, second);
    ck_assert_int_eq(again.rows.count, 4);
    ck_assert_int_eq(again.scaling.columns, 3);
    ck_assert(again.coefficient[4 + 1] == 0.25 && tutti_rows_value(&again.rows, 1) == 0.1);
    free(second);
    free(copy);
    free(text);
    tutti_svm_model_free(&m);
    tutti_svm_model_free(&again);
}
END_TEST

/* Every text that is cut off, or has a wrong line, is refused, or means something else. */
START_TEST(broken_models_are_refused)
{
    const size_t vectors = (size_t)(strstr(model_text, "SV\n") - model_text);
    tutti_svm_model m;
    for (size_t n = 0; n < vectors; n += 7) {
        char *text = strndup(model_text, n);
        ck_assert(parse_model(text, &m) == TUTTI_ERR_FORMAT);
        free(text);
    }
    char *text = strdup(model_text);
    memcpy(strstr(text, "c_svc"), "nu_sv", 5);
    ck_assert(parse_model(text, &m) == TUTTI_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(tutti_last_error(), "line 1: only c_svc"));
    free(text);
    for (size_t i = 0; i < 3; i++) {
        static const char *const needed[] = {"degree 2\n", "gamma 0.5\n", "coef0 1\n"};
        const size_t n = strlen(needed[i]);
        text = strdup(model_text);
        char *at = strstr(text, needed[i]);
        memmove(at, at + n, strlen(at + n) + 1);
        ck_assert(parse_model(text, &m) == TUTTI_ERR_FORMAT);
        ck_assert_ptr_nonnull(strstr(tutti_last_error(), "degree, gamma or coef0 of the kernel"));
        free(text);
    }
}
END_TEST

START_TEST(classes_are_voted_for)
{
    static const double value[] = {1, 1, -1}, even[] = {1, -1, 1};
    ck_assert_int_eq(tutti_svm_vote(3, value, 1), 0);
    ck_assert_int_eq(tutti_svm_vote(3, even, 1), 0);
    double a, b;
    double x[200];
    double y[200];
    for (int i = 0; i < 200; i++) {
        x[i] = (i - 100) / 40.0;
        y[i] = (i * 7919 % 100) < 50 + (i - 100) / 2 ? 1 : -1;
    }
    ck_assert_ok(tutti_svm_fit_sigmoid(200, x, y, &a, &b));
    ck_assert(a < 0 && tutti_svm_sigmoid(2, a, b) > 0.7 && tutti_svm_sigmoid(-2, a, b) < 0.3);
}
END_TEST

typedef struct late {
    int64_t shown, received[2];
} late;

/* Rank 1 comes when rank 0 has given up and uses its memory for something else. */
static tutti_status gather_late(tutti_svm_world *world, void *ctx)
{
    late *l = ctx;
    const int64_t mine = 1;
    int64_t all[2];
    if (world->rank) {
        tutti_clock_sleep(1);
        return tutti_svm_gather(world, &mine, sizeof mine, l->received);
    }
    tutti_status status = tutti_svm_gather(world, &l->shown, sizeof l->shown, all);
    l->shown = 0;
    return status;
}

START_TEST(nobody_reads_what_a_rank_that_gave_up_has_shown)
{
    const tutti_svm_world_options options = {.timeout_s = 0.1};
    late l = {.shown = 1, .received = {1, 1}};
    ck_assert_int_eq(tutti_svm_world_local(&options, 2, gather_late, &l), TUTTI_ERR_TIMEOUT);
    ck_assert_int_eq(l.received[0], 1);
}
END_TEST

int main(void)
{
    const int file = mkstemp(path), scaled_file = mkstemp(scaled_path);
    if (file < 0 || scaled_file < 0) return 1;
    close(file);
    close(scaled_file);
    tutti_log_set_level(TUTTI_LOG_NONE);
    Suite *suite = suite_create("svm_text");
    TCase *tcase = testing_case(suite, "text");
    tcase_add_test(tcase, ranks_read_the_rows_of_a_file);
    tcase_add_test(tcase, ranks_write_a_file_in_pieces);
    tcase_add_test(tcase, scaled_rows_are_the_same_on_any_number_of_ranks);
    tcase_add_test(tcase, wrong_ranges_are_refused);
    tcase_add_test(tcase, scaled_rows_have_the_features_of_their_ranges);
    tcase_add_loop_test(tcase, bad_text_is_refused_on_all_ranks, 0, sizeof bad / sizeof *bad);
    tcase_add_test(tcase, numbers_of_every_size_are_read);
    tcase_add_test(tcase, marks_and_missing_ends_are_taken);
    tcase_add_test(tcase, a_model_that_is_read_is_written_as_it_was);
    tcase_add_test(tcase, broken_models_are_refused);
    tcase_add_test(tcase, classes_are_voted_for);
    tcase_add_test(tcase, nobody_reads_what_a_rank_that_gave_up_has_shown);
    const int status = testing_run(suite);
    unlink(path);
    unlink(scaled_path);
    return status;
}
