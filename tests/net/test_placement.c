/* Placements: which rank is what, which groups there are, and what is refused. */
#include "dag/base/log.h"
#include "dag/net/placement.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <string.h>

static const tutti_placement placements[] = {{0}, {.replicas = 5}, {.stages = 3},
    {.stages = 3, .replicas = 4}, {.replicas = 6, .blocks = 3},
    {.stages = 2, .replicas = 4, .blocks = 2}, {.replicas = 4, .clients = 2, .servers = 3},
    {.replicas = 3, .clients = 3, .servers = 1}, {.replicas = 1, .clients = 1, .servers = 1},
    {.stages = 2, .replicas = 6, .clients = 2, .servers = 2},
    {.replicas = 4, .clients = 2, .everywhere = 1}, {.replicas = 4, .clients = 1},
    {.stages = 4, .replicas = 256, .blocks = 8},
    {.replicas = 2, .first_replica = 4, .all_replicas = 6}};
enum { PLACEMENTS = sizeof placements / sizeof *placements };

/* What the ranks of a group have in common; a group is all that have it. */
static int feature(const tutti_placement *p, tutti_placement_kind kind, int rank)
{
    const tutti_rank_role r = tutti_placement_role(p, rank);
    const int S = tutti_placement_stages(p);
    switch (kind) {
    case TUTTI_GROUP_CLIENT: return r.client * S + r.stage;
    case TUTTI_GROUP_STAGE: return r.stage;
    case TUTTI_GROUP_REPLICA: return r.replica;
    case TUTTI_GROUP_BLOCKS: return r.replica / p->blocks * S + r.stage;
    default: return r.block * S + r.stage;
    }
}

static int is_in(tutti_rank_range g, int rank)
{
    const int away = rank - g.first;
    return away >= 0 && away % g.every == 0 && away / g.every < g.count;
}

/* Of each kind every worker has one, with those that have the same. */
static void check_groups(tutti_placement p, tutti_placement_kind kind)
{
    const int working = tutti_placement_working_ranks(&p);
    p.rank = 0;
    if (!tutti_placement_own_group(&p, kind)) return;
    for (p.rank = 0; p.rank < tutti_placement_ranks(&p); p.rank++) {
        const int number = tutti_placement_own_group(&p, kind);
        ck_assert_int_eq(number == 0, p.rank >= working);
        if (!number) continue;
        ck_assert_int_le(number, tutti_placement_groups(&p));
        const tutti_rank_range g = tutti_placement_group(&p, number);
        const int has = feature(&p, kind, p.rank);
        for (int r = 0; r < working; r++)
            ck_assert_int_eq(is_in(g, r), feature(&p, kind, r) == has);
    }
}

START_TEST(ranks_have_their_parts)
{
    tutti_placement p = placements[_i];
    const int working = tutti_placement_working_ranks(&p);
    int servers = 0;
    for (p.rank = 0; p.rank < tutti_placement_ranks(&p); p.rank++) {
        const tutti_rank_role own = tutti_placement_own(&p);
        ck_assert_ok(tutti_placement_check(&p));
        if (own.serves) {
            ck_assert_int_eq(own.server, servers);
            ck_assert_int_eq(tutti_placement_server_rank(&p, servers++), p.rank);
        }
        ck_assert_int_eq(own.works, p.rank < working);
        if (!own.works) continue;
        ck_assert_int_lt(own.replica, tutti_placement_replicas(&p));
        ck_assert_int_lt(own.global_replica, tutti_placement_global_replicas(&p));
        ck_assert_int_eq(tutti_placement_rank(&p, own.replica, own.stage), p.rank);
    }
    ck_assert_int_eq(servers, tutti_placement_servers(&p));
    for (tutti_placement_kind k = 0; k < TUTTI_GROUP_KINDS; k++) check_groups(p, k);
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
        const tutti_placement *p = &placements[rows[i].placement];
        char text[256] = "";
        for (int g = 1; g <= tutti_placement_groups(p); g++) {
            const tutti_rank_range of = tutti_placement_group(p, g);
            snprintf(text + strlen(text), sizeof text - strlen(text), "%d+%d ", of.first, of.count);
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
        ck_assert_int_eq(tutti_placement_check(&rows[i].placement), TUTTI_ERR_INVAL);
        ck_assert_msg(strstr(tutti_last_error(), rows[i].says), "%s", tutti_last_error());
    }
    tutti_log_set_level(TUTTI_LOG_WARN);
}
END_TEST

START_TEST(a_replica_is_one_rank_to_itself)
{
    tutti_placement p = placements[9];
    for (p.rank = 0; p.rank < tutti_placement_ranks(&p); p.rank++) {
        const tutti_placement whole = tutti_placement_whole(&p);
        ck_assert_ok(tutti_placement_check(&whole));
        ck_assert_int_eq(tutti_placement_own(&whole).replica, tutti_placement_own(&p).replica);
        ck_assert_int_eq(tutti_placement_groups(&whole), 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("placement");
    TCase *tcase = testing_case(suite, "placement");
    tcase_add_loop_test(tcase, ranks_have_their_parts, 0, PLACEMENTS);
    tcase_add_test(tcase, groups_have_their_order);
    tcase_add_test(tcase, wrong_placements_are_refused);
    tcase_add_test(tcase, a_replica_is_one_rank_to_itself);
    return testing_run(suite);
}
