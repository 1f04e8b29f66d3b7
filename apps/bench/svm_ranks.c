
#include "apps/bench/result.h"
#include "apps/bench/rows.h"
#include "apps/bench/settings.h"
#include "apps/trees/predict.h"
#include "collectives/links/topology_text.h"
#include "dag/base/conf.h"
#include "dag/base/lines.h"
#include "dag/base/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    const char *profile, *topology, *json, *csv;
    double balance;
} options;

#define AT(member) .offset = offsetof(options, member)
static const tutti_setting settings[] = {
    {TUTTI_CONF_HEADING, .help = "Options"},
    {TUTTI_CONF_TEXT, "profile", "FILE", .flags = TUTTI_CONF_REQUIRED, AT(profile),
        .help = "what tutti-svm train --json has written of a training on one rank"},
    {TUTTI_CONF_TEXT, "topology", "SPEC", .flags = TUTTI_CONF_REQUIRED, AT(topology),
        .help =
            "the links: a file or a name (tutti-topology(5)); its first 2, 4, 8 ... ranks train"},
    {TUTTI_CONF_REAL, "balance", "X", .fallback = "1.2", .low = 1, .high = 1000, AT(balance),
        .help = "active samples of the busiest rank, over the mean"},
    TUTTI_BENCH_SETTINGS_RESULT(options),
    {0},
};
static const tutti_conf conf = {
    .program = "tutti-bench svm-ranks",
    .usage = "--profile FILE --topology SPEC [OPTION]...",
    .summary = "Tells how long a recorded training would take on more ranks: work that all share "
               "becomes shorter, work that each does whole stays, and the collectives of each "
               "round take what they cost on the topology.",
    .settings = settings,
};

/* What happened between two events, all rounds alike. */
typedef struct span {
    double seconds, common_s;
    double rounds, row_bytes;
} span;

typedef struct profile {
    span *span;
    int spans, room, combines;
    int64_t survey_bytes;
    span at; /* of the pair of classes so far */
} profile;

static tutti_status refuse(const tutti_lines *in, const char *why)
{
    return tutti_lines_fail(in, "%s", why);
}

/* The events of a training: each counts from the beginning of its pair of classes, whose last one is "ended". */
static tutti_status add_event(profile *p, const tutti_lines *in, const json_t *event)
{
    const char *name = json_string_value(json_object_get(event, "event"));
    const char *survey = json_string_value(json_object_get(event, "survey"));
    const span now = {json_number_value(json_object_get(event, "seconds")),
        json_number_value(json_object_get(event, "common_seconds")),
        json_number_value(json_object_get(event, "rounds")),
        json_number_value(json_object_get(event, "row_bytes"))};
    const double ranks = json_number_value(json_object_get(event, "ranks"));
    if (!name) return refuse(in, "no event of tutti-svm");
    if (!strcmp(name, "start") && ranks != 1)
        return refuse(in, "the training had several ranks: record one on one rank");
    if (!survey || !strcmp(name, "pair")) return TUTTI_OK;
    const span d = {now.seconds - p->at.seconds, now.common_s - p->at.common_s,
        now.rounds - p->at.rounds, now.row_bytes - p->at.row_bytes};
    if (!(d.seconds >= 0 && d.common_s >= 0 && d.rounds >= 0 && d.row_bytes >= 0) ||
        d.common_s > d.seconds + 1e-3)
        return refuse(in, "the events are in no order");
    if (p->spans == p->room) {
        const int room = p->room ? 2 * p->room : 64;
        span *more = realloc(p->span, (size_t)room * sizeof *more);
        if (!more) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d events", room);
        p->span = more;
        p->room = room;
    }
    p->span[p->spans++] = d;
    p->survey_bytes = (int64_t)json_integer_value(json_object_get(event, "survey_bytes"));
    p->combines = !strcmp(survey, "combined");
    p->at = strcmp(name, "ended") ? now : (span){0};
    return TUTTI_OK;
}

static tutti_status read_profile(const char *path, profile *p)
{
    tutti_lines in;
    char *line = NULL;
    tutti_status status = tutti_lines_open(path, &in);
    if (status) return status;
    for (status = tutti_lines_next(&in, &line); !status && line;) {
        json_t *event = json_loads(line, 0, NULL);
        status = event ? add_event(p, &in, event) : refuse(&in, "no JSON");
        json_decref(event);
        if (!status) status = tutti_lines_next(&in, &line);
    }
    if (!status && !p->spans) status = refuse(&in, "no events of a training that has ended");
    tutti_lines_close(&in);
    return status;
}

/* What a collective of this many bytes a rank takes on the first ranks of a topology. */
static tutti_status price(
    const tutti_topology *t, tutti_coll_kind kind, const char *name, double bytes, double *time_s)
{
    tutti_sched_price p = {.time_s = 0};
    const int64_t count = (int64_t)ceil(bytes / 4);
    *time_s = 0;
    if (t->ranks == 1 || !count) return TUTTI_OK;
    tutti_status status =
        tutti_predict_algorithm(t, kind, tutti_algorithm_find(name), count, &p);
    *time_s = p.time_s;
    return status;
}

typedef struct forecast {
    double seconds, common_s, links_s;
} forecast;

static tutti_status play(
    const profile *p, const tutti_topology *t, double balance, forecast *all)
{
    const int P = t->ranks;
    double survey_s;
    tutti_status status =
        p->combines
            ? price(t, TUTTI_ALLREDUCE, "recursive-doubling", (double)p->survey_bytes, &survey_s)
            : price(t, TUTTI_ALLGATHER, NULL, (double)p->survey_bytes, &survey_s);
    *all = (forecast){0};
    for (int i = 0; i < p->spans && !status; i++) {
        const span *s = &p->span[i];
        const double shared_s = fmax(s->seconds - s->common_s, 0);
        double rows_s = 0;
        if (s->rounds > 0 && s->row_bytes > 0)
            status = price(t, TUTTI_ALLGATHER, NULL, s->row_bytes / s->rounds / P, &rows_s);
        all->common_s += s->common_s;
        all->links_s += s->rounds * (survey_s + rows_s);
        all->seconds += shared_s / P * (P > 1 ? balance : 1);
    }
    all->seconds += all->common_s + all->links_s;
    return status;
}

static tutti_status play_all(
    const profile *p, const tutti_topology *t, double balance, tutti_result *result)
{
    tutti_status status = TUTTI_OK;
    double alone_s = 0;
    printf("%8s %12s %10s %12s %12s\n", "ranks", "seconds", "gain", "each whole", "collectives");
    for (int P = 1; P <= t->ranks && !status; P *= 2) {
        tutti_topology first = *t;
        forecast f;
        first.ranks = P;
        status = play(p, &first, balance, &f);
        if (status) break;
        if (P == 1) alone_s = f.seconds;
        printf("%8d %12.4g %9.2fx %11.1f%% %11.1f%%\n", P, f.seconds, alone_s / f.seconds,
            100 * f.common_s / f.seconds, 100 * f.links_s / f.seconds);
        fflush(stdout);
        tutti_result_event(result,
            json_pack("{s:s, s:i, s:f, s:f, s:f, s:f, s:s, s:[f]}", "event", "ranks", "ranks", P,
                "seconds", f.seconds, "gain", alone_s / f.seconds, "common_seconds", f.common_s,
                "collective_seconds", f.links_s, "unit", "s", "samples", f.seconds));
    }
    return status;
}

static tutti_status run(int argc, char **argv)
{
    options o;
    int go;
    profile p = {0};
    tutti_topology *t = NULL;
    tutti_result *result = NULL;
    tutti_status status = tutti_conf_start(&conf, argc, argv, &o, &go);
    if (!go) return status;
    status = read_profile(o.profile, &p);
    if (!status) status = tutti_topology_open(o.topology, &t);
    if (!status) status = tutti_result_open(o.json, o.csv, &result);
    if (!status) status = play_all(&p, t, o.balance, result);
    tutti_topology_free(t);
    free(p.span);
    tutti_status closed = tutti_result_close(result);
    return status ? status : closed;
}

const tutti_bench tutti_bench_svm_ranks = {
    "svm-ranks", "how long a recorded training of tutti-svm would take on more ranks", run};
