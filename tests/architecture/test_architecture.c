/* apps/architecture: every model is a text that reads as the same network; what is wrong in a text is told; no text
 * does harm. */
#include "apps/architecture/architecture.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TEXT = 8192, MUTATIONS = 20000 };

static char *print(const tutti_model *model)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    ck_assert_ok(tutti_architecture_print(model, out));
    fclose(out);
    return text;
}

START_TEST(models_are_texts)
{
    for (int i = 0; tutti_models[i]; i++) {
        const tutti_model *model = tutti_models[i], *read, *again;
        const char *layer = "none";
        tutti_net *a, *b;
        char *text = print(model);
        ck_assert_ok(tutti_architecture_parse("own.json", text, &read));
        char *same = print(read);
        ck_assert_msg(strcmp(text, same) == 0, "%s: read and printed, another text", model->name);
        ck_assert_int_eq(read->parameters, model->parameters);
        ck_assert_int_eq(read->input.classes, model->input.classes);
        ck_assert_double_eq(read->recipe.rate, model->recipe.rate);
        ck_assert_ok(tutti_model_net(model, &model->input, &a));
        ck_assert_ok(tutti_model_net(read, &model->input, &b));
        ck_assert_ok(tutti_net_compare(a, b, &layer));
        ck_assert_msg(!layer, "%s: layer %s is another", model->name, layer);
        ck_assert_ok(
            tutti_architecture_parse("elsewhere/own.json", tutti_architecture_text(read), &again));
        ck_assert_ptr_eq(again, read); /* equal texts are one network */
        tutti_net_free(a);
        tutti_net_free(b);
        free(text);
        free(same);
    }
}
END_TEST

#define INPUT "\"input\": {\"height\": 8, \"width\": 8, \"classes\": 4}"
#define NETWORK(layers) "{" INPUT ", \"layers\": [" layers "]}"
#define CONV "{\"is\": \"conv\", \"name\": \"c\", \"filters\": 4, \"window\": 3, \"pad\": 1}"
#define DENSE "{\"is\": \"dense\", \"name\": \"d\", \"features\": \"classes\"}"

static const struct wrong {
    const char *text, *told;
} wrong[] = {
    {"{", "line 1: "},
    {"[]", "a network must be an object"},
    {"{\"layers\": []}", "\"input\" must be an object"},
    {"{" INPUT "}", "\"layers\" must be a list of 1 to"},
    {"{" INPUT ", \"layer\": []}", "\"layer\" is no key of a network"},
    {"{\"input\": {\"height\": 8, \"width\": 8}, \"layers\": [" DENSE "]}",
        "\"classes\" of \"input\""},
    {"{\"input\": {\"height\": 0, \"width\": 8, \"classes\": 2}, \"layers\": [" DENSE "]}",
        "\"height\" of \"input\""},
    {"{" INPUT ", \"recipe\": {\"lr\": -1}, \"layers\": [" DENSE "]}", "\"lr\" of \"recipe\""},
    {"{" INPUT ", \"layers\": [], \"layers\": []}", "duplicate"},
    {NETWORK("1"), "layer 1: it must be an object"},
    {NETWORK("{\"is\": \"convolution\", \"name\": \"c\"}"),
        "layer 1 (c): \"is\" must be one of conv, dense"},
    {NETWORK("{\"is\": \"relu\"}"), "layer 1: it has no \"name\""},
    {NETWORK(CONV ", " CONV ", " DENSE), "layer 2 (c): \"c\" is the name of a layer before it"},
    {NETWORK("{\"is\": \"conv\", \"name\": \"c\", \"filters\": 4}"),
        "layer 1 (c): \"window\" must be a whole"},
    {NETWORK("{\"is\": \"conv\", \"name\": \"c\", \"filters\": 1.5, \"window\": 3}"),
        "\"filters\" must be"},
    {NETWORK("{\"is\": \"conv\", \"name\": \"c\", \"filters\": 4, \"window\": [3]}"),
        "a list of two"},
    {NETWORK("{\"is\": \"conv\", \"name\": \"c\", \"filters\": 4, \"window\": 3, \"strid\": 2}"),
        "\"strid\" is no key of conv"},
    {NETWORK("{\"is\": \"norm\", \"name\": \"n\", \"relu\": 1}"), "\"relu\" must be true or false"},
    {NETWORK("{\"is\": \"relu\", \"name\": \"r\", \"limit\": 0}"),
        "\"limit\" must be a number from 1e-06 to"},
    {NETWORK("{\"is\": \"dropout\", \"name\": \"n\", \"rate\": 1}"),
        "\"rate\" must be a number from 0 to"},
    {NETWORK(CONV ", {\"is\": \"add\", \"name\": \"a\", \"of\": [\"c\", \"b\"]}"),
        "no layer before it is called \"b\""},
    {NETWORK(CONV ", {\"is\": \"add\", \"name\": \"a\"}"), "\"of\" must name two layers"},
    {NETWORK(CONV ", {\"is\": \"relu\", \"name\": \"r\", \"of\": [\"c\", \"c\"]}"),
        "relu reads one layer"},
    {NETWORK(CONV ", {\"is\": \"split\", \"name\": \"s\", \"channels\": []}"),
        "\"channels\" must be a list"},
    {NETWORK(CONV ", {\"is\": \"dense\", \"name\": \"d\", \"features\": 4, \"init\": \"he\"}"),
        "\"init\" must be"},
    {NETWORK(CONV ", {\"is\": \"scale\", \"of\": \"c\", \"rate\": 2}, " DENSE),
        "\"parameter\" must be"},
    {NETWORK(CONV), "this is no network for 8 x 8 images with 3 channels and 4 classes"},
    {NETWORK("{\"is\": \"conv\", \"name\": \"c\", \"filters\": 4, \"window\": 9}, " DENSE),
        "this is no network"},
};

START_TEST(mistakes_are_told)
{
    char told[4096];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const tutti_model *model;
        FILE *file = tmpfile();
        const int saved = dup(STDERR_FILENO);
        dup2(fileno(file), STDERR_FILENO);
        const tutti_status status = tutti_architecture_parse("a/b.json", wrong[i].text, &model);
        dup2(saved, STDERR_FILENO);
        close(saved);
        rewind(file);
        told[fread(told, 1, sizeof told - 1, file)] = '\0';
        fclose(file);
        ck_assert_msg(
            status == TUTTI_ERR_FORMAT && strstr(told, wrong[i].told) && strstr(told, "a/b.json: "),
            "%s: status %d, \"%s\" and not \"%s\"", wrong[i].text, (int)status, told,
            wrong[i].told);
    }
}
END_TEST

/* Texts of all kinds of layers, changed in a few places: each is a network, or is refused. */
START_TEST(no_text_does_harm)
{
    static const char seed[] =
        NETWORK(CONV ", "
                     "{\"is\":\"norm\",\"name\":\"n\",\"relu\":true},{\"is\":\"split\",\"name\":"
                     "\"s\",\"channels\":[2,2]},"
                     "{\"is\":\"add\",\"name\":\"a\",\"of\":[\"s.0\",\"s.1\"]},{\"is\":\"lrn\","
                     "\"name\":\"l\",\"size\":3},"
                     "{\"is\":\"concat\",\"name\":\"k\",\"of\":[\"a\",\"c\"]},{\"is\":\"max-pool\","
                     "\"name\":\"m\",\"window\":2,"
                     "\"stride\":2},{\"is\":\"dropout\",\"name\":\"o\",\"rate\":0.5},{\"is\":"
                     "\"shortcut\",\"name\":\"h\","
                     "\"filters\":8},{\"is\":\"relu\",\"name\":\"r\",\"limit\":6},{\"is\":\"global-"
                     "avg-pool\",\"name\":\"g\"}," DENSE ",{\"is\":\"scale\",\"of\":\"d\","
                     "\"parameter\":\"bias\",\"rate\":2}");
    static const char bytes[] = "{}[],:\"0123456789.-e truefalsnc\\\x01\xff";
    const unsigned long run = testing_seed(20);
    int right = 0;
    tutti_log_set_level(TUTTI_LOG_NONE);
    for (uint64_t i = 0; i < MUTATIONS / (testing_fewer() ? 10u : 1u); i++) {
        uint64_t next = 0;
        char text[TEXT];
        const tutti_model *model;
        strcpy(text, seed);
        for (int64_t change = tutti_rng_below(run, i, next++, 3); change >= 0; change--) {
            const size_t n = strlen(text), at = (size_t)tutti_rng_below(run, i, next++, (int64_t)n);
            const size_t some = (size_t)tutti_rng_below(run, i, next++, 8);
            if (tutti_rng_below(run, i, next++, 3) == 0 && at + some < n)
                memmove(text + at, text + at + some, n - at - some + 1);
            else
                text[at] = bytes[tutti_rng_below(run, i, next++, (int64_t)sizeof bytes - 1)];
        }
        const tutti_status status = tutti_architecture_parse("fuzz.json", text, &model);
        ck_assert_msg(status == TUTTI_OK || status == TUTTI_ERR_FORMAT, "%s: %s", text,
            tutti_status_name(status));
        right += !status;
    }
    tutti_log_set_level(TUTTI_LOG_INFO);
    ck_assert_int_gt(right, 5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("architecture");
    TCase *tcase = testing_case(suite, "architecture");
    tcase_add_test(tcase, models_are_texts);
    tcase_add_test(tcase, mistakes_are_told);
    tcase_add_test(tcase, no_text_does_harm);
    return testing_run(suite);
}
