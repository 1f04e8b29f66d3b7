/* The members of a collective: all ranks of a session, some of them (a group), or two (an edge: the
 * messages from one rank to another with one edge number). [P] */
#ifndef TUTTI_MEMBERS_H
#define TUTTI_MEMBERS_H

#include "dag/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* The keys of members are the same on every rank: 0 for all ranks, n for the n-th group, and below
 * 0 for edges. */
typedef struct tutti_members {
    int64_t key;
    int size;
    int rank; /* this rank's number among them; -1: not a member */
    int *of;  /* [size] the members' numbers in the session, in the group's order */
} tutti_members;

enum { TUTTI_EDGE_MOST = 1 << 20 /* ranks, and numbers of edges, that a key can hold */ };

/* The key of an edge, whose rank 0 is the sender; and back (returns 0 if the key is not an edge's). */
int64_t tutti_edge_key(int from, int to, int edge);
int tutti_edge_find(int64_t key, int *from, int *to, int *edge);

/* Copies the ranks; `self`: this rank's number in the session. NOMEM. */
tutti_status tutti_members_set(
    int64_t key, int size, const int of[], int self, tutti_members *members);
/* The two ranks of an edge's key. NOMEM. */
tutti_status tutti_members_of_edge(int64_t key, int self, tutti_members *members);
void tutti_members_free(tutti_members *members);

/* Writes "" for all ranks, "group 2 {0, 3}" or "edge 3 from rank 0 to rank 1" into text; returns
 * text. */
char *tutti_members_name(const tutti_members *members, char *text, size_t size);

/* For tables by key: lists by where this puts the key. */
enum { TUTTI_KEY_LISTS = 256 };
static inline int tutti_key_list(int64_t key)
{
    return (int)((uint64_t)key * 0x9E3779B97F4A7C15u >> 56);
}

#endif
