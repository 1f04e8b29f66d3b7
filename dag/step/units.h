/* The order in which the passes of a step are emitted, as a list of units.
 *
 * A unit is a phase of one micro-batch through a run of places: forward from the first place up, or
 * backward from the last one down. Place l is layer l of the net; behind the last layer is one more,
 * the loss (forward; backward has nothing to do there). `places` is therefore the number of layers
 * and 1. A list holds each micro-batch's way up and its way down once, cut anywhere.
 *
 * An emission is a rule that makes the list:
 *
 *   layers   place by place, at each all micro-batches in turn: all forward, then all backward
 *   gpipe    micro-batch by micro-batch: all forward, in their order, then all backward, from the
 *            last micro-batch to the first (Huang et al. 2019, arXiv:1811.06965)
 *   1f1b     `in_flight` forwards; then in turns the backward of the oldest micro-batch in flight and
 *            the forward of the next one; then backwards (Narayanan et al. 2019, arXiv:1806.03377)
 *
 *      layers, 3 places        gpipe                1f1b with 2 in flight
 *      F0 F1 F0 F1 F0 F1       F0 F1 F2 B2 B1 B0    F0 F1 B0 F2 B1 B2
 *      B0 B1 B0 B1 B0 B1
 *
 * Slots. What forward leaves for backward lies in W slots; micro-batch m has slot m mod W. A graph's
 * edges follow the order of emission: whatever is emitted later reads what an earlier node wrote
 * last. So edges make the forward pass of micro-batch m + W wait for the backward pass of m, which
 * is all the flow control that there is, if m's backward pass is emitted first. If not, it would
 * read what m + W wrote: wrong gradients, and no rank would wait for another. tutti_units_check
 * refuses such a list.
 *
 * Gradients do not depend on the list: they are summed in the order of the micro-batches. With gpipe
 * and 1f1b the list is also the order in which workers prefer what is ready: the first micro-batch
 * reaches the next stage before the second begins.
 * Threads: [P], but that errors are logged. */
#ifndef TUTTI_UNITS_H
#define TUTTI_UNITS_H

#include "dag/base/status.h"

typedef enum tutti_unit_phase { TUTTI_UNIT_FORWARD, TUTTI_UNIT_BACKWARD } tutti_unit_phase;

typedef struct tutti_unit {
    tutti_unit_phase phase;
    int micro_batch;
    int first, end; /* places first .. end - 1 */
} tutti_unit;

typedef enum tutti_emission {
    TUTTI_EMISSION_LAYERS,
    TUTTI_EMISSION_GPIPE,
    TUTTI_EMISSION_1F1B,
    TUTTI_EMISSIONS
} tutti_emission;

/* "layers"; "unknown" for another value. */
const char *tutti_emission_name(tutti_emission emission);

/* What a list is for. */
typedef struct tutti_units_shape {
    int places, micro_batches; /* at least 1 */
    int slots;                 /* at least 1; may be more than there are micro-batches */
} tutti_units_shape;

/* How many micro-batches an emission has in flight at most, between the first of their forward and
 * the last of their backward units: all of them, but with 1f1b no more than there are slots. */
int tutti_units_in_flight(tutti_emission emission, const tutti_units_shape *shape);

/* Makes the list. in_flight is for 1f1b only, and at least 1 there. The caller frees *unit. NOMEM;
 * INVAL: no such emission, or nothing in flight. */
tutti_status tutti_units_make(tutti_emission emission, const tutti_units_shape *shape,
    int in_flight, tutti_unit **unit, int *count);

/* INVAL (logged, with the units' numbers, from 0, and what they do) unless each micro-batch goes all
 * the way up, then all the way down, each place once, and no slot changes hands before all backward
 * units of the micro-batch that has it. NOMEM. */
tutti_status tutti_units_check(const tutti_units_shape *shape, int count, const tutti_unit unit[]);

/* "the forward pass of micro-batch 2 (unit 4, places 0 to 6)"; returns text. */
enum { TUTTI_UNIT_TEXT = 128 };
char *tutti_unit_print(const tutti_unit *unit, int index, char text[TUTTI_UNIT_TEXT]);

#endif
