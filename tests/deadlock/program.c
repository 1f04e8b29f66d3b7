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

/* An allgather is out of place; other kinds with parts work in place, on all parts. */
int64_t program_in_count(const program_setting *s, const program_collective *c)
{
    return c->kind == TUTTI_ALLGATHER ? c->count : program_out_count(s, c);
}

int64_t program_out_count(const program_setting *s, const program_collective *c)
{
    const tutti_coll_trait *trait = tutti_coll_trait_of(c->kind);
    return !trait->data                ? 1
           : trait->parts && !c->parts ? c->count * s->group[c->group].size
                                       : c->count;
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
