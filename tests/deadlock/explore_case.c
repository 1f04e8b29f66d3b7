#include "tests/deadlock/explore_case.h"

#include "dag/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Above this, sizes only distinguish vectors: messages of this size are no longer eager. */
static const int64_t large_count = 4096;

static int64_t shortened(int64_t count)
{
    return count <= large_count ? count : large_count + count % 1021;
}

static int index_of(const case_program *p, int tensor)
{
    for (int k = 0; k < p->ops; k++)
        if (p->op[k].tensor == tensor) return k;
    return -1;
}

static program_collective translate(
    const deadlock_case *c, const case_program *p, const case_op *op)
{
    program_collective to = {.kind = op->args.kind,
        .dtype = op->args.dtype,
        .op = op->args.op,
        .user = op->args.user,
        .root = op->args.root,
        .count = op->parts ? op->args.count : shortened(op->args.count),
        .apart = op->apart && !op->vectors,
        .vectors = op->vectors,
        .parts = op->parts,
        .group = op->group,
        .priority = op->priority,
        .lost = op->lost};
    memcpy(to.part, op->part, (size_t)op->parts * sizeof *op->part);
    snprintf(to.name, sizeof to.name, "%s", c->tensor[op->tensor]);
    for (int i = 0; i < op->afters; i++) {
        int before = index_of(p, op->after[i]);
        if (before >= 0 && before < op - p->op) to.after[to.afters++] = before;
    }
    return to;
}

static tutti_status translate_program(const deadlock_case *c, const case_program *from, program *to)
{
    *to = (program){.n = from->ops, .steps = from->steps, .chunk_bytes = from->chunk};
    to->collective = calloc((size_t)from->ops + 1, sizeof *to->collective);
    to->order = calloc((size_t)from->readies + 1, sizeof *to->order);
    if (!to->collective || !to->order)
        return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to explore it", c->name);
    for (int k = 0; k < from->ops; k++) to->collective[k] = translate(c, from, &from->op[k]);
    for (int i = 0; i < from->readies; i++) {
        int k = index_of(from, from->ready[i]);
        if (k >= 0) to->order[to->orders++] = k;
    }
    return TUTTI_OK;
}

static tutti_status translate_case(const deadlock_case *c, program_setting *s)
{
    *s = (program_setting){.design = c->design,
        .ranks = c->ranks,
        .workers = c->workers,
        .lanes = c->lanes,
        .algorithm = *c->algorithm ? c->algorithm : NULL,
        .hosts = c->hosts,
        .device_slots = c->device_slots,
        .edges_aside = c->edges_aside,
        .regions = c->regions,
        .eager_bytes = (size_t)large_count,
        .verify = tutti_verify_mode_find(c->verify),
        .priorities = {.on = c->priorities, .window = 1},
        .groups = c->groups};
    if (c->ranks > PROGRAM_RANKS || c->groups > PROGRAM_GROUPS || s->verify == TUTTI_VERIFY_MODES)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED, "%s: more than the explorer can hold", c->name);
    for (int g = 0; g < c->groups; g++) {
        s->group[g].size = c->group[g].ranks;
        s->group[g].is_edge = c->group[g].is_edge;
        s->group[g].edge = c->group[g].edge;
        memcpy(s->group[g].rank, c->group[g].rank, (size_t)c->group[g].ranks * sizeof(int));
    }
    tutti_status status = TUTTI_OK;
    for (int r = 0; r < c->ranks && !status; r++)
        status = translate_program(c, &c->program[r], &s->program[r]);
    return status;
}

tutti_status explore_case(
    const deadlock_case *c, const explore_options *options, explore_result *result)
{
    enum { BATCHES = 4 };
    program_setting setting;
    tutti_status status = translate_case(c, &setting);
    *result = (explore_result){0};
    if (!status && options->exhaustive) {
        status = explore_all(&setting, options->most, 0, result);
    } else {
        for (uint64_t s = options->seed; !status && result->schedules < options->most; s++)
            status = explore_random(&setting, s, BATCHES, result);
    }
    program_clear(&setting);
    return status;
}
