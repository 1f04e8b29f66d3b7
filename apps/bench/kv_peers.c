#include "apps/bench/kv_rows.h"

#include "apps/bench/peer_ranks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The first ranks of the world work, the next ones serve. */
static tutti_status start_one(
    tutti_kv_bench *b, const char *program, const char *variant, int servers)
{
    char arguments[256], name[TUTTI_KV_NAME];
    const int rank = b->world.boot.rank;
    tutti_kv_bench_row *row;
    snprintf(name, sizeof name, "MXNet %s, %d server%s", variant, servers, servers > 1 ? "s" : "");
    tutti_status status = tutti_kv_bench_add(b, name, &row);
    if (status) return status;
    row->peers = 1;
    row->servers = servers;
    row->clients = b->workers;
    snprintf(row->type, sizeof row->type, "%.*s", (int)strcspn(variant, "-"), variant);
    snprintf(arguments, sizeof arguments, "--role %s --keys %" PRId64 " --variant %s",
        rank < b->workers ? "worker" : "server", b->o.keys, variant);
    const tutti_peer_mxnet mxnet = {.program = program,
        .arguments = rank < b->workers + servers ? arguments : NULL,
        .interface = b->o.interface,
        .workers = b->workers,
        .servers = servers,
        .timeout_s = b->o.timeout_s};
    return tutti_peer_ranks_start_mxnet(&b->world, &mxnet, &row->peer);
}

tutti_status tutti_kv_peers_start(tutti_kv_bench *b)
{
    static const tutti_peer_script script = {
        .file = "mxnet_kv.py", .module = "mxnet", .package = "mxnet"};
    char program[4096];
    tutti_status status =
        tutti_peer_ranks_program(&b->world, b->o.peer, &script, program, sizeof program);
    if (status || !*program) return status;
    for (int v = 0; v < b->variants.count && !status; v++)
        for (int s = 0; s < b->server_counts && !status; s++)
            if (b->servers[s] > 0)
                status = start_one(b, program, b->variants.word[v], b->servers[s]);
    return status;
}

tutti_status tutti_kv_peers_block(
    tutti_kv_bench *b, tutti_kv_bench_row *row, int op, int64_t bytes, double *round_s)
{
    char request[64];
    *round_s = 0;
    if (!row->peer || b->world.boot.rank >= b->workers) return TUTTI_OK;
    snprintf(request, sizeof request, "%s %" PRId64 " %" PRId64, tutti_kv_ops[op], bytes,
        row->rounds[op]);
    return tutti_peer_ask(row->peer, request, b->o.timeout_s, round_s);
}
