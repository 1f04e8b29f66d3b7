/* apps/train/report: JSON lines with the documented fields, lines and bars for people, silence of
 * other ranks, full disks. */
#include "apps/terminal/terminal.h"
#include "apps/train/report.h"
#include "tests/support/testing.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char json_path[] = "/tmp/tutti-report-XXXXXX", people_text[16384];
static int columns;

static void report_all(tutti_report *report)
{
    tutti_report_on_start(report, &(tutti_report_start){.design = "funneled",
                                      .compress = "none",
                                      .algorithm = "ring",
                                      .wire = "bf16",
                                      .precision = "f32",
                                      .thread_level = "T",
                                      .runner = "R",
                                      .library = "L",
                                      .model = "mlp",
                                      .data = "synthetic",
                                      .program = "tutti-cifar",
                                      .recipe = "goyal",
                                      .optimizer = "sgd",
                                      .strategy = "sync",
                                      .rate_schedule = "cosine, warm-up 3",
                                      .rate = 0.25,
                                      .momentum = 0.5,
                                      .nesterov = 1,
                                      .ranks = 2,
                                      .lanes = 1,
                                      .workers = 2,
                                      .parameters = 10,
                                      .steps = 6,
                                      .steps_per_epoch = 3,
                                      .batch = 4});
    for (int64_t i = 1; i <= 6; i++)
        tutti_report_on_step(report, &(tutti_report_step){.epoch = (i + 2) / 3,
                                         .epochs = 2,
                                         .step = i,
                                         .steps = 6,
                                         .epoch_step = (i - 1) % 3 + 1,
                                         .steps_per_epoch = 3,
                                         .loss = i == 6 ? NAN : 1.5,
                                         .images_per_s = 7});
    tutti_tally tally;
    const int32_t label = 1;
    ck_assert_ok(tutti_tally_open(3, 0, &tally));
    tutti_tally_add(&tally, 1, (const float[]){1, 0, 0}, &label);
    tutti_report_on_eval(report,
        &(tutti_report_eval){.epoch = 2, .step = 6, .test_accuracy = 0.125, .tally = &tally});
    tutti_tally_close(&tally);
    tutti_report_on_checkpoint(report, "file", 6);
    tutti_report_on_summary(report, &(tutti_report_summary){.design = "funneled",
                                        .model = "mlp",
                                        .weights_hash = "00ff",
                                        .ranks = 2,
                                        .steps = 6,
                                        .batch = 4,
                                        .macro_f1 = 0.25,
                                        .test_accuracy = 0.125});
}

static tutti_status report_with(int active, tutti_report_style style, const char *json)
{
    tutti_report *report;
    memset(people_text, 0, sizeof people_text);
    FILE *people = fmemopen(people_text, sizeof people_text, "w");
    ck_assert_ok(tutti_report_open(
        &(tutti_report_options){
            .active = active, .style = style, .out = people, .columns = columns, .json = json},
        &report));
    report_all(report);
    tutti_status status = tutti_report_close(report, 0);
    fclose(people);
    return status;
}

START_TEST(json_has_the_promised_fields)
{
    ck_assert_ok(report_with(1, TUTTI_REPORT_QUIET, json_path));
    ck_assert_str_eq(people_text, "");
    static const char *const events[] = {
        "start", "step", "step", "step", "step", "step", "step", "eval", "checkpoint", "summary"};
    static const char *const fields[] = {"event", "design", "auto", "ranks", "model", "steps",
        "batch", "step_ms_median", "step_ms_mean", "images_per_s", "compute_ms", "comm_ms",
        "hidden_pct", "train_loss", "test_accuracy", "test_top5_accuracy", "test_macro_f1",
        "eval_views", "one_view_accuracy", "replica_checks", "weights_hash", "kernels", "tasks",
        "launches", "graphs", "graph_bytes"};
    char line[4096];
    size_t n = 0;
    FILE *file = fopen(json_path, "r");
    for (; fgets(line, sizeof line, file); n++) {
        json_t *event = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        ck_assert_ptr_nonnull(event);
        ck_assert_uint_lt(n, sizeof events / sizeof *events);
        ck_assert_str_eq(json_string_value(json_object_get(event, "event")), events[n]);
        if (n == 0)
            ck_assert_str_eq(
                json_string_value(json_object_get(event, "rate_schedule")), "cosine, warm-up 3");
        if (n == 6) ck_assert(json_is_null(json_object_get(event, "loss")));
        if (n == 7) { /* the only image is of class 1 and taken for class 0; none is of class 2 */
            char *text = json_dumps(event, JSON_COMPACT | JSON_REAL_PRECISION(3));
            ck_assert_msg(strstr(text, "\"test_macro_precision\":0.0,\"test_macro_recall\":0.0,"
                                       "\"test_macro_f1\":0.0,\"class_precision\":[0.0,null,null],"
                                       "\"class_recall\":[null,0.0,null],"
                                       "\"class_f1\":[0.0,0.0,null]") != NULL,
                "%s", text);
            free(text);
        }
        if (n == 9) {
            ck_assert_uint_eq(json_object_size(event), sizeof fields / sizeof *fields);
            for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
                ck_assert_ptr_nonnull(json_object_get(event, fields[i]));
            ck_assert_str_eq(json_string_value(json_object_get(event, "weights_hash")), "00ff");
        }
        json_decref(event);
    }
    fclose(file);
    ck_assert_uint_eq(n, sizeof events / sizeof *events);
}
END_TEST

/* A row for each step and evaluation, of as many cells as the head has; a run that goes on adds rows. */
START_TEST(a_table)
{
    char path[] = "/tmp/tutti-report-csv-XXXXXX", line[512];
    close(mkstemp(path));
    for (int run = 0; run < 2; run++) {
        tutti_report *report;
        ck_assert_ok(tutti_report_open(
            &(tutti_report_options){
                .active = 1, .style = TUTTI_REPORT_QUIET, .csv = path, .append = run},
            &report));
        report_all(report);
        ck_assert_ok(tutti_report_close(report, 0));
    }
    FILE *file = fopen(path, "r");
    int rows = 0, heads = 0, evals = 0;
    for (; fgets(line, sizeof line, file); rows++) {
        int commas = 0;
        for (const char *at = line; *at; at++) commas += *at == ',';
        ck_assert_int_eq(commas, 11);
        heads += strncmp(line, "event,", 6) == 0;
        evals += strcmp(line, "eval,2,6,0,0,,,,,0,0.125,\n") == 0;
        if (rows == 6) ck_assert_str_eq(line, "step,2,6,,,0,0,7,0,,,\n"); /* a loss of NaN */
    }
    fclose(file);
    unlink(path);
    ck_assert_int_eq(rows, 1 + 2 * 7);
    ck_assert_int_eq(heads, 1);
    ck_assert_int_eq(evals, 2);
    tutti_report *report;
    ck_assert_int_eq(
        tutti_report_open(&(tutti_report_options){.active = 1, .csv = "/nowhere/at/all"}, &report),
        TUTTI_ERR_IO);
    ck_assert_ok(tutti_report_open(
        &(tutti_report_options){.active = 1, .style = TUTTI_REPORT_QUIET, .csv = "/dev/full"},
        &report));
    report_all(report);
    ck_assert_int_eq(tutti_report_close(report, 0), TUTTI_ERR_IO);
}
END_TEST

/* In an elastic run rows and events say of which membership they are. A table keeps the columns that it began with. */
START_TEST(memberships)
{
    static const struct {
        int append;
        int64_t membership;
        const char *row;
    } run[] = {{0, 0, "eval,2,6,0,0,,,,,0,0.125,\n"}, {1, 3, "eval,2,6,0,0,,,,,0,0.125,\n"},
        {0, 1, "eval,2,6,0,0,,,,,0,0.125,,1\n"}, {1, 2, "eval,2,6,0,0,,,,,0,0.125,,2\n"},
        {1, 0, "eval,2,6,0,0,,,,,0,0.125,,0\n"}};
    char path[] = "/tmp/tutti-report-csv-XXXXXX", json[] = "/tmp/tutti-report-json-XXXXXX";
    char line[512], last[512] = "";
    close(mkstemp(path));
    close(mkstemp(json));
    for (size_t i = 0; i < sizeof run / sizeof *run; i++) {
        tutti_report *report;
        ck_assert_ok(tutti_report_open(&(tutti_report_options){.active = 1,
                                           .style = TUTTI_REPORT_QUIET,
                                           .csv = path,
                                           .json = json,
                                           .append = run[i].append,
                                           .membership = run[i].membership,
                                           .again = 7},
            &report));
        report_all(report);
        ck_assert_ok(tutti_report_close(report, 0));
        FILE *file = fopen(path, "r");
        while (fgets(line, sizeof line, file))
            if (!strncmp(line, "eval,", 5)) memcpy(last, line, sizeof last);
        fclose(file);
        ck_assert_str_eq(last, run[i].row);
    }
    FILE *file = fopen(json, "r");
    int steps = 0, again = 0;
    json_t *event;
    while ((event = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL)) != NULL) {
        const char *name = json_string_value(json_object_get(event, "event"));
        const json_int_t membership = json_integer_value(json_object_get(event, "membership"));
        if (!strcmp(name, "step")) steps += (int)membership;
        again += (int)json_integer_value(json_object_get(event, "again"));
        json_decref(event);
    }
    fclose(file);
    unlink(path);
    unlink(json);
    ck_assert_int_eq(steps, 6 * (1 + 2));
    ck_assert_int_eq(again, 2 * 7);
}
END_TEST

START_TEST(people_get_lines_or_a_bar)
{
    ck_assert_ok(report_with(1, TUTTI_REPORT_LINES, NULL));
    ck_assert_ptr_null(strchr(people_text, '\r'));
    ck_assert_ptr_nonnull(strstr(people_text, "design funneled: 2 ranks, 1 lane"));
    ck_assert_ptr_nonnull(strstr(people_text, "recipe goyal: sgd, rate 0.25 (cosine, warm-up 3), "
                                              "momentum 0.5 nesterov, weight decay 0, "));
    ck_assert_ptr_nonnull(strstr(people_text, "epoch 1/2 step 3/6 loss 1.5000"));
    ck_assert_ptr_nonnull(strstr(people_text, "test accuracy 12.50 %"));
    ck_assert_ptr_nonnull(strstr(people_text, ", macro F1 25.00 %, weights 00ff\n"));
    ck_assert_ptr_null(strchr(people_text, '\033'));
    ck_assert_ptr_nonnull(
        strstr(people_text, "step 6/6 loss nan rate 0 images/s 7 hidden 0 % eta 0:00\n"));
    columns = 100;
    ck_assert_ok(report_with(1, TUTTI_REPORT_BAR, NULL));
    ck_assert_ptr_nonnull(
        strstr(people_text, "\r\033[Kepoch 2/2 [########################] step 6/6"));
}
END_TEST

/* A bar is never wider than the terminal, uses the available width, and keeps what matters most. */
START_TEST(bars_fit)
{
    for (columns = 2; columns < 130; columns++) {
        size_t longest = 0;
        ck_assert_ok(report_with(1, TUTTI_REPORT_BAR, NULL));
        for (const char *at = people_text; (at = strstr(at, "\r\033[K")); at++) {
            size_t length = strcspn(at + 4, "\r\n");
            int cleared = length == 0 || strncmp(at + 4, "epoch 2 step 6: ", 16) == 0;
            if (!cleared && strstr(at + 4, "step") && strncmp(at + 4, "step 6: saved", 13) != 0) {
                ck_assert_msg(
                    length < (size_t)columns, "%d columns: %.*s", columns, (int)length, at + 4);
                if (length > longest) longest = length;
            }
        }
        if (columns == 20)
            ck_assert_ptr_nonnull(strstr(people_text, "\r\033[Kstep 3/6 eta 0:00\r"));
        if (columns == 66) ck_assert_uint_ge(longest, 60);
        if (columns > 100) ck_assert_ptr_nonnull(strstr(people_text, "hidden 0 % eta 0:00"));
    }
    columns = 0;
}
END_TEST

START_TEST(times)
{
    static const struct {
        double s;
        const char *text;
    } rows[] = {{0, "0:00"}, {7.4, "0:07"}, {59.6, "1:00"}, {750, "12:30"}, {3600, "1:00:00"},
        {86399, "23:59:59"}, {172800, "2 d 0 h"}, {190000, "2 d 4 h"}, {NAN, "?"}, {-1, "?"},
        {1e12, "?"}};
    char text[TUTTI_TERMINAL_TIME];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_str_eq(tutti_terminal_time(rows[i].s, text), rows[i].text);
}
END_TEST

START_TEST(other_ranks_are_silent)
{
    remove(json_path);
    ck_assert_ok(report_with(0, TUTTI_REPORT_BAR, json_path));
    ck_assert_str_eq(people_text, "");
    ck_assert_int_ne(access(json_path, F_OK), 0);
}
END_TEST

START_TEST(failures_come_out)
{
    tutti_report *report;
    tutti_report_options options = {.active = 1, .json = "/nonexistent/folder/file"};
    ck_assert_int_eq(tutti_report_open(&options, &report), TUTTI_ERR_IO);
    if (access("/dev/full", W_OK) == 0)
        ck_assert_int_eq(report_with(1, TUTTI_REPORT_QUIET, "/dev/full"), TUTTI_ERR_IO);
}
END_TEST

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static const char *read_text(const char *path)
{
    static char text[65536];
    FILE *file = fopen(path, "r");
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

/* A run that cannot start leaves the page and the metrics of an earlier one; when another file cannot be written, the
 * page still says how the run has ended. */
START_TEST(files_of_runs_that_fail)
{
    static const char earlier[] = "of an earlier run\n";
    char page[] = "/tmp/tutti-report-page-XXXXXX", metrics[] = "/tmp/tutti-report-prom-XXXXXX";
    tutti_report *report;
    close(mkstemp(page));
    close(mkstemp(metrics));
    write_text(page, earlier);
    write_text(metrics, earlier);
    tutti_report_options options = {.active = 1,
        .style = TUTTI_REPORT_QUIET,
        .page = page,
        .metrics = metrics,
        .tensorboard = "/dev/null/board"};
    ck_assert_int_eq(tutti_report_open(&options, &report), TUTTI_ERR_IO);
    ck_assert_str_eq(read_text(page), earlier);
    ck_assert_str_eq(read_text(metrics), earlier);
    if (access("/dev/full", W_OK) == 0) {
        options.tensorboard = NULL;
        options.json = "/dev/full";
        ck_assert_ok(tutti_report_open(&options, &report));
        report_all(report);
        ck_assert_int_eq(tutti_report_close(report, 0), TUTTI_ERR_IO);
        ck_assert_ptr_nonnull(strstr(read_text(page), "The run has ended"));
        ck_assert_ptr_null(strstr(read_text(page), "http-equiv='refresh'"));
        ck_assert_ptr_nonnull(strstr(read_text(metrics), "tutti_steps_total 6\n"));
    }
    unlink(page);
    unlink(metrics);
}
END_TEST

int main(void)
{
    close(mkstemp(json_path));
    Suite *suite = suite_create("report");
    TCase *tcase = testing_case(suite, "report");
    tcase_add_test(tcase, json_has_the_promised_fields);
    tcase_add_test(tcase, a_table);
    tcase_add_test(tcase, memberships);
    tcase_add_test(tcase, people_get_lines_or_a_bar);
    tcase_add_test(tcase, bars_fit);
    tcase_add_test(tcase, times);
    tcase_add_test(tcase, other_ranks_are_silent);
    tcase_add_test(tcase, failures_come_out);
    tcase_add_test(tcase, files_of_runs_that_fail);
    int failed = testing_run(suite);
    remove(json_path);
    return failed;
}
