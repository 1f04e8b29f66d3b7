/* How long collectives of float32 vectors should take on a topology: by an algorithm, along a forest, round rings. */
#ifndef TUTTI_PREDICT_H
#define TUTTI_PREDICT_H

#include "collectives/choose.h"
#include "collectives/links/topology.h"
#include "collectives/sched/forest.h"
#include "collectives/sched/price.h"

/* With the segments that the algorithm has by itself. NOMEM. */
tutti_status tutti_predict_algorithm(const tutti_topology *t, tutti_coll_kind kind,
    const tutti_algorithm *algorithm, int64_t count, tutti_sched_price *price);
/* With the segments that are best, from 60 KiB to 3.75 MiB; *segment: those, in elements. A broadcast or reduce has the
 * root of the first tree. NOMEM. */
tutti_status tutti_predict_forest(const tutti_topology *t, tutti_coll_kind kind,
    const tutti_forest *forest, int64_t count, tutti_sched_price *price, int64_t *segment);
/* Rings (collectives/trees/rings.h) share a vector by their weights. A broadcast goes along all of them as chains. Of
 * an allreduce, a time that rings cannot be faster than: that of the slowest ring, alone; the bytes that all send, at
 * their weights; the time that a rank itself needs for all of them. All rings or the heaviest, with the segments that
 * are best. NOMEM. */
tutti_status tutti_predict_rings(const tutti_topology *t, tutti_coll_kind kind,
    const tutti_forest *chains, int64_t count, double *time_s);

#endif
