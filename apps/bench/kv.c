#include "apps/bench/kv_rows.h"
#include "apps/bench/rows.h"
#include "apps/bench/settings.h"
#include "dag/base/log.h"
#include "dag/base/number.h"
#include "designs/design.h"
#include "designs/exchange/settings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BLOCKS = 1000, MOST_KEYS = 64, MOST_ROUNDS = 1000, LEAST_ROUNDS = 2 };

static const char *choice_design(int i)
{
    return tutti_designs[i] ? tutti_designs[i]->name : NULL;
}

#define AT(member) .offset = offsetof(tutti_kv_bench_options, member)
static const tutti_setting settings[] = {
    {TUTTI_CONF_HEADING, .help = "Options"},
    {TUTTI_CONF_TEXT, "types", "LIST", .fallback = "sync,async", AT(types),
        .help = "types of the store: sync, async, bounded:S"},
    {TUTTI_CONF_TEXT, "servers", "LIST", .fallback = "1", AT(servers),
        .help = "numbers of ranks that serve; 0: none, all workers are one client. The ranks that "
                "are left beside the largest number work"},
    {TUTTI_CONF_TEXT, "clients", "LIST", .fallback = "workers", AT(clients),
        .help = "numbers of clients that the workers form; workers: each is one"},
    {TUTTI_CONF_INT, "from", "BYTES", .fallback = "4096", .low = 4, .high = 1e9, AT(from),
        .help = "smallest size of a key, a multiple of 4"},
    {TUTTI_CONF_INT, "to", "BYTES", .fallback = "4194304", .low = 4, .high = 1e9, AT(to),
        .help = "largest size"},
    {TUTTI_CONF_INT, "factor", "N", .fallback = "32", .low = 2, .high = 1024, AT(factor),
        .help = "factor from one size to the next"},
    {TUTTI_CONF_INT, "keys", "N", .fallback = "4", .low = 1, .high = MOST_KEYS, AT(keys),
        .help = "keys of this size, which a round pushes and pulls together"},
    {TUTTI_CONF_CHOICE, "design", "NAME", .fallback = "funneled", .choice = choice_design,
        AT(design), .help = "how collectives of the store start"},
    {TUTTI_CONF_INT, "blocks", "N", .fallback = "5", .low = 1, .high = MOST_BLOCKS, AT(blocks),
        .help = "blocks of each of what is compared, in turns"},
    {TUTTI_CONF_REAL, "block-s", "S", .fallback = "0.3", .low = 1e-3, .high = 1e3, AT(block_s),
        .help = "duration of a block of one operation in seconds; it has at least two rounds"},
    TUTTI_SETTING_TOPOLOGY(AT(topology)),
    TUTTI_SETTING_LINK_MBIT(AT(link_mbit)),
    {TUTTI_CONF_TEXT, "peer", "WHAT", .fallback = "none", .environment = "TUTTI_PEER_MXNET",
        AT(peer),
        .help = "what to compare with: a folder made by tutti-bench peers --package mxnet; none; "
                "or a command"},
    {TUTTI_CONF_TEXT, "peer-variants", "LIST", .fallback = "sync,async", AT(variants),
        .help = "sync and async of MXNet, each with settings: -bN cuts keys from N thousand "
                "elements on, -pN has N processes on a server's host, -tN has N threads"},
    {TUTTI_CONF_TEXT, "interface", "NAME", AT(interface),
        .help = "network interface of the peers (default: the first that is up)"},
    TUTTI_BENCH_SETTINGS_RUN("120", tutti_kv_bench_options),
    {0},
};
static const tutti_conf_brief brief[] = {{"types", NULL}, {"servers", NULL}, {"clients", NULL},
    {"from", NULL}, {"to", NULL}, {"design", NULL}, {"blocks", NULL}, {"link-mbit", NULL},
    {"peer", NULL}, {"json", NULL}, {"csv", NULL}, {0}};

static const tutti_conf conf = {
    .program = "tutti-bench kv",
    .usage = "[OPTION]...",
    .summary = "Times pushes, pulls and both of keys on servers (tutti-run -n P tutti-bench kv "
               "...), by size, type of the store and numbers of servers and clients, in turns, and "
               "in turns with MXNet's kvstore. First verifies all values. Counts the bytes of the "
               "servers, and checks that they are what the clients have pushed and pulled.",
    .settings = settings,
    .brief = brief,
};

/* ---- what is compared ---- */

/* "1,2,workers" into numbers; word: what stands for `meant`, or NULL. */
static tutti_status read_list(const char *option, const char *list, int least, const char *word,
    int meant, int values[TUTTI_KV_LAYOUTS], int *count)
{
    char text[32];
    int64_t value;
    *count = 0;
    for (size_t length; *list; list += length + (list[length] == ',')) {
        length = strcspn(list, ",");
        snprintf(text, sizeof text, "%.*s", (int)(length < 31 ? length : 31), list);
        int named = word && !strcmp(text, word);
        if (named) value = meant;
        if ((!named && (!tutti_number_int(text, &value) || value < least || value > 1000000)) ||
            *count == TUTTI_KV_LAYOUTS)
            return tutti_conf_refuse(&conf, option, text,
                word ? "must be up to 8 whole numbers above 0, or workers, separated by commas"
                     : "must be up to 8 whole numbers from 0 on, separated by commas");
        values[(*count)++] = (int)value;
    }
    return *count ? TUTTI_OK : tutti_conf_refuse(&conf, option, list, "is empty");
}

static tutti_status add_row(tutti_kv_bench *b, const char *type, int servers, int clients)
{
    char name[TUTTI_KV_NAME];
    tutti_kv_bench_row *row;
    if (servers)
        snprintf(name, sizeof name, "%s, %d server%s, %d client%s", type, servers,
            servers > 1 ? "s" : "", clients, clients > 1 ? "s" : "");
    else
        snprintf(name, sizeof name, "%s, no server, 1 client", type);
    tutti_status status = tutti_kv_bench_add(b, name, &row);
    if (status) return status;
    snprintf(row->type, sizeof row->type, "%s", type);
    row->servers = servers;
    row->clients = clients;
    return TUTTI_OK;
}

static tutti_status add_type(
    tutti_kv_bench *b, const char *type, int clients_count, const int clients[])
{
    tutti_status status = TUTTI_OK;
    for (int s = 0; s < b->server_counts && !status; s++) {
        if (!b->servers[s]) { /* there is one client, and sync alone */
            if (!strcmp(type, "sync")) status = add_row(b, type, 0, 1);
            continue;
        }
        for (int c = 0; c < clients_count && !status; c++)
            status = add_row(b, type, b->servers[s], clients[c]);
    }
    return status;
}

static tutti_status add_rows(tutti_kv_bench *b)
{
    int clients[TUTTI_KV_LAYOUTS], clients_count;
    char type[16];
    tutti_status status =
        read_list("clients", b->o.clients, 1, "workers", b->workers, clients, &clients_count);
    for (int c = 0; !status && c < clients_count; c++)
        if (clients[c] > b->workers || b->workers % clients[c]) {
            char text[16];
            snprintf(text, sizeof text, "%d", clients[c]);
            status = tutti_conf_refuse(&conf, "clients", text,
                "the workers (the ranks without the largest number of --servers) cannot form so "
                "many groups of equal size");
        }
    const char *list = b->o.types;
    for (size_t length; !status && *list; list += length + (list[length] == ',')) {
        length = strcspn(list, ",");
        snprintf(type, sizeof type, "%.*s", (int)(length < 15 ? length : 15), list);
        if (strcmp(type, "sync") && strcmp(type, "async") && strncmp(type, "bounded:", 8))
            return tutti_conf_refuse(
                &conf, "types", type, "must be sync, async or bounded:S, separated by commas");
        status = add_type(b, type, clients_count, clients);
    }
    if (!status && !b->rows)
        status = tutti_conf_refuse(
            &conf, "servers", b->o.servers, "without servers there is the type sync alone");
    return status;
}

static tutti_status divide_ranks(tutti_kv_bench *b)
{
    tutti_status status =
        read_list("servers", b->o.servers, 0, NULL, 0, b->servers, &b->server_counts);
    for (int s = 0; s < b->server_counts && !status; s++)
        if (b->servers[s] > b->most_servers) b->most_servers = b->servers[s];
    b->workers = b->world.boot.size - b->most_servers;
    if (!status && b->workers < 1)
        status = tutti_conf_refuse(&conf, "servers", b->o.servers,
            "no rank is left to work: start more ranks (tutti-run -n), or have fewer serve");
    return status;
}

/* ---- what was counted ---- */

/* Every push of a client brings all keys to the servers once, whatever the number of its workers, and every pull
 * takes them from there once. */
static tutti_status check_bytes(const tutti_kv_bench *b, const tutti_kv_bench_row *r, int op,
    int64_t bytes, double sent, double received)
{
    double all = (double)(r->servers ? r->clients * b->o.keys * bytes * r->rounds[op] : 0);
    double in = op == TUTTI_KV_PULLS ? 0 : all, out = op == TUTTI_KV_PUSHES ? 0 : all;
    if (sent == in && received == out) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INTERNAL,
        "%s, %s: servers got %.0f bytes and gave %.0f, instead of %.0f and %.0f", r->name,
        tutti_kv_ops[op], sent, received, in, out);
}

static tutti_status count(
    tutti_kv_bench *b, tutti_kv_bench_row *r, int64_t bytes, const tutti_store_result *mine)
{
    double served[2] = {mine->served_in, mine->served_out}, most_served[2],
           worker[2 * TUTTI_KV_OPS], most_worker[2 * TUTTI_KV_OPS],
           all[2] = {mine->first_sent, mine->first_received};
    for (int op = 0; op < TUTTI_KV_OPS; op++) {
        worker[2 * op] = mine->sent[op];
        worker[2 * op + 1] = mine->received[op];
    }
    memcpy(most_served, served, sizeof served);
    memcpy(most_worker, worker, sizeof worker);
    tutti_status status = tutti_world_max(&b->world, 2, most_served);
    if (!status) status = tutti_world_max(&b->world, 2 * TUTTI_KV_OPS, most_worker);
    if (!status) status = tutti_world_sum(&b->world, 2, served);
    if (!status) status = tutti_world_sum(&b->world, 2 * TUTTI_KV_OPS, worker);
    if (!status) status = tutti_world_sum(&b->world, 2, all);
    for (int op = 0; op < TUTTI_KV_OPS && !status; op++) {
        const double rounds = (double)r->rounds[op];
        const double *w = &worker[2 * op];
        status = check_bytes(b, r, op, bytes, w[0], w[1]);
        all[0] += w[0];
        all[1] += w[1];
        r->in[op] = w[0] / rounds;
        r->out[op] = w[1] / rounds;
        double busiest_in = served[0] > 0 ? r->in[op] * most_served[0] / served[0] : 0;
        double busiest_out = served[1] > 0 ? r->out[op] * most_served[1] / served[1] : 0;
        r->most[op] = fmax(fmax(busiest_in, busiest_out),
            fmax(most_worker[2 * op], most_worker[2 * op + 1]) / rounds);
    }
    /* what servers have counted themselves */
    if (!status && (served[0] != all[0] || served[1] != all[1]))
        status = tutti_fail(TUTTI_ERR_INTERNAL,
            "%s: servers say that they got %.0f bytes and gave %.0f; workers, %.0f and %.0f",
            r->name, served[0], served[1], all[0], all[1]);
    return status;
}

/* ---- turns ---- */

static tutti_status run_store(tutti_kv_bench *b, tutti_kv_bench_row *r, int64_t bytes, int verifies,
    double op_s[TUTTI_KV_OPS])
{
    tutti_store_result mine;
    tutti_store_plan plan = {.workers = b->workers,
        .servers = r->servers,
        .clients = r->clients,
        .type = r->type,
        .design = b->o.design,
        .keys = (int)b->o.keys,
        .bytes = bytes,
        .verifies = verifies,
        .timeout_s = b->o.timeout_s};
    memcpy(plan.rounds, r->rounds, sizeof plan.rounds);
    tutti_status status = tutti_store_run(&b->world, &plan, &mine);
    if (!status) status = count(b, r, bytes, &mine);
    memcpy(op_s, mine.op_s, sizeof mine.op_s);
    return status;
}

static tutti_status run_peer(
    tutti_kv_bench *b, tutti_kv_bench_row *r, int64_t bytes, double op_s[TUTTI_KV_OPS])
{
    tutti_status status = TUTTI_OK;
    for (int op = 0; op < TUTTI_KV_OPS && !status; op++) {
        status = tutti_kv_peers_block(b, r, op, bytes, &op_s[op]);
        status = tutti_world_agree(&b->world, status);
    }
    return status;
}

/* Seconds a round of each op, of the slowest worker. */
static tutti_status run_block(tutti_kv_bench *b, tutti_kv_bench_row *r, int64_t bytes, int verifies,
    double op_s[TUTTI_KV_OPS])
{
    tutti_status status =
        r->peers ? run_peer(b, r, bytes, op_s) : run_store(b, r, bytes, verifies, op_s);
    return status ? status : tutti_world_max(&b->world, TUTTI_KV_OPS, op_s);
}

/* Verifies, warms up, and finds how many rounds a block has. */
static tutti_status plan_rounds(tutti_kv_bench *b, tutti_kv_bench_row *r, int64_t bytes)
{
    double op_s[TUTTI_KV_OPS];
    for (int op = 0; op < TUTTI_KV_OPS; op++) r->rounds[op] = LEAST_ROUNDS;
    tutti_status status = run_block(b, r, bytes, 1, op_s);
    for (int op = 0; op < TUTTI_KV_OPS && !status; op++) {
        double rounds = op_s[op] > 0 ? b->o.block_s / op_s[op] : MOST_ROUNDS;
        r->rounds[op] = rounds < LEAST_ROUNDS  ? LEAST_ROUNDS
                        : rounds > MOST_ROUNDS ? MOST_ROUNDS
                                               : (int64_t)rounds;
    }
    return status; /* times are the slowest worker's, so all ranks plan the same */
}

static tutti_status measure(tutti_kv_bench *b, int64_t bytes)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < b->rows && !status; i++) status = plan_rounds(b, &b->row[i], bytes);
    for (int64_t block = 0; block < b->o.blocks && !status; block++)
        for (int i = 0; i < b->rows && !status; i++) {
            double op_s[TUTTI_KV_OPS];
            status = run_block(b, &b->row[i], bytes, 0, op_s);
            for (int op = 0; op < TUTTI_KV_OPS && !status; op++)
                b->row[i].block_s[op][block] = op_s[op];
        }
    return status;
}

static tutti_status measure_all(tutti_kv_bench *b)
{
    tutti_status status = TUTTI_OK;
    if (b->result) tutti_kv_report_head(b);
    for (int64_t bytes = b->o.from / 4 * 4; bytes <= b->o.to && !status; bytes *= b->o.factor) {
        status = measure(b, bytes);
        if (!status && b->result) tutti_kv_report(b, bytes);
    }
    return status;
}

/* ---- the command ---- */

static tutti_status set_up(tutti_kv_bench *b)
{
    tutti_status status = tutti_peer_split_variants(&conf, b->o.variants, &b->variants);
    if (!status) status = divide_ranks(b);
    if (!status) status = add_rows(b);
    if (!status && b->world.boot.rank == 0)
        status = tutti_result_open(b->o.json, b->o.csv, &b->result);
    if (!status) status = tutti_store_start();
    return tutti_world_agree(&b->world, status);
}

static tutti_status take_down(tutti_kv_bench *b)
{
    for (int i = 0; i < b->rows; i++) {
        tutti_peer_stop(b->row[i].peer);
        for (int op = 0; op < TUTTI_KV_OPS; op++) free(b->row[i].block_s[op]);
    }
    return tutti_result_close(b->result);
}

static tutti_status run(int argc, char **argv)
{
    static tutti_kv_bench b; /* too large for the stack */
    int go;
    tutti_status status = tutti_conf_start(&conf, argc, argv, &b.o, &go);
    if (!go) return status;
    if (b.o.from > b.o.to) return tutti_conf_refuse(&conf, "from", NULL, "is above --to");
    status = tutti_world_open(b.o.timeout_s, &b.world);
    if (!status) status = tutti_world_links(&b.world, b.o.topology, b.o.link_mbit, NULL);
    if (status) return status;
    status = set_up(&b);
    if (status == TUTTI_ERR_USAGE) { /* on all ranks, which leave together */
        tutti_world_close(&b.world, TUTTI_OK);
        return status;
    }
    if (!status) status = tutti_kv_peers_start(&b);
    if (!status) status = measure_all(&b);
    if (!status) tutti_store_stop();
    tutti_status closed = take_down(&b);
    tutti_world_close(&b.world, status);
    return status ? status : closed;
}

const tutti_bench tutti_bench_kv = {"kv", "keys on servers, by size, servers and clients", run};
