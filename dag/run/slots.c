#include "dag/run/slots.h"

#include "dag/base/log.h"
#include "dag/device/device.h"

#include <stdlib.h>

/* While the GPU copies from one, the next batch is written to another. */
enum { EACH = 2 };

typedef struct tensor_slots {
    tutti_slot slot[EACH];
    int next;
} tensor_slots;

struct tutti_slots {
    const tutti_binding *binding;
    tensor_slots of[]; /* per tensor */
};

static tutti_status make(const tutti_binding *binding, int tensor, tutti_slot *slot)
{
    tutti_status status =
        tutti_device_kind_built.pin(binding->place.gpu, binding->gpu[tensor].bytes, &slot->memory);
    if (!status) starpu_void_data_register(&slot->turn);
    return status;
}

static tutti_status fill_slots(tutti_slots *slots, int tensor)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < EACH && !status; i++)
        if (!slots->of[tensor].slot[i].turn)
            status = make(slots->binding, tensor, &slots->of[tensor].slot[i]);
    return status;
}

tutti_status tutti_slots_open(const tutti_binding *binding, tutti_slots **slots)
{
    tutti_slots *s = calloc(1, sizeof *s + (size_t)binding->tensors * sizeof *s->of);
    tutti_status status = TUTTI_OK;
    if (!s) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d tensors", binding->tensors);
    s->binding = binding;
    for (int t = 0; t < binding->tensors && !status; t++) {
        const tutti_role role = tutti_graph_get_tensor(binding->graph, t)->role;
        if (role == TUTTI_ROLE_INPUT || role == TUTTI_ROLE_OUTPUT) status = fill_slots(s, t);
    }
    if (status)
        tutti_slots_close(s);
    else
        *slots = s;
    return status;
}

void tutti_slots_close(tutti_slots *slots)
{
    for (int t = 0; slots && t < slots->binding->tensors; t++)
        for (int i = 0; i < EACH; i++) {
            tutti_slot *slot = &slots->of[t].slot[i];
            if (slot->turn) starpu_data_unregister_no_coherency(slot->turn);
            tutti_device_kind_built.unpin(slots->binding->place.gpu, slot->memory);
        }
    free(slots);
}

tutti_status tutti_slots_next(tutti_slots *slots, int tensor, const tutti_slot **slot)
{
    tensor_slots *of = &slots->of[tensor];
    tutti_status status = fill_slots(slots, tensor);
    if (status) return status;
    *slot = &of->slot[of->next];
    of->next = (of->next + 1) % EACH;
    return TUTTI_OK;
}
