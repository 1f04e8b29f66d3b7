#include "apps/tools/doctor_links.h"
#include "dag/base/log.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const tutti_way *way(const tutti_measures *m, int a, int b)
{
    return &m->way[(size_t)a * (size_t)m->hosts + (size_t)b];
}

/* The rate of a host's link: that of its fastest way. */
static double rate_of(const tutti_measures *m, int host)
{
    double rate = 0;
    for (int other = 0; other < m->hosts; other++)
        if (other != host) rate = fmax(rate, way(m, host, other)->bytes_per_s);
    return rate;
}

static double time_of(const tutti_measures *m, int host)
{
    double least = HUGE_VAL;
    for (int other = 0; other < m->hosts; other++)
        if (other != host) least = fmin(least, way(m, host, other)->time_s);
    return least;
}

/* A number as a file shows it: four digits. */
static double rounded(double x)
{
    char text[32];
    snprintf(text, sizeof text, "%.4g", x);
    return strtod(text, NULL);
}

/* The same in us or ns, so that the file says it in few digits. */
static double rounded_time(double x_s)
{
    const double unit_s = x_s < 1e-6 ? 1e-9 : 1e-6;
    return rounded(x_s / unit_s) * unit_s;
}

static int cores_of(const tutti_measures *m, int host)
{
    int cores = 0;
    for (int r = 0; r < m->ranks; r++)
        if (m->host[r] == host && m->rank[r].cores > cores) cores = m->rank[r].cores;
    return cores;
}

/* What the pairs on a host exchange together. */
static double memory_of(const tutti_measures *m, int host)
{
    double memory = 0;
    for (int r = 0; r < m->ranks; r++)
        if (m->host[r] == host) memory += m->rank[r].memory;
    return memory;
}

/* Hosts with as many cores are of one kind: the means of what their ranks have found out. */
static tutti_point_kind kind_of(const tutti_measures *m, int host)
{
    tutti_point_kind kind = {.cores = cores_of(m, host)};
    int ranks = 0, timed = 0, paired = 0;
    for (int other = 0; other < m->hosts; other++) {
        if (cores_of(m, other) != kind.cores) continue;
        const double memory = memory_of(m, other);
        paired += memory > 0; /* a host with one rank has no pair */
        kind.memory += memory;
        for (int r = 0; r < m->ranks; r++) {
            const tutti_measure *mine = &m->rank[r];
            if (m->host[r] != other) continue;
            ranks++;
            timed += mine->send_s > 0; /* the last of an odd number has no partner */
            kind.send_s += mine->send_s;
            kind.recv_s += mine->recv_s;
            kind.reduce += mine->reduce;
            kind.copy += mine->copy;
        }
    }
    snprintf(kind.name, sizeof kind.name, "cores%d", kind.cores);
    kind.memory = rounded(kind.memory / (paired ? paired : 1));
    kind.send_s = rounded_time(kind.send_s / (timed ? timed : 1));
    kind.recv_s = rounded_time(kind.recv_s / (timed ? timed : 1));
    kind.reduce = rounded(kind.reduce / ranks);
    kind.copy = rounded(kind.copy / ranks);
    return kind;
}

static tutti_status find_kind(const tutti_measures *m, int host, tutti_topology *t, int *number)
{
    const tutti_point_kind kind = kind_of(m, host);
    for (*number = 0; *number < t->kinds; ++*number)
        if (t->kind[*number].cores == kind.cores) return TUTTI_OK;
    return tutti_topology_add_kind(t, &kind, number);
}

/* A host's name up to its first dot, if it can be a name and no earlier point has it; else h0, h1, ... */
static void name_point(
    const tutti_topology *t, const char *name, int host, char point[TUTTI_TOPOLOGY_NAME])
{
    const size_t length = strcspn(name, ".");
    int fits = length > 0 && length < TUTTI_TOPOLOGY_NAME && isalpha((unsigned char)*name);
    for (size_t i = 0; i < length; i++)
        fits &= isalnum((unsigned char)name[i]) || name[i] == '_' || name[i] == '-';
    for (int p = 0; fits && p < t->points; p++)
        fits = strlen(t->point[p].name) != length || memcmp(t->point[p].name, name, length) != 0;
    if (fits)
        snprintf(point, TUTTI_TOPOLOGY_NAME, "%.*s", (int)length, name);
    else
        snprintf(point, TUTTI_TOPOLOGY_NAME, "h%d", host);
}

static tutti_status add_host(const tutti_measures *m, int host, tutti_topology *t, int *number)
{
    tutti_point p = {.is = TUTTI_POINT_HOST};
    int first = 0;
    while (m->host[first] != host) first++;
    name_point(t, m->rank[first].host, host, p.name);
    tutti_status status = find_kind(m, host, t, &p.kind);
    return status ? status : tutti_topology_add_point(t, &p, number);
}

/* Half of what a message takes beside what its ends do. */
static int64_t latency_ps(const tutti_measures *m, int host, const tutti_point_kind *kind)
{
    const double link_s = (time_of(m, host) - kind->send_s - kind->recv_s) / 2;
    return 1000 * llround(1e9 * fmax(link_s, 1e-9));
}

static tutti_status add_links(const tutti_measures *m, const int point[], tutti_topology *t)
{
    tutti_point hub = {
        .name = "switch", .is = TUTTI_POINT_SWITCH, .kind = -1, .host = -1, .capacity = -1};
    int middle;
    tutti_status status = tutti_topology_add_point(t, &hub, &middle);
    for (int host = 0; !status && host < m->hosts; host++) {
        const tutti_point_kind *kind = &t->kind[t->point[point[host]].kind];
        status = tutti_topology_add_cable(
            t, point[host], middle, rounded(rate_of(m, host)), latency_ps(m, host, kind), 1);
    }
    return status;
}

/* The way that is slowest, compared with what the links of its hosts let through. */
static void find_outlier(
    const tutti_measures *m, const tutti_topology *t, const int point[], char *remark, size_t size)
{
    const double agrees = 0.8;
    double worst = 1;
    *remark = '\0';
    for (int a = 0; a < m->hosts; a++)
        for (int b = a + 1; b < m->hosts; b++) {
            const double found = way(m, a, b)->bytes_per_s,
                         expected = fmin(rate_of(m, a), rate_of(m, b));
            if (found >= worst * expected) continue;
            worst = found / expected;
            if (worst < agrees)
                snprintf(remark, size,
                    "%s and %s exchange %.4g MB/s, where their links let %.4g through: describe "
                    "what is between "
                    "them by hand",
                    t->point[point[a]].name, t->point[point[b]].name, 1e-6 * found,
                    1e-6 * expected);
        }
}

tutti_status tutti_doctor_make_topology(
    const tutti_measures *m, tutti_topology **result, char *remark, size_t size)
{
    tutti_topology *t;
    int *point = malloc((size_t)m->hosts * sizeof *point);
    if (!point) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d hosts", m->hosts);
    tutti_status status = tutti_topology_new(&t);
    if (status) {
        free(point);
        return status;
    }
    for (int host = 0; !status && host < m->hosts; host++)
        status = add_host(m, host, t, &point[host]);
    if (!status && m->hosts > 1) status = add_links(m, point, t);
    for (int r = 0; !status && r < m->ranks; r++)
        status = tutti_topology_add_rank(t, point[m->host[r]]);
    if (!status) status = tutti_topology_finish(t, NULL);
    if (!status) find_outlier(m, t, point, remark, size);
    free(point);
    if (status)
        tutti_topology_free(t);
    else
        *result = t;
    return status;
}
