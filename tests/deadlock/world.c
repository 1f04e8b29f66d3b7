#include "tests/deadlock/world_parts.h"

#include "dag/run/inline.h"

#include <stdio.h>

int world_collective(const world *w, int r, int64_t id, int *step)
{
    const world_rank *k = &w->rank[r];
    *step = (int)((id - k->base) / k->tasks);
    return k->role[(id - k->base) % k->tasks];
}

wire *world_wire(world *w)
{
    return &w->wire;
}

/* ---- between the exchange and the runner ---- */

static int is_lost(const world_rank *r, int64_t id)
{
    int step, k = world_collective(r->world, r->number, id, &step);
    return r->program->collective[k].lost;
}

static void finish(tutti_token *token, tutti_status status)
{
    world_task *t = (world_task *)token;
    world_rank *r = t->rank;
    tutti_token *inner = t->inner;
    if (!inner) return; /* given up earlier */
    if (is_lost(r, t->id) && !r->world->wire.broken) return;
    if (!r->failure) r->failure = status;
    t->inner = NULL;
    r->ended++;
    r->state += wire_mix((uint64_t)t->id, 3);
    tutti_token_finish(inner, status);
}

static tutti_run_hooks hooks_of(const world_rank *r)
{
    return tutti_exchange_hooks(r->exchange);
}

/* The runner reserves in program order; the node's position there identifies its group. */
static int64_t reserve(void *ctx, const tutti_node *node)
{
    world_rank *r = ctx;
    while (r->role[(r->current - r->base) % r->tasks] == WORLD_NOT_COLLECTIVE) r->current++;
    tutti_run_hooks hooks = hooks_of(r);
    r->current++;
    return hooks.reserve(hooks.ctx, node);
}

static void start(void *ctx, const tutti_node *node, int64_t sequence, const tutti_buffer buf[],
    tutti_token *token)
{
    world_rank *r = ctx;
    world_task *t = &r->task[r->current - r->base];
    *t = (world_task){.token.finish = finish, .inner = token, .rank = r, .id = r->current};
    tutti_run_hooks hooks = hooks_of(r);
    hooks.start(hooks.ctx, node, sequence, buf, &t->token);
}

tutti_run_hooks world_hooks(world_rank *r)
{
    return (tutti_run_hooks){.ctx = r, .reserve = reserve, .start = start};
}

/* ---- a batch of steps ---- */

static tutti_status submit_step(world_rank *r, int step)
{
    tutti_status status = TUTTI_OK;
    for (int k = 0; k < r->program->n && !status; k++) {
        world_cell *c = &r->cell[k];
        void *data = c->input + (size_t)step * c->fed_bytes;
        oracle_input(r->world->oracle, r->number, k, data);
        status = tutti_runner_inline.feed(r->run, c->fed, data, c->fed_bytes, NULL, NULL);
    }
    r->current = r->base + (int64_t)step * r->tasks;
    if (!status) status = tutti_runner_inline.submit(r->run, 0);
    for (int k = 0; k < r->program->n && !status; k++) {
        world_cell *c = &r->cell[k];
        void *data = c->output + (size_t)step * c->result_bytes;
        status = tutti_runner_inline.fetch(r->run, c->result, data, c->result_bytes);
    }
    return status;
}

tutti_status world_submit(world *w, uint64_t salt)
{
    tutti_status status = TUTTI_OK;
    int steps = 0;
    w->salt = salt;
    for (int i = 0; i < w->setting->ranks; i++) {
        world_rank *r = &w->rank[i];
        r->base = tutti_runner_inline.point(r->run);
        r->ended = 0;
        r->starts = 0;
        r->dirty = 0;
        if (r->program->steps > steps) steps = r->program->steps;
    }
    for (int step = 0; step < steps && !status; step++) {
        oracle_step(w->oracle, step, salt);
        for (int r = 0; r < w->setting->ranks && !status; r++)
            if (step < w->rank[r].program->steps) status = submit_step(&w->rank[r], step);
    }
    return status;
}

/* ---- steps ---- */

/* The index of a collective in its program's order, or -1 if it is not in it. */
static int place_in_order(const program *p, int k)
{
    for (int i = 0; i < p->orders; i++)
        if (p->order[i] == k) return i;
    return -1;
}

/* Of the collectives in the order, workers start the first ready one of the earliest step. */
static int keep_first_in_order(const world *w, int r, int64_t ids[], int n)
{
    const program *p = w->rank[r].program;
    int kept = 0, first = -1;
    int64_t best = 0;
    for (int i = 0; i < n; i++) {
        int step, k = world_collective(w, r, ids[i], &step);
        int at = k == WORLD_NOT_COLLECTIVE ? -1 : place_in_order(p, k);
        int64_t place = (int64_t)step * p->orders + at;
        if (at < 0) {
            ids[kept++] = ids[i];
        } else if (first < 0 || place < best) {
            if (first < 0) first = kept++;
            ids[first] = ids[i];
            best = place;
        }
    }
    return kept;
}

int world_ready(world *w, int r, int64_t ids[WORLD_TASKS])
{
    int n = tutti_inline_ready(w->rank[r].run, ids, WORLD_TASKS);
    return w->rank[r].program->orders ? keep_first_in_order(w, r, ids, n) : n;
}

void world_run(world *w, int number, int64_t id)
{
    world_rank *r = &w->rank[number];
    int step;
    r->current = id;
    if (world_collective(w, number, id, &step) == WORLD_NOT_COLLECTIVE) {
        tutti_inline_run(r->run, id);
        r->ended++;
        r->other += wire_mix((uint64_t)id, 1);
        return;
    }
    /* Designs that start at once post in this order; others only note that it is ready. */
    int64_t turn = w->setting->design->start->at_once ? r->starts++ : 0;
    r->state += wire_mix(wire_mix((uint64_t)id, 2), (uint64_t)turn);
    r->dirty = 1;
    tutti_inline_run(r->run, id);
}

/* The state of a rank's ends. */
static uint64_t messages_of(const world_rank *r)
{
    return r->end ? wire_mix(0, wire_state(r->end)) : 0;
}

int world_pass(world *w, int number)
{
    world_rank *r = &w->rank[number];
    uint64_t before = messages_of(r);
    int moved = tutti_exchange_pass(r->exchange);
    r->dirty = 0;
    return moved || messages_of(r) != before;
}

int world_dirty(const world *w, int r)
{
    return w->rank[r].dirty;
}

int world_ended(const world *w)
{
    for (int r = 0; r < w->setting->ranks; r++)
        if (w->rank[r].run && w->rank[r].ended < world_tasks(&w->rank[r])) return 0;
    return 1;
}

uint64_t world_state(const world *w, int whole)
{
    uint64_t state = 0;
    for (int i = 0; i < w->setting->ranks; i++) {
        const world_rank *r = &w->rank[i];
        state = wire_mix(state, r->state + (whole ? r->other + (uint64_t)r->dirty : 0));
        state = wire_mix(state, messages_of(r));
    }
    return state;
}

/* ---- ending what cannot end ---- */

/* Ends what is still in flight without the exchange, which will not touch it again. */
static void give_up(world_rank *r)
{
    for (int64_t i = 0; i < world_tasks(r); i++)
        if (r->task[i].inner) finish(&r->task[i].token, TUTTI_ERR_COMM);
}

/* While messages fail, passes end what is in flight; gives up the rest. */
void world_end_all(world *w)
{
    enum { MOST_ROUNDS = 10000, GIVES_UP_AFTER = 4 };
    int64_t ids[WORLD_TASKS];
    w->wire.broken = 1;
    for (int round = 0, quiet = 0; round < MOST_ROUNDS && !world_ended(w); round++) {
        int moved = 0;
        for (int r = 0; r < w->setting->ranks; r++) {
            if (!w->rank[r].run) continue;
            int n = tutti_inline_ready(w->rank[r].run, ids, WORLD_TASKS);
            for (int i = 0; i < n; i++) world_run(w, r, ids[i]);
            moved |= world_pass(w, r) || n;
        }
        quiet = moved ? 0 : quiet + 1;
        for (int r = 0; r < w->setting->ranks && quiet >= GIVES_UP_AFTER; r++) give_up(&w->rank[r]);
    }
}

/* ---- the verdict ---- */

static world_verdict check_sums(world *w, int step, char *what, size_t size)
{
    oracle_step(w->oracle, step, w->salt);
    for (int i = 0; i < w->setting->ranks; i++) {
        const world_rank *r = &w->rank[i];
        for (int k = 0; k < r->program->n && step < r->program->steps; k++) {
            const world_cell *c = &r->cell[k];
            const char *wrong =
                oracle_compare(w->oracle, i, k, c->output + (size_t)step * c->result_bytes);
            if (!wrong) continue;
            snprintf(what, size, "step %d: '%s' of rank %d %s", step,
                r->program->collective[k].name, i, wrong);
            return WORLD_WRONG;
        }
    }
    return WORLD_RIGHT;
}

static void name_hang(const world *w, char *what, size_t size)
{
    for (int i = 0; i < w->setting->ranks; i++) {
        const world_rank *r = &w->rank[i];
        for (int64_t t = 0; t < world_tasks(r); t++) {
            if (!r->task[t].inner || r->task[t].id != r->base + t) continue;
            int step, k = world_collective(w, i, r->task[t].id, &step);
            snprintf(what, size, "rank %d waits for the end of '%s' of step %d for ever", i,
                r->program->collective[k].name, step);
            return;
        }
    }
    snprintf(what, size, "not every task has ended, and none is ready");
}

world_verdict world_oracle(world *w, char *what, size_t size)
{
    int steps = 0;
    what[0] = '\0';
    for (int i = 0; i < w->setting->ranks; i++) {
        const world_rank *r = &w->rank[i];
        if (r->program->steps > steps) steps = r->program->steps;
        if (!r->failure) continue;
        snprintf(what, size, "rank %d: %s", i, tutti_status_text(r->failure));
        return r->failure == TUTTI_ERR_MISMATCH ? WORLD_MISMATCH : WORLD_ERROR;
    }
    if (!world_ended(w)) {
        name_hang(w, what, size);
        return WORLD_HANG;
    }
    world_verdict verdict = WORLD_RIGHT;
    for (int step = 0; step < steps && !verdict; step++) verdict = check_sums(w, step, what, size);
    return verdict;
}

const char *world_verdict_name(world_verdict verdict)
{
    static const char *const names[] = {"right", "hang", "wrong", "mismatch", "error"};
    return (unsigned)verdict < WORLD_VERDICTS ? names[verdict] : "unknown";
}
