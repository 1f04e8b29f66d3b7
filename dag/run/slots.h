/* Pinned memory through which feeds and fetches pass between the program and a GPU, in two halves: a CPU
 * worker copies between the program's memory and a slot, and the GPU between the slot and the tensor, on
 * its stream. Who has a slot is StarPU's matter: both halves are tasks on `turn`, data that carry order
 * alone, so that a slot is written again only once the half behind has ended, on the GPU with the
 * event behind its copy. [M] */
#ifndef TUTTI_SLOTS_H
#define TUTTI_SLOTS_H

#include "dag/run/binding.h"

#include <starpu.h>

typedef struct tutti_slots tutti_slots;

typedef struct tutti_slot {
    void *memory; /* as many bytes as the tensor */
    starpu_data_handle_t turn;
} tutti_slot;

/* Makes the slots of what a step is fed with and of what it puts out; those of others are made when they
 * are first used, which waits for the GPU. NOMEM, KERNEL. */
tutti_status tutti_slots_open(const tutti_binding *binding, tutti_slots **slots);
/* No task uses them any more. Accepts NULL. */
void tutti_slots_close(tutti_slots *slots);

/* The tensor's next slot: it has a few, in turn. NOMEM, KERNEL. */
tutti_status tutti_slots_next(tutti_slots *slots, int tensor, const tutti_slot **slot);

#endif
