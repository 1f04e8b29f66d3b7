/* Topologies as text, and the hash of that text. */
#include "collectives/links/topology_text.h"

#include "collectives/links/quantity.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"

#include <stdlib.h>

static void print_quantity(
    FILE *out, const char *key, double value, const tutti_quantity_unit *units)
{
    if (value <= 0) return;
    fprintf(out, " %s ", key);
    tutti_quantity_print(out, value, units);
}

static void print_latency(FILE *out, int64_t latency_ps)
{
    static const struct {
        const char *name;
        int64_t ps;
    } in[] = {{"us", 1000000}, {"ns", 1000}, {"ps", 1}};
    int i = 0;
    while (latency_ps % in[i].ps) i++;
    if (latency_ps) fprintf(out, " latency %lld%s", (long long)(latency_ps / in[i].ps), in[i].name);
}

static void print_kinds(const tutti_topology *t, FILE *out)
{
    for (int i = 0; i < t->kinds; i++) {
        const tutti_point_kind *k = &t->kind[i];
        fprintf(out, "kind %s", k->name);
        if (k->cores) fprintf(out, " cores %d", k->cores);
        print_quantity(out, "flops", k->flops, tutti_number_units);
        print_quantity(out, "memory", k->memory, tutti_rate_units);
        print_quantity(out, "reduce", k->reduce, tutti_rate_units);
        print_quantity(out, "copy", k->copy, tutti_rate_units);
        print_quantity(out, "send", k->send_s, tutti_time_units);
        print_quantity(out, "recv", k->recv_s, tutti_time_units);
        print_quantity(out, "eager", k->eager, tutti_size_units);
        fputc('\n', out);
    }
}

/* The first link of a bus, which links it with its first member; -1: the point is no bus. A switch may be a member of
 * a bus: its own link is then the second of the pair. */
static int bus_link(const tutti_topology *t, int point)
{
    int first = t->out_first[point], n = t->out_first[point + 1] - first;
    if (t->point[point].is != TUTTI_POINT_SWITCH || !n) return -1;
    const tutti_link *l = &t->link[t->out[first]];
    int shared = l->capacity == t->link[l->back].capacity;
    return shared && t->out[first] < l->back ? t->out[first] : -1;
}

/* Cables from link `from` on up to link `to`. */
static void print_cables(const tutti_topology *t, int from, int to, FILE *out)
{
    for (int i = from; i < to; i++) {
        const tutti_link *l = &t->link[i];
        if (l->back < i || l->capacity == t->link[l->back].capacity) continue;
        fprintf(out, "link %s %s", t->point[l->from].name, t->point[l->to].name);
        print_quantity(out, "rate", t->capacity[l->capacity] / l->count, tutti_rate_units);
        print_latency(out, l->latency_ps);
        if (l->count > 1) fprintf(out, " count %d", l->count);
        fputc('\n', out);
    }
}

static void print_bus(const tutti_topology *t, int point, int first, FILE *out)
{
    const tutti_link *bus = &t->link[first];
    fprintf(out, "bus %s", t->point[point].name);
    print_quantity(out, "rate", t->capacity[bus->capacity], tutti_rate_units);
    print_latency(out, bus->latency_ps);
    fputs(" :", out);
    for (int k = t->out_first[point]; k < t->out_first[point + 1]; k++) {
        const tutti_link *l = &t->link[t->out[k]];
        if (l->capacity == bus->capacity) fprintf(out, " %s", t->point[l->to].name);
    }
    fputc('\n', out);
}

static void print_point(const tutti_topology *t, int i, FILE *out)
{
    static const char *const words[] = {"host", "device", "switch"};
    const tutti_point *p = &t->point[i];
    fprintf(out, "%s %s", words[p->is], p->name);
    if (p->kind >= 0) fprintf(out, " kind %s", t->kind[p->kind].name);
    if (p->socket) fprintf(out, " socket %d", p->socket);
    if (p->is == TUTTI_POINT_SWITCH && p->capacity >= 0)
        print_quantity(out, "rate", t->capacity[p->capacity], tutti_rate_units);
    fputc('\n', out);
}

tutti_status tutti_topology_print(const tutti_topology *t, FILE *out)
{
    int printed = 0; /* links */
    fputs("topology 1\n", out);
    print_kinds(t, out);
    for (int i = 0; i < t->points; i++) {
        int first = bus_link(t, i);
        if (first < 0) {
            print_point(t, i, out);
            continue;
        }
        print_cables(t, printed, first, out);
        print_bus(t, i, first, out);
        printed = first;
    }
    print_cables(t, printed, t->links, out);
    for (int r = 0; r < t->ranks; r++)
        fprintf(out, "%s%s",
            r % 16 ? " "
            : r    ? "\nranks "
                   : "ranks ",
            t->point[t->rank_point[r]].name);
    fputc('\n', out);
    return ferror(out) ? tutti_fail(TUTTI_ERR_IO, "a topology could not be written") : TUTTI_OK;
}

tutti_status tutti_topology_hash(const tutti_topology *t, uint64_t *hash)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a topology");
    tutti_status status = tutti_topology_print(t, out);
    if (fclose(out) && !status) status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for a topology");
    *hash = status ? 0 : tutti_rng_stream(text);
    free(text);
    return status;
}
