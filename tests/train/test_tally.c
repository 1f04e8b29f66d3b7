/* apps/train/tally: the five best, ties, rows that do not count, precision, recall and F1, the confusion
 * matrix; the page that shows them. */
#include "apps/train/page.h"
#include "apps/train/tally.h"
#include "tests/support/testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CLASSES = 7 };

START_TEST(five_best)
{
    /* The label's place: 5th, 6th, 5th of equals, 6th of equals, 1st; not counted. */
    static const float outputs[6][CLASSES] = {{9, 8, 7, 6, 5, 4, 3}, {9, 8, 7, 6, 5, 4, 3},
        {1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1}, {0, 0, 0, 0, 0, 0, 2}, {0}};
    static const int32_t labels[6] = {4, 5, 4, 5, 6, -1};
    tutti_tally tally;
    ck_assert_ok(tutti_tally_open(CLASSES, 1, &tally));
    ck_assert(isnan(tutti_tally_best(&tally)));
    tutti_tally_add(&tally, 6, outputs[0], labels);
    ck_assert_double_eq(tutti_tally_best(&tally), 3. / 5);
    /* What is predicted is the first of the highest, as in the accuracy. */
    ck_assert_int_eq(tally.matrix[4 * CLASSES + 0], 2);
    ck_assert_int_eq(tally.matrix[5 * CLASSES + 0], 2);
    ck_assert_int_eq(tally.matrix[6 * CLASSES + 6], 1);
    int64_t sum = 0;
    for (int i = 0; i < CLASSES * CLASSES; i++) sum += tally.matrix[i];
    ck_assert_int_eq(sum, 5);
    tutti_tally_close(&tally);
    ck_assert_ok(tutti_tally_open(5, 0, &tally));
    tutti_tally_add(&tally, 1, outputs[0], labels);
    ck_assert(isnan(tutti_tally_best(&tally))); /* of five classes every label is among five */
    ck_assert_ptr_null(tally.matrix);
    tutti_tally_close(&tally);
}
END_TEST

/* Counts images of `labels` that are taken for `predicted`. */
static void count_pairs(
    int classes, int images, const int32_t *labels, const int *predicted, tutti_tally *tally)
{
    ck_assert_ok(tutti_tally_open(classes, 0, tally));
    for (int i = 0; i < images; i++) {
        float outputs[CLASSES] = {0};
        outputs[predicted[i]] = 1;
        tutti_tally_add(tally, 1, outputs, &labels[i]);
    }
}

static void check_class(tutti_tally_class c, double precision, double recall, double f1)
{
    const double found[] = {c.precision, c.recall, c.f1}, wanted[] = {precision, recall, f1};
    for (int i = 0; i < 3; i++)
        ck_assert_msg(isnan(wanted[i]) ? isnan(found[i]) : fabs(found[i] - wanted[i]) < 1e-15,
            "number %d: %g, not %g", i, found[i], wanted[i]);
}

/* By hand. scikit-learn's precision_recall_fscore_support(..., zero_division=0) has 0 where NaN is here, and its
 * average="macro" is over the classes that occur in y_true or y_pred. */
START_TEST(precision_and_recall)
{
    /* Class 2 is never predicted, class 3 has no images, class 4 has neither. */
    static const int32_t labels[] = {0, 0, 0, 0, 1, 2};
    static const int predicted[] = {0, 0, 1, 1, 1, 3};
    tutti_tally tally;
    count_pairs(5, 6, labels, predicted, &tally);
    check_class(tutti_tally_of_class(&tally, 0), 1, 1. / 2, 2. / 3);
    check_class(tutti_tally_of_class(&tally, 1), 1. / 3, 1, 1. / 2);
    check_class(tutti_tally_of_class(&tally, 2), NAN, 0, 0);
    check_class(tutti_tally_of_class(&tally, 3), 0, NAN, 0);
    check_class(tutti_tally_of_class(&tally, 4), NAN, NAN, NAN);
    const tutti_tally_class mean = tutti_tally_macro(&tally);
    check_class(mean, (1 + 1. / 3) / 4, (1. / 2 + 1) / 4, (2. / 3 + 1. / 2) / 4);
    ck_assert_int_eq(mean.images, 6);
    ck_assert_int_eq(mean.predicted, 6);
    ck_assert_int_eq(mean.right, 3);
    tutti_tally_close(&tally);
    /* The example of scikit-learn's manual: 0.22, 0.33, 0.26. */
    static const int32_t true_labels[] = {0, 1, 2, 0, 1, 2};
    static const int guesses[] = {0, 2, 1, 0, 0, 1};
    count_pairs(3, 6, true_labels, guesses, &tally);
    check_class(tutti_tally_macro(&tally), 2. / 9, 1. / 3, 4. / 15);
    tutti_tally_close(&tally);
    count_pairs(3, 0, NULL, NULL, &tally);
    check_class(tutti_tally_macro(&tally), NAN, NAN, NAN);
    tutti_tally_close(&tally);
}
END_TEST

static char *read_page(const char *path)
{
    static char text[1 << 20];
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

/* Writes a page about `classes` classes. */
static char *page_of(int classes, char *const *names)
{
    char path[] = "/tmp/tutti-page-XXXXXX";
    tutti_page *page;
    tutti_tally tally;
    close(mkstemp(path));
    ck_assert_ok(tutti_page_new(path, 0, 0, 3600, &page));
    tutti_report_start start = {.model = "<m>",
        .compress = "none",
        .data = "d",
        .optimizer = "sgd",
        .recipe = "none",
        .library = "l",
        .precision = "f32",
        .design = "x",
        .wire = "f32",
        .steps_per_epoch = 10,
        .classes = classes,
        .class_names = names};
    tutti_page_on_start(page, &start);
    for (int i = 1; i <= 2000; i++)
        ck_assert_ok(tutti_page_on_step(page,
            &(tutti_report_step){.step = i, .loss = i == 5 ? NAN : 1. / i, .rate = 0.1}, NAN));
    ck_assert_ok(tutti_tally_open(classes, 1, &tally));
    float *outputs = calloc((size_t)classes, sizeof *outputs);
    for (int32_t label = 0; label < classes - 1; label++) {
        outputs[0] = label == 1; /* class 1 is taken for class 0, the others are right */
        outputs[label] = label != 1;
        tutti_tally_add(&tally, 1, outputs, &label);
        outputs[label] = 0;
    }
    for (int64_t epoch = 1; epoch <= 2; epoch++)
        ck_assert_ok(tutti_page_on_eval(page, &(tutti_report_eval){.step = 10 * epoch,
                                                  .train_loss = 1,
                                                  .test_loss = 2,
                                                  .test_accuracy = 0.5,
                                                  .tally = &tally}));
    tutti_page_on_summary(page, &(tutti_report_summary){.steps = 2000});
    ck_assert_ok(tutti_page_end(page, 0));
    tutti_page_free(page);
    tutti_tally_close(&tally);
    free(outputs);
    char *text = read_page(path);
    unlink(path);
    return text;
}

START_TEST(pages)
{
    char *names[] = {"cat", "<dog>", "cow", NULL};
    const char *text = page_of(3, names);
    static const char *const wanted[] = {"<title>Training report", "&lt;m&gt;, 0 parameters",
        "<svg", "Test accuracy 50.00 %", "&lt;dog&gt;</td><td><svg",
        "<td>1</td><td>0</td><td>&ndash;</td><td>0.0 %</td><td>0.0 %</td></tr>",
        "<td>1</td><td>1</td><td>50.0 %</td><td>100.0 %</td><td>66.7 %</td></tr>",
        "cow</td><td></td><td>no test "
        "image</td><td></td><td>&ndash;</td><td>&ndash;</td><td>&ndash;</td></tr>",
        "<th>2</th><th>1</th><th>25.0 %</th><th>50.0 %</th><th>33.3 %</th></tr>", "class='matrix'",
        "[[1,0,0],\n[1,0,0],\n[0,0,0]]"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        ck_assert_msg(strstr(text, wanted[i]) != NULL, "no \"%s\" in %.2000s", wanted[i], text);
    static const char *const unwanted[] = {"<dog>", "nan", "inf", "src=", "href=", "http"};
    for (size_t i = 0; i < sizeof unwanted / sizeof *unwanted; i++)
        ck_assert_msg(strstr(text, unwanted[i]) == NULL, "\"%s\" in %.2000s", unwanted[i], text);
    text = page_of(60, NULL);
    ck_assert_ptr_nonnull(strstr(text, "<tr><td>1</td><td>0</td><td>1</td></tr>"));
    ck_assert_ptr_null(strstr(text, "class='matrix'"));
}
END_TEST

static void check_progress(const char *path, const char *wanted, int refreshes)
{
    const char *text = read_page(path);
    ck_assert_msg(strstr(text, wanted) != NULL, "no \"%s\" in %.2000s", wanted, text);
    ck_assert_int_eq(strstr(text, "<meta http-equiv='refresh' content='3600'>") != NULL, refreshes);
}

/* What a page says of a run that begins, goes on, and then ends in one of three ways. */
START_TEST(progress)
{
    static const char *const last[] = {"<b>The run has failed</b> after step 3 of 9: its output",
        "<b>The run has ended</b> after step 5 of 9.",
        "<b>The run was interrupted by SIGTERM</b> after step 4 of 9; nothing is saved.",
        "<b>The run was interrupted by SIGINT</b> after step 4 of 9. To continue: <code>a &lt;b"};
    for (int way = 0; way < 4; way++) {
        char path[] = "/tmp/tutti-page-XXXXXX";
        tutti_page *page;
        close(mkstemp(path));
        ck_assert_ok(tutti_page_new(path, 0, 0, 3600, &page));
        tutti_page_on_start(
            page, &(tutti_report_start){.compress = "none", .recipe = "none", .steps = 9});
        const tutti_report_step step = {
            .epoch = 1, .epochs = 3, .step = 2, .steps = 9, .loss = 1, .rate = 1};
        ck_assert_ok(tutti_page_on_step(page, &step, 75));
        check_progress(
            path, "<b>Under way</b>: step 2 of 9, epoch 1 of 3, 1:15 left. Written 2", 1);
        tutti_report_step next = step;
        next.step = 3;
        ck_assert_ok(tutti_page_on_step(page, &next, NAN)); /* too soon to write */
        check_progress(path, "step 2 of 9", 1);
        ck_assert_ok(tutti_page_on_eval(page, &(tutti_report_eval){.step = 3}));
        check_progress(path, "step 3 of 9, epoch 1 of 3. Written 2", 1);
        ck_assert_ok(tutti_page_end(page, 1));
        check_progress(path, "<b>Under way</b>", 1);
        if (way == 1) tutti_page_on_summary(page, &(tutti_report_summary){.steps = 5});
        if (way == 2) tutti_page_on_interrupt(page, "SIGTERM", 4, NULL);
        if (way == 3) tutti_page_on_interrupt(page, "SIGINT", 4, "a <b");
        ck_assert_ok(tutti_page_end(page, 0));
        check_progress(path, last[way], 0);
        tutti_page_free(page);
        unlink(path);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tally");
    TCase *tcase = testing_case(suite, "tally");
    tcase_add_test(tcase, five_best);
    tcase_add_test(tcase, precision_and_recall);
    tcase_add_test(tcase, pages);
    tcase_add_test(tcase, progress);
    return testing_run(suite);
}
