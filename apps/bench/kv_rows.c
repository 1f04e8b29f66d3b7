#include "apps/bench/kv_rows.h"

#include "dag/base/log.h"

#include <stdio.h>
#include <stdlib.h>

tutti_status tutti_kv_bench_add(tutti_kv_bench *b, const char *name, tutti_kv_bench_row **row)
{
    if (b->rows == TUTTI_KV_ROWS)
        return tutti_fail(TUTTI_ERR_USAGE,
            "these are more than %d layouts: give fewer types, servers or clients", TUTTI_KV_ROWS);
    tutti_kv_bench_row *r = &b->row[b->rows++];
    *r = (tutti_kv_bench_row){.servers = 0};
    snprintf(r->name, sizeof r->name, "%s", name);
    for (int op = 0; op < TUTTI_KV_OPS; op++)
        if (!(r->block_s[op] = calloc((size_t)b->o.blocks, sizeof *r->block_s[op])))
            return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the times of blocks");
    *row = r;
    return TUTTI_OK;
}
