#include "designs/verify/fingerprint.h"

#include <stdio.h>
#include <string.h>

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    size_t left = strlen(text);
    for (hash = mix(hash, left); left;) {
        uint64_t word = 0;
        size_t part = left < sizeof word ? left : sizeof word;
        memcpy(&word, text, part);
        hash = mix(hash, word);
        text += part;
        left -= part;
    }
    return hash;
}

/* What a kind of collective has beyond a name. */
static const struct trait {
    int data, reduces, rooted;
} traits[TUTTI_COLL_KINDS] = {
    [TUTTI_ALLREDUCE] = {1, 1, 0},
    [TUTTI_BROADCAST] = {1, 0, 1},
    [TUTTI_REDUCE] = {1, 1, 1},
    [TUTTI_ALLGATHER] = {1, 0, 0},
    [TUTTI_REDUCE_SCATTER] = {1, 1, 0},
    [TUTTI_BARRIER] = {0, 0, 0},
};

static const struct trait *trait_of(int kind)
{
    static const struct trait unknown;
    return kind >= 0 && kind < TUTTI_COLL_KINDS ? &traits[kind] : &unknown;
}

void tutti_fingerprint_make(
    const tutti_entry *entry, int64_t number, tutti_fingerprint *fingerprint)
{
    const tutti_coll_args *a = &entry->args;
    const struct trait *trait = trait_of((int)a->kind);
    const char *name = entry->name ? entry->name : "";
    tutti_fingerprint *f = fingerprint;
    *f = (tutti_fingerprint){.sequence = entry->sequence,
        .index = entry->index,
        .number = number,
        .count = trait->data ? a->count : 0,
        .lane = entry->lane,
        .root = trait->rooted ? a->root : 0,
        .slice = entry->slice,
        .slices = entry->slices,
        .kind = (int32_t)a->kind,
        .dtype = trait->data ? (int32_t)a->dtype : 0,
        .op = trait->reduces ? (int32_t)a->op : 0};
    snprintf(f->name, sizeof f->name, "%s", name);
    f->hash = mix(1, (uint64_t)f->sequence);
    f->hash = mix(f->hash, (uint64_t)f->index);
    f->hash = mix(f->hash, (uint64_t)f->count);
    f->hash = mix(f->hash, (uint64_t)f->slice << 32 | (uint64_t)f->slices);
    f->hash = mix(f->hash, (uint64_t)f->root << 32 | (uint64_t)f->kind << 16 |
                               (uint64_t)f->dtype << 8 | (uint64_t)f->op);
    f->hash = mix_text(f->hash, name);
}

char *tutti_fingerprint_write(const tutti_fingerprint *fingerprint, char *text, size_t size)
{
    const tutti_fingerprint *f = fingerprint;
    const struct trait *trait = trait_of(f->kind);
    const char *kind = tutti_coll_kind_name((tutti_coll_kind)f->kind);
    char name[TUTTI_FINGERPRINT_NAME + 4] = "", slice[40] = "";
    char data[48] = "", op[16] = "", root[24] = "";
    if (strcmp(f->name, kind) != 0) snprintf(name, sizeof name, " '%s'", f->name);
    if (f->slices > 1)
        snprintf(slice, sizeof slice, " (slice %d of %d)", (int)f->slice + 1, (int)f->slices);
    if (trait->data)
        snprintf(data, sizeof data, " of %lld %s", (long long)f->count,
            tutti_dtype_name((tutti_dtype)f->dtype));
    if (trait->reduces)
        snprintf(op, sizeof op, " (%s)", tutti_reduce_op_name((tutti_reduce_op)f->op));
    if (trait->rooted)
        snprintf(root, sizeof root, " %s rank %d", trait->reduces ? "to" : "from", (int)f->root);
    snprintf(text, size, "#%lld%s%s, %s%s%s%s", (long long)f->sequence, name, slice, kind, data, op,
        root);
    return text;
}
