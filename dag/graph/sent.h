/* Kernels that write a tensor only so that it is sent to another rank: nothing else uses what they write before it
 * is written again, also in other sections, and the tensor shares its memory with no other. So they may write to
 * any memory that the message then has. The kernel that writes the tensor is the first; those that change it in
 * place follow. [P] */
#ifndef TUTTI_GRAPH_SENT_H
#define TUTTI_GRAPH_SENT_H

#include "dag/graph/graph.h"

enum { TUTTI_SENT_NONE = -1 };

/* What a kernel has to do with such a message. */
typedef struct tutti_sent_kernel {
    int message; /* TUTTI_SENT_NONE: nothing */
    int access;  /* of the tensor */
    int first, last;
} tutti_sent_kernel;

typedef struct tutti_sent_message {
    int tensor, node; /* node: the collective; TUTTI_SENT_NONE: it does not count */
} tutti_sent_message;

typedef struct tutti_sent_tensors {
    int messages, counted;       /* counted: those with a node */
    tutti_sent_message *message; /* [messages] */
    tutti_sent_kernel *kernel;   /* [nodes] */
    int *message_of;             /* [nodes] of a collective node; TUTTI_SENT_NONE */
} tutti_sent_tensors;

/* Of a placed graph. NOMEM. */
tutti_status tutti_sent_tensors_find(const tutti_graph *graph, tutti_sent_tensors *sent);
void tutti_sent_tensors_free(tutti_sent_tensors *sent);

#endif
