#include "dag/base/conf.h"

#include "dag/base/conf_print.h"
#include "dag/base/log.h"
#include "dag/base/number.h"
#include "dag/base/origin.h"

#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* getopt_long's answers: row r of the table is FIRST_ROW + r. */
enum { WISH_HELP = 1, WISH_VERSION = 2, FIRST_ROW = 256 };

static int is_value(const tutti_setting *setting)
{
    return setting->kind > TUTTI_CONF_HEADING;
}

static int count_rows(const tutti_conf *conf)
{
    int rows = 0;
    while (conf->settings[rows].kind != TUTTI_CONF_END) rows++;
    return rows;
}

static const char *find_choice(const tutti_setting *setting, const char *text)
{
    const char *name;
    for (int i = 0; (name = tutti_setting_choice(setting, i)); i++)
        if (strcmp(name, text) == 0) return name;
    return setting->takes && setting->takes(text) ? text : NULL;
}

/* Reads a number in the setting's range. */
static int read_int(const tutti_setting *s, const char *text, int64_t *value)
{
    int64_t number;
    if (!tutti_number_int(text, &number)) return 0;
    if ((double)number < s->low || (double)number > s->high) return 0;
    *value = number;
    return 1;
}

static int read_real(const tutti_setting *s, const char *text, double *value)
{
    double number;
    if (!tutti_number_real(text, &number) || number < s->low || number > s->high) return 0;
    *value = number;
    return 1;
}

/* The number of the setting's word, from 1 on; 0: none of them. */
static int find_word(const tutti_setting *s, const char *text)
{
    for (int i = 0; i < TUTTI_CONF_WORDS && s->words[i]; i++)
        if (strcmp(s->words[i], text) == 0) return i + 1;
    return 0;
}

static int store_int_or(const tutti_setting *s, const char *text, tutti_conf_int *place)
{
    tutti_conf_int read = {.word = find_word(s, text)};
    if (!read.word && !read_int(s, text, &read.value)) return 0;
    *place = read;
    return 1;
}

static int store_real_or(const tutti_setting *s, const char *text, tutti_conf_real *place)
{
    tutti_conf_real read = {.word = find_word(s, text)};
    if (!read.word && !read_real(s, text, &read.value)) return 0;
    *place = read;
    return 1;
}

/* Stores `text` as the setting's value; returns 0 if it is not acceptable. */
static int store(const tutti_setting *setting, const char *text, void *values)
{
    void *place = (char *)values + setting->offset;
    if (!*text) return 0;
    switch (setting->kind) {
    case TUTTI_CONF_FLAG:
        if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0) return 0;
        *(int *)place = *text == '1';
        return 1;
    case TUTTI_CONF_INT:
        return read_int(setting, text, place);
    case TUTTI_CONF_REAL:
        return read_real(setting, text, place);
    case TUTTI_CONF_INT_OR:
        return store_int_or(setting, text, place);
    case TUTTI_CONF_REAL_OR:
        return store_real_or(setting, text, place);
    case TUTTI_CONF_CHOICE: {
        const char *name = find_choice(setting, text);
        if (name) *(const char **)place = name;
        return name != NULL;
    }
    default:
        *(const char **)place = text;
        return 1;
    }
}

static tutti_status refuse_value(const tutti_conf *conf, const tutti_setting *setting,
    const char *text, tutti_conf_origin origin)
{
    char expected[1024] = "";
    FILE *out = fmemopen(expected, sizeof expected, "w");
    if (out) {
        tutti_conf_print_expected(setting, text, out);
        fclose(out);
    }
    if (!conf->usage)
        return tutti_fail(TUTTI_ERR_USAGE, "%s: %s='%s': %s", conf->program, setting->environment,
            text, expected);
    if (origin == TUTTI_CONF_FROM_ENVIRONMENT)
        return tutti_fail(TUTTI_ERR_USAGE, "%s='%s': %s (see %s --help)", setting->environment,
            text, expected, conf->program);
    return tutti_fail(TUTTI_ERR_USAGE, "--%s %s: %s (see %s --help)", setting->name,
        *text ? text : "\"\"", expected, conf->program);
}

static void store_fallbacks(const tutti_conf *conf, void *values)
{
    for (const tutti_setting *s = conf->settings; s->kind != TUTTI_CONF_END; s++) {
        if (!is_value(s)) continue;
        void *place = (char *)values + s->offset;
        if (s->fallback) {
            store(s, s->fallback, values);
        } else if (s->kind == TUTTI_CONF_FLAG) {
            *(int *)place = 0;
        } else if (s->kind == TUTTI_CONF_INT) {
            *(int64_t *)place = 0;
        } else if (s->kind == TUTTI_CONF_REAL) {
            *(double *)place = 0;
        } else if (s->kind == TUTTI_CONF_INT_OR) {
            *(tutti_conf_int *)place = (tutti_conf_int){0};
        } else if (s->kind == TUTTI_CONF_REAL_OR) {
            *(tutti_conf_real *)place = (tutti_conf_real){0};
        } else {
            *(const char **)place = NULL;
        }
    }
}

/* Stores the environment's values of settings whose origin is still the fallback. */
static tutti_status store_environment(
    const tutti_conf *conf, void *values, tutti_conf_origin origin[])
{
    for (int row = 0; conf->settings[row].kind != TUTTI_CONF_END; row++) {
        const tutti_setting *s = &conf->settings[row];
        if (!s->environment || (origin && origin[row] != TUTTI_CONF_FROM_FALLBACK)) continue;
        const char *text = getenv(s->environment);
        if (!text) continue;
        if (!store(s, text, values))
            return refuse_value(conf, s, text, TUTTI_CONF_FROM_ENVIRONMENT);
        if (origin) origin[row] = TUTTI_CONF_FROM_ENVIRONMENT;
    }
    return TUTTI_OK;
}

tutti_status tutti_conf_environment(
    const tutti_conf *conf, void *values, tutti_conf_origin origin[])
{
    store_fallbacks(conf, values);
    for (int row = 0; origin && conf->settings[row].kind != TUTTI_CONF_END; row++)
        if (origin[row] != TUTTI_CONF_FROM_OPTION) origin[row] = TUTTI_CONF_FROM_FALLBACK;
    tutti_status status = store_environment(conf, values, origin);
    if (status) store_fallbacks(conf, values);
    return status;
}

static tutti_status check_required(const tutti_conf *conf, const tutti_conf_origin origin[])
{
    for (int row = 0; conf->settings[row].kind != TUTTI_CONF_END; row++) {
        const tutti_setting *s = &conf->settings[row];
        if ((s->flags & TUTTI_CONF_REQUIRED) && origin[row] == TUTTI_CONF_FROM_FALLBACK)
            return tutti_fail(TUTTI_ERR_USAGE, "%s%s%s%s is missing: %s (see %s --help)",
                s->flags & TUTTI_CONF_OPERAND ? "" : "--",
                s->flags & TUTTI_CONF_OPERAND ? "" : s->name,
                s->flags & TUTTI_CONF_OPERAND ? "" : " ", s->argument, s->help, conf->program);
    }
    return TUTTI_OK;
}

static void describe_options(const tutti_conf *conf, struct option *options)
{
    *options++ = (struct option){"help", optional_argument, NULL, WISH_HELP};
    *options++ = (struct option){"version", no_argument, NULL, WISH_VERSION};
    for (int row = 0; conf->settings[row].kind != TUTTI_CONF_END; row++) {
        const tutti_setting *s = &conf->settings[row];
        if (!is_value(s) || (s->flags & TUTTI_CONF_OPERAND)) continue;
        int takes = s->kind == TUTTI_CONF_FLAG ? optional_argument : required_argument;
        *options++ = (struct option){s->name, takes, NULL, FIRST_ROW + row};
    }
    *options = (struct option){0};
}

/* Reports what getopt_long did not accept; `word` is the argument it stopped at. */
static tutti_status refuse_word(const tutti_conf *conf, int answer, const char *word)
{
    if (answer == ':')
        return tutti_fail(
            TUTTI_ERR_USAGE, "%s: a value is missing (see %s --help)", word, conf->program);
    if (optopt == WISH_VERSION)
        return tutti_fail(
            TUTTI_ERR_USAGE, "%s: this option takes no value (see %s --help)", word, conf->program);
    char meant[256] = "";
    FILE *out = fmemopen(meant, sizeof meant, "w");
    if (out) {
        tutti_conf_print_suggestion(conf, word, out);
        fclose(out);
    }
    return tutti_fail(
        TUTTI_ERR_USAGE, "%s: no such option%s (see %s --help)", word, meant, conf->program);
}

/* getopt_long also takes the beginning of a name, which another option may have later. */
static int is_whole(const char *word, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(word, "--", 2) == 0 && strncmp(word + 2, name, length) == 0 &&
           (!word[2 + length] || word[2 + length] == '=');
}

static tutti_status read_options(const tutti_conf *conf, int argc, char *words[],
    const struct option *options, void *values, tutti_conf_origin origin[], tutti_conf_wish *wish)
{
    optind = 0; /* glibc: start afresh */
    opterr = 0;
    for (;;) {
        int answer = getopt_long(argc, words, ":", options, NULL);
        if (answer == -1) break;
        if (answer == WISH_HELP || answer == WISH_VERSION || answer >= FIRST_ROW) {
            const char *name = answer == WISH_HELP      ? "help"
                               : answer == WISH_VERSION ? "version"
                                                        : conf->settings[answer - FIRST_ROW].name;
            const char *word = words[optind - 1];
            if (optarg && optarg == word) word = words[optind - 2]; /* its value */
            optopt = 0;
            if (!is_whole(word, name)) return refuse_word(conf, '?', word);
        }
        if (answer == WISH_VERSION) {
            wish->what = TUTTI_CONF_VERSION;
            return TUTTI_OK;
        }
        if (answer == WISH_HELP) {
            const char *next = optind < argc && words[optind][0] != '-' ? words[optind] : NULL;
            *wish = (tutti_conf_wish){TUTTI_CONF_HELP, optarg ? optarg : next};
            return TUTTI_OK;
        }
        if (answer < FIRST_ROW) return refuse_word(conf, answer, words[optind - 1]);
        const tutti_setting *s = &conf->settings[answer - FIRST_ROW];
        const char *text = s->kind == TUTTI_CONF_FLAG && !optarg ? "1" : optarg;
        if (!store(s, text, values)) return refuse_value(conf, s, text, TUTTI_CONF_FROM_OPTION);
        origin[answer - FIRST_ROW] = TUTTI_CONF_FROM_OPTION;
    }
    for (int row = 0; conf->settings[row].kind != TUTTI_CONF_END; row++) {
        tutti_setting s = conf->settings[row];
        if (!(s.flags & TUTTI_CONF_OPERAND)) continue;
        int most = s.high > 1 ? (int)s.high : 1;
        for (int i = 0; i < most && optind < argc; i++, s.offset += sizeof(char *)) {
            if (!store(&s, words[optind], values))
                return tutti_fail(
                    TUTTI_ERR_USAGE, "%s is empty (see %s --help)", s.argument, conf->program);
            origin[row] = TUTTI_CONF_FROM_OPTION;
            optind++;
        }
        if (optind < argc && most > 1)
            return tutti_fail(TUTTI_ERR_USAGE, "more than %d times %s (see %s --help)", most,
                s.argument, conf->program);
    }
    if (optind < argc)
        return tutti_fail(TUTTI_ERR_USAGE, "%s: only options are expected (see %s --help)",
            words[optind], conf->program);
    return TUTTI_OK;
}

int64_t tutti_conf_bytes(tutti_conf_real megabytes)
{
    return megabytes.word ? -1 : (int64_t)llround(megabytes.value * 1e6);
}

/* For what is said of these settings from now on. */
static void note_origins(const tutti_conf *conf, const tutti_conf_origin origin[])
{
    for (int row = 0; conf->settings[row].kind != TUTTI_CONF_END; row++) {
        const tutti_setting *s = &conf->settings[row];
        if (!is_value(s) || (s->flags & TUTTI_CONF_OPERAND)) continue;
        if (origin[row] == TUTTI_CONF_FROM_ENVIRONMENT)
            tutti_origin_add(s->name, TUTTI_ORIGIN_VARIABLE, s->environment);
        else if (origin[row] == TUTTI_CONF_FROM_FALLBACK)
            tutti_origin_add(
                s->name, s->source ? TUTTI_ORIGIN_SOURCE : TUTTI_ORIGIN_DEFAULT, s->source);
    }
}

tutti_status tutti_conf_parse(const tutti_conf *conf, int argc, char *const argv[], void *values,
    tutti_conf_origin origin[], tutti_conf_wish *wish)
{
    size_t rows = (size_t)count_rows(conf);
    tutti_status status = TUTTI_ERR_NOMEM;
    struct option *options = calloc(rows + 3, sizeof *options);
    tutti_conf_origin *found = calloc(rows + 1, sizeof *found);
    /* getopt_long reorders its arguments, so it gets a copy of argv */
    char **words = calloc((size_t)argc + 1, sizeof *words);
    tutti_conf_wish asked = {.what = TUTTI_CONF_RUN};
    tutti_origin_clear();
    store_fallbacks(conf, values);
    if (!options || !found || !words) goto done;
    memcpy(words, argv, (size_t)argc * sizeof *words);
    describe_options(conf, options);
    status = read_options(conf, argc, words, options, values, found, &asked);
    if (!status && asked.what == TUTTI_CONF_RUN) status = store_environment(conf, values, found);
    if (!status && asked.what == TUTTI_CONF_RUN) status = check_required(conf, found);
    if (status) {
        store_fallbacks(conf, values);
    } else {
        *wish = asked;
        note_origins(conf, found);
        if (origin) memcpy(origin, found, rows * sizeof *found);
    }
done:
    free(options);
    free(found);
    free(words);
    return status;
}

tutti_status tutti_conf_refuse(
    const tutti_conf *conf, const char *name, const char *value, const char *reason)
{
    return tutti_fail(TUTTI_ERR_USAGE, "--%s%s%s: %s (see %s --help)", name, value ? " " : "",
        value ? value : "", reason, conf->program);
}

tutti_status tutti_conf_answer(const tutti_conf *conf, const tutti_conf_wish *wish, int *run)
{
    *run = wish->what == TUTTI_CONF_RUN;
    if (wish->what == TUTTI_CONF_VERSION) tutti_conf_print_version(conf, stdout);
    if (wish->what != TUTTI_CONF_HELP || tutti_conf_print_help(conf, wish->topic, stdout))
        return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_USAGE,
        "--help %s: neither an option nor a section of %s --help, which lists them", wish->topic,
        conf->program);
}

tutti_status tutti_conf_start(
    const tutti_conf *conf, int argc, char *const argv[], void *values, int *run)
{
    tutti_conf_wish wish = {0};
    tutti_status status = tutti_conf_parse(conf, argc, argv, values, NULL, &wish);
    *run = 0;
    return status ? status : tutti_conf_answer(conf, &wish, run);
}

/* ---- text of all settings ---- */

static void print_value(const tutti_setting *s, const void *values, FILE *out)
{
    const void *place = (const char *)values + s->offset;
    const char *text;
    switch (s->kind) {
    case TUTTI_CONF_FLAG:
        fprintf(out, "%d", *(const int *)place);
        break;
    case TUTTI_CONF_INT:
        fprintf(out, "%" PRId64, *(const int64_t *)place);
        break;
    case TUTTI_CONF_REAL:
        fprintf(out, "%.17g", *(const double *)place);
        break;
    case TUTTI_CONF_INT_OR: {
        const tutti_conf_int *i = place;
        if (i->word)
            fputs(s->words[i->word - 1], out);
        else
            fprintf(out, "%" PRId64, i->value);
        break;
    }
    case TUTTI_CONF_REAL_OR: {
        const tutti_conf_real *r = place;
        if (r->word)
            fputs(s->words[r->word - 1], out);
        else
            fprintf(out, "%.17g", r->value);
        break;
    }
    default:
        text = *(const char *const *)place;
        fputs(text ? text : "", out);
    }
}

char *tutti_conf_text(const tutti_conf *conf, const void *values)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    for (const tutti_setting *s = conf->settings; s->kind != TUTTI_CONF_END; s++) {
        if (!is_value(s) || (s->flags & TUTTI_CONF_LOCAL)) continue;
        fprintf(out, "%s=", s->name);
        print_value(s, values, out);
        fputc('\n', out);
    }
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

static void copy_cut(char *to, size_t size, const char *from, size_t length)
{
    snprintf(to, size, "%.*s", (int)(length < size ? length : size - 1), from);
}

/* The value in a line "name=value" of this length. */
static void copy_value(char *to, size_t size, const char *line, size_t length)
{
    size_t name = strcspn(line, "=\n");
    size_t skip = name < length ? name + 1 : length;
    copy_cut(to, size, line + skip, length - skip);
}

int tutti_conf_compare(const char *a, const char *b, tutti_conf_difference *difference)
{
    while (*a || *b) {
        size_t m = strcspn(a, "\n"), n = strcspn(b, "\n");
        if (m != n || memcmp(a, b, m) != 0) {
            const char *named = *a ? a : b;
            copy_cut(difference->name, sizeof difference->name, named, strcspn(named, "=\n"));
            copy_value(difference->a, sizeof difference->a, a, m);
            copy_value(difference->b, sizeof difference->b, b, n);
            return 1;
        }
        a += m + (a[m] == '\n');
        b += n + (b[n] == '\n');
    }
    return 0;
}
