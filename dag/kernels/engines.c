#include "dag/kernels/engines.h"

#include "dag/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct row {
    char *computed, *engine;
} row;

struct tutti_engines {
    int count, room;
    row *rows;
};

static const char separator[] = " = ";

static _Thread_local tutti_engines *current;

void tutti_engines_begin(tutti_engines *engines)
{
    current = engines;
}

void tutti_engines_end(void)
{
    current = NULL;
}

tutti_engines *tutti_engines_current(void)
{
    return current;
}

static tutti_status no_memory(void)
{
    return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a table of engines");
}

tutti_status tutti_engines_new(tutti_engines **engines)
{
    tutti_engines *made = calloc(1, sizeof *made);
    if (!made) return no_memory();
    *engines = made;
    return TUTTI_OK;
}

void tutti_engines_free(tutti_engines *engines)
{
    if (!engines) return;
    for (int i = 0; i < engines->count; i++) {
        free(engines->rows[i].computed);
        free(engines->rows[i].engine);
    }
    free(engines->rows);
    free(engines);
}

int tutti_engines_count(const tutti_engines *engines)
{
    return engines->count;
}

void tutti_engines_row(
    const tutti_engines *engines, int i, const char **computed, const char **engine)
{
    *computed = engines->rows[i].computed;
    *engine = engines->rows[i].engine;
}

static row *find_row(const tutti_engines *engines, const char *computed)
{
    for (int i = 0; i < engines->count; i++)
        if (!strcmp(engines->rows[i].computed, computed)) return &engines->rows[i];
    return NULL;
}

const char *tutti_engines_find(const tutti_engines *engines, const char *computed)
{
    const row *found = find_row(engines, computed);
    return found ? found->engine : NULL;
}

static tutti_status add_row(tutti_engines *engines, char *computed, char *engine)
{
    if (engines->count == engines->room) {
        const int room = engines->room ? 2 * engines->room : 16;
        row *rows = realloc(engines->rows, (size_t)room * sizeof *rows);
        if (!rows) return no_memory();
        engines->rows = rows;
        engines->room = room;
    }
    engines->rows[engines->count++] = (row){computed, engine};
    return TUTTI_OK;
}

tutti_status tutti_engines_put(tutti_engines *engines, const char *computed, const char *engine)
{
    row *found = find_row(engines, computed);
    char *key = found ? found->computed : strdup(computed), *value = strdup(engine);
    tutti_status status = key && value ? TUTTI_OK : no_memory();
    if (!status && !found) status = add_row(engines, key, value);
    if (status) {
        if (!found) free(key);
        free(value);
        return status;
    }
    if (found) {
        free(found->engine);
        found->engine = value;
    }
    return TUTTI_OK;
}

char *tutti_engines_print(const tutti_engines *engines)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    for (int i = 0; i < engines->count; i++)
        fprintf(out, "%s%s%s\n", engines->rows[i].computed, separator, engines->rows[i].engine);
    if (!fclose(out)) return text;
    free(text);
    return NULL;
}

/* Cuts a line in two, and adds it. */
static tutti_status read_line(tutti_engines *engines, char *line)
{
    char *middle = strstr(line, separator);
    const char *engine = middle ? middle + strlen(separator) : "";
    if (middle == line || !*engine)
        return tutti_fail(
            TUTTI_ERR_FORMAT, "a table of engines has a line without an engine: \"%s\"", line);
    *middle = 0;
    return find_row(engines, line) ? TUTTI_OK : tutti_engines_put(engines, line, engine);
}

tutti_status tutti_engines_read(tutti_engines *engines, const char *text)
{
    char *copy = strdup(text), *rest = copy, *line;
    tutti_status status = copy ? TUTTI_OK : no_memory();
    while (!status && (line = strsep(&rest, "\n")))
        if (*line) status = read_line(engines, line);
    free(copy);
    return status;
}
