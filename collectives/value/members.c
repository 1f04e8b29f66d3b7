#include "collectives/value/members.h"

#include "dag/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BITS = 20 };
_Static_assert(TUTTI_EDGE_MOST == 1 << BITS, "a key has room for three numbers");

int64_t tutti_edge_key(int from, int to, int edge)
{
    return -1 - ((int64_t)edge << 2 * BITS | (int64_t)from << BITS | to);
}

int tutti_edge_find(int64_t key, int *from, int *to, int *edge)
{
    int64_t bits = -1 - key;
    if (key >= 0) return 0;
    *to = (int)(bits & (TUTTI_EDGE_MOST - 1));
    *from = (int)(bits >> BITS & (TUTTI_EDGE_MOST - 1));
    *edge = (int)(bits >> 2 * BITS & (TUTTI_EDGE_MOST - 1));
    return 1;
}

tutti_status tutti_members_set(
    int64_t key, int size, const int of[], int self, tutti_members *members)
{
    int *copy = malloc((size_t)size * sizeof *copy);
    if (!copy) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a group of %d ranks", size);
    memcpy(copy, of, (size_t)size * sizeof *copy);
    *members = (tutti_members){.key = key, .size = size, .rank = -1, .of = copy};
    for (int r = 0; r < size; r++)
        if (of[r] == self) members->rank = r;
    return TUTTI_OK;
}

tutti_status tutti_members_of_edge(int64_t key, int self, tutti_members *members)
{
    int of[2] = {0, 0}, edge;
    (void)tutti_edge_find(key, &of[0], &of[1], &edge);
    return tutti_members_set(key, 2, of, self, members);
}

void tutti_members_free(tutti_members *members)
{
    free(members->of);
    *members = (tutti_members){0};
}

char *tutti_members_name(const tutti_members *members, char *text, size_t size)
{
    int from, to, edge;
    if (tutti_edge_find(members->key, &from, &to, &edge)) {
        snprintf(text, size, "edge %d from rank %d to rank %d", edge, from, to);
        return text;
    }
    if (size) text[0] = '\0';
    if (!members->key) return text;
    enum { NAMED = 8 };
    size_t used = (size_t)snprintf(text, size, "group %lld {", (long long)members->key);
    for (int r = 0; r < members->size && r < NAMED && used < size; r++)
        used += (size_t)snprintf(text + used, size - used, "%s%d", r ? ", " : "", members->of[r]);
    if (used < size)
        snprintf(text + used, size - used, "%s}", members->size > NAMED ? ", ..." : "");
    return text;
}
