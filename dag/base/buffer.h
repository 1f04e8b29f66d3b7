/* A piece of memory, and where it is. [P] */
#ifndef TUTTI_BUFFER_H
#define TUTTI_BUFFER_H

#include <stddef.h>

/* Who can use an address: */
typedef enum tutti_memory {
    TUTTI_MEMORY_HOST,   /* this process */
    TUTTI_MEMORY_PINNED, /* this process, and every device, which copies to and from it by itself */
    TUTTI_MEMORY_DEVICE, /* one device alone: here it may only be passed on */
} tutti_memory;

typedef struct tutti_buffer {
    void *pointer; /* NULL: there is none */
    size_t bytes;
    tutti_memory memory;
    int device; /* of TUTTI_MEMORY_DEVICE: which, as dag/device counts them; else 0 */
} tutti_buffer;

#endif
