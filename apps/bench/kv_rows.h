/* The inside of tutti-bench kv: what is timed. kv.c has the options and the turns, kv_peers.c MXNet,
 * kv_tell.c the results. Threads: [M]. */
#ifndef TUTTI_BENCH_KV_ROWS_H
#define TUTTI_BENCH_KV_ROWS_H

#include "apps/bench/kv_store.h"
#include "apps/bench/peer.h"
#include "apps/bench/result.h"
#include "apps/bench/world.h"
#include "dag/base/conf.h"

enum { TUTTI_KV_ROWS = 48, TUTTI_KV_NAME = 64, TUTTI_KV_LAYOUTS = 8 };

typedef struct tutti_kv_bench_options {
    const char *types, *servers, *clients, *design, *peer, *variants, *interface, *json, *csv;
    int64_t from, to, factor, keys, blocks;
    double block_s, timeout_s;
    const char *topology;
    tutti_conf_real link_mbit;
} tutti_kv_bench_options;

/* A layout of ours, or of the peer's, with its times at the current size. */
typedef struct tutti_kv_bench_row {
    char name[TUTTI_KV_NAME], type[16];
    int servers, clients;
    tutti_peer *peer; /* this rank's part of it */
    int peers;        /* it is one */
    int64_t rounds[TUTTI_KV_OPS];
    double *block_s[TUTTI_KV_OPS]; /* [blocks] seconds a round of the slowest worker */
    /* Bytes a round on all servers, and on the busiest one; on the busiest worker. 0: not counted. */
    double in[TUTTI_KV_OPS], out[TUTTI_KV_OPS], most[TUTTI_KV_OPS];
} tutti_kv_bench_row;

typedef struct tutti_kv_bench {
    tutti_kv_bench_options o;
    tutti_world world;
    tutti_result *result; /* rank 0's */
    int workers, most_servers;
    int servers[TUTTI_KV_LAYOUTS], server_counts; /* of --servers */
    tutti_peer_variants variants;
    int rows;
    tutti_kv_bench_row row[TUTTI_KV_ROWS];
} tutti_kv_bench;

/* A new row, whose times are its own. NOMEM; USAGE: too many (logged). */
tutti_status tutti_kv_bench_add(tutti_kv_bench *b, const char *name, tutti_kv_bench_row **row);

/* Starts MXNet, where there is one: a row for every variant and number of servers above 0. All ranks call it. */
tutti_status tutti_kv_peers_start(tutti_kv_bench *b);
/* Seconds a round of this rank's part: 0 on those that do not work. */
tutti_status tutti_kv_peers_block(
    tutti_kv_bench *b, tutti_kv_bench_row *row, int op, int64_t bytes, double *round_s);

/* What was measured at a size, and the head above the first. */
void tutti_kv_report_head(const tutti_kv_bench *b);
void tutti_kv_report(tutti_kv_bench *b, int64_t bytes);

#endif
