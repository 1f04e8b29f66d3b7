/* What the ground is, whatever has led to it. */
#include "tests/deadlock/kv_ground_parts.h"

#include <string.h>

uint64_t ground_hash(uint64_t state, const void *bytes, size_t size)
{
    const unsigned char *from = bytes;
    for (uint64_t word = 0; size; word = 0) {
        size_t n = size < sizeof word ? size : sizeof word;
        memcpy(&word, from, n);
        state = wire_mix(state, word);
        from += n;
        size -= n;
    }
    return state;
}

uint64_t ground_hash_data(uint64_t state, tutti_handle data)
{
    state = ground_hash(state, data->memory, (size_t)data->count * data->element);
    return data->lost ? ~state : state;
}

/* How many ops are before it on its data, and on its edge. */
static int place_on_data(const ground_op *op)
{
    int n = 0;
    for (const use *u = op->task.data[0]->first; u->op != op; u = u->next) n++;
    return n;
}

static int place_on_edge(const ground *g, const ground_op *op)
{
    int n = 0;
    for (const ground_op *o = g->rank[op->rank].first; o != op; o = o->next)
        n += o->kind == op->kind && o->ordered.peer == op->ordered.peer &&
             o->ordered.tag == op->ordered.tag;
    return n;
}

static uint64_t state_of_op(const ground *g, const ground_op *op)
{
    const int what[] = {(int)op->kind, op->ordered.peer, op->ordered.tag, op->ordered.has_spare,
        op->begun > 0, op->away, op->root, place_on_data(op), place_on_edge(g, op)};
    return ground_hash_data(ground_hash(1, what, sizeof what), op->task.data[0]);
}

uint64_t ground_state(const ground *g)
{
    uint64_t state = 0;
    for (int r = 0; r < g->ranks; r++) {
        uint64_t ops = 0;
        for (const ground_op *op = g->rank[r].first; op; op = op->next) ops += state_of_op(g, op);
        state = wire_mix(state, ops + (uint64_t)(g->rank[r].dead + 2 * g->rank[r].cut));
        state = ground_hash(state, g->rank[r].connection, sizeof g->rank[r].connection);
        for (int from = 0; from < g->ranks; from++) {
            for (const message *n = g->rank[r].messages[from]; n; n = n->next)
                state = ground_hash(state, n->message.value, sizeof n->message.value);
            state = wire_mix(state, (uint64_t)from);
        }
    }
    return state;
}
