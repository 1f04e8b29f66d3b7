#include "config.h" /* first: it asks libc for mkdtemp */

#include "apps/bench/box.h"
#include "apps/bench/peer.h"
#include "apps/bench/result.h"
#include "apps/bench/rows.h"
#include "apps/bench/settings.h"
#include "apps/bench/svm_shape.h"
#include "apps/svm/engine.h"
#include "apps/svm/model.h"
#include "dag/base/clock.h"
#include "dag/base/conf.h"
#include "dag/base/log.h"
#include "dag/base/median.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH = 1024, COMMAND = 8192, MOST_BLOCKS = 100, MOST_ROWS = 8 };

typedef struct options {
    const char *data, *libsvm, *thundersvm, *intelex, *json, *csv;
    double cost, gamma, eps, timeout_s;
    int64_t blocks, ranks, shape_rows;
} options;

#define AT(member) .offset = offsetof(options, member)
static const tutti_setting settings[] = {
    {TUTTI_CONF_HEADING, .help = "Options"},
    {TUTTI_CONF_TEXT, "data", "FILE", .flags = TUTTI_CONF_REQUIRED, AT(data),
        .help = "samples of two classes, as text in LIBSVM's format without empty lines; or "
                "covtype, real-sim or higgs: rows that are drawn with the shape of these"},
    {TUTTI_CONF_INT, "rows", "N", .fallback = "20000", .low = 100, .high = 1e9, AT(shape_rows),
        .help = "rows of a shape"},
    {TUTTI_CONF_REAL, "cost", "C", .fallback = "1", .low = 1e-9, .high = 1e9, AT(cost),
        .help = "the price of a sample on the wrong side"},
    {TUTTI_CONF_REAL, "gamma", "G", .flags = TUTTI_CONF_REQUIRED, .low = 1e-9, .high = 1e9,
        AT(gamma), .help = "of the RBF kernel"},
    {TUTTI_CONF_REAL, "eps", "E", .fallback = "0.001", .low = 1e-10, .high = 1, AT(eps),
        .help = "the violation at which all end"},
    {TUTTI_CONF_INT, "ranks", "N", .fallback = "2", .low = 1, .high = 1024, AT(ranks),
        .help = "ranks to compare with one"},
    {TUTTI_CONF_INT, "blocks", "N", .fallback = "3", .low = 1, .high = MOST_BLOCKS, AT(blocks),
        .help = "trainings of each of what is compared, in turns"},
    {TUTTI_CONF_TEXT, "libsvm", "DIR", .fallback = "none", AT(libsvm),
        .help = "a folder of tutti-bench peers --package libsvm; svm-train is compared with "
                "anyway, where it is installed"},
    {TUTTI_CONF_TEXT, "thundersvm", "DIR", .fallback = "none", AT(thundersvm),
        .help = "a folder of tutti-bench peers --package thundersvm; it reads and writes in the "
                "time that is measured"},
    {TUTTI_CONF_TEXT, "intelex", "DIR", .fallback = "none", AT(intelex),
        .help = "a folder of tutti-bench peers --package intelex"},
    TUTTI_BENCH_SETTINGS_RUN("1800", options),
    {0},
};
static const tutti_conf conf = {
    .program = "tutti-bench svm",
    .usage = "--data FILE --gamma G [OPTION]...",
    .summary = "Times the training of a support vector machine with an RBF kernel, on one rank "
               "and on several, beside other programs, all on one thread. Programs are timed as "
               "a whole, and so is ThunderSVM; other packages for Python without reading and "
               "writing. Compares the objectives.",
    .settings = settings,
};

/* What is compared: a command, or a peer. */
typedef struct row {
    char name[80], command[COMMAND], model[PATH + 32];
    tutti_peer *peer;
    double seconds[MOST_BLOCKS], objective, steps, evaluations;
    int64_t support;
    int ours;
} row;

typedef struct bench {
    options o;
    tutti_result *result;
    char self[PATH], folder[PATH], drawn[PATH + 16];
    int rows;
    row row[MOST_ROWS];
} bench;

/* ---- the objective of a model ---- */

/* a Q a / 2 - sum of a, in double precision. */
static tutti_status compute_objective(const char *path, double *objective, int64_t *support)
{
    tutti_svm_world world = {.size = 1, .workers = 1};
    tutti_svm_model m;
    tutti_svm_engine *engine = NULL;
    tutti_status status = tutti_svm_model_read(path, &m);
    if (status) return status;
    const int64_t n = m.rows.count;
    double *sum = calloc((size_t)n + 1, sizeof *sum);
    const tutti_svm_engine_options of = {.kernel = m.kernel, .columns = m.rows.columns, .rows = n};
    if (!sum || m.classes != 2)
        status =
            tutti_fail(TUTTI_ERR_FORMAT, "%s: the model has %d classes, not 2", path, m.classes);
    if (!status) status = tutti_svm_engine_new(&world, &of, &engine);
    if (!status)
        status = tutti_svm_engine_add(engine, &m.rows, &m.rows, NULL, m.coefficient, NULL, sum);
    *objective = 0;
    *support = n;
    for (int64_t r = 0; r < n && !status; r++)
        *objective += m.coefficient[r] * sum[r] / 2 - fabs(m.coefficient[r]);
    tutti_svm_engine_free(engine);
    free(sum);
    tutti_svm_model_free(&m);
    return status;
}

/* ---- rows ---- */

static row *add_row(bench *b, const char *name)
{
    row *r = &b->row[b->rows];
    snprintf(r->name, sizeof r->name, "%s", name);
    snprintf(r->model, sizeof r->model, "%s/%d.model", b->folder, b->rows);
    b->rows++;
    return r;
}

static void add_ours(bench *b, int64_t ranks)
{
    char name[80], launch[PATH] = "";
    snprintf(name, sizeof name, "tutti-svm, %" PRId64 " rank%s", ranks, ranks > 1 ? "s" : "");
    if (ranks > 1)
        snprintf(launch, sizeof launch, "'%.900s/tutti-run' -n %" PRId64 " ", b->self, ranks);
    row *r = add_row(b, name);
    r->ours = 1;
    char command[COMMAND];
    snprintf(command, sizeof command,
        "%s'%.900s/tutti-svm' train --data '%.900s' --model '%s' --cost %.17g --gamma %.17g --eps "
        "%.17g "
        "--json '%s.json' > '%s/log' 2>&1",
        launch, b->self, b->o.data, r->model, b->o.cost, b->o.gamma, b->o.eps, r->model, b->folder);
    memcpy(r->command, command, sizeof command);
}

static void add_libsvm(bench *b)
{
    if (system("command -v svm-train > /dev/null 2>&1") != 0) {
        tutti_log(TUTTI_LOG_INFO, "svm-train is not installed (apt-get install libsvm-tools)");
        return;
    }
    row *r = add_row(b, "svm-train");
    char command[COMMAND];
    snprintf(command, sizeof command,
        "svm-train -q -c %.17g -g %.17g -e %.17g '%.900s' '%s' > '%s/log' 2>&1", b->o.cost,
        b->o.gamma, b->o.eps, b->o.data, r->model, b->folder);
    memcpy(r->command, command, sizeof command);
}

static tutti_status add_peer(bench *b, const char *folder, const char *module, const char *package)
{
    const tutti_peer_script script = {"svm_peer.py", module, package, package, NULL, NULL};
    char program[4096], command[COMMAND];
    tutti_status status = tutti_peer_program(folder, &script, program, sizeof program);
    if (status || !*program) return status;
    row *r = add_row(b, package);
    snprintf(command, sizeof command,
        "exec %s --package %s --data '%.900s' --model '%s' --cost %.17g --gamma %.17g --eps %.17g",
        program, package, b->o.data, r->model, b->o.cost, b->o.gamma, b->o.eps);
    status = tutti_peer_start(command, b->o.timeout_s, &r->peer);
    if (!status) snprintf(r->name, sizeof r->name, "%s", tutti_peer_about(r->peer));
    return status;
}

/* ---- timing ---- */

static tutti_status run_command(const bench *b, const row *r, double *seconds)
{
    char text[PATH + 64], limit[32];
    snprintf(limit, sizeof limit, "%.0f", 2 * b->o.timeout_s);
    /* timeout, which ends all that it has started, ends when the bench does, or asks it to */
    char *const argv[] = {
        "setpriv", "--pdeathsig", "TERM", "timeout", limit, "sh", "-c", (char *)r->command, NULL};
    const double begun_s = tutti_clock_s();
    const tutti_status status = tutti_box_run(argv, r->name, b->o.timeout_s);
    *seconds = tutti_clock_s() - begun_s;
    if (status != TUTTI_ERR_IO) return status;
    snprintf(text, sizeof text, "head -3 '%s/log' >&2", b->folder);
    return system(text) == 0 ? status : TUTTI_ERR_IO;
}

/* Steps and kernel values, from the events of tutti-svm. */
static void read_events(row *r)
{
    char path[PATH + 64], line[2048];
    snprintf(path, sizeof path, "%s.json", r->model);
    FILE *in = fopen(path, "re");
    while (in && fgets(line, sizeof line, in)) {
        json_t *event = json_loads(line, 0, NULL);
        if (event && !strcmp(json_string_value(json_object_get(event, "event")), "pair")) {
            r->steps = json_number_value(json_object_get(event, "steps"));
            r->evaluations = json_number_value(json_object_get(event, "evaluations"));
        }
        json_decref(event);
    }
    if (in) fclose(in);
}

static tutti_status time_all(bench *b)
{
    tutti_status status = TUTTI_OK;
    for (int64_t block = 0; block < b->o.blocks; block++)
        for (int i = 0; i < b->rows && !status; i++) {
            row *r = &b->row[i];
            status = r->peer ? tutti_peer_block(r->peer, b->o.timeout_s, &r->seconds[block])
                             : run_command(b, r, &r->seconds[block]);
            if (!status && !block) status = compute_objective(r->model, &r->objective, &r->support);
            if (!status && !block && r->ours) read_events(r);
        }
    return status;
}

/* The median over blocks of a row's time over the first row's in the same block. */
static double ratio_of(const bench *b, const row *r)
{
    double ratio[MOST_BLOCKS];
    for (int64_t k = 0; k < b->o.blocks; k++) ratio[k] = r->seconds[k] / b->row[0].seconds[k];
    return tutti_median((int)b->o.blocks, ratio);
}

static void report_results(bench *b)
{
    double best = INFINITY, over[MOST_ROWS];
    for (int i = 0; i < b->rows; i++) over[i] = ratio_of(b, &b->row[i]); /* a series sorts them */
    for (int i = 0; i < b->rows; i++) {
        char name[128];
        tutti_result_series(b->result, b->row[i].name, "s", (int)b->o.blocks, b->row[i].seconds);
        if (b->row[i].objective < best) best = b->row[i].objective;
        snprintf(name, sizeof name, "%s, support vectors", b->row[i].name);
        tutti_result_number(b->result, name, "", (double)b->row[i].support);
    }
    for (int i = 0; i < b->rows; i++) {
        const row *r = &b->row[i];
        char name[160];
        snprintf(name, sizeof name, "%s, objective", r->name);
        tutti_result_number(b->result, name, "", r->objective);
        snprintf(name, sizeof name, "%s, objective above the best", r->name);
        tutti_result_number(b->result, name, "ppm", 1e6 * (r->objective - best) / fabs(best));
        if (r->ours) {
            snprintf(name, sizeof name, "%s, steps", r->name);
            tutti_result_number(b->result, name, "", r->steps);
            snprintf(name, sizeof name, "%s, kernel values of rank 0", r->name);
            tutti_result_number(b->result, name, "", r->evaluations);
        }
        if (!i) continue;
        snprintf(name, sizeof name, "%s over %s", r->name, b->row[0].name);
        tutti_result_number(b->result, name, "x", over[i]);
    }
}

static tutti_status set_up(bench *b)
{
    const char *folder = getenv("TMPDIR");
    ssize_t n = readlink("/proc/self/exe", b->self, PATH - 1);
    if (strpbrk(b->o.data, "'\"$`\\"))
        return tutti_conf_refuse(
            &conf, "data", b->o.data, "must be a path without quotes, $, ` and \\");
    while (n > 0 && b->self[n - 1] != '/') n--;
    if (n > 1) b->self[n - 1] = '\0';
    const char *libtool = strstr(b->self, "/.libs");
    if (libtool) b->self[libtool - b->self] = '\0';
    snprintf(b->folder, sizeof b->folder, "%.900s/tutti-bench-svm.XXXXXX",
        folder && *folder ? folder : "/tmp");
    if (!mkdtemp(b->folder))
        return tutti_fail(TUTTI_ERR_IO, "the folder %s could not be made", b->folder);
    tutti_status status = tutti_result_open(b->o.json, b->o.csv, &b->result);
    if (!status && tutti_svm_shape_is(b->o.data)) {
        snprintf(b->drawn, sizeof b->drawn, "%s/%s", b->folder, b->o.data);
        status = tutti_svm_shape_write(b->o.data, b->o.shape_rows, b->drawn);
        b->o.data = b->drawn;
    }
    add_ours(b, 1);
    if (b->o.ranks > 1) add_ours(b, b->o.ranks);
    add_libsvm(b);
    if (!status) status = add_peer(b, b->o.libsvm, "libsvm.svmutil", "libsvm");
    if (!status) status = add_peer(b, b->o.thundersvm, "thundersvm", "thundersvm");
    return status ? status : add_peer(b, b->o.intelex, "sklearnex", "intelex");
}

static void remove_files(const bench *b)
{
    char path[PATH + 64];
    if (!*b->folder) return;
    for (int i = 0; i < b->rows; i++) {
        unlink(b->row[i].model);
        snprintf(path, sizeof path, "%s.json", b->row[i].model);
        unlink(path);
        for (int n = 1; n <= 9; n++) {
            snprintf(path, sizeof path, "%s.json.%d", b->row[i].model, n);
            unlink(path);
        }
    }
    if (*b->drawn) unlink(b->drawn);
    snprintf(path, sizeof path, "%s/log", b->folder);
    unlink(path);
    rmdir(b->folder);
}

static tutti_status run(int argc, char **argv)
{
    static bench b;
    int go;
    tutti_status status = tutti_conf_start(&conf, argc, argv, &b.o, &go);
    if (!go) return status;
    status = set_up(&b);
    if (!status) status = time_all(&b);
    if (!status) report_results(&b);
    for (int i = 0; i < b.rows; i++) tutti_peer_stop(b.row[i].peer);
    remove_files(&b);
    tutti_status closed = tutti_result_close(b.result);
    tutti_box_obey();
    return status ? status : closed;
}

const tutti_bench tutti_bench_svm = {
    "svm", "training of support vector machines, beside LIBSVM and others", run};
