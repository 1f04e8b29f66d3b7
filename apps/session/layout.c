#include "apps/session/layout.h"

#include "dag/base/log.h"
#include "dag/base/number.h"
#include "dag/base/parameters.h"
#include "dag/net/layer.h"
#include "dag/step/partition.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const ORDERS[] = {
    [TUTTI_ORDER_1F1B] = "1f1b", [TUTTI_ORDER_EAGER] = "eager", [TUTTI_ORDER_GPIPE] = "gpipe"};
enum { ORDER_COUNT = sizeof ORDERS / sizeof *ORDERS };

const char *tutti_pipeline_order_name(int i)
{
    return i < ORDER_COUNT ? ORDERS[i] : NULL;
}

tutti_pipeline_order tutti_pipeline_order_of(const char *name)
{
    for (int i = 0; i < ORDER_COUNT; i++)
        if (!strcmp(ORDERS[i], name)) return (tutti_pipeline_order)i;
    return TUTTI_ORDER_1F1B;
}

tutti_emission tutti_layout_emission(const tutti_layout *layout)
{
    return layout->order == TUTTI_ORDER_GPIPE ? TUTTI_EMISSION_GPIPE : TUTTI_EMISSION_1F1B;
}

int tutti_layout_slots(const tutti_layout *layout, int stage)
{
    const int ahead = layout->placement.stages - stage;
    switch (layout->order) {
    case TUTTI_ORDER_1F1B: return ahead;
    case TUTTI_ORDER_EAGER: return 2 * ahead - 1;
    default: return 0;
    }
}

/* A number from `least` on. */
static int read_number(const char *text, int least, int *number)
{
    int64_t value;
    if (*text < '0' || !tutti_number_int(text, &value) || value < least || value > 1000000)
        return 0;
    *number = (int)value;
    return 1;
}

/* What servers and clients mean together; given: servers were given. */
static const char *read_service(tutti_placement *p, int given)
{
    if (p->replicas || p->blocks)
        return "has clients of servers, whose replicas are counted by clients= and share no layers: leave "
               "out replicas= and split=";
    if (p->everywhere && p->stages)
        return "has stages, of which each server of servers=all would have one: use servers=1, or more, or "
               "leave out stages=";
    if (!given)
        return "has clients, but not how many servers they have: add servers=, such as servers=1";
    if (p->servers) return NULL;
    if (p->clients > 1)
        return "has several clients, and no server that joins them: use servers=1, or clients=1";
    p->clients = 1;
    return NULL;
}

const char *tutti_layout_read(const char *text, tutti_layout *layout)
{
    static const char form[] = "must be stages=S, replicas=R, split=G, or several of these, such "
                               "as stages=2,replicas=4; or servers=S,clients=C,stages=Q, such as "
                               "servers=1,clients=2 or servers=all";
    tutti_placement *p = &layout->placement;
    const struct {
        const char *key;
        int *number, least;
    } keys[] = {{"stages", &p->stages, 1}, {"replicas", &p->replicas, 1}, {"split", &p->blocks, 1},
        {"servers", &p->servers, 0}, {"clients", &p->clients, 1}};
    enum { KEYS = sizeof keys / sizeof *keys, SERVERS = 3 };
    tutti_parameters given;
    int has_servers = 0;
    *p = (tutti_placement){0};
    if (!tutti_parameters_cut(text, 0, &given) || given.twice) return form;
    for (int i = 0; i < given.count; i++) {
        const char *key = given.of[i].key, *value = given.of[i].value;
        int k = 0;
        while (k < KEYS && key && strcmp(key, keys[k].key)) k++;
        if (k == KEYS || !key) return form;
        has_servers |= k == SERVERS;
        if (k == SERVERS && !strcmp(value, "all"))
            p->everywhere = p->servers = 1;
        else if (!read_number(value, keys[k].least, keys[k].number))
            return form;
    }
    if (p->stages > TUTTI_PLACEMENT_STAGES) return "has more than 64 stages";
    return has_servers || p->clients ? read_service(p, has_servers) : NULL;
}

static const char auto_word[] = "auto", timed_word[] = "timed"; /* of --stage-layers */

int tutti_layout_read_layers(const char *text, tutti_layout *layout)
{
    tutti_parameters given;
    memset(layout->stage_layers, 0, sizeof layout->stage_layers);
    layout->timed = text && !strcmp(text, timed_word);
    if (layout->timed || (text && !strcmp(text, auto_word))) return 1;
    if (!text || !tutti_parameters_cut(text, 0, &given)) return 0;
    if (given.count > TUTTI_PLACEMENT_STAGES) return 0;
    for (int i = 0; i < given.count; i++)
        if (given.of[i].key || !read_number(given.of[i].value, 1, &layout->stage_layers[i]))
            return 0;
    return 1;
}

char *tutti_layout_print_layers(const tutti_layout *layout, char text[TUTTI_LAYOUT_LAYERS_TEXT])
{
    size_t used = 0, size = TUTTI_LAYOUT_LAYERS_TEXT;
    snprintf(text, size, "%s", layout->timed ? timed_word : auto_word);
    for (int q = 0; q < TUTTI_PLACEMENT_STAGES && layout->stage_layers[q] && used < size; q++)
        used += (size_t)snprintf(
            text + used, size - used, "%s%d", q ? "," : "", layout->stage_layers[q]);
    return text;
}

/* "all ranks", or "7 ranks without 1 server": those that train. */
static void print_working(const tutti_placement *given, int ranks, char text[TUTTI_LAYOUT_TEXT])
{
    if (given->everywhere)
        snprintf(text, TUTTI_LAYOUT_TEXT, "all ranks");
    else
        snprintf(text, TUTTI_LAYOUT_TEXT, "%d ranks without %d server%s", ranks, given->servers,
            given->servers == 1 ? "" : "s");
}

static tutti_status refuse_clients(const tutti_placement *given, int ranks, int stages, int workers)
{
    char text[TUTTI_LAYOUT_TEXT], those[TUTTI_LAYOUT_TEXT], in_stages[32] = "";
    const int servers = given->everywhere ? 0 : given->servers, clients = given->clients;
    print_working(given, ranks, those);
    if (stages > 1) snprintf(in_stages, sizeof in_stages, ", each in %d stages", stages);
    return tutti_fail(TUTTI_ERR_USAGE,
        "--layout %s: %d clients of equal size cannot be formed of %d workers (%s%s): use a "
        "divisor of "
        "%d, or start %d ranks",
        tutti_layout_print(given, text), clients, workers, those, in_stages, workers,
        servers + (workers / clients + 1) * clients * stages);
}

static tutti_status refuse_stages(const tutti_placement *given, int ranks, int working)
{
    char text[TUTTI_LAYOUT_TEXT], those[TUTTI_LAYOUT_TEXT];
    const int stages = given->stages;
    print_working(given, ranks, those);
    return tutti_fail(TUTTI_ERR_USAGE,
        "--layout %s: workers of %d stages cannot be formed of %d ranks (%s): start %d ranks, or "
        "%d",
        tutti_layout_print(given, text), stages, working, those,
        given->servers + working / stages * stages,
        given->servers + (working / stages + 1) * stages);
}

/* Workers are whole replicas, each on as many ranks as there are stages. */
static tutti_status place_service(const tutti_placement *given, int ranks, tutti_placement *p)
{
    char text[TUTTI_LAYOUT_TEXT];
    const int clients = given->clients, stages = p->stages;
    const int working = ranks - (given->everywhere ? 0 : given->servers);
    const int workers = working / stages;
    if (working < stages) {
        char left[16] = "none";
        if (working > 0) snprintf(left, sizeof left, "%d", working);
        return tutti_fail(TUTTI_ERR_USAGE,
            "--layout %s leaves %s of %d rank%s to train: start at least %d, or use fewer "
            "servers%s",
            tutti_layout_print(given, text), left, ranks, ranks == 1 ? "" : "s",
            given->servers + (clients ? clients : 1) * stages, stages > 1 ? " or stages" : "");
    }
    if (working % stages) return refuse_stages(given, ranks, working);
    if (clients && workers % clients) return refuse_clients(given, ranks, stages, workers);
    p->replicas = workers;
    if (!clients) p->clients = workers;
    return TUTTI_OK;
}

static tutti_status place_replicas(const tutti_placement *given, int ranks, tutti_placement *p)
{
    char text[TUTTI_LAYOUT_TEXT];
    if (!p->replicas) p->replicas = ranks / p->stages;
    if (p->stages * p->replicas != ranks)
        return tutti_fail(TUTTI_ERR_USAGE,
            "--layout %s needs %d ranks, but there are %d: start that many, or change it",
            tutti_layout_print(given, text), p->stages * (p->replicas ? p->replicas : 1), ranks);
    if (p->blocks && p->replicas % p->blocks)
        return tutti_fail(TUTTI_ERR_USAGE,
            "--layout %s divides layers over groups of %d, which do not make up %d replicas: use a "
            "divisor",
            tutti_layout_print(given, text), p->blocks, p->replicas);
    return TUTTI_OK;
}

tutti_status tutti_layout_place(
    const tutti_layout *layout, int ranks, int rank, tutti_placement *placement)
{
    const tutti_placement *given = &layout->placement;
    *placement = *given;
    placement->rank = rank;
    if (!given->stages) placement->stages = 1;
    tutti_status status = given->servers ? place_service(given, ranks, placement)
                                         : place_replicas(given, ranks, placement);
    return status ? status : tutti_placement_complete(placement);
}

static void append(char text[TUTTI_LAYOUT_TEXT], const char *key, int number)
{
    const size_t used = strlen(text);
    if (number)
        snprintf(text + used, TUTTI_LAYOUT_TEXT - used, "%s%s%d", used ? "," : "", key, number);
}

char *tutti_layout_print(const tutti_placement *p, char text[TUTTI_LAYOUT_TEXT])
{
    text[0] = '\0';
    if (p->servers || p->clients) {
        if (p->everywhere)
            snprintf(text, TUTTI_LAYOUT_TEXT, "servers=all");
        else
            snprintf(text, TUTTI_LAYOUT_TEXT, "servers=%d", p->servers);
        append(text, "clients=", p->clients);
        append(text, "stages=", p->stages > 1 ? p->stages : 0);
        return text;
    }
    append(text, "stages=", p->stages);
    append(text, "replicas=", p->replicas);
    append(text, "split=", p->blocks);
    return text;
}

int tutti_layout_micro_batches(const tutti_layout *layout, int64_t parts, int workers)
{
    enum { EACH_STAGE = 4 };
    if (layout->micro_batches) return layout->micro_batches;
    if (layout->placement.stages < 2) return workers;
    int most = EACH_STAGE * layout->placement.stages;
    while (parts % most) most--;
    return most;
}

/* As they were given. */
static tutti_status cut_as_told(
    const tutti_layout *layout, const char *model, int layers, int end[])
{
    int stages = 0, sum = 1; /* the input belongs to the first stage */
    for (; stages < TUTTI_PLACEMENT_STAGES && layout->stage_layers[stages]; stages++) {
        sum += layout->stage_layers[stages];
        if (stages < layout->placement.stages) end[stages] = sum;
    }
    if (stages == layout->placement.stages && sum == layers) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_USAGE,
        "--stage-layers has %d layers in %d stages, but %s has %d layers, and --layout %d stages",
        sum - 1, stages, model, layers - 1, layout->placement.stages);
}

/* How many of the layers first .. last - 1 have parameters. */
static int with_parameters(const tutti_net *net, int first, int last)
{
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    int n = 0;
    for (int l = first; l < last; l++) n += tutti_layer_parameters(&net->layer[l], parameter) > 0;
    return n;
}

static tutti_status check_told(
    const tutti_layout *layout, const char *model, const tutti_net *net, const int end[])
{
    for (int q = 0, first = 0; q < layout->placement.stages; first = end[q++])
        if (!with_parameters(net, first, end[q]))
            return tutti_fail(TUTTI_ERR_USAGE,
                "--stage-layers leaves stage %d of %d (%s to %s of %s) without parameters: give it "
                "more layers",
                q, layout->placement.stages, net->layer[first].name, net->layer[end[q] - 1].name,
                model);
    return TUTTI_OK;
}

static tutti_status check_number(
    const tutti_layout *layout, const char *model, const tutti_net *net)
{
    int most = with_parameters(net, 0, net->layers);
    if (layout->placement.stages <= most) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_USAGE,
        "--layout has %d stages, but %s only %d layers with parameters, of which each stage needs "
        "one: "
        "use fewer stages",
        layout->placement.stages, model, most);
}

static tutti_status cut_evenly(const tutti_layout *layout, const tutti_net *net,
    const tutti_step_options *step, int workers, int end[])
{
    const double rate = layout->link_bytes_per_s;
    const double work_per_byte = rate > 0 ? tutti_work_per_byte_sent(rate, workers) : 0;
    tutti_layer_cost *cost = calloc((size_t)net->layers, sizeof *cost);
    if (!cost)
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the costs of %d layers", net->layers);
    tutti_status status = tutti_net_costs(net, step, cost);
    for (int l = 0; layout->layer_seconds && l < net->layers; l++)
        cost[l].work = layout->layer_seconds[l] * TUTTI_WORK_PER_SECOND;
    if (!status)
        status = tutti_partition(net->layers, cost, work_per_byte, layout->placement.stages, end);
    free(cost);
    return status;
}

tutti_status tutti_layout_time(const tutti_model *model, const tutti_model_input *input,
    tutti_dtype precision, int64_t images, int *layers, double **seconds)
{
    tutti_net *net = NULL;
    *seconds = NULL;
    tutti_status status = tutti_model_net(model, input, &net);
    if (!status) {
        *layers = net->layers;
        *seconds = calloc((size_t)net->layers, sizeof **seconds);
        status = *seconds
                     ? tutti_net_times(net, precision, images, *seconds)
                     : tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d layers' times", net->layers);
    }
    tutti_net_free(net);
    return status;
}

tutti_status tutti_layout_cut(const tutti_layout *layout, const char *model, const tutti_net *net,
    const tutti_step_options *step, int workers, int end[])
{
    tutti_status status = check_number(layout, model, net);
    if (status) return status;
    if (!layout->stage_layers[0]) return cut_evenly(layout, net, step, workers, end);
    status = cut_as_told(layout, model, net->layers, end);
    return status ? status : check_told(layout, model, net, end);
}
