/* Feeds and fetches. On the CPU, one task copies between the program's memory and the tensor. With a GPU
 * a copy has two halves (slots.h), and its instance ends with the second:
 *
 *   feed    program -> slot, on a CPU worker   slot -> tensor, on the GPU
 *   fetch   tensor -> slot, on the GPU         slot -> program, on a CPU worker */
#include "dag/run/starpu_parts.h"

#include "dag/device/device.h"
#include "dag/run/held.h"
#include "dag/run/stream.h"

#include <limits.h>
#include <string.h>

static const char *name_of(const tutti_instance *i)
{
    return tutti_graph_get_tensor(i->run->binding.graph, i->target)->name;
}

/* Adds a copy to the trace, under its tensor's name. */
static void trace(const tutti_instance *i, double begun_s)
{
    if (begun_s > 0)
        tutti_trace_task(i->run->options.trace, starpu_worker_get_id(), TUTTI_SPAN_COPY, name_of(i),
            i->step, begun_s);
}

/* ---- on the CPU ---- */

static void run_feed(void *buffers[], void *arg)
{
    tutti_instance *i = arg;
    tutti_ledger_begin(i->run->ledger, i->id);
    double begun_s = tutti_trace_now(i->run->options.trace);
    memcpy((void *)STARPU_VECTOR_GET_PTR(buffers[0]), i->data, i->bytes);
    if (i->release) i->release(i->arg);
    trace(i, begun_s);
    tutti_instance_end(i, TUTTI_OK);
}

static void run_fetch(void *buffers[], void *arg)
{
    tutti_instance *i = arg;
    tutti_ledger_begin(i->run->ledger, i->id);
    double begun_s = tutti_trace_now(i->run->options.trace);
    memcpy(i->data, (const void *)STARPU_VECTOR_GET_PTR(buffers[0]), i->bytes);
    trace(i, begun_s);
    tutti_instance_end(i, TUTTI_OK);
}

/* ---- with a GPU ---- */

/* Puts the GPU's half of a copy on its stream. A failure ends the instance with it later. */
static void launch(tutti_instance *i, void *to, const void *from)
{
    i->begun_s = tutti_trace_now(i->run->options.trace);
    void *stream = tutti_run_stream();
    i->status = tutti_device_kind_built.copy(i->run->binding.place.gpu, to, from, i->bytes, stream);
}

static void fill_slot(void *buffers[], void *arg)
{
    tutti_instance *i = arg;
    (void)buffers;
    tutti_ledger_begin(i->run->ledger, i->id);
    double begun_s = tutti_trace_now(i->run->options.trace);
    memcpy(i->slot, i->data, i->bytes);
    if (i->release) i->release(i->arg);
    trace(i, begun_s);
}

static void launch_feed(void *buffers[], void *arg)
{
    tutti_instance *i = arg;
    launch(i, (void *)STARPU_VECTOR_GET_PTR(buffers[0]), i->slot);
}

static void end_feed(void *arg)
{
    tutti_instance *i = arg;
    trace(i, tutti_starpu_turn_began(i->run, i->begun_s));
    tutti_instance_end(i, i->status);
}

static void launch_fetch(void *buffers[], void *arg)
{
    tutti_instance *i = arg;
    tutti_ledger_begin(i->run->ledger, i->id);
    launch(i, i->slot, (const void *)STARPU_VECTOR_GET_PTR(buffers[0]));
}

static void empty_slot(void *buffers[], void *arg)
{
    tutti_instance *i = arg;
    (void)buffers;
    double begun_s = tutti_trace_now(i->run->options.trace);
    if (!i->status) memcpy(i->data, i->slot, i->bytes);
    trace(i, begun_s);
    tutti_instance_end(i, i->status);
}

/* Not const: StarPU keeps its bookkeeping in codelets. Tutti does not change them. */
static struct starpu_codelet feed_codelet = {
    .cpu_funcs = {run_feed}, .nbuffers = 1, .modes = {STARPU_W}, .name = "tutti_feed"};
static struct starpu_codelet fetch_codelet = {
    .cpu_funcs = {run_fetch}, .nbuffers = 1, .modes = {STARPU_R}, .name = "tutti_fetch"};
static struct starpu_codelet fill_codelet = {
    .cpu_funcs = {fill_slot}, .nbuffers = 1, .modes = {STARPU_W}, .name = "tutti_feed_slot"};
static struct starpu_codelet launch_feed_codelet = {.cuda_funcs = {launch_feed},
    .cuda_flags = {STARPU_CUDA_ASYNC},
    .nbuffers = 2,
    .modes = {STARPU_W, STARPU_R},
    .name = "tutti_feed"};
static struct starpu_codelet launch_fetch_codelet = {.cuda_funcs = {launch_fetch},
    .cuda_flags = {STARPU_CUDA_ASYNC},
    .nbuffers = 2,
    .modes = {STARPU_R, STARPU_W},
    .name = "tutti_fetch"};
static struct starpu_codelet empty_codelet = {
    .cpu_funcs = {empty_slot}, .nbuffers = 1, .modes = {STARPU_R}, .name = "tutti_fetch_slot"};

/* The two tasks of a copy, of which either waits for the other. */
typedef struct halves {
    struct starpu_codelet *first, *second;
    tutti_task_label first_label, second_label;
} halves;

static tutti_status submit_halves(tutti_run *run, const tutti_instance *proto, const halves *h)
{
    tutti_instance *fresh = NULL;
    struct starpu_task *first = NULL, *second = NULL;
    /* the ledger tells of the copy by its tensor, whichever half that belongs to */
    const tutti_task_label *entry = h->first_label.accesses ? &h->first_label : &h->second_label;
    tutti_status status = tutti_instance_make(run, proto, entry, &fresh);
    if (status) return status;
    status = tutti_starpu_task_make(run, h->first, fresh, &h->first_label, &first);
    if (!status) status = tutti_starpu_task_make(run, h->second, fresh, &h->second_label, &second);
    if (!status) status = tutti_starpu_task_submit(first);
    if (status) {
        tutti_starpu_task_discard(first);
        tutti_starpu_task_discard(second);
        tutti_instance_end(fresh, status);
        return status;
    }
    status =
        tutti_starpu_task_submit(second); /* the first has the instance, which never ends now */
    if (status) tutti_ledger_fail(run->ledger, status);
    return status;
}

/* ---- both ---- */

tutti_status tutti_starpu_feed(tutti_run *run, const tutti_instance *proto)
{
    const tutti_access access = {proto->target, TUTTI_WRITE};
    const tutti_tensor *tensor = tutti_graph_get_tensor(run->binding.graph, proto->target);
    const tutti_task_label label = {.name = tensor->name,
        .priority = tensor->urgent ? INT_MAX : 0,
        .accesses = 1,
        .access = &access};
    if (!run->slots) return tutti_starpu_submit(run, &feed_codelet, proto, &label);
    const tutti_slot *slot;
    tutti_status status = tutti_slots_next(run->slots, proto->target, &slot);
    if (status) return status;
    halves h = {&fill_codelet, &launch_feed_codelet,
        {.name = tensor->name,
            .priority = label.priority,
            .turn = slot->turn,
            .turn_mode = TUTTI_WRITE},
        label};
    h.second_label.turn = slot->turn;
    h.second_label.turn_mode = TUTTI_READ;
    h.second_label.done = end_feed;
    tutti_instance with_slot = *proto;
    with_slot.slot = slot->memory;
    return submit_halves(run, &with_slot, &h);
}

tutti_status tutti_starpu_fetch(tutti_run *run, const tutti_instance *proto)
{
    const tutti_access access = {proto->target, TUTTI_READ};
    const char *name = tutti_graph_get_tensor(run->binding.graph, proto->target)->name;
    const tutti_task_label label = {.name = name, .accesses = 1, .access = &access};
    if (!run->slots) return tutti_starpu_submit(run, &fetch_codelet, proto, &label);
    const tutti_slot *slot;
    tutti_status status = tutti_slots_next(run->slots, proto->target, &slot);
    if (status) return status;
    halves h = {&launch_fetch_codelet, &empty_codelet, label,
        {.name = name, .turn = slot->turn, .turn_mode = TUTTI_READ}};
    h.first_label.turn = slot->turn;
    h.first_label.turn_mode = TUTTI_WRITE;
    tutti_instance with_slot = *proto;
    with_slot.slot = slot->memory;
    return submit_halves(run, &with_slot, &h);
}
