#include "config.h" /* first: it asks libc for getline */

#include "apps/bench/grid.h"

#include "apps/bench/box.h"
#include "apps/bench/grid_rows.h"
#include "apps/bench/result.h"
#include "apps/bench/settings.h"
#include "apps/bench/verdict.h"
#include "dag/base/conf.h"
#include "dag/base/file.h"
#include "dag/base/lock.h"
#include "dag/base/log.h"
#include "dag/base/number.h"
#include "designs/exchange/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH = TUTTI_BOX_PATH, MOST_VALUES = 16 };

typedef struct options {
    const char *json, *hosts, *rates, *models, *peer, *box, *priority, *wire;
    int64_t blocks, lanes;
    tutti_conf_int steps;
    double cell_timeout_s;
    tutti_conf_real tuning_time_s;
    int verdict;
} options;

#define AT(member) .offset = offsetof(options, member)
static const tutti_setting settings[] = {
    {TUTTI_CONF_HEADING, .help = "Options"},
    {TUTTI_CONF_TEXT, "json", "FILE", .flags = TUTTI_CONF_REQUIRED, AT(json),
        .help = "file of the results, one JSON object per line; cells that have results in it are "
                "not run again"},
    {TUTTI_CONF_TEXT, "hosts", "LIST", .fallback = "2,4", AT(hosts), .help = "numbers of hosts"},
    {TUTTI_CONF_TEXT, "rates", "LIST", .fallback = "1000,200", AT(rates),
        .help = "rates of the links in Mbit/s"},
    {TUTTI_CONF_TEXT, "models", "LIST", .fallback = "resnet20:64,mlp-1024x5:64,vgg16:32,resnet50:8",
        AT(models), .help = "models, each with its batch (images per rank and step)"},
    {TUTTI_CONF_INT, "lanes", "K", .fallback = "8", .low = 1, .high = 64, AT(lanes),
        .help = "communicators of the concurrent design"},
    {TUTTI_CONF_INT_OR, "steps", "N", .fallback = "auto", .low = 1, .high = 100000,
        .words = {"auto"}, AT(steps),
        .help = "steps per block; auto: as many as fit into 4 seconds, 3 to 20"},
    {TUTTI_CONF_INT, "blocks", "N", .fallback = "3", .low = 1, .high = 1000, AT(blocks),
        .help = "number of blocks, in turns"},
    TUTTI_BENCH_SETTING_PEER(AT(peer)),
    {TUTTI_CONF_TEXT, "priority", "HOW", .fallback = "on", AT(priority),
        .help = "as for tutti-bench step: on, off or both"},
    TUTTI_SETTING_WIRE(AT(wire)),
    {TUTTI_CONF_REAL_OR, "tuning-time", "S", .fallback = "60", .low = 1, .high = 1e6,
        .words = {"never"}, AT(tuning_time_s),
        .help = "seconds that --design auto may take per cell; never: do not time it"},
    {TUTTI_CONF_TEXT, "box", "PROGRAM", AT(box),
        .help = "the tutti-box to use; if omitted, the one next to tutti-bench"},
    {TUTTI_CONF_REAL, "cell-timeout", "S", .fallback = "3600", .low = 1, .high = 1e6,
        AT(cell_timeout_s), .help = "seconds after which a cell is abandoned"},
    {TUTTI_CONF_FLAG, "verdict", AT(verdict),
        .help = "run nothing, and judge the results in the file of --json"},
    {0},
};
static const tutti_conf conf = {
    .program = "tutti-bench step --grid",
    .usage = "--json FILE [OPTION]...",
    .summary = "Runs tutti-bench step in boxes (tutti-box, which needs root) for every model, "
               "number of hosts and rate, and prints a table with a verdict on each number. After "
               "an interruption it continues where it stopped.",
    .epilogue = "Exit status: 0, even if numbers miss their limits; 1 if a cell could not be run.",
    .settings = settings,
};

/* ---- lists ---- */

/* Copies the next word of a comma-separated list into text; returns the rest, or NULL at the end. */
static const char *next_word(const char *list, char *text, size_t size)
{
    size_t length = strcspn(list, ",");
    if (!*list) return NULL;
    snprintf(text, size, "%.*s", (int)length, list);
    return list + length + (list[length] == ',');
}

static tutti_status read_numbers(const char *option, const char *list, int *count, int values[])
{
    char word[32];
    int64_t value;
    *count = 0;
    while ((list = next_word(list, word, sizeof word))) {
        if (!tutti_number_int(word, &value) || value < 1 || value > 1000000 ||
            *count == MOST_VALUES)
            return tutti_conf_refuse(&conf, option, word,
                "must be at most 16 whole numbers above 0, separated by commas");
        values[(*count)++] = (int)value;
    }
    return TUTTI_OK;
}

/* "resnet20:64" into a cell. */
static tutti_status read_model(const char *word, tutti_grid_row *cell)
{
    int used = 0;
    if (sscanf(word, "%31[^:]:%d%n", cell->model, &cell->batch, &used) != 2 || word[used] ||
        cell->batch < 1)
        return tutti_conf_refuse(&conf, "models", word, "must be like resnet20:64,vgg16:32");
    return TUTTI_OK;
}

/* ---- one cell ---- */

static tutti_status copy_file(const char *from, tutti_file *to)
{
    char block[4096];
    size_t n;
    FILE *in = fopen(from, "re");
    if (!in) return tutti_fail(TUTTI_ERR_IO, "%s: cannot be read: %s", from, strerror(errno));
    while ((n = fread(block, 1, sizeof block, in)) > 0) tutti_file_write(to, block, n);
    const int failed = ferror(in);
    fclose(in);
    return failed ? tutti_fail(TUTTI_ERR_IO, "%s: cannot be read", from) : TUTTI_OK;
}

/* Adds one file to another, which is replaced: a cell's results are there completely or not at all. */
static tutti_status append_file(const char *from, const char *to)
{
    tutti_file file;
    tutti_status status =
        tutti_file_begin(&(tutti_file_options){.what = "--json", .path = to}, &file);
    if (status) return status;
    if (access(to, F_OK) == 0) status = copy_file(to, &file);
    if (!status) status = copy_file(from, &file);
    if (!status) return tutti_file_end(&file);
    tutti_file_drop(&file);
    return status;
}

static tutti_status run_cell(const options *o, const tutti_grid_row *cell)
{
    char self[PATH], box[TUTTI_BOX_TEXT], part[PATH];
    char hosts[16], rate[32], link[16], batch[16], steps[24], blocks[24], lanes[24], tuning[32];
    tutti_status status = tutti_box_self(self);
    if (status) return status;
    snprintf(part, sizeof part, "%s.part", o->json);
    snprintf(hosts, sizeof hosts, "%d", cell->ranks);
    snprintf(rate, sizeof rate, "%.0fmbit", cell->link_mbit);
    snprintf(link, sizeof link, "%.0f", cell->link_mbit);
    snprintf(batch, sizeof batch, "%d", cell->batch);
    snprintf(steps, sizeof steps, "auto");
    if (!o->steps.word) snprintf(steps, sizeof steps, "%" PRId64, o->steps.value);
    snprintf(blocks, sizeof blocks, "%" PRId64, o->blocks);
    snprintf(lanes, sizeof lanes, "%" PRId64, o->lanes);
    snprintf(tuning, sizeof tuning, "%g", tutti_conf_real_or(o->tuning_time_s, 0));
    char *argv[] = {(char *)(o->box ? o->box : tutti_box_find(self, "box/tutti-box", box)), "run",
        "--hosts", hosts, "--rate", rate, "--", self, "step", "--model", (char *)cell->model,
        "--batch", batch, "--link-mbit", link, "--design", o->tuning_time_s.word ? "all" : "auto",
        "--tuning-time", tuning, "--priority", (char *)o->priority, "--wire", (char *)o->wire,
        "--precision", "f32", "--steps", steps, "--blocks", blocks, "--lanes", lanes, "--peer",
        (char *)o->peer, "--json", part, NULL};
    status = tutti_box_run(argv, "a cell", o->cell_timeout_s);
    if (!status) status = append_file(part, o->json);
    unlink(part);
    tutti_box_obey();
    return status;
}

/* ---- the grid ---- */

typedef struct grid {
    options o;
    int hosts, host[MOST_VALUES], rates, rate[MOST_VALUES];
    tutti_grid_rows done;
    int cells, cell, failed;
} grid;

/* Appends what is different; "" is not known. */
static void tell_other(char *text, size_t size, const char *what, const char *old, const char *now)
{
    const size_t used = strlen(text);
    if (*old && strcmp(old, now) != 0)
        snprintf(text + used, size - used, "%s%s%s", used ? ", " : "", what, old);
}

/* How the results of a cell were made, as far as this grid would make others. */
static void compare_options(const options *o, const tutti_grid_row *old, char *text, size_t size)
{
    char lanes[24];
    *text = '\0';
    snprintf(lanes, sizeof lanes, "%" PRId64, o->lanes);
    tell_other(text, size, "--priority ", old->priority, o->priority);
    tell_other(text, size, "--lanes ", old->lanes, lanes);
    tell_other(text, size, "commit ", old->commit, tutti_result_commit());
}

static tutti_status visit(grid *g, const tutti_grid_row *cell)
{
    char other[160] = "";
    const tutti_grid_row *known = tutti_grid_rows_find(&g->done, cell, "design", NULL);
    if (known) compare_options(&g->o, known, other, sizeof other);
    g->cell++;
    printf("\n[%d/%d] %s, batch %d, %d hosts, %.0f Mbit/s%s%s%s\n", g->cell, g->cells, cell->model,
        cell->batch, cell->ranks, cell->link_mbit, known ? ": has results" : "",
        *other ? ", but not run again with other options or builds: they are of " : "", other);
    fflush(stdout);
    if (known) return TUTTI_OK;
    tutti_status status = run_cell(&g->o, cell);
    g->failed += status != TUTTI_OK;
    return status == TUTTI_ERR_NOMEM ? status : TUTTI_OK; /* the other cells may succeed */
}

static tutti_status visit_model(grid *g, tutti_grid_row *cell)
{
    tutti_status status = TUTTI_OK;
    for (int h = 0; h < g->hosts && !status; h++)
        for (int r = 0; r < g->rates && !status; r++) {
            cell->ranks = g->host[h];
            cell->link_mbit = g->rate[r];
            status = visit(g, cell);
        }
    return status;
}

static tutti_status visit_all(grid *g)
{
    char word[64];
    tutti_grid_row cell = {.batch = 0};
    snprintf(cell.wire, sizeof cell.wire, "%s", g->o.wire);
    snprintf(cell.precision, sizeof cell.precision, "f32");
    tutti_status status = TUTTI_OK;
    int models = 0;
    const char *list = g->o.models;
    while (!status && (list = next_word(list, word, sizeof word))) {
        status = read_model(word, &cell);
        models++;
    }
    g->cells = models * g->hosts * g->rates;
    list = g->o.models;
    while (!status && (list = next_word(list, word, sizeof word))) {
        status = read_model(word, &cell);
        if (!status) status = visit_model(g, &cell);
    }
    return status;
}

/* Two grids at once would disturb each other, and repeat each other's cells. */
static tutti_status run_alone(grid *g)
{
    tutti_lock *lock;
    tutti_status status = tutti_lock_take("--json", g->o.json, &lock);
    if (status) return status;
    status = visit_all(g);
    tutti_lock_release(lock);
    return status;
}

tutti_status tutti_grid_run(int argc, char **argv)
{
    grid g = {.failed = 0};
    int go;
    tutti_status status = tutti_conf_start(&conf, argc, argv, &g.o, &go);
    if (!go) return status;
    status = read_numbers("hosts", g.o.hosts, &g.hosts, g.host);
    if (!status) status = read_numbers("rates", g.o.rates, &g.rates, g.rate);
    if (!status && g.o.verdict && access(g.o.json, R_OK) != 0)
        status = tutti_conf_refuse(&conf, "json", g.o.json, "cannot be read");
    if (!status) status = tutti_grid_rows_read(g.o.json, &g.done);
    if (!status && !g.o.verdict) status = run_alone(&g);
    tutti_grid_rows_free(&g.done);
    if (!status) status = tutti_grid_rows_read(g.o.json, &g.done);
    if (!status) {
        puts("");
        tutti_verdict_print(&g.done);
    }
    tutti_grid_rows_free(&g.done);
    if (!status && g.failed)
        status = tutti_fail(TUTTI_ERR_IO, "%d of %d cells could not be run", g.failed, g.cells);
    return status;
}
