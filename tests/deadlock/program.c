#include "tests/deadlock/program.h"

#include <stdlib.h>
#include <string.h>

void program_all(program_setting *s)
{
    s->group[0].size = s->ranks;
    for (int r = 0; r < s->ranks; r++) s->group[0].rank[r] = r;
    if (!s->groups) s->groups = 1;
}

int program_rank_in(const program_setting *s, int group, int r)
{
    for (int i = 0; i < s->group[group].size; i++)
        if (s->group[group].rank[i] == r) return i;
    return -1;
}

tutti_coll_args program_args(const program_collective *c)
{
    return (tutti_coll_args){.kind = c->kind,
        .dtype = c->dtype,
        .op = c->op,
        .root = c->root,
        .count = c->count,
        .out_of_place = c->apart,
        .user = c->user,
        .counts = c->parts ? c->part : NULL};
}

int program_has_input(const program_setting *s, int r, const program_collective *c)
{
    const tutti_coll_args args = program_args(c);
    int me = program_rank_in(s, c->group, r);
    /* A group of one rank has marks only. */
    return s->group[c->group].size > 1 && tutti_coll_has_recv(&args, me) &&
           tutti_coll_has_send(&args, me);
}

int64_t program_in_count(const program_setting *s, int r, const program_collective *c)
{
    const tutti_coll_args args = program_args(c);
    if (!program_has_input(s, r, c)) return program_out_count(s, r, c);
    return tutti_coll_send_count(&args, program_rank_in(s, c->group, r), s->group[c->group].size);
}

int64_t program_out_count(const program_setting *s, int r, const program_collective *c)
{
    const tutti_coll_args args = program_args(c);
    int me = program_rank_in(s, c->group, r), P = s->group[c->group].size;
    if (!tutti_coll_trait_of(c->kind)->data) return 1;
    return tutti_coll_has_recv(&args, me) ? tutti_coll_recv_count(&args, me, P)
                                          : tutti_coll_send_count(&args, me, P);
}

int program_find(const program *p, const char *name, int near)
{
    if (near < p->n && !strcmp(p->collective[near].name, name)) return near;
    for (int k = 0; k < p->n; k++)
        if (!strcmp(p->collective[k].name, name)) return k;
    return -1;
}

void program_clear(program_setting *s)
{
    for (int r = 0; r < PROGRAM_RANKS; r++) {
        free(s->program[r].collective);
        free(s->program[r].order);
        s->program[r] = (program){0};
    }
}
