/* A topology: which hosts, devices and switches there are, which links connect them, and on which of them the
 * ranks are.
 *
 * A link leads one way and has a latency. What it carries in a second is its capacity, which several links may
 * share: the links of a bus have one for all who cross it, both ways; a cable is two links with a capacity each. A
 * switch may have a capacity, too (what it passes on in all), and a host: what ranks on it exchange through its
 * memory.
 *
 * A message takes the route of least latency, of these one with the fewest links. Where several are equal, the
 * number of the destination decides, so that different destinations use different ones. Hosts and switches pass
 * messages on, devices do not.
 *
 * topology_text.h reads and writes one as text, and makes those that have a name. [P] */
#ifndef TUTTI_TOPOLOGY_H
#define TUTTI_TOPOLOGY_H

#include "dag/base/status.h"

#include <stdint.h>

enum {
    TUTTI_TOPOLOGY_NAME = 32 /* bytes of a name, with its end */,
    TUTTI_TOPOLOGY_MOST = 1 << 20 /* points, links */
};

/* What a host or a device can do. 0: it costs nothing, or is not known. */
typedef struct tutti_point_kind {
    char name[TUTTI_TOPOLOGY_NAME];
    int cores;
    double flops, memory;  /* a second; memory: bytes that ranks on one host exchange */
    double reduce, copy;   /* bytes a second that one rank combines, and copies */
    double send_s, recv_s; /* of a rank's time for each message */
    double
        eager; /* bytes: longer messages first ask the receiver, there and back; 0: no message does */
} tutti_point_kind;

typedef enum tutti_point_is {
    TUTTI_POINT_HOST,
    TUTTI_POINT_DEVICE,
    TUTTI_POINT_SWITCH, /* or a bus */
} tutti_point_is;

typedef struct tutti_point {
    char name[TUTTI_TOPOLOGY_NAME];
    tutti_point_is is;
    int kind;     /* -1: none */
    int host;     /* the point of its host, a host's own; -1: a switch between hosts */
    int socket;   /* of its host */
    int capacity; /* of what passes through a switch, or stays on a host; -1: no limit */
} tutti_point;

typedef struct tutti_link {
    int from, to;
    int capacity;       /* -1: no limit */
    int count;          /* cables, whose rates the capacity adds up */
    int back;           /* the other way */
    int64_t latency_ps; /* whole picoseconds, so that sums are exact and equal routes are equal */
} tutti_link;

typedef struct tutti_topology {
    int kinds, points, links, capacities, ranks;
    tutti_point_kind *kind;
    tutti_point *point;
    tutti_link *link;
    double *capacity; /* [capacities] bytes a second */
    int *rank_point;  /* [ranks] */
    int *out_first; /* [points+1] the links from point i are out[out_first[i] ... out_first[i+1]) */
    int *out;
    int kind_room, point_room, link_room, capacity_room, rank_room; /* allocated */
} tutti_topology;

/* ---- for who makes one ---- */

tutti_status tutti_topology_new(tutti_topology **t); /* NOMEM */
void tutti_topology_free(tutti_topology *t);         /* accepts NULL */
/* Each adds one, and returns its number. NOMEM; the callers check names and values. */
tutti_status tutti_topology_add_kind(tutti_topology *t, const tutti_point_kind *kind, int *number);
tutti_status tutti_topology_add_capacity(tutti_topology *t, double bytes_per_s, int *number);
tutti_status tutti_topology_add_point(tutti_topology *t, const tutti_point *point, int *number);
/* A cable of `count` times this rate each way: two links. */
tutti_status tutti_topology_add_cable(
    tutti_topology *t, int a, int b, double bytes_per_s, int64_t latency_ps, int count);
/* Two links that share an existing capacity with others. */
tutti_status tutti_topology_add_shared(
    tutti_topology *t, int a, int b, int capacity, int64_t latency_ps);
tutti_status tutti_topology_add_rank(tutti_topology *t, int point);
/* The last step: sorts the links by where they begin. FORMAT (logged, with the name, unless it is
 * NULL): no ranks, or some rank cannot reach another. NOMEM. */
tutti_status tutti_topology_finish(tutti_topology *t, const char *name);
/* A star: P hosts of this kind at one switch, a rank on each; latency: from host to host. */
tutti_status tutti_topology_star(int P, double bytes_per_s, int64_t latency_ps,
    const tutti_point_kind *kind, tutti_topology **t);

/* ---- for who reads one ---- */

const tutti_point_kind *tutti_topology_kind_of(const tutti_topology *t, int rank);
/* How far every point is from one: [points] picoseconds and links; links -1: not to be reached. NOMEM. */
tutti_status tutti_topology_distances(
    const tutti_topology *t, int from, int64_t *latency_ps, int *links);
/* The route to a point, in those distances: its links, the last one first. Returns how many. `spread` chooses
 * among routes that are equal: the number of the destination. */
int tutti_topology_walk_back(const tutti_topology *t, const int64_t *latency_ps, const int *links,
    int to, int spread, int link[]);
/* The capacities that a message crosses on a route of `links` links that ends at this point, each once: of the links
 * and of the switches that they leave; without links, of the point. Returns how many: at most 2 links + 1. */
int tutti_topology_route_capacities(
    const tutti_topology *t, const int link[], int links, int point, int capacity[]);

#endif
