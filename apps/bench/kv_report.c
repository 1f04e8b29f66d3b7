#include "apps/bench/kv_rows.h"
#include "dag/base/median.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_BLOCKS = 1000 };

/* The median over blocks, in seconds. */
static double took(const tutti_kv_bench *b, const tutti_kv_bench_row *r, int op)
{
    double seconds[MOST_BLOCKS];
    memcpy(seconds, r->block_s[op], (size_t)b->o.blocks * sizeof *seconds);
    return tutti_median((int)b->o.blocks, seconds);
}

/* The least time in which links can carry the bytes of the busiest rank; without servers, those of an allreduce. 0:
 * unknown. */
static double limit_of(const tutti_kv_bench *b, const tutti_kv_bench_row *r, int op, int64_t bytes)
{
    const double W = b->workers;
    double most = r->most[op];
    if (b->world.link_bytes_per_s <= 0 || r->peers) return 0;
    if (!r->servers && op != TUTTI_KV_PULLS) most = 2 * (W - 1) / W * (double)(b->o.keys * bytes);
    return most / b->world.link_bytes_per_s;
}

/* The fastest variant of MXNet that does the same: of sync the same type, of others async; on as many
 * servers, or, for a row without, on any. NULL: there is none. */
static const tutti_kv_bench_row *peer_of(
    const tutti_kv_bench *b, const tutti_kv_bench_row *r, int op)
{
    const tutti_kv_bench_row *best = NULL;
    for (int i = 0; i < b->rows; i++) {
        const tutti_kv_bench_row *p = &b->row[i];
        if (!p->peers || !strcmp(r->type, "sync") != !strcmp(p->type, "sync")) continue;
        if (r->servers && p->servers != r->servers) continue;
        if (!best || took(b, p, op) < took(b, best, op)) best = p;
    }
    return best;
}

void tutti_kv_report_head(const tutti_kv_bench *b)
{
    printf("%d workers, up to %d servers, %" PRId64 " keys a round, design %s, medians of %" PRId64
           " blocks\n",
        b->workers, b->most_servers, b->o.keys, b->o.design, b->o.blocks);
    printf("%10s %-9s %-32s %10s %9s %8s %11s %11s %8s\n", "bytes", "", "", "ms/round", "MB/s",
        "/ limit", "to servers", "from them", "/ MXNet");
}

static void number_or_dash(char text[24], int decimals, double value)
{
    snprintf(text, 24, "-");
    if (value > 0) snprintf(text, 24, "%.*f", decimals, value);
}

static void report_op(tutti_kv_bench *b, const tutti_kv_bench_row *r, int op, int64_t bytes)
{
    const tutti_kv_bench_row *peer = r->peers ? NULL : peer_of(b, r, op);
    const double s = took(b, r, op), limit = limit_of(b, r, op, bytes);
    const double over_limit = limit > 0 ? s / limit : 0, over = peer ? s / took(b, peer, op) : 0;
    const double mb_s = (double)(b->o.keys * bytes) / s / 1e6;
    char to[24], from[24], limits[24], ratio[24];
    number_or_dash(to, 0, r->in[op]);
    number_or_dash(from, 0, r->out[op]);
    number_or_dash(limits, 3, over_limit);
    number_or_dash(ratio, 3, over);
    printf("%10" PRId64 " %-9s %-32s %10.3f %9.2f %8s %11s %11s %8s\n", bytes, tutti_kv_ops[op],
        r->name, 1e3 * s, mb_s, limits, to, from, ratio);
    fflush(stdout);
    json_t *event = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:I, s:s, s:f, s:f, s:i, s:s, s:o}", "event",
        "kv", "kind", r->peers ? "peer" : "store", "name", r->name, "op", tutti_kv_ops[op], "type",
        r->type, "servers", r->servers, "clients", r->clients, "workers", b->workers, "keys",
        (int)b->o.keys, "bytes", (json_int_t)bytes, "design", r->peers ? "" : b->o.design,
        "round_ms", 1e3 * s, "mb_s", mb_s, "count", (int)b->o.blocks, "unit", "ms", "samples",
        tutti_result_samples(b->o.blocks, r->block_s[op], 1e3));
    if (!b->o.link_mbit.word)
        json_object_set_new(event, "link_mbit", json_real(b->o.link_mbit.value));
    if (limit > 0) json_object_set_new(event, "limit_ms", json_real(1e3 * limit));
    if (over > 0) {
        json_object_set_new(event, "over_peer", json_real(over));
        json_object_set_new(event, "over_peer_name", json_string(peer->name));
    }
    if (!r->peers) {
        json_object_set_new(event, "server_in_bytes", json_integer((json_int_t)r->in[op]));
        json_object_set_new(event, "server_out_bytes", json_integer((json_int_t)r->out[op]));
    }
    tutti_result_event(b->result, event);
}

void tutti_kv_report(tutti_kv_bench *b, int64_t bytes)
{
    for (int op = 0; op < TUTTI_KV_OPS; op++)
        for (int i = 0; i < b->rows; i++) report_op(b, &b->row[i], op, bytes);
}
