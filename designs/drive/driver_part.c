/* The groups and edges of a driver. */
#include "designs/drive/driver_parts.h"

#include "dag/run/sequence.h"

#include <stdlib.h>

/* Slots from here on are those of edges, which open in any order. Those below are of groups, and the same on every
 * rank. */
enum { FIRST_EDGE = 1 << 20 };

static int is_edge(int64_t key)
{
    return key < 0;
}

/* Either lock is held. */
static tutti_driver_part *at(const tutti_driver *root, int slot)
{
    const tutti_driver_list *list = slot < FIRST_EDGE ? &root->groups : &root->edges;
    int i = slot < FIRST_EDGE ? slot - 1 : slot - FIRST_EDGE;
    return i >= 0 && i < list->count ? list->part[i] : NULL;
}

/* The slot of a key, or -1. Either lock is held. */
static int find(const tutti_driver *root, int64_t key)
{
    const tutti_driver_list *list = is_edge(key) ? &root->edges : &root->groups;
    if (!key) return 0;
    for (int i = 0; i < list->count; i++)
        if (list->part[i]->members.key == key) return i + (is_edge(key) ? FIRST_EDGE : 1);
    return -1;
}

static tutti_status make_room(tutti_driver *root, tutti_driver_list *list)
{
    if (list->count < list->room) return TUTTI_OK;
    int room = list->room ? 2 * list->room : 16;
    pthread_mutex_lock(root->queue_lock);
    tutti_driver_part **wider = realloc(list->part, (size_t)room * sizeof *wider);
    if (wider) {
        list->part = wider;
        list->room = room;
    }
    pthread_mutex_unlock(root->queue_lock);
    return wider ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d groups", room);
}

static tutti_status open_driver(
    tutti_driver *root, const tutti_members *members, int slot, tutti_driver **driver)
{
    tutti_comm *comm = NULL;
    tutti_driver_options options = root->options;
    if (!options.part) return tutti_fail(TUTTI_ERR_UNSUPPORTED, "there are no groups here");
    options.control = NULL;
    options.priorities.on = 0;
    options.tick = NULL;
    options.verify.members = members;
    options.verify.history = is_edge(members->key) ? 2 * TUTTI_COMM_DEPTH : 0;
    tutti_status status = options.part(options.ctx, members, &comm, &options.control);
    return status ? status : tutti_driver_open_part(root, &options, members, slot, comm, driver);
}

/* comm_lock held. member 0: only its name is needed. */
static tutti_status join(tutti_driver *root, const tutti_members *members, int member, int *slot)
{
    tutti_driver_list *list = is_edge(members->key) ? &root->edges : &root->groups;
    *slot = find(root, members->key);
    if (*slot >= 0) {
        const tutti_driver_part *known = at(root, *slot);
        if (known->driver || !member) return TUTTI_OK;
    }
    int fresh = *slot < 0;
    int new_slot = fresh ? list->count + (is_edge(members->key) ? FIRST_EDGE : 1) : *slot;
    tutti_status status = fresh ? make_room(root, list) : TUTTI_OK;
    tutti_driver_part *part = fresh ? calloc(1, sizeof *part) : at(root, new_slot);
    if (!status && !part) status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for a group");
    if (!status && fresh) {
        int self = members->rank < 0 ? -1 : members->of[members->rank];
        status = tutti_members_set(members->key, members->size, members->of, self, &part->members);
    }
    tutti_driver *driver = NULL;
    if (!status && member) status = open_driver(root, &part->members, new_slot, &driver);
    if (status) {
        if (fresh && part) tutti_members_free(&part->members);
        if (fresh) free(part);
        return status;
    }
    pthread_mutex_lock(root->queue_lock);
    part->driver = driver;
    if (fresh) list->part[list->count++] = part;
    pthread_mutex_unlock(root->queue_lock);
    *slot = new_slot;
    return TUTTI_OK;
}

tutti_status tutti_driver_join(tutti_driver *root, const tutti_members *members, int *slot)
{
    pthread_mutex_lock(root->comm_lock);
    tutti_status status = join(root, members, members->rank >= 0, slot);
    pthread_mutex_unlock(root->comm_lock);
    return status;
}

void tutti_driver_hear_unknown(void *ctx, int64_t key)
{
    tutti_driver *root = ctx;
    tutti_members members;
    int slot;
    if (!is_edge(key)) return;
    tutti_status status = tutti_members_of_edge(key, root->members.rank, &members);
    if (status) {
        tutti_driver_share(root, status);
        return;
    }
    int known = members.of[0] >= 0 && members.of[0] < root->members.size && members.of[1] >= 0 &&
                members.of[1] < root->members.size && members.rank >= 0;
    if (known) status = join(root, &members, 1, &slot);
    if (known && status) tutti_driver_share(root, status);
    tutti_members_free(&members);
}

static void close_list(tutti_driver_list *list)
{
    for (int i = 0; i < list->count; i++) {
        tutti_driver_close(list->part[i]->driver);
        tutti_members_free(&list->part[i]->members);
        free(list->part[i]);
    }
    free(list->part);
}

void tutti_driver_close_parts(tutti_driver *root)
{
    close_list(&root->groups);
    close_list(&root->edges);
}

static void each_in(
    const tutti_driver_list *list, void (*call)(tutti_driver *d, void *ctx), void *ctx)
{
    for (int i = 0; i < list->count; i++)
        if (list->part[i]->driver) call(list->part[i]->driver, ctx);
}

void tutti_driver_each(tutti_driver *root, void (*call)(tutti_driver *d, void *ctx), void *ctx)
{
    call(root, ctx);
    each_in(&root->groups, call, ctx);
    each_in(&root->edges, call, ctx);
}

/* ---- calls from outside ---- */

tutti_driver *tutti_driver_of(tutti_driver *root, int slot)
{
    if (!slot) return root;
    pthread_mutex_lock(root->queue_lock);
    const tutti_driver_part *part = at(root, slot);
    tutti_driver *driver = part ? part->driver : NULL;
    pthread_mutex_unlock(root->queue_lock);
    return driver;
}

const tutti_members *tutti_driver_members(tutti_driver *root, int slot)
{
    if (!slot) return &root->members;
    pthread_mutex_lock(root->queue_lock);
    const tutti_driver_part *part = at(root, slot);
    pthread_mutex_unlock(root->queue_lock);
    return part ? &part->members : NULL;
}

int tutti_driver_lanes(const tutti_driver *driver)
{
    return driver->queue.lanes;
}

int64_t *tutti_driver_inserted(tutti_driver *driver)
{
    return &driver->inserted;
}

int64_t tutti_driver_key_of(tutti_driver *root, int64_t sequence)
{
    const tutti_members *members = tutti_driver_members(root, tutti_sequence_slot(sequence));
    return members ? members->key : 0;
}

/* Reports come with comm_lock held, which an edge's name needs; without it an unknown one has none. */
int64_t tutti_driver_sequence_of(tutti_driver *root, int64_t key, int64_t number)
{
    tutti_members members;
    int slot;
    if (number < 0 || !key) return number;
    pthread_mutex_lock(root->queue_lock);
    slot = find(root, key);
    pthread_mutex_unlock(root->queue_lock);
    if (slot < 0 && is_edge(key) && !tutti_members_of_edge(key, root->members.rank, &members)) {
        if (join(root, &members, 0, &slot)) slot = -1;
        tutti_members_free(&members);
    }
    return slot < 0 ? -1 : tutti_sequence_make(slot, number);
}
