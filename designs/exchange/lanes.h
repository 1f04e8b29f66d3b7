/* The lanes of groups and edges, over the transport of all ranks.
 *
 *   group of three or more   separate lanes, which the transport adds
 *   group of two             tags of the shared lane: a channel for each of its lanes; separate lanes
 *                            where the transport takes device memory
 *   edge                     tags of the shared lane: the channel of its number
 *
 * Two ranks' messages on the shared lane differ in the channel, so edges and groups of two never wait
 * for each other. Half of the channels belong to edges.
 *
 * Threads: the driver's comm_lock, except where noted. */
#ifndef TUTTI_LANES_H
#define TUTTI_LANES_H

#include "collectives/coll.h"
#include "collectives/control.h"

typedef struct tutti_lanes tutti_lanes;

/* `shared`: the transport's lane that edges and groups of two use. `each`: lanes of a group. Both
 * are borrowed; control may be NULL. NOMEM. */
tutti_status tutti_lanes_open(tutti_transport *transport, tutti_control *control, int shared,
    int each, const tutti_comm_options *options, tutti_lanes **lanes);
/* Closes all communicators and parts of control; orderly 0: a rank is missing. Then free, when the
 * transport is closed. Both accept NULL. */
void tutti_lanes_stop(tutti_lanes *lanes, int orderly);
void tutti_lanes_free(tutti_lanes *lanes);

/* Adds the local work of all groups and edges; NULL: none. On the thread that communicates. */
void tutti_lanes_work(const tutti_lanes *lanes, tutti_coll_work *work);
/* How many edges there can be from one rank to another. [A] */
int tutti_lanes_edges(const tutti_lanes *lanes);
/* Reserves the lanes or channels of the next group, with these members (kept until *done). All ranks call it,
 * including those outside the group, again until *done. UNSUPPORTED: the transport has no more. */
tutti_status tutti_lanes_prepare(tutti_lanes *lanes, const tutti_members *members, int *done);
/* The communicator of an edge, or of the group that was prepared last, and its control messages
 * (NULL if there is no control). They live until stop. INVAL, NOMEM, UNSUPPORTED. */
tutti_status tutti_lanes_part(
    tutti_lanes *lanes, const tutti_members *members, tutti_comm **comm, tutti_control **control);

#endif
