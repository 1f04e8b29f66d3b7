/* dag/step: orders of emission. Lists of units and their check, which refuses lists that are broken on
 * purpose; a random net with every emission, number of slots and of micro-batches, to the last bit. */
#include "dag/base/rng.h"
#include "dag/run/inline.h"
#include "tests/step/drawn.h"
#include "tests/step/trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- standard error, in a file ---- */

typedef struct capture {
    FILE *file;
    int saved;
} capture;

static capture begin_capture(void)
{
    capture c = {.file = tmpfile(), .saved = dup(STDERR_FILENO)};
    ck_assert_ptr_nonnull(c.file);
    ck_assert_int_ge(dup2(fileno(c.file), STDERR_FILENO), 0);
    return c;
}

static void end_capture(capture c, char *text, size_t size)
{
    ck_assert_int_ge(dup2(c.saved, STDERR_FILENO), 0);
    close(c.saved);
    rewind(c.file);
    text[fread(text, 1, size - 1, c.file)] = 0;
    fclose(c.file);
}

/* ---- lists ---- */

enum { UNITS = 128, TEXT = 1024 };

typedef struct units {
    tutti_units_shape shape;
    int count;
    tutti_unit unit[UNITS];
} units;

static units make(tutti_emission emission, int places, int micro_batches, int in_flight)
{
    units made = {.shape = {places, micro_batches, in_flight}};
    tutti_unit *unit;
    ck_assert_ok(tutti_units_make(emission, &made.shape, in_flight, &unit, &made.count));
    ck_assert_int_le(made.count, UNITS);
    memcpy(made.unit, unit, (size_t)made.count * sizeof *unit);
    free(unit);
    return made;
}

static tutti_status check(const units *u)
{
    return tutti_units_check(&u->shape, u->count, u->unit);
}

static const char *print(const units *u, char text[TEXT])
{
    int n = 0;
    text[0] = 0;
    for (int i = 0; i < u->count; i++) {
        const tutti_unit *unit = &u->unit[i];
        n += snprintf(text + n, TEXT - (size_t)n, "%s%c%d", i ? " " : "",
            unit->phase == TUTTI_UNIT_FORWARD ? 'F' : 'B', unit->micro_batch);
        if (unit->end - unit->first != u->shape.places)
            n += snprintf(text + n, TEXT - (size_t)n, ":%d", unit->first);
    }
    return text;
}

START_TEST(lists_are_those_of_the_header)
{
    char text[TEXT];
    units u = make(TUTTI_EMISSION_LAYERS, 3, 2, 2);
    ck_assert_str_eq(
        print(&u, text), "F0:0 F1:0 F0:1 F1:1 F0:2 F1:2 B0:2 B1:2 B0:1 B1:1 B0:0 B1:0");
    u = make(TUTTI_EMISSION_GPIPE, 3, 3, 3);
    ck_assert_str_eq(print(&u, text), "F0 F1 F2 B2 B1 B0");
    u = make(TUTTI_EMISSION_1F1B, 3, 3, 2);
    ck_assert_str_eq(print(&u, text), "F0 F1 B0 F2 B1 B2");
    u = make(TUTTI_EMISSION_1F1B, 3, 3, 1);
    ck_assert_str_eq(print(&u, text), "F0 B0 F1 B1 F2 B2");
    u = make(TUTTI_EMISSION_1F1B, 3, 3, 7);
    ck_assert_str_eq(print(&u, text), "F0 F1 F2 B0 B1 B2");
    ck_assert_str_eq(tutti_emission_name(TUTTI_EMISSION_1F1B), "1f1b");
    ck_assert_str_eq(tutti_emission_name(TUTTI_EMISSIONS), "unknown");
}
END_TEST

/* Every list needs as many slots as it has in flight, takes more, and is refused with one less. */
START_TEST(slots_are_as_many_as_in_flight)
{
    char text[TEXT];
    for (int e = 0; e < TUTTI_EMISSIONS; e++)
        for (int places = 1; places <= 4; places++)
            for (int m = 1; m <= 5; m++)
                for (int slots = 1; slots <= 6; slots++) {
                    const tutti_units_shape shape = {places, m, slots};
                    int in_flight = tutti_units_in_flight((tutti_emission)e, &shape);
                    units u = make((tutti_emission)e, places, m, in_flight);
                    ck_assert_ok(check(&u));
                    u.shape.slots++;
                    ck_assert_ok(check(&u));
                    u.shape.slots -= 2;
                    capture c = begin_capture();
                    tutti_status status = check(&u);
                    end_capture(c, text, sizeof text);
                    ck_assert_int_eq(status, TUTTI_ERR_INVAL);
                    if (in_flight > 1)
                        ck_assert_msg(strstr(text, "would overwrite slot 0") != NULL, "%s", text);
                }
}
END_TEST

/* ---- lists with a fault ---- */

static void swap(units *u, int i, int k)
{
    tutti_unit unit = u->unit[i];
    u->unit[i] = u->unit[k];
    u->unit[k] = unit;
}

static void leave_out(units *u, int i)
{
    u->count--;
    memmove(&u->unit[i], &u->unit[i + 1], (size_t)(u->count - i) * sizeof *u->unit);
}

static void repeat(units *u, int i)
{
    u->unit[u->count++] = u->unit[i];
}

static units slot_freed_early(void)
{
    units u = make(TUTTI_EMISSION_1F1B, 5, 4, 2); /* F0 F1 B0 F2 B1 F3 B2 B3 */
    swap(&u, 2, 3);
    return u;
}

/* The backward pass has begun, but not ended. */
static units slot_freed_half_way(void)
{
    return (units){{4, 2, 1}, 6,
        {{TUTTI_UNIT_FORWARD, 0, 0, 4}, {TUTTI_UNIT_BACKWARD, 0, 2, 4},
            {TUTTI_UNIT_FORWARD, 1, 0, 4}, {TUTTI_UNIT_BACKWARD, 0, 0, 2},
            {TUTTI_UNIT_BACKWARD, 1, 2, 4}, {TUTTI_UNIT_BACKWARD, 1, 0, 2}}};
}

static units one_slot_too_few(void)
{
    units u = make(TUTTI_EMISSION_1F1B, 5, 6, 3);
    u.shape.slots = 2;
    return u;
}

/* What law 4 names: layers, place by place, with slots for some of the micro-batches. */
static units layers_in_one_slot(void)
{
    units u = make(TUTTI_EMISSION_LAYERS, 3, 2, 2);
    u.shape.slots = 1;
    return u;
}

static units backward_first(void)
{
    units u = make(TUTTI_EMISSION_1F1B, 5, 2, 1); /* F0 B0 F1 B1 */
    swap(&u, 2, 3);
    return u;
}

static units backward_upwards(void)
{
    units u = make(TUTTI_EMISSION_LAYERS, 3, 1, 1); /* F F F B:2 B:1 B:0 */
    swap(&u, 3, 4);
    return u;
}

static units forward_downwards(void)
{
    units u = make(TUTTI_EMISSION_LAYERS, 3, 1, 1);
    swap(&u, 1, 2);
    return u;
}

static units no_forward(void)
{
    units u = make(TUTTI_EMISSION_GPIPE, 5, 3, 3);
    leave_out(&u, 1);
    return u;
}

static units no_backward(void)
{
    units u = make(TUTTI_EMISSION_1F1B, 5, 3, 3);
    leave_out(&u, 5);
    return u;
}

static units no_backward_of_a_slot(void)
{
    units u = make(TUTTI_EMISSION_1F1B, 5, 3, 1);
    leave_out(&u, 1);
    return u;
}

static units no_place(void)
{
    units u = make(TUTTI_EMISSION_LAYERS, 3, 2, 2);
    leave_out(&u, 8); /* B0:1 */
    return u;
}

static units nothing(void)
{
    return (units){{3, 2, 2}, 0, {{TUTTI_UNIT_FORWARD, 0, 0, 0}}};
}

static units forward_twice(void)
{
    units u = make(TUTTI_EMISSION_GPIPE, 5, 2, 2);
    repeat(&u, 0);
    return u;
}

static units backward_twice(void)
{
    units u = make(TUTTI_EMISSION_1F1B, 5, 2, 1);
    repeat(&u, 1);
    return u;
}

static units another_micro_batch(void)
{
    units u = make(TUTTI_EMISSION_GPIPE, 5, 2, 2);
    u.unit[1].micro_batch = 2;
    return u;
}

static units another_place(void)
{
    units u = make(TUTTI_EMISSION_GPIPE, 5, 2, 2);
    u.unit[0].end = 6;
    return u;
}

static units no_slot(void)
{
    units u = make(TUTTI_EMISSION_GPIPE, 5, 1, 1);
    u.shape.slots = 0;
    return u;
}

static const struct {
    units (*make)(void);
    const char *says[3];
} faults[] = {
    {slot_freed_early,
        {"the forward pass of micro-batch 2 (unit 2, places 0 to 4)", "would overwrite slot 0 of 2",
            "the backward pass of micro-batch 0 (unit 3, places 0 to 4) still reads"}},
    {slot_freed_half_way,
        {"the forward pass of micro-batch 1 (unit 2, places 0 to 3)", "would overwrite slot 0 of 1",
            "the backward pass of micro-batch 0 (unit 3, places 0 to 1)"}},
    {one_slot_too_few, {"the forward pass of micro-batch 2 (unit 2,", "slot 0 of 2",
                           "the backward pass of micro-batch 0 (unit 3,"}},
    {layers_in_one_slot, {"the forward pass of micro-batch 1 (unit 1, place 0)", "slot 0 of 1",
                             "the backward pass of micro-batch 0 (unit 6, place 2)"}},
    {backward_first, {"the backward pass of micro-batch 1 (unit 2, places 0 to 4) comes before",
                         "the forward pass of micro-batch 1 (unit 3, places 0 to 4)"}},
    {backward_upwards, {"the backward pass of micro-batch 0 (unit 3, place 1) comes before",
                           "the backward pass of micro-batch 0 (unit 4, place 2)"}},
    {forward_downwards, {"the forward pass of micro-batch 0 (unit 1, place 2) comes before",
                            "the forward pass of micro-batch 0 (unit 2, place 1)"}},
    {no_forward, {"the backward pass of micro-batch 1 (unit 3, places 0 to 4)",
                     "forward pass of micro-batch 1 through place 0", "missing"}},
    {no_backward, {"backward pass of micro-batch 2 through places 0 to 4 is missing"}},
    {no_backward_of_a_slot,
        {"the forward pass of micro-batch 1 (unit 1, places 0 to 4)", "slot 0 of 1",
            "backward pass of micro-batch 0 through place 4, which is missing"}},
    {no_place, {"the backward pass of micro-batch 0 (unit 9, place 0)",
                   "backward pass of micro-batch 0 through place 1", "missing"}},
    {nothing, {"forward pass of micro-batch 0 through places 0 to 2 is missing"}},
    {forward_twice, {"the forward pass of micro-batch 0 (unit 4, places 0 to 4) repeats place 0",
                        "the forward pass of micro-batch 0 (unit 0, places 0 to 4)"}},
    {backward_twice, {"the backward pass of micro-batch 0 (unit 4, places 0 to 4) repeats place 4",
                         "the backward pass of micro-batch 0 (unit 1, places 0 to 4)"}},
    {another_micro_batch, {"the forward pass of micro-batch 2 (unit 1", "2 micro-batches"}},
    {another_place, {"(unit 0, places 0 to 5)", "places 0 to 4"}},
    {no_slot, {"0 slots"}},
};

START_TEST(faults_are_refused_and_named)
{
    char text[TEXT];
    units u = faults[_i].make();
    capture c = begin_capture();
    tutti_status status = check(&u);
    end_capture(c, text, sizeof text);
    ck_assert_int_eq(status, TUTTI_ERR_INVAL);
    for (int i = 0; i < 3 && faults[_i].says[i]; i++)
        ck_assert_msg(strstr(text, faults[_i].says[i]) != NULL, "\"%s\" is not in: %s",
            faults[_i].says[i], text);
    ck_assert_msg(strchr(text, '\n') == strrchr(text, '\n'), "more than one line: %s", text);
}
END_TEST

/* ---- random lists ---- */

/* Runs a list: each place of each slot holds the number of the micro-batch that wrote it last. Whether
 * every unit finds what it reads, and everything is done once. */
static int runs_well(const units *u)
{
    enum { MOST = 8 };
    int holds[MOST][MOST], done[2][MOST][MOST] = {0};
    memset(holds, -1, sizeof holds);
    for (int i = 0; i < u->count; i++) {
        const tutti_unit *unit = &u->unit[i];
        const int m = unit->micro_batch, slot = m % u->shape.slots;
        if (unit->phase == TUTTI_UNIT_FORWARD)
            for (int l = unit->first; l < unit->end; l++) {
                if (done[0][m][l]++ || (l > 0 && holds[slot][l - 1] != m)) return 0;
                holds[slot][l] = m;
            }
        else
            for (int l = unit->end - 1; l >= unit->first; l--) {
                if (done[1][m][l]++ || holds[slot][l] != m) return 0;
                if (l > 0 && holds[slot][l - 1] != m) return 0;
                if (l + 1 < u->shape.places && !done[1][m][l + 1]) return 0;
                if (!done[0][m][u->shape.places - 1]) return 0;
            }
    }
    for (int m = 0; m < u->shape.micro_batches; m++)
        for (int l = 0; l < u->shape.places; l++)
            if (!done[0][m][l] || !done[1][m][l]) return 0;
    return 1;
}

static int below(uint64_t seed, const char *what, uint64_t i, int n)
{
    return (int)tutti_rng_below(seed, tutti_rng_stream(what), i, (uint64_t)n);
}

/* A list, with up to three units moved, left out or repeated. */
static units disturbed(uint64_t seed, uint64_t round)
{
    const int places = 1 + below(seed, "places", round, 4);
    const int micro_batches = 1 + below(seed, "micro-batches", round, 5);
    const tutti_emission emission = (tutti_emission)below(seed, "emission", round, TUTTI_EMISSIONS);
    units u = make(emission, places, micro_batches, 1 + below(seed, "in flight", round, 5));
    u.shape.slots = 1 + below(seed, "slots", round, 6);
    for (int d = below(seed, "faults", round, 4); d > 0; d--) {
        const uint64_t at = 4 * round + (uint64_t)d;
        const int i = below(seed, "at", at, u.count), kind = below(seed, "kind", at, 8);
        if (kind == 0 && u.count > 1)
            leave_out(&u, i);
        else if (kind == 1)
            repeat(&u, i);
        else if (i + 1 < u.count)
            swap(&u, i, i + 1);
    }
    return u;
}

/* What the check takes runs well. What it refuses does not, unless passes are cut: then it may be
 * stricter, as it frees slots as a whole. */
START_TEST(random_lists_are_judged_as_they_run)
{
    enum { ROUNDS = 20000 };
    const uint64_t seed = testing_seed(21);
    static char text[TEXT];
    int good = 0, bad = 0;
    uint64_t wrong = UINT64_MAX;
    capture c = begin_capture();
    for (uint64_t round = 0; round < ROUNDS && wrong == UINT64_MAX; round++) {
        units u = disturbed(seed, round);
        int takes = check(&u) == TUTTI_OK, well = runs_well(&u);
        int whole = u.count > 0 && u.unit[0].end - u.unit[0].first == u.shape.places;
        if (whole ? takes != well : takes && !well) wrong = round;
        good += takes;
        bad += !takes;
    }
    end_capture(c, text, sizeof text);
    if (wrong != UINT64_MAX) {
        units u = disturbed(seed, wrong);
        ck_abort_msg("%d places, %d micro-batches, %d slots: %s", u.shape.places,
            u.shape.micro_batches, u.shape.slots, print(&u, text));
    }
    ck_assert_int_gt(good, ROUNDS / 10);
    ck_assert_int_gt(bad, ROUNDS / 10);
}
END_TEST

/* ---- steps ---- */

enum { SIDE = 6, LARGER = 9, BATCH = 9, STEPS = 2 };
enum { IMAGE = SIDE * SIDE * DRAWN_CHANNELS, LARGER_IMAGE = LARGER * LARGER * DRAWN_CHANNELS };

static struct {
    uint64_t seed;
    float images[2 * BATCH * IMAGE], larger[2 * BATCH * LARGER_IMAGE];
    unsigned char bytes[2 * BATCH * IMAGE];
    int32_t labels[2 * BATCH];
} given;

static void build(tutti_net *net)
{
    drawn_net(net, given.seed, SIDE);
}

static void draw_data(uint64_t seed)
{
    given.seed = seed;
    trial_images(seed + 1, 0, 2 * BATCH * LARGER_IMAGE, given.larger);
    for (uint64_t i = 0; i < sizeof given.bytes; i++)
        given.bytes[i] = (unsigned char)below(seed, "bytes", i, 256);
    trial_images(seed, 0, 2 * BATCH * IMAGE, given.images);
    trial_labels(seed, 0, 2 * BATCH, DRAWN_CLASSES, given.labels);
}

static tutti_step_options options_of(
    tutti_emission emission, int micro_batches, int slots, int accumulate)
{
    return (tutti_step_options){.batch = BATCH,
        .micro_batches = micro_batches,
        .accumulate = accumulate,
        .emission = emission,
        .slots = slots,
        .momentum = 0.9f,
        .weight_decay = 1e-3f,
        .clip_norm = 5,
        .average_decay = 0.5,
        .mean = {0.4f, 0.5f, 0.6f},
        .deviation = {0.3f, 0.2f, 0.1f},
        .seed = 7};
}

typedef struct result {
    uint64_t weights;
    double loss, average, trained;
} result;

/* Image i of a batch, 0 or 1, as evaluation is given it (larger ones: always as float), or training. */
static const void *images_of(const tutti_step_options *o, int batch, int64_t i, int evaluation)
{
    i += batch * BATCH;
    if (evaluation && o->evaluated) return given.larger + i * LARGER_IMAGE;
    return o->bytes ? (const void *)(given.bytes + i * IMAGE)
                    : (const void *)(given.images + i * IMAGE);
}

static double evaluate(trial *t, int section, int batch)
{
    for (int s = 0; s < t->step->micro_batches; s++) {
        const tutti_micro_batch *m = &t->step->micro_batch[s];
        size_t bytes = tutti_graph_get_tensor(t->step->graph, m->evaluated)->bytes;
        ck_assert_ok(t->runner->feed(
            t->run, m->evaluated, images_of(&t->options, batch, m->first, 1), bytes, NULL, NULL));
        ck_assert_ok(t->runner->feed(t->run, m->labels, given.labels + batch * BATCH + m->first,
            (size_t)m->count * sizeof *given.labels, NULL, NULL));
    }
    ck_assert_ok(t->runner->submit(t->run, section));
    trial_wait(t);
    return trial_metric(t, 0);
}

/* Trains, and evaluates two views and the averages. */
static result train(const tutti_step_options *options, const tutti_runner *runner, uint64_t order)
{
    trial t;
    result r;
    const tutti_run_options run = {.workers = 2, .seed = order};
    trial_open_on(&t, build, options, runner, &run);
    int batches = t.step->accumulate;
    for (int n = 0; n < STEPS * batches; n++)
        trial_run(&t, tutti_step_section(t.step, n % batches), images_of(options, n % 2, 0, 0),
            given.labels + n % 2 * BATCH, 0.02f, n);
    r.trained = trial_metric(&t, 0);
    evaluate(&t, t.step->eval, 0);
    r.loss = evaluate(&t, t.step->eval_again, 1);
    r.average = evaluate(&t, t.step->eval_average, 0);
    r.weights = trial_hash(&t);
    trial_close(&t);
    return r;
}

static void compare(const tutti_step_options *o, const result *got, const result *want)
{
    ck_assert_msg(got->weights == want->weights && got->loss == want->loss &&
                      got->average == want->average && got->trained == want->trained,
        "net %llu: %s, %d micro-batches in %d slots, %d batches: other weights or losses",
        (unsigned long long)given.seed, tutti_emission_name(o->emission), o->micro_batches,
        o->slots, o->accumulate);
}

/* layers with a slot for each micro-batch is what all others are compared with; each in an order of
 * its own, among those that its edges leave. Some mix images, are given them as bytes, or evaluate
 * larger ones. */
START_TEST(every_emission_gives_the_same_bits)
{
    const uint64_t seed = testing_seed(40) + (uint64_t)_i;
    const tutti_dtype types[] = {TUTTI_F32, TUTTI_BF16};
    tutti_net *larger;
    ck_assert_ok(tutti_net_new(&larger));
    draw_data(seed);
    drawn_net(larger, seed, LARGER);
    for (int m = 1; m <= 4; m++) {
        tutti_step_options options = options_of(TUTTI_EMISSION_LAYERS, m, 0, 1 + _i % 3);
        options.wire = types[_i % 2];
        if (_i >= 3) {
            options.mixup = 0.4;
            options.cutmix = _i % 2;
            options.batch = BATCH - 1;
        }
        if (_i % 3 == 1) options.bytes = 1;
        if (_i % 3 == 2) options.evaluated = larger;
        result want = train(&options, &tutti_runner_inline, 0);
        for (int e = 0; e < TUTTI_EMISSIONS; e++)
            for (int slots = 0; slots <= 5; slots++) {
                options.emission = (tutti_emission)e;
                options.slots = slots;
                if (slots && slots < m && e != TUTTI_EMISSION_1F1B) continue;
                result got =
                    train(&options, &tutti_runner_inline, seed + (uint64_t)(10 * e + slots));
                compare(&options, &got, &want);
            }
    }
    tutti_net_free(larger);
}
END_TEST

START_TEST(starpu_gives_the_same_bits)
{
    draw_data(testing_seed(50));
    tutti_step_options options = options_of(TUTTI_EMISSION_LAYERS, 4, 0, 2);
    const result want = train(&options, &tutti_runner_inline, 0);
    for (int e = 0; e < TUTTI_EMISSIONS; e++) {
        options.emission = (tutti_emission)e;
        options.slots = e == TUTTI_EMISSION_1F1B ? 2 : 4;
        result got = train(&options, tutti_runner_find("starpu"), 0);
        compare(&options, &got, &want);
    }
}
END_TEST

static tutti_step *make_step(const tutti_step_options *options)
{
    tutti_net *net;
    tutti_step *step;
    ck_assert_ok(tutti_net_new(&net));
    build(net);
    ck_assert_ok(tutti_step_build(net, options, &step));
    tutti_net_free(net);
    return step;
}

/* The number behind '@', or -1. */
static int place_of(const char *name)
{
    const char *at = strchr(name, '@');
    return at ? atoi(at + 1) : -1;
}

/* Every node that reads a slot reads what a node of its own micro-batch wrote there last, in the order
 * of emission: the law, seen in the graph. */
START_TEST(nodes_read_their_own_micro_batch)
{
    draw_data(testing_seed(60));
    for (int slots = 1; slots <= 4; slots++) {
        tutti_step_options options = options_of(TUTTI_EMISSION_1F1B, 4, slots, 2);
        tutti_step *step = make_step(&options);
        int tensors = tutti_graph_tensors(step->graph), reads = 0;
        int *writer = malloc((size_t)tensors * sizeof *writer);
        ck_assert_ptr_nonnull(writer);
        for (int i = 0; i < tensors; i++) writer[i] = -1;
        for (int n = 0; n < tutti_graph_nodes(step->graph); n++) {
            const tutti_node *node = tutti_graph_get_node(step->graph, n);
            int own = place_of(node->name);
            for (int a = 0; a < node->accesses && own >= 0; a++) {
                int tensor = node->access[a].tensor;
                const char *name = tutti_graph_get_tensor(step->graph, tensor)->name;
                if (place_of(name) < 0 || writer[tensor] < 0) continue;
                if (node->access[a].mode == TUTTI_WRITE) continue;
                ck_assert_msg(writer[tensor] == own, "%d slots: %s reads %s of micro-batch %d",
                    slots, node->name, name, writer[tensor]);
                reads++;
            }
            for (int a = 0; a < node->accesses; a++)
                if (node->access[a].mode != TUTTI_READ) writer[node->access[a].tensor] = own;
        }
        ck_assert_int_gt(reads, 100);
        free(writer);
        tutti_step_free(step);
    }
}
END_TEST

/* Bytes of activations and their gradients: scratch with a slot's number, but for the gradients of
 * parameters and for statistics, which each micro-batch has for itself. */
static size_t activation_bytes(const tutti_step_options *options)
{
    tutti_step *step = make_step(options);
    size_t bytes = 0;
    for (int i = 0; i < tutti_graph_tensors(step->graph); i++) {
        const tutti_tensor *tensor = tutti_graph_get_tensor(step->graph, i);
        if (tensor->role != TUTTI_ROLE_SCRATCH || place_of(tensor->name) < 0) continue;
        if (!strncmp(tensor->name, "d.", 2) || strstr(tensor->name, ".stats@") ||
            strstr(tensor->name, ".metrics@") || !strncmp(tensor->name, "views.", 6))
            continue;
        bytes += tensor->bytes;
    }
    tutti_step_free(step);
    return bytes;
}

START_TEST(memory_is_that_of_the_slots)
{
    draw_data(testing_seed(70));
    tutti_step_options options = options_of(TUTTI_EMISSION_LAYERS, 4, 0, 1);
    options.batch = 8;
    size_t all = activation_bytes(&options);
    options.emission = TUTTI_EMISSION_1F1B;
    for (options.slots = 1; options.slots <= 4; options.slots++)
        ck_assert_uint_eq(activation_bytes(&options) * 4, all * (size_t)options.slots);
}
END_TEST

START_TEST(steps_refuse_too_few_slots)
{
    static const struct {
        tutti_emission emission;
        int slots;
        const char *says[2];
    } rows[] = {{TUTTI_EMISSION_LAYERS, 3, {"micro-batch 3 (unit 3, place 0)", "slot 0 of 3"}},
        {TUTTI_EMISSION_GPIPE, 3, {"micro-batch 3 (unit 3,", "slot 0 of 3"}},
        {TUTTI_EMISSION_1F1B, -1, {"-1 slots", "at least 1"}},
        {TUTTI_EMISSIONS, 4, {"no emission 3", "layers, gpipe and 1f1b"}}};
    draw_data(80);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[TEXT];
        tutti_net *net;
        tutti_step *step = NULL;
        tutti_step_options options = options_of(rows[i].emission, 4, rows[i].slots, 1);
        ck_assert_ok(tutti_net_new(&net));
        build(net);
        capture c = begin_capture();
        tutti_status status = tutti_step_build(net, &options, &step);
        end_capture(c, text, sizeof text);
        ck_assert_int_eq(status, TUTTI_ERR_INVAL);
        ck_assert_ptr_null(step);
        for (int k = 0; k < 2; k++)
            ck_assert_msg(strstr(text, rows[i].says[k]) != NULL, "\"%s\" is not in: %s",
                rows[i].says[k], text);
        tutti_net_free(net);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("units");
    TCase *tcase = testing_case(suite, "units");
    tcase_add_test(tcase, lists_are_those_of_the_header);
    tcase_add_test(tcase, slots_are_as_many_as_in_flight);
    tcase_add_loop_test(
        tcase, faults_are_refused_and_named, 0, (int)(sizeof faults / sizeof *faults));
    tcase_add_test(tcase, random_lists_are_judged_as_they_run);
    tcase_add_loop_test(tcase, every_emission_gives_the_same_bits, 0, 6);
    tcase_add_test(tcase, starpu_gives_the_same_bits);
    tcase_add_test(tcase, nodes_read_their_own_micro_batch);
    tcase_add_test(tcase, memory_is_that_of_the_slots);
    tcase_add_test(tcase, steps_refuse_too_few_slots);
    return testing_run(suite);
}
