/* collectives/rules: the table that is built in chooses as it always did; rules as text. */
#include "collectives/links/topology_text.h"
#include "collectives/priced.h"
#include "collectives/rules_text.h"
#include "collectives/sched/direct.h"
#include "collectives/sched/doubling.h"
#include "collectives/sched/hierarchical.h"
#include "collectives/sched/ring.h"
#include "collectives/sched/tree.h"
#include "dag/base/log.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the choice as thresholds in code, before it was a table: bits of sums must stay ---- */

static const tutti_algorithm *find(const char *name)
{
    return tutti_algorithm_find(name);
}

static int is_power_of_two(int P)
{
    return !(P & (P - 1));
}

static const tutti_algorithm *far_by_size(int P, int64_t bytes)
{
    if (bytes <= (P <= 2 ? 256 << 10 : 4 << 10)) return find("recursive-doubling");
    return find(bytes <= 128 << 10 && is_power_of_two(P) ? "rsag" : "ring");
}

static const tutti_algorithm *near_by_size(int P, int64_t bytes)
{
    if (bytes > 4000 && bytes <= 8000) return find("rsag");
    if (bytes < 64 << 10) return find("recursive-doubling");
    return find(bytes < 256 << 10 && P > 2 && is_power_of_two(P) ? "rsag" : "ring");
}

static const tutti_algorithm *by_size(const tutti_choice_key *key)
{
    int64_t bytes = key->count * (int64_t)key->element;
    int rounds_often = key->wide && key->P > 2;
    if (key->kind == TUTTI_REDUCE_SCATTER && rounds_often) return find("direct");
    if (key->kind != TUTTI_ALLREDUCE) return find("ring");
    if (rounds_often) return find(bytes > 4 << 10 ? "direct" : "recursive-doubling");
    return key->near ? near_by_size(key->P, bytes) : far_by_size(key->P, bytes);
}

static tutti_sched_builder in_order(const tutti_choice_key *key)
{
    int64_t bytes = key->count * (int64_t)key->element;
    int is_long = key->P > 2 && bytes > (key->near ? 64 << 10 : 4 << 10);
    switch (key->kind) {
    case TUTTI_ALLREDUCE:
        return is_long ? tutti_sched_direct_allreduce : tutti_sched_doubling_allreduce;
    case TUTTI_REDUCE_SCATTER:
        return tutti_sched_direct_reduce_scatter;
    default:
        return find("ring")->build[key->kind];
    }
}

static tutti_choice choose_as_before(const tutti_algorithm *wanted, const tutti_choice_key *key)
{
    tutti_choice c = {.algorithm = wanted->chooses ? by_size(key) : wanted};
    c.build = c.algorithm->build[key->kind];
    c.radix = c.algorithm->radix ? key->radix : 0;
    if (c.build && key->ordered) c.build = in_order(key);
    if (c.build && key->whole)
        c.build = key->kind == TUTTI_ALLREDUCE ? tutti_sched_doubling_allreduce
                                               : find("ring")->build[key->kind];
    c.wide = key->wide && (c.build == tutti_sched_direct_allreduce ||
                              c.build == tutti_sched_direct_reduce_scatter);
    if (key->wide && c.build == tutti_sched_hierarchical_allreduce) c.wide = 2; /* levels */
    int64_t segment = (key->near ? 512 << 10 : 60 << 10) / (int64_t)key->element;
    int64_t least = (key->count + 8191) / 8192;
    c.segment = segment > least ? segment : least;
    if (key->whole && key->count > c.segment) c.segment = key->count;
    return c;
}

static void compare(const char *name, const tutti_choice_key *key)
{
    const tutti_choice was = choose_as_before(find(name), key),
                       is = tutti_coll_choose(find(name), key);
    ck_assert_msg(was.build == is.build && was.segment == is.segment && was.wide == is.wide,
        "%s, %s of %lld x %zu on %d ranks, near %d wide %d ordered %d whole %d: %s, segment %lld",
        name, tutti_coll_kind_name(key->kind), (long long)key->count, key->element, key->P,
        key->near, key->wide, key->ordered, key->whole, is.algorithm->name, (long long)is.segment);
    ck_assert(key->ordered || key->whole || was.radix == is.radix);
    ck_assert_ptr_null(is.refused);
}

/* Bytes around each threshold. */
static const int64_t edges[] = {0, 4000, 4096, 8000, 60 << 10, 64 << 10, 128 << 10, 256 << 10,
    512 << 10, (int64_t)60 << 23, (int64_t)1 << 40};

START_TEST(the_table_chooses_as_thresholds_did)
{
    static const char *const names[] = {
        "auto", "ring", "direct", "k-nomial:3", "hierarchical", "mpi"};
    static const int ranks[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 63, 64, 1024};
    static const size_t elements[] = {1, 2, 4, 8, 12, 16, 1 << 20};
    int64_t compared = 0;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        for (int kind = 0; kind < TUTTI_COLL_KINDS; kind++)
            for (size_t p = 0; p < sizeof ranks / sizeof *ranks; p++)
                for (size_t e = 0; e < sizeof elements / sizeof *elements; e++)
                    for (size_t b = 0; b < sizeof edges / sizeof *edges; b++)
                        for (int k = 0; k < 3 * 16; k++) {
                            int64_t count = edges[b] / (int64_t)elements[e] + k % 3 - 1;
                            const tutti_choice_key key = {.kind = (tutti_coll_kind)kind,
                                .P = ranks[p],
                                .count = count < 0 ? 0 : count,
                                .element = elements[e],
                                .near = k / 3 & 1,
                                .wide = k / 3 >> 1 & 1,
                                .ordered = k / 3 >> 2 & 1,
                                .whole = k / 3 >> 3 & 1,
                                .radix = tutti_algorithm_radix(names[n])};
                            compare(names[n], &key);
                            compared++;
                        }
    ck_assert_int_gt(compared, 3000000);
}
END_TEST

/* ---- as text ---- */

static char *print(const tutti_rules *rules)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    ck_assert_ok(tutti_rules_print(rules, out));
    fclose(out);
    return text;
}

static tutti_rules *read_right(const char *text)
{
    tutti_rules *rules;
    ck_assert_ok(tutti_rules_read(text, "rules.txt", &rules));
    return rules;
}

START_TEST(a_text_is_what_it_says)
{
    static const char canonical[] =
        "rules 1\n"
        "topology 00000000000000ff\n"
        "mpi Open MPI v4.1.4\n"
        "version 0.2.0\n"
        "each near 1 -> segment 512KiB\n"
        "allreduce P 8 element 4 wide 0 from 64KiB -> ring segment 60KiB chunk 4MiB\n"
        "reduce P 3- power-of-two -> k-nomial:8\n"
        "broadcast P 5-7 ordered 1 whole 0 from 4097B -> chain-chain:2\n"
        "allreduce P 1024 -> chunk 1GiB\n";
    tutti_rules *rules = read_right(
        "# measured\nrules 1\n\n mpi  Open MPI\tv4.1.4\r\nversion 0.2.0\ntopology "
        "00000000000000ff\n"
        "each near 1 -> segment 524288B\n"
        "allreduce from 65536B wide 0 element 4 P 8-8 -> ring chunk 4096KiB segment 60KiB # so\n"
        "reduce power-of-two P 3- -> k-nomial:8\n"
        "broadcast from 4097B whole 0 ordered 1 P 5-7 -> chain-chain:2\n"
        "allreduce P 1024 from 0B -> chunk 1GiB");
    char *text = print(rules);
    ck_assert_str_eq(text, canonical);
    tutti_rules *again = read_right(text);
    uint64_t one, other;
    ck_assert_ok(tutti_rules_hash(rules, &one));
    ck_assert_ok(tutti_rules_hash(again, &other));
    ck_assert(one == other);
    ck_assert(tutti_rules_fit(rules, 8));
    tutti_rules_free(again);
    tutti_rules_free(rules);
    free(text);
}
END_TEST

START_TEST(the_built_in_table_is_a_text_that_chooses_alike)
{
    char *text = print(&tutti_rules_built_in);
    tutti_rules *rules = read_right(text);
    for (size_t b = 0; b < sizeof edges / sizeof *edges; b++)
        for (int k = 0; k < 32; k++) {
            const tutti_choice_key key = {.kind = TUTTI_ALLREDUCE,
                .P = 2 + k % 4,
                .count = edges[b],
                .element = 1,
                .near = k >> 2 & 1,
                .wide = k >> 3 & 1,
                .ordered = k >> 4 & 1};
            tutti_rule one = {.chunk = 0}, other = {.chunk = 0};
            tutti_rules_apply(&tutti_rules_built_in, &key, &one);
            tutti_rules_apply(rules, &key, &other);
            ck_assert_ptr_eq(one.algorithm, other.algorithm);
            ck_assert_int_eq(one.segment, other.segment);
        }
    tutti_rules_free(rules);
    free(text);
}
END_TEST

static tutti_choice choose_by(const tutti_rules *rules, tutti_choice_key key)
{
    key.rules = rules;
    if (!key.element) key.element = 4;
    return tutti_coll_choose(find("auto"), &key);
}

START_TEST(later_rules_replace_what_earlier_ones_say)
{
    tutti_rules *rules =
        read_right("rules 1\n"
                   "allreduce P 4 element 4 wide 0 -> direct\n"
                   "allreduce P 4 element 4 wide 0 from 64KiB -> ring segment 4KiB chunk 2MiB\n"
                   "broadcast P 4 -> k-nomial:3\n"
                   "reduce-scatter P 4 -> hierarchical\n"
                   "reduce P 5- -> pipelined-chain\n");
    tutti_choice_key key = {.kind = TUTTI_ALLREDUCE, .P = 4, .count = 1};
    ck_assert_str_eq(choose_by(rules, key).algorithm->name, "direct");
    ck_assert_int_eq(choose_by(rules, key).segment, 15 << 10);
    key.count = 16 << 10;
    ck_assert_str_eq(choose_by(rules, key).algorithm->name, "ring");
    ck_assert_int_eq(choose_by(rules, key).segment, 1 << 10);
    key.wide = 1; /* nothing is said of these: as built in */
    ck_assert_str_eq(choose_by(rules, key).algorithm->name, "direct");
    key = (tutti_choice_key){.kind = TUTTI_BROADCAST, .P = 4, .count = 1};
    ck_assert_int_eq(choose_by(rules, key).radix, 3);
    key = (tutti_choice_key){.kind = TUTTI_REDUCE, .P = 4, .count = 1};
    ck_assert(choose_by(rules, key).build == tutti_sched_tree_reduce);
    ck_assert_int_eq(tutti_rules_chunk(rules, 4, 0), 2 << 20);
    ck_assert_int_eq(tutti_rules_chunk(rules, 5, 0), 0);
    ck_assert(!tutti_rules_fit(rules, 3) && tutti_rules_fit(rules, 6));
    tutti_rules_free(rules);
}
END_TEST

START_TEST(what_an_algorithm_cannot_do_is_built_in)
{
    tutti_rules *rules = read_right("rules 1\nallreduce -> ring\nreduce -> pipelined-chain\n");
    tutti_choice_key key = {.kind = TUTTI_ALLREDUCE, .P = 4, .count = 1, .ordered = 1};
    tutti_choice choice = choose_by(rules, key);
    ck_assert(choice.build == tutti_sched_doubling_allreduce);
    ck_assert_str_eq(choice.refused->name, "ring");
    key.ordered = 0;
    ck_assert_ptr_null(choose_by(rules, key).refused);
    key.whole = 1;
    ck_assert_str_eq(choose_by(rules, key).refused->name, "ring");
    key.kind = TUTTI_REDUCE;
    choice = choose_by(rules, key);
    ck_assert(choice.build == tutti_sched_tree_reduce);
    ck_assert_str_eq(choice.refused->name, "pipelined-chain");
    tutti_rules_free(rules);
    rules = read_right("rules 1\nallreduce P 4 -> direct\n");
    key = (tutti_choice_key){.kind = TUTTI_ALLREDUCE, .P = 4, .count = 1, .ordered = 1};
    choice = choose_by(rules, key);
    ck_assert(choice.build == tutti_sched_direct_allreduce);
    ck_assert_ptr_null(choice.refused);
    tutti_rules_free(rules);
}
END_TEST

START_TEST(mistakes_are_named_with_their_line)
{
    static const struct {
        const char *text, *said;
    } wrong[] = {
        {"", "rules.txt: the first line must be 'rules 1'"},
        {"rules 2\n", "rules.txt: line 1: the first line must be 'rules 1'"},
        {"rules 1\nallsum -> ring\n", "rules.txt: line 2: 'allsum' is not a kind of collective"},
        {"rules 1\n\nallreduce P 0 -> ring\n", "rules.txt: line 3: P '0': must be ranks"},
        {"rules 1\nallreduce P 7-5 -> ring\n", "P '7-5': must be ranks"},
        {"rules 1\nallreduce from 64 -> ring\n", "from '64': must be a size and its unit"},
        {"rules 1\nallreduce from 9223372036854775807KiB -> ring\n", "must be a size"},
        {"rules 1\nallreduce wide 2 -> ring\n", "wide '2': must be 0 or 1"},
        {"rules 1\nallreduce wide -> ring\n", "wide '->': must be 0 or 1"},
        {"rules 1\nallreduce wide 0 wide 0 -> ring\n", "'wide' is given twice"},
        {"rules 1\nallreduce P 4\n", "'the end of the line' instead of ->"},
        {"rules 1\nallreduce P 4 ->\n", "the rule says nothing after ->"},
        {"rules 1\nallreduce -> bubble\n", "'bubble' is not an algorithm of rules"},
        {"rules 1\nallreduce -> mpi\n", "'mpi' is not an algorithm of rules"},
        {"rules 1\nallreduce -> priced\n", "'priced' is not an algorithm of rules"},
        {"rules 1\nallreduce -> auto\n", "'auto' is not an algorithm of rules"},
        {"rules 1\nallreduce -> k-nomial:1\n", "'k-nomial:1' is not an algorithm of rules"},
        {"rules 1\nallreduce -> ring segment 63B\n", "segment '63B': must be a size"},
        {"rules 1\nallreduce -> ring ring\n", "'ring' is unexpected here"},
        {"rules 1\nallreduce segment 1KiB -> ring\n", "'segment' instead of ->"},
        {"rules 1\ntopology 12\n", "topology '12': must be 16 hexadecimal digits"},
        {"rules 1\nmpi\n", "'mpi' is followed by 1 to 127 characters"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tutti_rules *rules;
        ck_assert_int_eq(tutti_rules_read(wrong[i].text, "rules.txt", &rules), TUTTI_ERR_FORMAT);
        ck_assert_msg(strstr(tutti_last_error(), wrong[i].said) != NULL, "%s: %s", wrong[i].text,
            tutti_last_error());
    }
    tutti_rules *rules;
    ck_assert_int_eq(tutti_rules_open("nowhere", &rules), TUTTI_ERR_USAGE);
    ck_assert_int_eq(tutti_rules_open("/", &rules), TUTTI_ERR_USAGE);
}
END_TEST

/* ---- by price ---- */

static const char *cheapest(
    const tutti_topology *t, const int *host, tutti_coll_kind kind, int64_t bytes, int root)
{
    const tutti_algorithm *candidate[32];
    const int n = tutti_algorithm_candidates(kind, candidate, 32);
    const char *best = NULL;
    double least_s = 0;
    for (int i = 0; i < n; i++) {
        const tutti_choice_key key = {.kind = kind,
            .P = t->ranks,
            .count = bytes / 4,
            .element = 4,
            .radix = candidate[i]->radix};
        const tutti_choice choice = tutti_coll_choose(candidate[i], &key);
        tutti_sched_price price;
        ck_assert_ok(tutti_price_choice(t, host, &key, root, &choice, &price));
        if (best && price.time_s >= least_s) continue;
        best = candidate[i]->name;
        least_s = price.time_s;
    }
    return best;
}

static const char *choose_priced(
    tutti_priced *priced, int P, tutti_coll_kind kind, int64_t bytes, int root)
{
    const tutti_choice_key key = {.kind = kind, .P = P, .count = bytes / 4, .element = 4};
    tutti_choice choice;
    ck_assert_ok(tutti_priced_choose(priced, &key, root, &choice));
    return choice.algorithm->name;
}

START_TEST(the_cheapest_is_chosen_whatever_came_before)
{
    static const int host[] = {0, 0, 0, 0, 1, 1, 1, 1}, of[] = {0, 4, 1, 5};
    static const tutti_coll_kind kinds[] = {TUTTI_ALLREDUCE, TUTTI_BROADCAST, TUTTI_REDUCE};
    enum { KINDS = 3, SIZES = 4, CASES = KINDS * SIZES };
    tutti_topology *t;
    tutti_priced *one, *other, *part;
    int seen = 0;
    ck_assert_ok(tutti_topology_open("two-level:2x4", &t));
    ck_assert_ok(tutti_priced_new(t, 8, NULL, host, &one));
    ck_assert_ok(tutti_priced_new(t, 8, NULL, host, &other));
    for (int i = 0; i < CASES; i++) { /* twice, and from the other end: as ranks do not */
        int64_t bytes = (int64_t)64 << 4 * (i % SIZES), back = (int64_t)64 << 4 * (SIZES - 1 - i % SIZES);
        tutti_coll_kind kind = kinds[i / SIZES];
        (void)choose_priced(other, 8, kinds[KINDS - 1 - i / SIZES], back, 0);
        ck_assert_str_eq(choose_priced(one, 8, kind, bytes, 0), cheapest(t, host, kind, bytes, 0));
        seen += !strcmp(choose_priced(one, 8, kind, bytes, 0), "hierarchical");
    }
    for (int i = 0; i < CASES; i++)
        ck_assert_str_eq(choose_priced(one, 8, kinds[i / SIZES], (int64_t)60 << 4 * (i % SIZES), 0),
            choose_priced(other, 8, kinds[i / SIZES], (int64_t)60 << 4 * (i % SIZES), 0));
    ck_assert_int_gt(seen, 0);
    /* A group is priced where its ranks are: these two hosts have two of them each. */
    tutti_topology group = *t;
    int point[4];
    for (int r = 0; r < 4; r++) point[r] = t->rank_point[of[r]];
    group.ranks = 4;
    group.rank_point = point;
    ck_assert_ok(tutti_priced_new(t, 4, of, NULL, &part));
    ck_assert_str_eq(choose_priced(part, 4, TUTTI_BROADCAST, 1 << 20, 1),
        cheapest(&group, NULL, TUTTI_BROADCAST, 1 << 20, 1));
    tutti_priced *more = NULL;
    ck_assert_int_eq(tutti_priced_new(t, 9, NULL, NULL, &more), TUTTI_ERR_INVAL);
    tutti_priced_free(part);
    tutti_priced_free(other);
    tutti_priced_free(one);
    tutti_topology_free(t);
}
END_TEST

START_TEST(what_is_not_a_matter_of_time_is_as_auto_has_it)
{
    tutti_topology *t;
    tutti_priced *p;
    tutti_choice choice;
    ck_assert_ok(tutti_topology_open("star:4", &t));
    ck_assert_ok(tutti_priced_new(t, 4, NULL, NULL, &p));
    for (int i = 0; i < 5; i++) {
        const tutti_choice_key key = {.kind = i == 3 ? TUTTI_ALLGATHER : TUTTI_ALLREDUCE,
            .P = 4,
            .count = i == 4 ? 0 : 5000,
            .element = 4,
            .wide = i == 0,
            .ordered = i == 1,
            .whole = i == 2};
        ck_assert_ok(tutti_priced_choose(p, &key, 0, &choice));
        ck_assert(choice.build == tutti_coll_choose(find("auto"), &key).build);
    }
    ck_assert_int_eq(find("priced")->chooses && find("priced")->prices, 1);
    ck_assert_str_eq(tutti_algorithm_rules("rules:a:b"), "a:b");
    ck_assert_ptr_null(tutti_algorithm_rules("rules:"));
    ck_assert_ptr_null(find("rules:"));
    ck_assert_ptr_null(find("rules"));
    tutti_priced_free(p);
    tutti_topology_free(t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rules");
    TCase *tcase = tcase_create("rules");
    tutti_log_set_level(TUTTI_LOG_NONE);
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, the_table_chooses_as_thresholds_did);
    tcase_add_test(tcase, a_text_is_what_it_says);
    tcase_add_test(tcase, the_built_in_table_is_a_text_that_chooses_alike);
    tcase_add_test(tcase, later_rules_replace_what_earlier_ones_say);
    tcase_add_test(tcase, what_an_algorithm_cannot_do_is_built_in);
    tcase_add_test(tcase, mistakes_are_named_with_their_line);
    tcase_add_test(tcase, the_cheapest_is_chosen_whatever_came_before);
    tcase_add_test(tcase, what_is_not_a_matter_of_time_is_as_auto_has_it);
    return testing_run(suite);
}
