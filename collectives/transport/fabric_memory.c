#include "collectives/transport/fabric_parts.h"
#include "dag/base/log.h"
#include "dag/base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

tutti_fabric_region *tutti_fabric_find(tutti_fabric *f, const void *data, size_t bytes)
{
    for (int i = 0; i < f->regions; i++) {
        tutti_fabric_region *g = &f->region[i];
        const uintptr_t at = (uintptr_t)data - (uintptr_t)g->at;
        if (g->at && g->taken && at < g->bytes && bytes <= g->bytes - at) return g;
    }
    return NULL;
}

/* No other process may write to it any more. Lock held. */
static void release(tutti_fabric *f, tutti_fabric_region *g)
{
    f->registered -= g->bytes;
    fi_close(&g->mr->fid);
    if (g->arena)
        tutti_shm_give(g->arena, g->at);
    else
        free(g->at);
    g->at = NULL;
}

void tutti_fabric_take_back(tutti_fabric *f, tutti_fabric_region *g)
{
    if (!--g->lent && !g->taken) release(f, g);
}

/* A free number. NULL: no memory, or too many. Lock held. */
static tutti_fabric_region *find_free(tutti_fabric *f)
{
    for (int i = 0; i < f->regions; i++)
        if (!f->region[i].at) return &f->region[i];
    if (f->regions == TUTTI_FABRIC_MOST_REGIONS) return NULL;
    const int room = f->regions ? 2 * f->regions : 64;
    tutti_fabric_region *more = realloc(f->region, (size_t)room * sizeof *more);
    if (!more) return NULL;
    memset(more + f->regions, 0, (size_t)(room - f->regions) * sizeof *more);
    f->region = more;
    tutti_fabric_region *first = &more[f->regions];
    f->regions = room;
    return first;
}

/* A key that a stranger cannot guess, where the provider takes one of 8 bytes. */
static uint64_t draw_key(tutti_fabric *f)
{
    uint64_t key;
    if (f->info->domain_attr->mr_key_size < sizeof key ||
        getrandom(&key, sizeof key, 0) != sizeof key)
        key = f->keys;
    f->keys++;
    return key;
}

/* Returns libfabric's code. Lock held. */
static int register_region(tutti_fabric *f, tutti_shm *arena, void *memory, size_t bytes)
{
    tutti_fabric_region *g = find_free(f);
    struct fid_mr *mr;
    if (!g) return -FI_ENOMEM;
    if (bytes >> TUTTI_FABRIC_OFFSET_BITS) return -FI_EMSGSIZE;
    if (f->most_bytes && f->registered + bytes > f->most_bytes) return -FI_ENOMEM;
    int code = -FI_ENOKEY;
    for (int tries = 0; code == -FI_ENOKEY && tries < 3; tries++)
        code = fi_mr_reg(f->domain, memory, bytes, FI_REMOTE_WRITE, 0, draw_key(f), 0, &mr, NULL);
    if (code) return code;
    const int by_address = (f->info->domain_attr->mr_mode & (FI_MR_VIRT_ADDR | FI_MR_BASIC)) != 0;
    *g = (tutti_fabric_region){.at = memory,
        .bytes = bytes,
        .arena = arena,
        .mr = mr,
        .base = by_address ? (uint64_t)(uintptr_t)memory : 0,
        .key = fi_mr_key(mr),
        .version = g->version + 1,
        .taken = 1};
    f->registered += bytes;
    return 0;
}

tutti_status tutti_fabric_take(
    tutti_interconnect *network, tutti_shm *arena, size_t bytes, void **memory)
{
    tutti_fabric *f = (tutti_fabric *)network;
    void *got = NULL;
    tutti_status status = TUTTI_OK;
    if (arena)
        status = tutti_shm_take(arena, bytes, &got);
    else if (!(got = tutti_mem_aligned(bytes)))
        status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for a buffer of %zu bytes", bytes);
    if (status) return status;
    pthread_mutex_lock(&f->lock);
    const int code = f->domain ? register_region(f, arena, got, bytes) : -FI_EOPBADSTATE;
    const size_t registered = f->registered;
    pthread_mutex_unlock(&f->lock);
    *memory = got;
    if (!code) return TUTTI_OK;
    if (arena)
        tutti_shm_give(arena, got);
    else
        free(got);
    return tutti_fail(TUTTI_ERR_NOMEM,
        "%zu bytes cannot be registered with %s besides %zu (%s; see ulimit -l): messages to "
        "buffers without are copied once more",
        bytes, f->info->fabric_attr->prov_name, registered, f->library.strerror(-code));
}

void tutti_fabric_give(tutti_interconnect *network, void *memory)
{
    tutti_fabric *f = (tutti_fabric *)network;
    if (!memory) return;
    pthread_mutex_lock(&f->lock);
    tutti_fabric_region *g = tutti_fabric_find(f, memory, 1);
    if (g) g->taken = 0;
    if (g && !g->lent) release(f, g);
    pthread_mutex_unlock(&f->lock);
}

size_t tutti_fabric_registered(tutti_interconnect *network)
{
    tutti_fabric *f = (tutti_fabric *)network;
    pthread_mutex_lock(&f->lock);
    const size_t registered = f->registered;
    pthread_mutex_unlock(&f->lock);
    return registered;
}

/* The endpoints are closed: no process writes any more. Tasks that never ended may use what was not given back. */
void tutti_fabric_free_memory(tutti_fabric *f)
{
    for (int i = 0; i < f->regions; i++) {
        tutti_fabric_region *g = &f->region[i];
        if (g->at && g->taken)
            fi_close(&g->mr->fid);
        else if (g->at)
            release(f, g);
    }
    free(f->region);
}
