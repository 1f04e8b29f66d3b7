#include "dag/step/units.h"

#include "dag/base/log.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const NAMES[TUTTI_EMISSIONS] = {"layers", "gpipe", "1f1b"};

const char *tutti_emission_name(tutti_emission emission)
{
    return (unsigned)emission < TUTTI_EMISSIONS ? NAMES[emission] : "unknown";
}

char *tutti_unit_print(const tutti_unit *unit, int index, char text[TUTTI_UNIT_TEXT])
{
    int n = snprintf(text, TUTTI_UNIT_TEXT, "the %s pass of micro-batch %d (unit %d, ",
        unit->phase == TUTTI_UNIT_FORWARD ? "forward" : "backward", unit->micro_batch, index);
    if (unit->end == unit->first + 1)
        snprintf(text + n, TUTTI_UNIT_TEXT - (size_t)n, "place %d)", unit->first);
    else
        snprintf(
            text + n, TUTTI_UNIT_TEXT - (size_t)n, "places %d to %d)", unit->first, unit->end - 1);
    return text;
}

/* ---- making ---- */

int tutti_units_in_flight(tutti_emission emission, const tutti_units_shape *shape)
{
    int all = shape->micro_batches;
    return emission == TUTTI_EMISSION_1F1B && shape->slots < all ? shape->slots : all;
}

typedef struct list {
    tutti_unit *unit;
    int count;
} list;

static void append(list *to, tutti_unit_phase phase, int micro_batch, int first, int end)
{
    to->unit[to->count++] = (tutti_unit){phase, micro_batch, first, end};
}

static void make_layers(list *to, const tutti_units_shape *shape)
{
    for (int l = 0; l < shape->places; l++)
        for (int m = 0; m < shape->micro_batches; m++) append(to, TUTTI_UNIT_FORWARD, m, l, l + 1);
    for (int l = shape->places - 1; l >= 0; l--)
        for (int m = 0; m < shape->micro_batches; m++) append(to, TUTTI_UNIT_BACKWARD, m, l, l + 1);
}

static void make_gpipe(list *to, const tutti_units_shape *shape)
{
    for (int m = 0; m < shape->micro_batches; m++)
        append(to, TUTTI_UNIT_FORWARD, m, 0, shape->places);
    for (int m = shape->micro_batches - 1; m >= 0; m--)
        append(to, TUTTI_UNIT_BACKWARD, m, 0, shape->places);
}

static void make_1f1b(list *to, const tutti_units_shape *shape, int in_flight)
{
    int forward = 0;
    for (int backward = 0; backward < shape->micro_batches; backward++) {
        for (; forward < shape->micro_batches && forward < backward + in_flight; forward++)
            append(to, TUTTI_UNIT_FORWARD, forward, 0, shape->places);
        append(to, TUTTI_UNIT_BACKWARD, backward, 0, shape->places);
    }
}

tutti_status tutti_units_make(tutti_emission emission, const tutti_units_shape *shape,
    int in_flight, tutti_unit **unit, int *count)
{
    int each = emission == TUTTI_EMISSION_LAYERS ? shape->places : 1;
    if ((unsigned)emission >= TUTTI_EMISSIONS)
        return tutti_fail(TUTTI_ERR_INVAL, "step: no emission %d: there are %s, %s and %s",
            (int)emission, NAMES[0], NAMES[1], NAMES[2]);
    if (emission == TUTTI_EMISSION_1F1B && in_flight < 1)
        return tutti_fail(TUTTI_ERR_INVAL, "step: %s with %d micro-batches in flight: at least 1",
            NAMES[emission], in_flight);
    list made = {
        .unit = calloc((size_t)shape->micro_batches * (size_t)each, 2 * sizeof *made.unit)};
    if (!made.unit)
        return tutti_fail(TUTTI_ERR_NOMEM, "step: no memory for the units of %d micro-batches",
            shape->micro_batches);
    if (emission == TUTTI_EMISSION_LAYERS) make_layers(&made, shape);
    if (emission == TUTTI_EMISSION_GPIPE) make_gpipe(&made, shape);
    if (emission == TUTTI_EMISSION_1F1B) make_1f1b(&made, shape, in_flight);
    *unit = made.unit;
    *count = made.count;
    return TUTTI_OK;
}

/* ---- checking ---- */

/* How far a micro-batch has come: places below `up` are done forward, those from `down` on
 * backward. */
typedef struct progress {
    int up, down;
} progress;

typedef struct walk {
    const tutti_units_shape *shape;
    int count;
    const tutti_unit *unit;
    progress *progress; /* of each micro-batch */
    int *holder;        /* of each slot: the micro-batch that had it last, or -1 */
} walk;

/* The first unit of the list from `from` on that takes this micro-batch through this place, or -1. */
static int find(const walk *w, int from, tutti_unit_phase phase, int micro_batch, int place)
{
    for (int i = from; i < w->count; i++)
        if (w->unit[i].phase == phase && w->unit[i].micro_batch == micro_batch &&
            w->unit[i].first <= place && place < w->unit[i].end)
            return i;
    return -1;
}

/* Unit i comes where another one, of this phase and place, has to come first. */
static tutti_status early(const walk *w, int i, tutti_unit_phase phase, int place)
{
    char text[TUTTI_UNIT_TEXT], other[TUTTI_UNIT_TEXT];
    int late = find(w, i + 1, phase, w->unit[i].micro_batch, place);
    tutti_unit_print(&w->unit[i], i, text);
    if (late < 0)
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: %s comes without the %s pass of micro-batch %d through place %d, which is "
            "missing",
            text, phase == TUTTI_UNIT_FORWARD ? "forward" : "backward", w->unit[i].micro_batch,
            place);
    return tutti_fail(TUTTI_ERR_INVAL, "step: %s comes before %s, which has to come first", text,
        tutti_unit_print(&w->unit[late], late, other));
}

static tutti_status twice(const walk *w, int i, int place)
{
    char text[TUTTI_UNIT_TEXT], other[TUTTI_UNIT_TEXT];
    int before = find(w, 0, w->unit[i].phase, w->unit[i].micro_batch, place);
    return tutti_fail(TUTTI_ERR_INVAL, "step: %s repeats place %d of %s",
        tutti_unit_print(&w->unit[i], i, text), place,
        tutti_unit_print(&w->unit[before], before, other));
}

/* The slot of the micro-batch whose forward pass begins with unit i becomes its own. */
static tutti_status take_slot(walk *w, int i)
{
    const int m = w->unit[i].micro_batch, slot = m % w->shape->slots, holder = w->holder[slot];
    w->holder[slot] = m;
    if (holder < 0 || w->progress[holder].down == 0) return TUTTI_OK;
    char text[TUTTI_UNIT_TEXT], other[TUTTI_UNIT_TEXT];
    int reader = find(w, i + 1, TUTTI_UNIT_BACKWARD, holder, w->progress[holder].down - 1);
    tutti_unit_print(&w->unit[i], i, text);
    if (reader < 0)
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: %s would overwrite slot %d of %d before the backward pass of micro-batch %d "
            "through place %d, which is missing",
            text, slot, w->shape->slots, holder, w->progress[holder].down - 1);
    return tutti_fail(TUTTI_ERR_INVAL,
        "step: %s would overwrite slot %d of %d, which %s still reads: emit that one first, or "
        "have more slots",
        text, slot, w->shape->slots, tutti_unit_print(&w->unit[reader], reader, other));
}

static tutti_status go_up(walk *w, int i)
{
    const tutti_unit *unit = &w->unit[i];
    progress *at = &w->progress[unit->micro_batch];
    if (unit->first < at->up) return twice(w, i, unit->first);
    if (unit->first > at->up) return early(w, i, TUTTI_UNIT_FORWARD, at->up);
    at->up = unit->end;
    return unit->first == 0 ? take_slot(w, i) : TUTTI_OK;
}

static tutti_status go_down(walk *w, int i)
{
    const tutti_unit *unit = &w->unit[i];
    progress *at = &w->progress[unit->micro_batch];
    if (at->up < w->shape->places) return early(w, i, TUTTI_UNIT_FORWARD, at->up);
    if (unit->end > at->down) return twice(w, i, unit->end - 1);
    if (unit->end < at->down) return early(w, i, TUTTI_UNIT_BACKWARD, at->down - 1);
    at->down = unit->first;
    return TUTTI_OK;
}

static tutti_status check_unit(walk *w, int i)
{
    const tutti_unit *unit = &w->unit[i];
    if (unit->micro_batch < 0 || unit->micro_batch >= w->shape->micro_batches || unit->first < 0 ||
        unit->end <= unit->first || unit->end > w->shape->places) {
        char text[TUTTI_UNIT_TEXT];
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: %s: there are %d micro-batches, and places 0 to %d",
            tutti_unit_print(unit, i, text), w->shape->micro_batches, w->shape->places - 1);
    }
    return unit->phase == TUTTI_UNIT_FORWARD ? go_up(w, i) : go_down(w, i);
}

/* What is missing once all units have been seen. */
static tutti_status check_end(const walk *w)
{
    for (int m = 0; m < w->shape->micro_batches; m++) {
        int up = w->progress[m].up, down = w->progress[m].down;
        if (up < w->shape->places)
            return tutti_fail(TUTTI_ERR_INVAL,
                "step: the forward pass of micro-batch %d through places %d to %d is missing", m,
                up, w->shape->places - 1);
        if (down > 0)
            return tutti_fail(TUTTI_ERR_INVAL,
                "step: the backward pass of micro-batch %d through places 0 to %d is missing", m,
                down - 1);
    }
    return TUTTI_OK;
}

tutti_status tutti_units_check(const tutti_units_shape *shape, int count, const tutti_unit unit[])
{
    if (shape->places < 1 || shape->micro_batches < 1 || shape->slots < 1)
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: %d places, %d micro-batches and %d slots for activations: at least 1 of each",
            shape->places, shape->micro_batches, shape->slots);
    const size_t n = (size_t)shape->micro_batches;
    walk w = {.shape = shape,
        .count = count,
        .unit = unit,
        .progress = malloc(n * sizeof *w.progress),
        .holder = malloc(n * sizeof *w.holder)};
    tutti_status status = TUTTI_OK;
    if (!w.progress || !w.holder)
        status = tutti_fail(TUTTI_ERR_NOMEM, "step: no memory to check %d units", count);
    for (size_t m = 0; m < n && status == TUTTI_OK; m++) {
        w.progress[m] = (progress){.up = 0, .down = shape->places};
        w.holder[m] = -1;
    }
    for (int i = 0; i < count && status == TUTTI_OK; i++) status = check_unit(&w, i);
    if (status == TUTTI_OK) status = check_end(&w);
    free(w.progress);
    free(w.holder);
    return status;
}
