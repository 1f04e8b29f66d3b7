#include "designs/verify/fingerprint.h"

#include <stdio.h>
#include <string.h>

static uint64_t mix_text(uint64_t hash, const char *text)
{
    size_t left = strlen(text);
    for (hash = tutti_coll_mix(hash, left); left;) {
        uint64_t word = 0;
        size_t part = left < sizeof word ? left : sizeof word;
        memcpy(&word, text, part);
        hash = tutti_coll_mix(hash, word);
        text += part;
        left -= part;
    }
    return hash;
}

void tutti_fingerprint_make(const tutti_entry *entry, int64_t number, const tutti_members *members,
    tutti_fingerprint *fingerprint)
{
    const tutti_coll_args *a = &entry->args;
    const tutti_coll_trait *trait = tutti_coll_trait_of(a->kind);
    const char *name = entry->name ? entry->name : "";
    tutti_fingerprint *f = fingerprint;
    *f = (tutti_fingerprint){.sequence = entry->sequence,
        .index = entry->index,
        .number = number,
        .count = trait->data ? a->count : 0,
        .lane = entry->lane,
        .root = trait->rooted ? a->root : 0,
        .chunk = entry->chunk,
        .chunks = entry->chunks,
        .kind = (int32_t)a->kind,
        .dtype = trait->data ? (int32_t)a->dtype : 0,
        .op = trait->reduces ? (int32_t)a->op : 0,
        .priority = entry->priority,
        .key = members->key,
        .counts = trait->parts ? tutti_coll_counts_hash(a, members->size) : 0};
    snprintf(f->name, sizeof f->name, "%s", name);
    if (trait->reduces) snprintf(f->op_name, sizeof f->op_name, "%s", tutti_coll_op_name(a));
    f->hash = tutti_coll_mix(1, (uint64_t)f->sequence);
    f->hash = tutti_coll_mix(f->hash, (uint64_t)f->index);
    f->hash = tutti_coll_mix(f->hash, (uint64_t)f->count);
    f->hash = tutti_coll_mix(f->hash, (uint64_t)f->chunk << 32 | (uint64_t)f->chunks);
    f->hash = tutti_coll_mix(f->hash, (uint64_t)f->root << 32 | (uint64_t)f->kind << 16 |
                                          (uint64_t)f->dtype << 8 | (uint64_t)f->op);
    if (a->kind != TUTTI_MESSAGE) /* whose two ranks name their own data */
        f->hash = mix_text(f->hash, name);
    if (f->key) f->hash = tutti_coll_mix(f->hash, (uint64_t)f->key);
    if (f->counts) f->hash = tutti_coll_mix(f->hash, f->counts);
    if (f->priority) f->hash = tutti_coll_mix(f->hash, (uint64_t)(int64_t)f->priority);
    if (trait->reduces && a->user) f->hash = tutti_coll_mix(f->hash, tutti_coll_operator_hash(a));
}

char *tutti_fingerprint_write(const tutti_fingerprint *fingerprint, char *text, size_t size)
{
    const tutti_fingerprint *f = fingerprint;
    const tutti_coll_trait *trait = tutti_coll_trait_of((tutti_coll_kind)f->kind);
    const char *kind = tutti_coll_kind_name((tutti_coll_kind)f->kind);
    char name[TUTTI_FINGERPRINT_NAME + 4] = "", chunk[40] = "";
    char data[80] = "", op[TUTTI_FINGERPRINT_OP + 40] = "", root[24] = "", priority[32] = "";
    if (strcmp(f->name, kind) != 0) snprintf(name, sizeof name, " '%s'", f->name);
    if (f->chunks > 1)
        snprintf(chunk, sizeof chunk, " (chunk %d of %d)", (int)f->chunk + 1, (int)f->chunks);
    if (trait->data)
        snprintf(data, sizeof data, " of %lld %s%s", (long long)f->count,
            tutti_dtype_name((tutti_dtype)f->dtype), f->counts ? " in parts of given lengths" : "");
    if (trait->reduces && f->op >= TUTTI_USER_OP)
        snprintf(op, sizeof op, " (%s, user-defined operator %d)", f->op_name,
            (int)f->op - TUTTI_USER_OP + 1);
    else if (trait->reduces)
        snprintf(op, sizeof op, " (%s)", f->op_name);
    if (trait->rooted)
        snprintf(root, sizeof root, " %s rank %d",
            f->kind == TUTTI_REDUCE || f->kind == TUTTI_GATHER ? "to" : "from", (int)f->root);
    if (f->priority) snprintf(priority, sizeof priority, ", priority %d", (int)f->priority);
    snprintf(text, size, "#%lld%s%s, %s%s%s%s%s", (long long)f->sequence, name, chunk, kind, data,
        op, root, priority);
    return text;
}
