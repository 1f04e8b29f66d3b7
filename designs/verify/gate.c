#include "designs/verify/gate.h"

#include "dag/base/log.h"

#include <stdlib.h>

/* Ranks are at most one collective apart, because a rank passes only when all have arrived. So an early message is for
 * the next number, and two places per round are enough. */
enum { PLACES = 2, MOST_ROUNDS = 31 };

typedef struct arrival {
    int64_t number; /* -1: none yet */
    uint64_t hash;
} arrival;

typedef struct front {
    int64_t number; /* that this rank has reached */
    uint64_t hash;
    int round; /* the next to pass */
    int differed;
    arrival from[PLACES][MOST_ROUNDS];
} front;

struct tutti_gate {
    tutti_control *control;
    int rank, size, rounds, lanes;
    tutti_gate_differs differs;
    void *ctx;
    front lane[];
};

static void receive_hash(void *ctx, const tutti_control_message *message)
{
    tutti_gate *g = ctx;
    int64_t lane = message->value[0], number = message->value[1], round = message->value[2];
    if (lane < 0 || lane >= g->lanes || round < 0 || round >= g->rounds) return;
    g->lane[lane].from[number % PLACES][round] = (arrival){number, message->word[0]};
}

tutti_status tutti_gate_open(
    tutti_control *control, int lanes, tutti_gate_differs differs, void *ctx, tutti_gate **gate)
{
    tutti_gate *g = calloc(1, sizeof *g + (size_t)lanes * sizeof *g->lane);
    if (!g) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to compare %d lanes", lanes);
    g->control = control;
    g->rank = tutti_control_rank(control);
    g->size = tutti_control_size(control);
    while ((int64_t)1 << g->rounds < g->size) g->rounds++;
    g->lanes = lanes;
    g->differs = differs;
    g->ctx = ctx;
    for (int i = 0; i < lanes; i++)
        for (int k = 0; k < g->rounds; k++)
            g->lane[i].from[0][k].number = g->lane[i].from[1][k].number = -1;
    tutti_control_handle(control, TUTTI_CONTROL_GATE, receive_hash, g);
    *gate = g;
    return TUTTI_OK;
}

void tutti_gate_close(tutti_gate *gate)
{
    free(gate);
}

static tutti_status send_round(tutti_gate *g, int lane)
{
    const front *f = &g->lane[lane];
    if (f->round >= g->rounds) return TUTTI_OK;
    tutti_control_message message = {
        .kind = TUTTI_CONTROL_GATE, .value = {lane, f->number, f->round}, .word = {f->hash}};
    int to = (int)((g->rank + ((int64_t)1 << f->round)) % g->size);
    return tutti_control_send(g->control, to, &message);
}

tutti_status tutti_gate_come(tutti_gate *gate, int lane, int64_t number, uint64_t hash)
{
    front *f = &gate->lane[lane];
    f->number = number;
    f->hash = hash;
    f->round = 0;
    return send_round(gate, lane);
}

tutti_status tutti_gate_through(tutti_gate *gate, int lane, int *through)
{
    front *f = &gate->lane[lane];
    tutti_status status = TUTTI_OK;
    *through = 0;
    while (f->round < gate->rounds && !status) {
        const arrival *a = &f->from[f->number % PLACES][f->round];
        if (a->number != f->number || f->differed) return TUTTI_OK;
        if (a->hash != f->hash) {
            f->differed = 1;
            gate->differs(gate->ctx, lane, f->number);
            return TUTTI_OK;
        }
        f->round++;
        status = send_round(gate, lane);
    }
    *through = !status;
    return status;
}
