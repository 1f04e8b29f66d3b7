#include "config.h"

#include "apps/train/config_file.h"

#include "dag/base/lines.h"
#include "dag/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char **kept; /* of the file that was read: options point into it until the process ends */

const char *tutti_train_config_find(int argc, char *const argv[])
{
    static const char name[] = "--config";
    const char *file = NULL;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strncmp(argv[i], name, sizeof name - 1) != 0) continue;
        if (argv[i][sizeof name - 1] == '=') file = argv[i] + sizeof name;
        if (!argv[i][sizeof name - 1] && i + 1 < argc) file = argv[++i];
    }
    return file;
}

/* ---- reading ---- */

static tutti_status refuse(const char *path, const char *key, const char *why)
{
    return tutti_fail(TUTTI_ERR_USAGE, "--config %s: \"%.64s\" %s", path, key, why);
}

/* Returns "--batch=64"; NULL without memory. */
static char *write_word(const char *key, const json_t *value)
{
    char *word = NULL;
    int n = -1;
    if (json_is_string(value)) n = asprintf(&word, "--%s=%s", key, json_string_value(value));
    if (json_is_boolean(value)) n = asprintf(&word, "--%s=%d", key, json_is_true(value));
    if (json_is_integer(value))
        n = asprintf(&word, "--%s=%" JSON_INTEGER_FORMAT, key, json_integer_value(value));
    if (json_is_real(value)) n = asprintf(&word, "--%s=%.17g", key, json_real_value(value));
    return n < 0 ? NULL : word;
}

static tutti_status write_words(const char *path, json_t *object, char **words)
{
    const char *key;
    json_t *value;
    int n = 0;
    json_object_foreach(object, key, value)
    {
        static const char *const no[] = {"config", "help", "version"};
        for (size_t i = 0; i < sizeof no / sizeof *no; i++)
            if (strcmp(key, no[i]) == 0) return refuse(path, key, "is for the command line");
        if (json_is_array(value) || json_is_object(value) || json_is_null(value))
            return refuse(path, key, "must be a text, a number, true or false");
        words[n] = write_word(key, value);
        if (!words[n++]) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for --config %s", path);
    }
    return TUTTI_OK;
}

/* The options of the run that has written this; NULL: there are none. */
static json_t *find_event(tutti_lines *lines)
{
    json_t *found = NULL;
    char *line = NULL;
    while (!tutti_lines_next(lines, &line) && line) {
        json_t *event = json_loads(line, 0, NULL), *options = json_object_get(event, "options");
        const char *name = json_string_value(json_object_get(event, "event"));
        if (name && strcmp(name, "options") == 0 && json_is_object(options)) {
            json_decref(found);
            found = json_incref(options);
        }
        json_decref(event);
    }
    return found;
}

static tutti_status read_object(const char *path, json_t **object)
{
    json_error_t error;
    tutti_lines lines;
    if (!*path) return TUTTI_OK; /* parsing refuses it */
    tutti_status status = tutti_lines_open(path, &lines);
    if (status) return status == TUTTI_ERR_FORMAT ? TUTTI_ERR_USAGE : status;
    *object = json_loadb(lines.at, (size_t)(lines.end - lines.at), JSON_REJECT_DUPLICATES, &error);
    if (!*object || json_object_get(*object, "event")) {
        json_decref(*object);
        *object = find_event(&lines);
    }
    if (!*object)
        status = tutti_fail(TUTTI_ERR_USAGE,
            "--config %s: line %d: %s; nor is it a file that --json has written", path,
            error.line, *error.text ? error.text : "no object of options");
    if (!status && !json_is_object(*object))
        status =
            tutti_fail(TUTTI_ERR_USAGE, "--config %s: it must be an object: {\"batch\": 64}", path);
    if (status) {
        json_decref(*object);
        *object = NULL;
    }
    tutti_lines_close(&lines);
    return status;
}

/* Parses them as a command line, to check them. */
static tutti_status try_words(const tutti_train_options *o, const char *path, char **words)
{
    tutti_train_options *scratch = malloc(sizeof *scratch);
    tutti_conf_wish wish;
    int n = 0;
    while (words[n]) n++;
    char **line = calloc((size_t)n + 2, sizeof *line);
    tutti_status status = TUTTI_OK;
    if (!scratch || !line) {
        status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for --config %s", path);
    } else {
        *scratch = *o;
        scratch->conf.settings = scratch->setting;
        for (tutti_setting *s = scratch->setting; s->kind != TUTTI_CONF_END; s++)
            s->flags &= ~TUTTI_CONF_REQUIRED;
        line[0] = (char *)o->conf.program;
        memcpy(line + 1, words, (size_t)n * sizeof *line);
        status = tutti_conf_parse(&scratch->conf, n + 1, line, scratch, NULL, &wish);
        if (status) tutti_fail(status, "--config %s has this option", path);
    }
    free(line);
    free(scratch);
    return status;
}

tutti_status tutti_train_config_read(const tutti_train_options *o, const char *path, char ***words)
{
    json_t *object = NULL;
    *words = NULL;
    tutti_status status = read_object(path, &object);
    if (status || !object) return status;
    for (int i = 0; kept && kept[i]; i++) free(kept[i]);
    free(kept);
    kept = calloc(json_object_size(object) + 1, sizeof *kept);
    if (!kept) status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for --config %s", path);
    if (!status) status = write_words(path, object, kept);
    if (!status) status = try_words(o, path, kept);
    json_decref(object);
    if (!status) *words = kept;
    return status;
}

/* ---- writing ---- */

json_t *tutti_train_config_object(const tutti_train_options *o)
{
    static const char files[] = "Files and messages"; /* the heading of what a run writes */
    static const char read[] = "init-from"; /* is behind it, and is a file that a run reads */
    tutti_train_options given = *o;
    if (o->elastic.batch_given) given.batch = o->elastic.batch_given;
    char *text = tutti_conf_text(&o->conf, &given), *at = text;
    json_t *object = text ? json_object() : NULL;
    int written = 0;
    for (const tutti_setting *s = o->conf.settings; object && at && *at; s++) {
        if (s->kind == TUTTI_CONF_END) break;
        if (s->kind == TUTTI_CONF_HEADING && strcmp(s->help, files) == 0) written = 1;
        const size_t length = s->name ? strlen(s->name) : 0;
        if (!length || strncmp(at, s->name, length) != 0 || at[length] != '=') continue;
        char *value = at + length + 1, *end = value + strcspn(value, "\n");
        const int last = !*end;
        *end = '\0';
        if (*value && (!written || strcmp(s->name, read) == 0) && strcmp(s->name, "config") != 0)
            json_object_set_new(object, s->name, json_string(value));
        at = last ? end : end + 1;
    }
    free(text);
    return object;
}
