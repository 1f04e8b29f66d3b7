/* How a driver gets its groups and edges. */
#include "designs/drive/driver_parts.h"

#include "dag/run/sequence.h"

#include <stdlib.h>

static int is_edge(int64_t key)
{
    return key < 0;
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
    tutti_status status = options.part(options.part_ctx, members, &comm, &options.control);
    if (status) return status;
    options.one_order = root->options.one_order && tutti_comm_shares_slots(comm);
    return root->open_part(root, &options, members, slot, comm, driver);
}

/* There is room. Both locks held. */
static void add_part(tutti_driver_list *list, tutti_driver_part *part, int slot)
{
    tutti_driver_part **same = &list->by_key[tutti_key_list(part->members.key)];
    part->slot = slot;
    part->next = *same;
    *same = part;
    list->part[list->count++] = part;
}

/* comm_lock held. member 0: only its name is needed. */
static tutti_status open_slot(
    tutti_driver *root, const tutti_members *members, int member, int *slot)
{
    tutti_driver_list *list = is_edge(members->key) ? &root->edges : &root->groups;
    *slot = tutti_driver_slot_of(root, members->key);
    if (*slot >= 0) {
        const tutti_driver_part *known = tutti_driver_part_at(root, *slot);
        if (known->driver || !member) return TUTTI_OK;
    }
    int fresh = *slot < 0;
    int new_slot =
        fresh ? list->count + (is_edge(members->key) ? TUTTI_DRIVER_FIRST_EDGE : 1) : *slot;
    tutti_status status = fresh ? make_room(root, list) : TUTTI_OK;
    tutti_driver_part *part =
        fresh ? calloc(1, sizeof *part) : tutti_driver_part_at(root, new_slot);
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
    root->queue.singly = root->options.one_order; /* a whole group may wait for a part */
    if (fresh) add_part(list, part, new_slot);
    pthread_mutex_unlock(root->queue_lock);
    *slot = new_slot;
    return TUTTI_OK;
}

tutti_status tutti_driver_join(tutti_driver *root, const tutti_members *members, int *slot)
{
    pthread_mutex_lock(root->comm_lock);
    tutti_status status = open_slot(root, members, members->rank >= 0, slot);
    pthread_mutex_unlock(root->comm_lock);
    return status;
}

void tutti_driver_on_unknown(void *ctx, int64_t key)
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
    if (known) status = open_slot(root, &members, 1, &slot);
    if (known && status) tutti_driver_share(root, status);
    tutti_members_free(&members);
}

/* An edge that is not known yet needs comm_lock, which is held when reports arrive. */
int64_t tutti_driver_sequence_of(tutti_driver *root, int64_t key, int64_t number)
{
    tutti_members members;
    int slot;
    if (number < 0 || !key) return number;
    pthread_mutex_lock(root->queue_lock);
    slot = tutti_driver_slot_of(root, key);
    pthread_mutex_unlock(root->queue_lock);
    if (slot < 0 && is_edge(key) && !tutti_members_of_edge(key, root->members.rank, &members)) {
        if (open_slot(root, &members, 0, &slot)) slot = -1;
        tutti_members_free(&members);
    }
    return slot < 0 ? -1 : tutti_sequence_make(slot, number);
}
