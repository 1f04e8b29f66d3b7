/* Collectives, right and wrong: every kind, with every change on one rank, every communicator, and in the blocking
 * and the nonblocking form.  collectives --list, collectives NAME; see cases.h. */
#include "tests/mpicheck/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One call of a collective as one rank makes it. */
typedef struct call {
    MPI_Comm comm;
    int size, count, root;
    MPI_Datatype type;
    MPI_Op op;
    int in_place, nonblocking;
} call;

enum { most = 256, ranks = 3 };
static int from[most], into[most], counts[ranks], displs[ranks], bytes[ranks];
static MPI_Datatype types[ranks];

static void fill(const call *c)
{
    for (int i = 0; i < ranks; i++) {
        counts[i] = c->count;
        displs[i] = i * 8;
        bytes[i] = i * 32;
        types[i] = c->type;
    }
}

static const void *source(const call *c)
{
    return c->in_place ? MPI_IN_PLACE : from;
}

/* Calls the blocking form, or the nonblocking one and MPI_Wait. */
#define EITHER(name, iname, ...)                                                                   \
    do {                                                                                           \
        MPI_Request request;                                                                       \
        fill(c);                                                                                   \
        if (!c->nonblocking) {                                                                     \
            MPI_##name(__VA_ARGS__, c->comm);                                                      \
        } else {                                                                                   \
            MPI_##iname(__VA_ARGS__, c->comm, &request);                                           \
            MPI_Wait(&request, MPI_STATUS_IGNORE);                                                 \
        }                                                                                          \
    } while (0)

static void barrier(const call *c)
{
    MPI_Request request;
    if (!c->nonblocking) {
        MPI_Barrier(c->comm);
    } else {
        MPI_Ibarrier(c->comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void bcast(const call *c)
{
    EITHER(Bcast, Ibcast, from, c->count, c->type, c->root);
}

static int rank_in(const call *c)
{
    int rank;
    MPI_Comm_rank(c->comm, &rank);
    return rank;
}

static void reduce(const call *c)
{
    EITHER(Reduce, Ireduce, rank_in(c) == c->root ? source(c) : from, into, c->count, c->type,
        c->op, c->root);
}

static void allreduce(const call *c)
{
    EITHER(Allreduce, Iallreduce, source(c), into, c->count, c->type, c->op);
}

static void scan(const call *c)
{
    EITHER(Scan, Iscan, source(c), into, c->count, c->type, c->op);
}

static void exscan(const call *c)
{
    EITHER(Exscan, Iexscan, source(c), into, c->count, c->type, c->op);
}

static void reduce_scatter(const call *c)
{
    EITHER(Reduce_scatter, Ireduce_scatter, source(c), into, counts, c->type, c->op);
}

static void reduce_scatter_block(const call *c)
{
    EITHER(Reduce_scatter_block, Ireduce_scatter_block, source(c), into, c->count, c->type, c->op);
}

static void gather(const call *c)
{
    EITHER(Gather, Igather, rank_in(c) == c->root ? source(c) : from, c->count, c->type, into,
        c->count, c->type, c->root);
}

static void gatherv(const call *c)
{
    EITHER(Gatherv, Igatherv, rank_in(c) == c->root ? source(c) : from, c->count, c->type, into,
        counts, displs, c->type, c->root);
}

static void scatter(const call *c)
{
    int in_place = c->in_place && rank_in(c) == c->root;
    EITHER(Scatter, Iscatter, from, c->count, c->type, in_place ? MPI_IN_PLACE : into, c->count,
        c->type, c->root);
}

static void scatterv(const call *c)
{
    int in_place = c->in_place && rank_in(c) == c->root;
    EITHER(Scatterv, Iscatterv, from, counts, displs, c->type, in_place ? MPI_IN_PLACE : into,
        c->count, c->type, c->root);
}

static void allgather(const call *c)
{
    EITHER(Allgather, Iallgather, source(c), c->count, c->type, into, c->count, c->type);
}

static void allgatherv(const call *c)
{
    EITHER(Allgatherv, Iallgatherv, source(c), c->count, c->type, into, counts, displs, c->type);
}

static void alltoall(const call *c)
{
    EITHER(Alltoall, Ialltoall, source(c), c->count, c->type, into, c->count, c->type);
}

static void alltoallv(const call *c)
{
    EITHER(
        Alltoallv, Ialltoallv, source(c), counts, displs, c->type, into, counts, displs, c->type);
}

static void alltoallw(const call *c)
{
    EITHER(Alltoallw, Ialltoallw, source(c), counts, bytes, types, into, counts, bytes, types);
}

enum { DATA = 1, ROOTED = 2, REDUCES = 4, IN_PLACE = 8 };

static const struct {
    const char *name;
    void (*run)(const call *c);
    int uses;
} kinds[] = {
    {"barrier", barrier, 0},
    {"bcast", bcast, DATA | ROOTED},
    {"reduce", reduce, DATA | ROOTED | REDUCES | IN_PLACE},
    {"allreduce", allreduce, DATA | REDUCES | IN_PLACE},
    {"scan", scan, DATA | REDUCES | IN_PLACE},
    {"exscan", exscan, DATA | REDUCES | IN_PLACE},
    {"reduce_scatter", reduce_scatter, DATA | REDUCES | IN_PLACE},
    {"reduce_scatter_block", reduce_scatter_block, DATA | REDUCES | IN_PLACE},
    {"gather", gather, DATA | ROOTED | IN_PLACE},
    {"gatherv", gatherv, DATA | ROOTED | IN_PLACE},
    {"scatter", scatter, DATA | ROOTED | IN_PLACE},
    {"scatterv", scatterv, DATA | ROOTED | IN_PLACE},
    {"allgather", allgather, DATA | IN_PLACE},
    {"allgatherv", allgatherv, DATA | IN_PLACE},
    {"alltoall", alltoall, DATA | IN_PLACE},
    {"alltoallv", alltoallv, DATA | IN_PLACE},
    {"alltoallw", alltoallw, DATA | IN_PLACE},
};
enum { nkinds = sizeof(kinds) / sizeof(kinds[0]) };

/* What one rank (the second of the communicator) does differently. */
typedef struct situation {
    int kind, odd; /* odd: this rank is the one that differs */
    call c;
    MPI_Comm second; /* another communicator of the same ranks */
} situation;

static void plain(situation *s)
{
    kinds[s->kind].run(&s->c);
}

static void twice(situation *s)
{
    plain(s);
    plain(s);
}

static void contiguous(situation *s)
{
    MPI_Datatype type;
    MPI_Type_contiguous(s->c.count, MPI_INT, &type);
    MPI_Type_commit(&type);
    if (s->odd && !(kinds[s->kind].uses & REDUCES)) {
        s->c.count = 1;
        s->c.type = type;
    }
    plain(s);
    MPI_Type_free(&type);
}

static void in_place(situation *s)
{
    s->c.in_place = 1;
    plain(s);
}

static void zero(situation *s)
{
    s->c.count = 0;
    if (s->odd && !(kinds[s->kind].uses & REDUCES)) s->c.type = MPI_DOUBLE;
    plain(s);
}

static void count(situation *s)
{
    if (s->odd) s->c.count += 2;
    plain(s);
}

static void type(situation *s)
{
    if (s->odd) s->c.type = MPI_FLOAT;
    plain(s);
}

static void op(situation *s)
{
    if (s->odd) s->c.op = MPI_MAX;
    plain(s);
}

static void root(situation *s)
{
    if (s->odd) s->c.root = 1;
    plain(s);
}

static void missing(situation *s)
{
    if (!s->odd) plain(s);
}

static void extra(situation *s)
{
    plain(s);
    if (s->odd) plain(s);
}

static void other(situation *s)
{
    if (s->odd) s->kind = (s->kind + 1) % nkinds;
    plain(s);
}

static void swapped(situation *s)
{
    int next = (s->kind + 3) % nkinds;
    kinds[s->odd ? next : s->kind].run(&s->c);
    kinds[s->odd ? s->kind : next].run(&s->c);
}

static void mixed(situation *s)
{
    if (s->odd) s->c.nonblocking = !s->c.nonblocking;
    plain(s);
}

static void crossing(situation *s)
{
    MPI_Comm first = s->c.comm;
    s->c.comm = s->odd ? s->second : first;
    plain(s);
    s->c.comm = s->odd ? first : s->second;
    plain(s);
}

static void send_between(situation *s)
{
    int rank = rank_in(&s->c), one = 1;
    if (rank == 0) plain(s);
    if (rank == 0) MPI_Send(&one, 1, MPI_INT, 1, 3, s->c.comm);
    if (rank == 1) MPI_Recv(&one, 1, MPI_INT, 0, 3, s->c.comm, MPI_STATUS_IGNORE);
    if (rank != 0) plain(s);
}

static const struct {
    const char *name;
    void (*run)(situation *s);
    int needs;
    const char *words; /* NULL: right */
} changes[] = {
    {"once_ok", plain, 0, NULL},
    {"twice_ok", twice, 0, NULL},
    {"contiguous_ok", contiguous, DATA, NULL},
    {"in_place_ok", in_place, IN_PLACE, NULL},
    {"zero_ok", zero, DATA, NULL},
    {"count_nok", count, DATA, "the count differs"},
    {"type_nok", type, DATA, "the type differs"},
    {"op_nok", op, REDUCES, "the operator differs"},
    {"root_nok", root, ROOTED, "the root differs"},
    {"missing_nok", missing, 0, "deadlock"},
    {"extra_nok", extra, 0, "deadlock"},
    {"other_nok", other, 0, "the kind of collective differs"},
    {"swapped_nok", swapped, 0, "the kind of collective differs"},
    {"mixed_nok", mixed, 0, "whether the call is blocking differs"},
    {"crossing_nok", crossing, 0, "deadlock"},
    {"send_between_nok", send_between, 0, "deadlock"},
};
enum { nchanges = sizeof(changes) / sizeof(changes[0]) };

static void make_world(situation *s)
{
    s->c.comm = MPI_COMM_WORLD;
}

static void make_dup(situation *s)
{
    MPI_Comm_dup(MPI_COMM_WORLD, &s->c.comm);
}

/* All ranks in one group, in reverse. */
static void make_split(situation *s)
{
    MPI_Comm_split(MPI_COMM_WORLD, 7, -check_rank, &s->c.comm);
}

/* All ranks except rank 0. */
static void make_create(situation *s)
{
    MPI_Group all, some;
    int zeroth = 0;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_excl(all, 1, &zeroth, &some);
    MPI_Comm_create(MPI_COMM_WORLD, some, &s->c.comm);
    MPI_Group_free(&all);
    MPI_Group_free(&some);
}

static const struct {
    const char *name;
    void (*make)(situation *s);
} comms[] = {
    {"world", make_world}, {"dup", make_dup}, {"split", make_split}, {"create", make_create}};
enum { ncomms = sizeof(comms) / sizeof(comms[0]) };

static void run(int kind, int change, int comm, int nonblocking)
{
    situation s = {.kind = kind};
    s.c = (call){.count = 4, .type = MPI_INT, .op = MPI_SUM, .nonblocking = nonblocking};
    comms[comm].make(&s);
    if (s.c.comm == MPI_COMM_NULL) return;
    MPI_Comm_dup(s.c.comm, &s.second);
    MPI_Comm own = s.c.comm;
    MPI_Comm_size(own, &s.c.size);
    s.odd = rank_in(&s.c) == 1;
    changes[change].run(&s);
    if (changes[change].words) return; /* freeing is a collective call, too */
    MPI_Comm_free(&s.second);
    if (own != MPI_COMM_WORLD) MPI_Comm_free(&own);
}

/* Excludes unsuitable combinations: a nonblocking collective may end on its root before the others have come. */
static int sensible(int kind, int change, int nonblocking)
{
    int uses = kinds[kind].uses, needs = changes[change].needs;
    if ((uses & needs) != needs) return 0;
    return !(nonblocking && changes[change].run == send_between);
}

static const char *words_of(int kind, int change)
{
    /* A barrier has no data that could differ. */
    if (changes[change].run == type && kinds[kind].run == barrier) return NULL;
    return changes[change].words;
}

int main(int argc, char **argv)
{
    for (int k = 0; k < nkinds; k++)
        for (int h = 0; h < nchanges; h++)
            for (int m = 0; m < ncomms; m++)
                for (int n = 0; n < 2; n++) {
                    char name[128];
                    const char *words = words_of(k, h);
                    if (!sensible(k, h, n)) continue;
                    snprintf(name, sizeof(name), "%s%s_%s_%s", n ? "i" : "", kinds[k].name,
                        comms[m].name, changes[h].name);
                    if (argc > 1 && strcmp(argv[1], "--list") == 0) {
                        printf(
                            "%s %d %s %s\n", name, ranks, words ? "nok" : "ok", words ? words : "");
                    } else if (argc > 1 && strcmp(argv[1], name) == 0) {
                        MPI_Init(&argc, &argv);
                        MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
                        MPI_Comm_size(MPI_COMM_WORLD, &check_size);
                        run(k, h, m, n);
                        MPI_Finalize();
                        return 0;
                    }
                }
    return argc > 1 && strcmp(argv[1], "--list") == 0 ? 0 : 2;
}
