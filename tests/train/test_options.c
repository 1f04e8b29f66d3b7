/* apps/train/options: no option uses a number for a word, and a refused value is named together with the
 * accepted ones and with what set it. */
#include "apps/train/options.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tutti_train_options got;
static const tutti_train_program *program = &tutti_train_cifar;

/* Parses "--data x" and these two words; returns the text on stderr. */
static const char *parse(const char *option, const char *value, tutti_status *status)
{
    static char text[4096];
    char *const words[] = {"tutti-cifar", "--data", "x", (char *)option, (char *)value, NULL};
    tutti_conf_wish wish;
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    *status = tutti_train_options_parse(program, option ? 5 : 3, words, &got, &wish);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static int is_number(const tutti_setting *s)
{
    return s->kind == TUTTI_CONF_INT || s->kind == TUTTI_CONF_REAL ||
           s->kind == TUTTI_CONF_INT_OR || s->kind == TUTTI_CONF_REAL_OR;
}

static void refuses(const tutti_setting *s, const char *value)
{
    char option[64], wanted[96];
    tutti_status status;
    snprintf(option, sizeof option, "--%s", s->name);
    snprintf(wanted, sizeof wanted, "%s %s: %s", option, *value ? value : "\"\"",
        is_number(s) ? "must be a" : "");
    const char *says = parse(option, value, &status);
    ck_assert_msg(status == TUTTI_ERR_USAGE, "%s %s is accepted", option, value);
    ck_assert_msg(strstr(says, wanted) != NULL, "\"%s\" lacks \"%s\"", says, wanted);
    for (int i = 0; i < TUTTI_CONF_WORDS && s->words[i]; i++)
        ck_assert_msg(strstr(says, s->words[i]) != NULL, "\"%s\" lacks %s", says, s->words[i]);
}

START_TEST(every_number)
{
    static const char *const bad[] = {
        "-1", "-0.5", "nan", "inf", "1x", " 1", "", "0x1", "1e99", "Auto"};
    tutti_status status;
    parse(NULL, NULL, &status);
    for (const tutti_setting *s = got.setting; s->kind != TUTTI_CONF_END; s++)
        for (size_t i = 0; is_number(s) && i < sizeof bad / sizeof *bad; i++) refuses(s, bad[i]);
}
END_TEST

START_TEST(every_other_option)
{
    tutti_status status;
    parse(NULL, NULL, &status);
    for (const tutti_setting *s = got.setting; s->kind != TUTTI_CONF_END; s++) {
        if (s->kind == TUTTI_CONF_CHOICE) refuses(s, "-1");
        if (s->kind == TUTTI_CONF_CHOICE || s->kind == TUTTI_CONF_TEXT) refuses(s, "");
    }
}
END_TEST

/* The lowest value of a range is an ordinary number, and every listed word is accepted; options with
 * "auto" have it as default. */
START_TEST(the_ends_of_ranges)
{
    tutti_status status;
    parse(NULL, NULL, &status);
    for (const tutti_setting *s = got.setting; s->kind != TUTTI_CONF_END; s++) {
        char option[64], low[32];
        if (!is_number(s)) continue;
        ck_assert_msg(s->low >= 0, "--%s begins at %g", s->name, s->low);
        if (s->words[0] && !strcmp(s->words[0], "auto")) ck_assert_str_eq(s->fallback, "auto");
        snprintf(option, sizeof option, "--%s", s->name);
        for (int i = 0; i < TUTTI_CONF_WORDS && s->words[i]; i++) {
            const char *says = parse(option, s->words[i], &status);
            ck_assert_msg(status == TUTTI_OK, "%s %s: %s", option, s->words[i], says);
        }
        /* These depend on other options. */
        if (!strncmp(s->name, "stall", 5) || !strncmp(s->name, "checkpoint-", 11) ||
            !strcmp(s->name, "batch") || !strcmp(s->name, "snapshot-steps"))
            continue;
        snprintf(low, sizeof low, "%g", s->low);
        const char *says = parse(option, low, &status);
        ck_assert_msg(status == TUTTI_OK, "%s %s: %s", option, low, says);
    }
}
END_TEST

/* A rank of an elastic run makes snapshots, and refuses what such a run has no part for. */
START_TEST(elastic_runs)
{
    static const char *const refused[][2] = {{"--layout", "stages=2"}, {"--strategy", "rooted"},
        {"--compress", "topk:0.1"}, {"--design", "auto"}, {"--design", "sequential"},
        {"--shards", "local"}, {"--device", "cuda"}, {"--transport", "shm"}, {"--algorithm", "mpi"},
        {"--algorithm", "forest:x"}, {"--algorithm", "rules:x"}, {"--topology", "x"},
        {"--trace", "x"}, {"--find-lr", "x"}};
    tutti_status status;
    parse("--snapshot-steps", "5", &status);
    ck_assert_int_eq(status, TUTTI_ERR_USAGE);
    parse("--batch-rule", "global", &status);
    ck_assert_int_eq(status, TUTTI_ERR_USAGE);
    setenv("TUTTI_ELASTIC", "as tutti-run sets it", 1);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const char *says = parse(refused[i][0], refused[i][1], &status);
        ck_assert_msg(status == TUTTI_ERR_USAGE && strstr(says, "elastic run"), "%s %s: %s",
            refused[i][0], refused[i][1], says);
        ck_assert_msg(strstr(says, refused[i][0]) != NULL, "\"%s\" lacks %s", says, refused[i][0]);
    }
    const char *says = parse("--snapshot-steps", "5", &status);
    ck_assert_msg(status == TUTTI_OK, "%s", says);
    ck_assert(got.elastic.on && got.elastic.snapshot_steps.value == 5 && !got.elastic.batch_global);
    parse("--batch-rule", "global", &status);
    ck_assert(!status && got.elastic.batch_global);
    unsetenv("TUTTI_ELASTIC");
}
END_TEST

START_TEST(defaults)
{
    tutti_status status;
    parse(NULL, NULL, &status);
    ck_assert_ok(status);
    ck_assert_int_eq(got.rate.highest.word, TUTTI_CONF_AUTO);
    ck_assert_int_eq(got.exchange.bucket_mb.word, TUTTI_CONF_AUTO);
    ck_assert_int_eq(got.evaluation.every.word, 0);
    ck_assert_int_eq(got.evaluation.every.value, 1);
    ck_assert_int_eq(got.evaluation.views, 1);
    ck_assert_ptr_eq(got.update.rule, &tutti_update_sgd);
    ck_assert_int_ne(got.update.clip_norm.word, 0);
    ck_assert_int_ne(got.update.ema.word, 0);
    ck_assert_int_eq(got.accumulate, 1);
    ck_assert_int_eq(got.zero_last_scale, 0);
    parse("--optimizer", "lars", &status);
    ck_assert_ptr_eq(got.update.rule, &tutti_update_lars);
    parse("--ema", "0.5", &status);
    ck_assert_int_eq(got.update.ema.word, 0);
    parse("--eval-every", "never", &status);
    ck_assert_int_eq(got.evaluation.every.word, TUTTI_EVAL_NEVER);
    parse("--replica-check", "never", &status);
    ck_assert_int_eq(got.replica_check.word, TUTTI_REPLICA_NEVER);
}
END_TEST

START_TEST(recipes)
{
    tutti_status status;
    for (const tutti_train_recipe *r = tutti_train_recipes; r->name; r++) {
        const char *says = parse("--recipe", r->name, &status);
        ck_assert_msg(status == TUTTI_OK, "%s: %s", r->name, says);
        ck_assert_ptr_eq(got.recipe, r);
        /* Each of its defaults is a row of the table, and accepted there. */
        for (const tutti_train_default *d = r->defaults; d->option; d++) {
            char option[64];
            snprintf(option, sizeof option, "--%s=%s", d->option, d->value);
            says = parse(option, "--quiet", &status);
            ck_assert_msg(status == TUTTI_OK, "%s: %s", option, says);
        }
    }
    parse("--recipe", "goyal", &status);
    ck_assert_int_eq(got.epochs, 90);
    ck_assert_double_eq(got.rate.highest.value, 0.1);
    ck_assert_int_eq(got.rate.images.value, 256);
    ck_assert_double_eq(got.update.decay.value, 1e-4);
    ck_assert_int_eq(got.update.weights_only, 1);
    ck_assert_int_eq(got.zero_last_scale, 1);
    ck_assert_int_eq(got.update.no_nesterov, 0);
    ck_assert_int_eq(got.rate.milestones, 3);
    ck_assert_int_eq(got.rate.milestone[2], 80);
    ck_assert_double_eq(got.rate.warmup_epochs.value, 5);
    ck_assert_str_eq(got.rate.schedule->name, "milestones");
    /* What is given counts more: before or after --recipe, and to turn a flag off. */
    parse("--recipe=goyal", "--epochs=7", &status);
    ck_assert_int_eq(got.epochs, 7);
    parse("--decay-weights-only=0", "--recipe=goyal", &status);
    ck_assert_ok(status);
    ck_assert_int_eq(got.update.weights_only, 0);
    parse("--recipe", "none", &status);
    ck_assert_int_eq(got.epochs, 10);
    const char *says = parse("--milestones", "30,20", &status);
    ck_assert_int_eq(status, TUTTI_ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(says, "--milestones 30,20: must be up to 8 ascending epochs"));
}
END_TEST

START_TEST(windows)
{
    static const char *const wrong[] = {"window:1", "window:0", "window:-4", "window:", "window",
        "window:4x", "window:1000000001", "window:99999999999999999999", "none", "Full", "fuller"};
    tutti_status status;
    parse(NULL, NULL, &status);
    ck_assert_int_eq(got.data.window, 0);
    parse("--shuffle", "window:4096", &status);
    ck_assert_ok(status);
    ck_assert_int_eq(got.data.window, 4096);
    parse("--shuffle", "full", &status);
    ck_assert_ok(status);
    ck_assert_int_eq(got.data.window, 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char wanted[80];
        snprintf(wanted, sizeof wanted, "--shuffle %s: must be full, or window:G", wrong[i]);
        const char *says = parse("--shuffle", wrong[i], &status);
        ck_assert_msg(status == TUTTI_ERR_USAGE, "%s is accepted", wrong[i]);
        ck_assert_msg(strstr(says, wanted) != NULL, "%s: %s", wrong[i], says);
    }
}
END_TEST

/* A program has the table's rows, with its own defaults and choices. */
START_TEST(programs)
{
    tutti_status status;
    parse(NULL, NULL, &status);
    ck_assert_str_eq(got.model->name, "resnet20");
    ck_assert_int_eq(got.epochs, 10);
    program = &tutti_train_imagenet;
    parse(NULL, NULL, &status);
    ck_assert_ok(status);
    ck_assert_str_eq(got.model->name, "resnet50");
    ck_assert_int_eq(got.epochs, 90);
    const char *says = parse("--model", "resnet20", &status);
    ck_assert_int_eq(status, TUTTI_ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(says, "see tutti-imagenet --help"));
    for (const tutti_train_default *d = program->defaults; d->option; d++) {
        char option[64];
        snprintf(option, sizeof option, "--%s", d->option);
        says = parse(option, d->value, &status);
        ck_assert_msg(status == TUTTI_OK, "%s %s: %s", option, d->value, says);
    }
    program = &tutti_train_cifar;
}
END_TEST

/* Values that are refused only together with others, or by more than the table says: for each variable whose
 * value can be. */
static const struct {
    const char *name, *value, *option, *other;
} together[] = {
    {"layout", "stages=0", "--batch", "8"},
    {"design", "naive", "--batch", "8"},
    {"lanes", "3", "--batch", "8"},
    {"wire", "bf16", "--algorithm", "mpi"},
    {"comm-core", "both", "--batch", "8"},
    {"stall-dump", "3", "--batch", "8"},
    {"stall-abort", "4", "--batch", "8"},
    {"stall-warn", "11", "--stall-dump", "10"}, /* the dump is refused, and the warning named */
    {"workers", "2", "--batch", "1"},
    {"micro-batches", "9", "--batch", "8"},
    {"compress", "topk:2", "--batch", "8"},
    {"strategy", "elastic", "--batch", "8"},
    {"priority", "on", "--strategy", "local"},
};

/* Something that this setting accepts. */
static const char *good_value(const tutti_setting *s)
{
    static char low[32];
    if (s->fallback) return s->fallback;
    if (s->kind == TUTTI_CONF_FLAG) return "0";
    if (s->kind == TUTTI_CONF_CHOICE) return tutti_setting_choice(s, 0);
    if (!strcmp(s->name, "layout")) return "replicas=1";
    if (s->kind == TUTTI_CONF_TEXT) return "none";
    snprintf(low, sizeof low, "%g", s->low);
    return low;
}

static void names(const char *says, const char *wanted, const char *unwanted)
{
    ck_assert_msg(strstr(says, wanted) != NULL, "\"%s\" lacks \"%s\"", says, wanted);
    ck_assert_msg(!strstr(says, unwanted), "\"%s\" names \"%s\"", says, unwanted);
}

/* What is said later of a value names the variable, the option or the recipe that has set it. */
START_TEST(every_origin)
{
    char option[64], wanted[96];
    tutti_status status;
    parse(NULL, NULL, &status);
    for (int row = 0; got.setting[row].kind != TUTTI_CONF_END; row++) {
        const tutti_setting *s = &got.setting[row];
        if (s->kind == TUTTI_CONF_HEADING) continue;
        snprintf(option, sizeof option, "--%s", s->name);
        if (s->kind != TUTTI_CONF_FLAG && strcmp(s->name, "data")) {
            parse(option, good_value(s), &status);
            tutti_conf_refuse(&got.conf, s->name, "x", "no");
            snprintf(wanted, sizeof wanted, "%s x: no", option);
            names(tutti_last_error(), wanted, "default");
            parse(NULL, NULL, &status);
            tutti_conf_refuse(&got.conf, s->name, "x", "no");
            snprintf(wanted, sizeof wanted, "the default %s x: no", option);
            names(tutti_last_error(), wanted, "TUTTI");
        }
        if (!s->environment || !strcmp(s->name, "data")) continue;
        setenv(s->environment, good_value(s), 1);
        const char *says = parse(NULL, NULL, &status);
        ck_assert_msg(status == TUTTI_OK, "%s=%s: %s", s->environment, good_value(s), says);
        tutti_conf_refuse(&got.conf, s->name, "x", "no");
        snprintf(wanted, sizeof wanted, "%s='x': no", s->environment);
        names(tutti_last_error(), wanted, option);
        unsetenv(s->environment);
    }
    for (const tutti_train_recipe *r = tutti_train_recipes; r->name; r++)
        for (const tutti_train_default *d = r->defaults; d->option; d++) {
            parse("--recipe", r->name, &status);
            tutti_conf_refuse(&got.conf, d->option, d->value, "no");
            snprintf(wanted, sizeof wanted, "recipe %s's --%s %s: no", r->name, d->option, d->value);
            names(tutti_last_error(), wanted, "default");
        }
}
END_TEST

START_TEST(origins_of_values_refused_together)
{
    tutti_status status;
    for (size_t i = 0; i < sizeof together / sizeof *together; i++) {
        const tutti_setting *s = got.setting;
        char option[64];
        parse(NULL, NULL, &status);
        while (strcmp(s->name ? s->name : "", together[i].name) != 0) s++;
        snprintf(option, sizeof option, "--%s", s->name);
        setenv(s->environment, together[i].value, 1);
        const char *says = parse(together[i].option, together[i].other, &status);
        ck_assert_msg(status == TUTTI_ERR_USAGE, "%s=%s", s->environment, together[i].value);
        char spaced[80];
        snprintf(spaced, sizeof spaced, "%s ", option);
        names(says, s->environment, spaced);
        unsetenv(s->environment);
        setenv(s->environment, good_value(s), 1); /* an option counts more */
        char given[80];
        snprintf(given, sizeof given, "%s=%s", option, together[i].value);
        char both[80];
        snprintf(both, sizeof both, "%s=%s", together[i].option, together[i].other);
        says = parse(given, both, &status);
        ck_assert_int_eq(status, TUTTI_ERR_USAGE);
        names(says, option, s->environment);
        unsetenv(s->environment);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("options");
    TCase *tcase = testing_case(suite, "options");
    tcase_add_test(tcase, every_number);
    tcase_add_test(tcase, every_other_option);
    tcase_add_test(tcase, the_ends_of_ranges);
    tcase_add_test(tcase, elastic_runs);
    tcase_add_test(tcase, defaults);
    tcase_add_test(tcase, recipes);
    tcase_add_test(tcase, windows);
    tcase_add_test(tcase, programs);
    tcase_add_test(tcase, every_origin);
    tcase_add_test(tcase, origins_of_values_refused_together);
    return testing_run(suite);
}
