/* dag/base/conf: where values come from, what is refused and with which message, --help, and the
 * comparison between ranks. */
#include "dag/base/conf.h"
#include "dag/base/conf_print.h"
#include "tests/support/testing.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/version.h>
#include <unistd.h>

typedef struct values {
    int64_t batch;
    double rate;
    const char *design, *data;
    int augment, verbose;
    tutti_conf_int every;
    tutti_conf_real bucket;
} values;

static const char *design_choice(int i)
{
    static const char *const names[] = {"funneled", "chained", NULL};
    return names[i];
}

#define AT(member) .offset = offsetof(values, member)
static const tutti_setting settings[] = {
    {TUTTI_CONF_HEADING, .help = "Everything"},
    {TUTTI_CONF_INT, "batch", "N", .fallback = "8", .low = 1, .high = 64, AT(batch),
        .help = "images a rank a step, and a text that is long enough to go on in the line below "
                "this one"},
    {TUTTI_CONF_REAL, "lr", "X", .fallback = "0.1", .low = 0, .high = 10, AT(rate), .help = "rate"},
    {TUTTI_CONF_CHOICE, "design", "NAME", .fallback = "funneled", .choice = design_choice,
        .environment = "TUTTI_TEST_DESIGN", AT(design), .help = "design"},
    {TUTTI_CONF_TEXT, "data", "DIR", .flags = TUTTI_CONF_REQUIRED, AT(data), .help = "folder"},
    {TUTTI_CONF_FLAG, "augment", .environment = "TUTTI_TEST_AUGMENT", AT(augment),
        .help = "crop and flip"},
    {TUTTI_CONF_INT_OR, "every", "N", .fallback = "3", .low = 1, .high = 9,
        .words = {"end", "never"}, AT(every), .help = "evaluations"},
    {TUTTI_CONF_REAL_OR, "bucket", "X", .fallback = "auto", .high = 100, .words = {"auto"},
        .environment = "TUTTI_TEST_BUCKET", AT(bucket), .help = "buckets"},
    {TUTTI_CONF_FLAG, "verbose", .flags = TUTTI_CONF_LOCAL, AT(verbose), .help = "say more"},
    {0},
};
static const tutti_conf conf = {
    .program = "prog", .usage = "--data DIR", .summary = "Does it.", .settings = settings};

static values got;
static tutti_conf_origin origin[sizeof settings / sizeof *settings];
static tutti_conf_wish wish;

static tutti_status parse(const char *line)
{
    static char text[512]; /* values point into it until the next parse */
    char *words[32] = {"prog"};
    int n = 1;
    snprintf(text, sizeof text, "%s", line);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) words[n++] = word;
    return tutti_conf_parse(&conf, n, words, &got, origin, &wish);
}

/* What parse(line) writes to stderr. */
static const char *complaint(const char *line)
{
    static char text[2048];
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    ck_assert_int_eq(parse(line), TUTTI_ERR_USAGE);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

START_TEST(values_come_from_three_places)
{
    ck_assert_ok(parse("--data d"));
    ck_assert_int_eq(got.batch, 8);
    ck_assert_double_eq(got.rate, 0.1);
    ck_assert_str_eq(got.design, "funneled");
    ck_assert_int_eq(got.augment, 0);
    ck_assert_int_eq(origin[1], TUTTI_CONF_FROM_FALLBACK);

    setenv("TUTTI_TEST_DESIGN", "chained", 1);
    setenv("TUTTI_TEST_AUGMENT", "1", 1);
    ck_assert_ok(parse("--data=d --batch=9 --lr 1e-3"));
    ck_assert_int_eq(got.batch, 9);
    ck_assert_double_eq(got.rate, 1e-3);
    ck_assert_str_eq(got.design, "chained");
    ck_assert_int_eq(got.augment, 1);
    ck_assert_int_eq(origin[1], TUTTI_CONF_FROM_OPTION);
    ck_assert_int_eq(origin[3], TUTTI_CONF_FROM_ENVIRONMENT);

    ck_assert_ok(parse("--data d --design funneled --batch 1 --batch 2 --augment --verbose"));
    ck_assert_str_eq(got.design, "funneled");
    ck_assert_int_eq(got.batch, 2);
    ck_assert_int_eq(got.verbose, 1);
    ck_assert_int_eq(wish.what, TUTTI_CONF_RUN);
    unsetenv("TUTTI_TEST_DESIGN");
    unsetenv("TUTTI_TEST_AUGMENT");
}
END_TEST

/* A function without a command line. */
START_TEST(the_environment_alone_is_read)
{
    tutti_conf function = conf;
    function.program = "tutti_attach";
    function.usage = NULL;
    setenv("TUTTI_TEST_DESIGN", "chained", 1);
    ck_assert_ok(tutti_conf_environment(&function, &got, NULL));
    ck_assert_str_eq(got.design, "chained");
    ck_assert_int_eq(got.batch, 8);
    setenv("TUTTI_TEST_BUCKET", "many", 1);
    ck_assert_int_eq(tutti_conf_environment(&function, &got, NULL), TUTTI_ERR_USAGE);
    ck_assert_str_eq(got.design, "funneled");
    ck_assert_str_eq(tutti_last_error(),
        "tutti_attach: TUTTI_TEST_BUCKET='many': must be a number from 0 to 100 or auto");
    /* the rows that the caller gives hide their variables, and only those */
    for (int row = 0; settings[row].kind != TUTTI_CONF_END; row++) {
        const char *variable = settings[row].environment;
        origin[row] = variable && strcmp(variable, "TUTTI_TEST_BUCKET") == 0
                          ? TUTTI_CONF_FROM_OPTION
                          : TUTTI_CONF_FROM_ENVIRONMENT;
    }
    ck_assert_ok(tutti_conf_environment(&function, &got, origin));
    ck_assert_str_eq(got.design, "chained");
    for (int row = 0; settings[row].kind != TUTTI_CONF_END; row++) {
        const char *variable = settings[row].environment;
        ck_assert_int_eq(
            origin[row], !variable                                    ? TUTTI_CONF_FROM_FALLBACK
                         : strcmp(variable, "TUTTI_TEST_BUCKET") == 0 ? TUTTI_CONF_FROM_OPTION
                         : strcmp(variable, "TUTTI_TEST_DESIGN") == 0 ? TUTTI_CONF_FROM_ENVIRONMENT
                                                                      : TUTTI_CONF_FROM_FALLBACK);
    }
    unsetenv("TUTTI_TEST_DESIGN");
    unsetenv("TUTTI_TEST_BUCKET");
}
END_TEST

START_TEST(complaints_name_everything)
{
    static const struct {
        const char *line, *says[4];
    } rows[] = {
        {"--data d --batch 0", {"--batch 0", "from 1 to 64", "prog --help"}},
        {"--data d --batch 65", {"--batch 65", "from 1 to 64"}},
        {"--data d --batch 7x", {"--batch 7x", "an integer"}},
        {"--data d --batch 99999999999999999999", {"--batch 99999999999999999999", "an integer"}},
        {"--data d --batch=", {"--batch \"\"", "an integer"}},
        {"--data d --lr nan", {"--lr nan", "a number from 0 to 10"}},
        {"--data d --lr -1", {"--lr -1", "from 0 to 10"}},
        {"--data d --lr inf", {"--lr inf", "a number from 0 to 10"}},
        {"--data d --lr 1e999", {"--lr 1e999", "a number from 0 to 10"}},
        {"--data d --lr 0x1", {"--lr 0x1", "a number from 0 to 10"}},
        {"--data d --lr 1,5", {"--lr 1,5", "a number from 0 to 10"}},
        {"--data d --lr auto", {"--lr auto", "must be a number from 0 to 10"}},
        {"--data d --batch 8.0", {"--batch 8.0", "an integer"}},
        {"--data d --every 0", {"--every 0", "must be an integer from 1 to 9, end or never"}},
        {"--data d --every -1", {"--every -1", "must be an integer from 1 to 9, end or never"}},
        {"--data d --every ends", {"--every ends", "end or never"}},
        {"--data d --every auto", {"--every auto", "end or never"}},
        {"--data d --bucket -1", {"--bucket -1", "must be a number from 0 to 100 or auto"}},
        {"--data d --bucket nan", {"--bucket nan", "must be a number from 0 to 100 or auto"}},
        {"--data d --bucket -0.5", {"--bucket -0.5", "or auto"}},
        {"--data d --bucket 1x", {"--bucket 1x", "or auto"}},
        {"--data d --bucket=", {"--bucket \"\"", "or auto"}},
        {"--data d --design best", {"--design best", "funneled, chained (see"}},
        {"--data d --augment=2", {"--augment 2", "must be 0 or 1"}},
        {"--data d --augment 0", {"0", "only options"}},
        {"--data d --version=1", {"--version=1", "takes no value"}},
        {"--data d --nothing", {"--nothing", "no such option (see"}},
        {"--data d --batch-size 4", {"--batch-size", "no such option; did you mean --batch?"}},
        {"--data d --bacth=4", {"no such option; did you mean --batch?"}},
        {"--data d --verbsoe", {"no such option; did you mean --verbose?"}},
        {"--data d --b 4", {"--b", "no such option (see"}},
        {"--data d --batc 4", {"--batc", "no such option; did you mean --batch?"}},
        {"--data d --batc=4", {"no such option; did you mean --batch?"}},
        {"--data d --verbos", {"--verbos", "no such option; did you mean --verbose?"}},
        {"--data d --hel", {"--hel", "no such option"}},
        {"--data d --batch 0", {"--batch 0", "from 1 to 64"}},
        {"--data d --design funeled", {"known: funneled, chained; did you mean funneled?"}},
        {"--data d -b 4", {"-b", "no such option"}},
        {"--data", {"--data", "a value is missing"}},
        {"--data d stray", {"stray", "only options"}},
        {"--batch 4", {"--data DIR is missing", "folder"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *text = complaint(rows[i].line);
        for (int k = 0; rows[i].says[k]; k++)
            ck_assert_msg(strstr(text, rows[i].says[k]) != NULL, "%s: \"%s\" lacks \"%s\"",
                rows[i].line, text, rows[i].says[k]);
        ck_assert_int_eq(got.batch, 8); /* fallbacks after a failure */
    }
    setenv("TUTTI_TEST_DESIGN", "best", 1);
    ck_assert_ptr_nonnull(
        strstr(complaint("--data d"), "TUTTI_TEST_DESIGN='best': unknown design"));
    ck_assert_ok(parse("--data d --design chained")); /* an option overrides a bad variable */
    setenv("TUTTI_TEST_DESIGN", "", 1);
    ck_assert_ptr_nonnull(strstr(complaint("--data d"), "TUTTI_TEST_DESIGN='': unknown design"));
    unsetenv("TUTTI_TEST_DESIGN");
    setenv("TUTTI_TEST_BUCKET", "-1", 1);
    ck_assert_ptr_nonnull(
        strstr(complaint("--data d"), "TUTTI_TEST_BUCKET='-1': must be a number from 0"));
    unsetenv("TUTTI_TEST_BUCKET");
}
END_TEST

START_TEST(words_in_place_of_numbers)
{
    ck_assert_ok(parse("--data d"));
    ck_assert_int_eq(got.every.word, 0);
    ck_assert_int_eq(got.every.value, 3);
    ck_assert_int_eq(got.bucket.word, TUTTI_CONF_AUTO);
    ck_assert_double_eq(tutti_conf_real_or(got.bucket, 7), 7);
    ck_assert_ok(parse("--data d --every end --bucket 0"));
    ck_assert_int_eq(got.every.word, 1);
    ck_assert_int_eq(tutti_conf_int_or(got.every, 5), 5);
    ck_assert_int_eq(got.bucket.word, 0);
    ck_assert_double_eq(tutti_conf_real_or(got.bucket, 7), 0);
    ck_assert_ok(parse("--data d --every never --every 4 --bucket 2.5 --bucket auto"));
    ck_assert_int_eq(got.every.value, 4);
    ck_assert_int_eq(got.bucket.word, TUTTI_CONF_AUTO);
    ck_assert_ok(parse("--data d --every never"));
    ck_assert_int_eq(got.every.word, 2);
    setenv("TUTTI_TEST_BUCKET", "auto", 1);
    ck_assert_ok(parse("--data d"));
    ck_assert_int_eq(got.bucket.word, TUTTI_CONF_AUTO);
    unsetenv("TUTTI_TEST_BUCKET");
}
END_TEST

START_TEST(help_tells_all)
{
    ck_assert_ok(parse("--help --nothing"));
    ck_assert_int_eq(wish.what, TUTTI_CONF_HELP);
    ck_assert_ptr_null(wish.topic);
    ck_assert_ok(parse("--version"));
    ck_assert_int_eq(wish.what, TUTTI_CONF_VERSION);
    char text[8192] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    ck_assert_int_eq(tutti_conf_print_help(&conf, "all", out), 1);
    tutti_conf_print_version(&conf, out);
    fclose(out);
    static const char *const says[] = {"Usage: prog --data DIR\n", "\nEverything:\n", "--batch N ",
        "(1 to 64; default", "(1 to 9, end or never; default 3)",
        "(0 to 100 or auto; default auto;", "(funneled, chained; default", "environment",
        "TUTTI_TEST_DESIGN", "folder (required)", "--augment ", "--help", "--version",
        "prog (Tutti) " TUTTI_VERSION};
    for (size_t i = 0; i < sizeof says / sizeof *says; i++)
        ck_assert_msg(strstr(text, says[i]) != NULL, "no \"%s\" in:\n%s", says[i], text);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        ck_assert_uint_lt(strlen(line), 80);
}
END_TEST

/* What --help TOPIC prints of a program that has much to say. */
static char *helps(const char *topic)
{
    static const tutti_conf_brief brief[] = {{"data", "images"}, {"batch", "how many"}, {0}};
    tutti_conf long_one = conf;
    static char text[8192];
    FILE *out = fmemopen(text, sizeof text, "w");
    long_one.brief = brief;
    text[0] = '\0';
    ck_assert_int_eq(tutti_conf_print_help(&long_one, topic, out), topic == NULL || *topic != 'x');
    fclose(out);
    return text;
}

START_TEST(help_is_short_and_has_topics)
{
    ck_assert_ok(parse("--help everything"));
    ck_assert_str_eq(wish.topic, "everything");
    ck_assert_ok(parse("--help=batch --nothing"));
    ck_assert_str_eq(wish.topic, "batch");
    char *text = helps(NULL);
    ck_assert_ptr_nonnull(strstr(text, "  --data DIR              images\n"));
    ck_assert_ptr_nonnull(strstr(text, "  --batch N               how many (8)\n"));
    ck_assert_ptr_nonnull(strstr(text, "the options of a section: everything\n"));
    ck_assert_ptr_null(strstr(text, "--design"));
    ck_assert_ptr_nonnull(strstr(helps("all"), "--design"));
    ck_assert_ptr_nonnull(strstr(helps("everything"), "--design"));
    ck_assert_ptr_null(strstr(helps("everything"), "Usage"));
    ck_assert_ptr_nonnull(strstr(helps("--batch"), "(1 to 64;"));
    ck_assert_ptr_null(strstr(helps("batch"), "--design"));
    ck_assert_str_eq(helps("xyz"), "");
}
END_TEST

START_TEST(rows_for_shells)
{
    char *text = helps("completion");
    ck_assert_ptr_nonnull(strstr(text, "--batch\tvalue\t\t"));
    ck_assert_ptr_nonnull(strstr(text, "--data\tfile\t\t"));
    ck_assert_ptr_nonnull(strstr(text, "--design\tvalue\tfunneled "));
    ck_assert_ptr_nonnull(strstr(text, "\n--help\tflag\t\t"));
    ck_assert_ptr_null(strstr(text, "verything")); /* headings are no words */
    for (const char *c = text; *c; c++) /* three tabs a row */
        for (int tabs = 0; *c && *c != '\n'; c++)
            if ((tabs += *c == '\t') > 3) ck_abort_msg("%s", text);
}
END_TEST

/* A program that takes a file: before, between or after the options, once, and not as an option. */
START_TEST(an_operand)
{
    static const tutti_setting rows[] = {
        {TUTTI_CONF_TEXT, "data", "FILE", .flags = TUTTI_CONF_REQUIRED | TUTTI_CONF_OPERAND,
            AT(data), .help = "a file"},
        {TUTTI_CONF_INT, "batch", "N", .fallback = "8", .low = 1, .high = 64, AT(batch),
            .help = "images"},
        {0}};
    static const tutti_conf takes_one = {
        .program = "prog", .usage = "FILE", .summary = "Does it.", .settings = rows};
    char *const before[] = {"prog", "a", "--batch", "3", NULL},
                *const behind[] = {"prog", "--batch", "3", "a", NULL},
                *const two[] = {"prog", "a", "b", NULL}, *const none[] = {"prog", NULL},
                *const empty[] = {"prog", "", NULL},
                *const option[] = {"prog", "--data", "a", NULL};
    char *help = NULL;
    size_t size;
    ck_assert_ok(tutti_conf_parse(&takes_one, 4, before, &got, NULL, &wish));
    ck_assert_str_eq(got.data, "a");
    ck_assert_int_eq(got.batch, 3);
    got.data = NULL;
    ck_assert_ok(tutti_conf_parse(&takes_one, 4, behind, &got, NULL, &wish));
    ck_assert_str_eq(got.data, "a");
    ck_assert_int_eq(tutti_conf_parse(&takes_one, 3, two, &got, NULL, &wish), TUTTI_ERR_USAGE);
    ck_assert_int_eq(tutti_conf_parse(&takes_one, 1, none, &got, NULL, &wish), TUTTI_ERR_USAGE);
    ck_assert_int_eq(tutti_conf_parse(&takes_one, 2, empty, &got, NULL, &wish), TUTTI_ERR_USAGE);
    ck_assert_int_eq(tutti_conf_parse(&takes_one, 3, option, &got, NULL, &wish), TUTTI_ERR_USAGE);
    FILE *out = open_memstream(&help, &size);
    tutti_conf_print_help(&takes_one, NULL, out);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(help, "\n  FILE "));
    free(help);
}
END_TEST

START_TEST(texts_tell_ranks_apart)
{
    tutti_conf_difference difference;
    ck_assert_ok(parse("--data d --verbose"));
    char *a = tutti_conf_text(&conf, &got);
    ck_assert_str_eq(a, "batch=8\nlr=0.10000000000000001\ndesign=funneled\ndata=d\naugment=0\n"
                        "every=3\nbucket=auto\n");
    ck_assert_ok(parse("--data=d"));
    char *b = tutti_conf_text(&conf, &got);
    ck_assert_int_eq(tutti_conf_compare(a, b, &difference), 0); /* --verbose may differ */
    free(b);
    ck_assert_ok(parse("--data d --design chained --augment"));
    b = tutti_conf_text(&conf, &got);
    ck_assert_int_eq(tutti_conf_compare(a, b, &difference), 1);
    ck_assert_str_eq(difference.name, "design");
    ck_assert_str_eq(difference.a, "funneled");
    ck_assert_str_eq(difference.b, "chained");
    ck_assert_int_eq(tutti_conf_compare(a, "", &difference), 1);
    ck_assert_str_eq(difference.name, "batch");
    ck_assert_int_eq(tutti_conf_compare("options=accepted\n", "options=refused\n", &difference), 1);
    ck_assert_str_eq(difference.b, "refused");
    ck_assert_int_eq(tutti_conf_compare("a=long\n", "other=x\n", &difference), 1);
    ck_assert_str_eq(difference.b, "x");
    free(a);
    free(b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("conf");
    TCase *tcase = testing_case(suite, "conf");
    tcase_add_test(tcase, values_come_from_three_places);
    tcase_add_test(tcase, the_environment_alone_is_read);
    tcase_add_test(tcase, complaints_name_everything);
    tcase_add_test(tcase, words_in_place_of_numbers);
    tcase_add_test(tcase, help_tells_all);
    tcase_add_test(tcase, help_is_short_and_has_topics);
    tcase_add_test(tcase, rows_for_shells);
    tcase_add_test(tcase, an_operand);
    tcase_add_test(tcase, texts_tell_ranks_apart);
    return testing_run(suite);
}
