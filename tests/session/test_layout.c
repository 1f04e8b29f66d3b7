/* Layouts: how they are written, which placements they make, and which are refused. */
#include "apps/session/layout.h"
#include "dag/base/log.h"
#include "tests/support/testing.h"

#include <string.h>

START_TEST(texts_are_read)
{
    static const struct {
        const char *text;
        int stages, replicas, split; /* stages -1: refused */
        int servers, clients, everywhere;
    } rows[] = {{"stages=2", 2, 0, 0, 0, 0, 0}, {"replicas=3", 0, 3, 0, 0, 0, 0},
        {"stages=2,replicas=3", 2, 3, 0, 0, 0, 0}, {"replicas=12,stages=64", 64, 12, 0, 0, 0, 0},
        {.text = "", .stages = -1}, {.text = "stages", .stages = -1},
        {.text = "stages=", .stages = -1}, {.text = "stages=0", .stages = -1},
        {.text = "stages=-1", .stages = -1}, {.text = "stages= 2", .stages = -1},
        {.text = "stages=2x", .stages = -1}, {.text = "stages=2,", .stages = -1},
        {.text = ",stages=2", .stages = -1}, {.text = "stages=2,stages=2", .stages = -1},
        {.text = "stages=2;replicas=2", .stages = -1}, {.text = "stages=65", .stages = -1},
        {.text = "stages=99999999999999999999", .stages = -1}, {"split=2", 0, 0, 2, 0, 0, 0},
        {"split=4,replicas=8,stages=2", 2, 8, 4, 0, 0, 0}, {.text = "split=0", .stages = -1},
        {.text = "split=2,split=2", .stages = -1},
        {.text = "stages=1,replicas=2,stages=1", .stages = -1}, {"servers=1", 0, 0, 0, 1, 0, 0},
        {"servers=1,clients=2", 0, 0, 0, 1, 2, 0}, {"clients=4,servers=12", 0, 0, 0, 12, 4, 0},
        {"servers=0", 0, 0, 0, 0, 1, 0}, {"servers=0,clients=1", 0, 0, 0, 0, 1, 0},
        {.text = "servers=0,clients=2", .stages = -1}, {.text = "clients=2", .stages = -1},
        {.text = "servers=-1", .stages = -1}, {.text = "servers=", .stages = -1},
        {.text = "servers=1,clients=0", .stages = -1},
        {.text = "servers=0,servers=1", .stages = -1}, {"servers=all", 0, 0, 0, 1, 0, 1},
        {"clients=3,servers=all", 0, 0, 0, 1, 3, 1},
        {.text = "servers=all,clients=0", .stages = -1}, {.text = "servers=al", .stages = -1},
        {.text = "servers=all2", .stages = -1}, {.text = "servers=all,", .stages = -1},
        {.text = "clients=all", .stages = -1}, {.text = "servers=all,servers=1", .stages = -1},
        {.text = "servers=all,stages=2", .stages = -1}, {"servers=1,stages=2", 2, 0, 0, 1, 0, 0},
        {"stages=3,clients=2,servers=2", 3, 0, 0, 2, 2, 0},
        {"servers=0,stages=2", 2, 0, 0, 0, 1, 0}, {.text = "servers=1,stages=65", .stages = -1},
        {.text = "replicas=2,servers=1", .stages = -1},
        {.text = "servers=0,split=2", .stages = -1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tutti_layout layout = {0};
        char text[TUTTI_LAYOUT_TEXT];
        const char *fault = tutti_layout_read(rows[i].text, &layout);
        ck_assert_msg((fault != NULL) == (rows[i].stages < 0), "\"%s\": %s", rows[i].text,
            fault ? fault : "taken");
        if (fault) continue;
        ck_assert_int_eq(layout.placement.stages, rows[i].stages);
        ck_assert_int_eq(layout.placement.replicas, rows[i].replicas);
        ck_assert_int_eq(layout.placement.blocks, rows[i].split);
        ck_assert_int_eq(layout.placement.servers, rows[i].servers);
        ck_assert_int_eq(layout.placement.clients, rows[i].clients);
        ck_assert_int_eq(layout.placement.everywhere, rows[i].everywhere);
        ck_assert_str_ne(tutti_layout_print(&layout.placement, text), "");
    }
}
END_TEST

START_TEST(layers_are_read)
{
    static const char *const bad[] = {"", "x", "0", "1,", ",1", "1,,2", "1 2", "-1,2", "1,0"};
    tutti_layout layout = {0};
    char text[TUTTI_LAYOUT_LAYERS_TEXT];
    ck_assert_str_eq(tutti_layout_print_layers(&layout, text), "auto");
    ck_assert_int_eq(tutti_layout_read_layers("timed", &layout), 1);
    ck_assert_str_eq(tutti_layout_print_layers(&layout, text), "timed");
    ck_assert_int_eq(tutti_layout_read_layers("10,2,333", &layout), 1);
    ck_assert_int_eq(layout.timed, 0);
    ck_assert_str_eq(tutti_layout_print_layers(&layout, text), "10,2,333");
    ck_assert_int_eq(layout.stage_layers[0], 10);
    ck_assert_int_eq(layout.stage_layers[1], 2);
    ck_assert_int_eq(layout.stage_layers[2], 333);
    ck_assert_int_eq(layout.stage_layers[3], 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!tutti_layout_read_layers(bad[i], &layout), "\"%s\" is taken", bad[i]);
}
END_TEST

START_TEST(replicas_are_placed)
{
    static const struct {
        tutti_placement given;
        const char *text;
    } rows[] = {{{.stages = 3}, "stages=3,replicas=2"}, {{.replicas = 6}, "stages=1,replicas=6"},
        {{.blocks = 3}, "stages=1,replicas=6,split=3"}};
    tutti_placement placement;
    char text[TUTTI_LAYOUT_TEXT];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_ok(
            tutti_layout_place(&(tutti_layout){.placement = rows[i].given}, 6, 5, &placement));
        ck_assert_str_eq(tutti_layout_print(&placement, text), rows[i].text);
        ck_assert_int_eq(placement.rank, 5);
    }
    tutti_log_set_level(TUTTI_LOG_NONE);
    tutti_layout layout = {.placement.blocks = 4};
    ck_assert_int_eq(tutti_layout_place(&layout, 6, 0, &placement), TUTTI_ERR_USAGE);
    ck_assert_msg(
        strstr(tutti_last_error(), "groups of 4, which do not make up 6 replicas") != NULL, "%s",
        tutti_last_error());
    static const tutti_placement wrong[] = {
        {.stages = 4}, {.stages = 7}, {.stages = 2, .replicas = 2}, {.replicas = 5}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_int_eq(
            tutti_layout_place(&(tutti_layout){.placement = wrong[i]}, 6, 0, &placement),
            TUTTI_ERR_USAGE);
        ck_assert_msg(
            strstr(tutti_last_error(), "but there are 6") != NULL, "%s", tutti_last_error());
    }
    tutti_log_set_level(TUTTI_LOG_WARN);
}
END_TEST

START_TEST(workers_form_clients)
{
    static const struct {
        tutti_placement given;
        int ranks;
        const char *text, *fault; /* fault NULL: text says all of the placement */
    } rows[] = {{{.servers = 1, .clients = 2}, 7, "servers=1,clients=2", NULL},
        {{.servers = 2}, 5, "servers=2,clients=3", NULL},
        {{.clients = 1}, 4, "servers=0,clients=1", NULL},
        {{.servers = 1, .everywhere = 1}, 4, "servers=all,clients=4", NULL},
        {{.servers = 1, .everywhere = 1}, 1, "servers=all,clients=1", NULL},
        {{.servers = 1, .everywhere = 1, .clients = 2}, 4, "servers=all,clients=2", NULL},
        {{.servers = 1, .everywhere = 1, .clients = 4}, 6, NULL,
            "4 clients of equal size cannot be formed of 6 workers (all ranks): use a divisor of "
            "6, "
            "or start 8 ranks"},
        {{.servers = 2}, 2, NULL, "leaves none of 2 ranks to train: start at least 3"},
        {{.servers = 4, .clients = 2}, 1, NULL, "leaves none of 1 rank to train: start at least 6"},
        {{.servers = 1, .clients = 4}, 7, NULL,
            "4 clients of equal size cannot be formed of 6 workers (7 ranks without 1 server): use "
            "a "
            "divisor of 6, or start 9 ranks"},
        {{.servers = 1, .clients = 3}, 2, NULL, "use a divisor of 1, or start 4 ranks"},
        {{.servers = 1, .clients = 2, .stages = 2}, 5, "servers=1,clients=2,stages=2", NULL},
        {{.servers = 2, .stages = 3}, 14, "servers=2,clients=4,stages=3", NULL},
        {{.servers = 1, .stages = 1}, 3, "servers=1,clients=2", NULL},
        {{.servers = 1, .clients = 2, .stages = 2}, 6, NULL,
            "workers of 2 stages cannot be formed of 5 ranks (6 ranks without 1 server): start 5 "
            "ranks, "
            "or 7"},
        {{.servers = 1, .clients = 2, .stages = 2}, 7, NULL,
            "cannot be formed of 3 workers (7 ranks without 1 server, each in 2 stages): use a "
            "divisor of "
            "3, or start 9 ranks"},
        {{.servers = 1, .clients = 2, .stages = 3}, 3, NULL,
            "leaves 2 of 3 ranks to train: start at least 7, or use fewer servers or stages"}};
    char text[TUTTI_LAYOUT_TEXT];
    tutti_log_set_level(TUTTI_LOG_NONE);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tutti_placement p;
        tutti_status status = tutti_layout_place(
            &(tutti_layout){.placement = rows[i].given}, rows[i].ranks, rows[i].ranks - 1, &p);
        if (rows[i].fault) {
            ck_assert_int_eq(status, TUTTI_ERR_USAGE);
            ck_assert_msg(strstr(tutti_last_error(), rows[i].fault), "%s", tutti_last_error());
            continue;
        }
        ck_assert_ok(status);
        ck_assert_str_eq(tutti_layout_print(&p, text), rows[i].text);
        ck_assert_int_eq(p.ranks, rows[i].ranks);
    }
    tutti_log_set_level(TUTTI_LOG_WARN);
}
END_TEST

/* The same layers, cut where their times say. */
START_TEST(times_move_the_cut)
{
    enum { LAYERS = 7 }; /* with the input */
    static const double slow_first[LAYERS] = {0, 9, 1, 1, 1, 1, 1},
                        slow_last[LAYERS] = {0, 1, 1, 1, 1, 1, 9};
    static const struct {
        const double *seconds;
        int end;
    } rows[] = {{slow_first, 2}, {slow_last, LAYERS - 1}};
    tutti_net *net;
    ck_assert_ok(tutti_net_new(&net));
    tutti_value x = tutti_net_input(net, 1, 1, 8);
    for (int l = 1; l < LAYERS; l++)
        x = tutti_net_dense(
            net, (const char[2]){(char)('a' + l), 0}, x, 8, TUTTI_INIT_UNIFORM_FAN_IN);
    tutti_net_output(net, x);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tutti_layout layout = {.placement = {.stages = 2, .replicas = 1},
            .timed = 1,
            .layer_seconds = rows[i].seconds};
        int end[2];
        ck_assert_ok(tutti_layout_cut(
            &layout, "dense", net, &(tutti_step_options){.batch = 8}, 1, end));
        ck_assert_int_eq(end[0], rows[i].end);
    }
    tutti_net_free(net);
}
END_TEST

START_TEST(batches_are_cut)
{
    tutti_layout layout = {.placement = {.stages = 1, .replicas = 2}};
    ck_assert_int_eq(tutti_layout_micro_batches(&layout, 32, 3), 3);
    layout.placement.stages = 2;
    ck_assert_int_eq(tutti_layout_micro_batches(&layout, 32, 3), 8);
    ck_assert_int_eq(tutti_layout_micro_batches(&layout, 30, 3), 6);
    ck_assert_int_eq(tutti_layout_micro_batches(&layout, 7, 1), 7);
    ck_assert_int_eq(tutti_layout_micro_batches(&layout, 11, 1), 1);
    layout.micro_batches = 16;
    ck_assert_int_eq(tutti_layout_micro_batches(&layout, 32, 3), 16);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("layout");
    TCase *tcase = testing_case(suite, "layout");
    tcase_add_test(tcase, texts_are_read);
    tcase_add_test(tcase, layers_are_read);
    tcase_add_test(tcase, replicas_are_placed);
    tcase_add_test(tcase, workers_form_clients);
    tcase_add_test(tcase, times_move_the_cut);
    tcase_add_test(tcase, batches_are_cut);
    return testing_run(suite);
}
