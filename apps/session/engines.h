/* Engines of GPUs' libraries that are chosen by timing (--engines timed; dag/kernels/engines.h): one table for all
 * ranks, so that all of them add in the same order. It is the table of the place where a graph is computed; what it
 * lacks is chosen by rank 0, and where rank 0 does not have it, as in a pipeline, by the first rank that has.
 *
 * Threads: [M]. */
#ifndef TUTTI_SESSION_ENGINES_H
#define TUTTI_SESSION_ENGINES_H

#include "dag/kernels/engines.h"
#include "dag/run/binding.h"
#include "designs/exchange/exchange.h"

/* Completes the place's table for the graph; afterwards those of all ranks are equal. All ranks call it, rank 0 with
 * all that other ranks' tables have. exchange: NULL: one rank. Nothing without a table, or on the CPU. Errors as of
 * tutti_binding_choose_engines and of exchange calls: a failure of any rank is that of all. */
tutti_status tutti_session_engines_agree(
    tutti_exchange *exchange, const tutti_graph *graph, const tutti_binding_place *place);

/* Reads the text of a table that was chosen on a GPU (tutti_engines_print) into the place's, or leaves it out, with a
 * warning that begins with `from`, if that GPU is of another kind than the place's, or the library of another version
 * than this rank's. FORMAT, NOMEM (logged). */
tutti_status tutti_session_engines_read(
    const tutti_binding_place *place, const char *text, const char *from);

#endif
