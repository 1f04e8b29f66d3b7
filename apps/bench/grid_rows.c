#include "apps/bench/grid_rows.h"

#include "apps/bench/result.h"
#include "dag/base/log.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int same_cell(const tutti_grid_row *a, const tutti_grid_row *b)
{
    return !strcmp(a->model, b->model) && !strcmp(a->wire, b->wire) &&
           !strcmp(a->precision, b->precision) && a->batch == b->batch && a->ranks == b->ranks &&
           a->link_mbit == b->link_mbit;
}

const tutti_grid_row *tutti_grid_rows_find(
    const tutti_grid_rows *rows, const tutti_grid_row *cell, const char *kind, const char *name)
{
    for (int i = 0; i < rows->count; i++) {
        const tutti_grid_row *r = &rows->row[i];
        if (same_cell(r, cell) && !strcmp(r->kind, kind) && (!name || !strcmp(r->name, name)))
            return r;
    }
    return NULL;
}

static tutti_status put(tutti_grid_rows *rows, const tutti_grid_row *row)
{
    tutti_grid_row *old = (void *)tutti_grid_rows_find(rows, row, row->kind, row->name);
    if (old) {
        *old = *row;
        return TUTTI_OK;
    }
    if (rows->count == rows->room) {
        int room = rows->room ? 2 * rows->room : 64;
        tutti_grid_row *more = realloc(rows->row, (size_t)room * sizeof *more);
        if (!more) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d results", room);
        rows->row = more;
        rows->room = room;
    }
    rows->row[rows->count++] = *row;
    return TUTTI_OK;
}

static void copy_text(char *to, size_t size, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    snprintf(to, size, "%s", text ? text : "");
}

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* A number or a word, as text. */
static void copy_option(char *to, size_t size, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    copy_text(to, size, object, key);
    if (json_is_integer(value))
        snprintf(to, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
}

static tutti_status read_line(void *ctx, const json_t *object)
{
    tutti_grid_rows *rows = ctx;
    const char *event = json_string_value(json_object_get(object, "event"));
    if (event && !strcmp(event, "run"))
        copy_text(rows->commit, sizeof rows->commit, object, "commit");
    tutti_grid_row row = {.batch = (int)number(object, "batch"),
        .ranks = (int)number(object, "ranks"),
        .link_mbit = number(object, "link_mbit"),
        .step_ms = number(object, "step_ms"),
        .limit_ms = number(object, "limit_ms"),
        .over_peer = number(object, "over_peer"),
        .over_best = number(object, "over_best"),
        .least_ms = number(object, "least_ms"),
        .most_ms = number(object, "most_ms"),
        .count = (int)number(object, "count"),
        .over_limit = number(object, "over_limit"),
        .over_limit_least = number(object, "over_limit_least"),
        .over_limit_most = number(object, "over_limit_most")};
    if (!event || strcmp(event, "step") != 0) return TUTTI_OK;
    copy_text(row.kind, sizeof row.kind, object, "kind");
    copy_text(row.name, sizeof row.name, object, "name");
    copy_text(row.model, sizeof row.model, object, "model");
    copy_text(row.wire, sizeof row.wire, object, "wire");
    copy_text(row.precision, sizeof row.precision, object, "precision");
    copy_text(row.priority, sizeof row.priority, object, "priority");
    copy_text(row.algorithm, sizeof row.algorithm, object, "algorithm");
    copy_option(row.workers, sizeof row.workers, object, "workers");
    copy_option(row.lanes, sizeof row.lanes, object, "lanes");
    memcpy(row.commit, rows->commit, sizeof row.commit);
    if (!*row.wire) snprintf(row.wire, sizeof row.wire, "f32");
    if (!*row.precision) snprintf(row.precision, sizeof row.precision, "f32");
    return put(rows, &row);
}

tutti_status tutti_grid_rows_read(const char *file, tutti_grid_rows *rows)
{
    *rows = (tutti_grid_rows){0};
    if (access(file, F_OK) && errno == ENOENT) return TUTTI_OK;
    tutti_status status = tutti_result_read(file, read_line, rows);
    if (status) tutti_grid_rows_free(rows);
    return status;
}

char *tutti_grid_row_title(const tutti_grid_row *row, char text[TUTTI_GRID_TITLE])
{
    int summed = strcmp(row->wire, "f32") != 0, computed = strcmp(row->precision, "f32") != 0;
    snprintf(text, TUTTI_GRID_TITLE, "%s%s%s%s%s", row->model, computed ? " computed in " : "",
        computed ? row->precision : "", summed ? " summed in " : "", summed ? row->wire : "");
    return text;
}

void tutti_grid_rows_free(tutti_grid_rows *rows)
{
    free(rows->row);
    *rows = (tutti_grid_rows){0};
}
