/* Placements: which rank is what, which groups there are, and what is refused. */
#include "dag/base/log.h"
#include "dag/net/placement.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const tutti_placement placements[] = {{0}, {.replicas = 5}, {.stages = 3},
    {.stages = 3, .replicas = 4}, {.replicas = 6, .blocks = 3},
    {.stages = 2, .replicas = 4, .blocks = 2}, {.replicas = 4, .clients = 2, .servers = 3},
    {.replicas = 3, .clients = 3, .servers = 1}, {.replicas = 1, .clients = 1, .servers = 1},
    {.stages = 2, .replicas = 6, .clients = 2, .servers = 2},
    {.replicas = 4, .clients = 2, .everywhere = 1}, {.replicas = 4, .clients = 1},
    {.stages = 4, .replicas = 256, .blocks = 8},
    {.replicas = 2, .stored = 1, .first_replica = 4, .global_replicas = 6}};
enum { PLACEMENTS = sizeof placements / sizeof *placements };

/* What the ranks of a group have in common; a group is all that have it. */
static int feature(const tutti_placement *p, tutti_placement_kind kind, int rank)
{
    const tutti_rank_role r = tutti_placement_role(p, rank);
    const int S = p->stages;
    switch (kind) {
    case TUTTI_GROUP_CLIENT: return r.client * S + r.stage;
    case TUTTI_GROUP_STAGE: return r.stage;
    case TUTTI_GROUP_REPLICA: return r.replica;
    case TUTTI_GROUP_BLOCKS: return r.replica / p->blocks * S + r.stage;
    default: return r.block * S + r.stage;
    }
}

static tutti_placement complete(tutti_placement p, int rank)
{
    p.rank = rank;
    ck_assert_ok(tutti_placement_complete(&p));
    return p;
}

/* Of each kind every worker has one, with those that have the same. */
static void check_groups(const tutti_placement *p, tutti_placement_kind kind)
{
    int *ranks = calloc((size_t)p->ranks, sizeof *ranks);
    for (int rank = 0; rank < p->ranks; rank++) {
        const int number = tutti_placement_role(p, rank).group[kind];
        ck_assert_int_eq(number > 0, rank < p->working_ranks && p->own.group[kind]);
        if (!number) continue;
        ck_assert_int_le(number, tutti_placement_groups(p));
        const int has = feature(p, kind, rank);
        int members = tutti_placement_group(p, number, ranks), n = 0;
        for (int r = 0; r < p->working_ranks; r++)
            if (feature(p, kind, r) == has) ck_assert_int_eq(ranks[n++], r);
        ck_assert_int_eq(n, members);
    }
    free(ranks);
}

START_TEST(ranks_have_their_parts)
{
    const tutti_placement first = complete(placements[_i], 0);
    int servers = 0;
    for (int rank = 0; rank < first.ranks; rank++) {
        tutti_placement p = complete(placements[_i], rank), again = complete(p, rank);
        ck_assert_mem_eq(&p, &again, sizeof p);
        const tutti_rank_role own = p.own;
        if (own.serves) {
            ck_assert_int_eq(own.server, servers);
            ck_assert_int_eq(tutti_placement_server_rank(&p, servers++), rank);
        }
        ck_assert_int_eq(own.works, rank < p.working_ranks);
        if (!own.works) continue;
        ck_assert_int_lt(own.replica, p.replicas);
        ck_assert_int_lt(own.global_replica, p.global_replicas);
        ck_assert_int_eq(tutti_placement_rank(&p, own.replica, own.stage), rank);
        ck_assert_int_eq(own.client, p.clients ? own.replica * p.clients / p.replicas : 0);
        ck_assert_int_eq(own.block, p.blocks ? own.replica % p.blocks : 0);
    }
    ck_assert_int_eq(servers, first.servers);
    for (tutti_placement_kind k = 0; k < TUTTI_GROUP_KINDS; k++) check_groups(&first, k);
}
END_TEST

START_TEST(groups_have_their_order)
{
    static const struct {
        int placement;
        const char *groups;
    } rows[] = {{0, ""}, {1, ""}, {2, "0+1 1+1 2+1 0+3 "}, {3, "0+4 1+4 2+4 0+3 3+3 6+3 9+3 "},
        {4, "0+3 3+3 0+2 1+2 2+2 "}, {6, "0+2 2+2 0+4 "}, {7, "0+3 "}, {8, ""},
        {9, "0+3 1+3 6+3 7+3 0+6 1+6 0+2 2+2 4+2 6+2 8+2 10+2 "}, {10, "0+2 2+2 0+4 "}, {11, ""},
        {13, ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tutti_placement p = complete(placements[rows[i].placement], 0);
        char text[256] = "";
        for (int g = 1, ranks[16]; g <= tutti_placement_groups(&p); g++) {
            const int count = tutti_placement_group(&p, g, ranks);
            snprintf(text + strlen(text), sizeof text - strlen(text), "%d+%d ", ranks[0], count);
        }
        ck_assert_str_eq(text, rows[i].groups);
    }
}
END_TEST

START_TEST(wrong_placements_are_refused)
{
    static const struct {
        tutti_placement placement;
        const char *says;
    } rows[] = {{{.rank = 1}, "rank 1 of 1"}, {{.rank = -1}, "rank -1 of 1"},
        {{.replicas = -1}, "-1 replicas"}, {{.stages = 65}, "65 stages"},
        {{.replicas = 4, .blocks = 3}, "groups of 3 do not go with 4 replicas"},
        {{.replicas = 2, .servers = 1}, "1 servers and 0 clients"},
        {{.replicas = 2, .servers = 1, .clients = 2, .rank = 3}, "rank 3 of 3"},
        {{.replicas = 4, .servers = 1, .clients = 3}, "do not go with 4 replicas"},
        {{.replicas = 2, .stages = 2, .clients = 1, .everywhere = 1}, "in 2 stages"}};
    tutti_log_set_level(TUTTI_LOG_NONE);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tutti_placement wrong = rows[i].placement;
        ck_assert_int_eq(tutti_placement_complete(&wrong), TUTTI_ERR_INVAL);
        ck_assert_msg(strstr(tutti_last_error(), rows[i].says), "%s", tutti_last_error());
    }
    tutti_log_set_level(TUTTI_LOG_WARN);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("placement");
    TCase *tcase = testing_case(suite, "placement");
    tcase_add_loop_test(tcase, ranks_have_their_parts, 0, PLACEMENTS);
    tcase_add_test(tcase, groups_have_their_order);
    tcase_add_test(tcase, wrong_placements_are_refused);
    return testing_run(suite);
}
