/* The list of a driver's groups and edges. */
#include "designs/drive/driver_parts.h"

#include "dag/run/sequence.h"

#include <stdlib.h>

tutti_driver_part *tutti_driver_part_at(const tutti_driver *root, int slot)
{
    const tutti_driver_list *list = slot < TUTTI_DRIVER_FIRST_EDGE ? &root->groups : &root->edges;
    int i = slot < TUTTI_DRIVER_FIRST_EDGE ? slot - 1 : slot - TUTTI_DRIVER_FIRST_EDGE;
    return i >= 0 && i < list->count ? list->part[i] : NULL;
}

int tutti_driver_slot_of(const tutti_driver *root, int64_t key)
{
    const tutti_driver_list *list = key < 0 ? &root->edges : &root->groups;
    if (!key) return 0;
    const tutti_driver_part *part = list->by_key[tutti_key_list(key)];
    while (part && part->members.key != key) part = part->next;
    return part ? part->slot : -1;
}

static void close_list(tutti_driver_list *list, void (*close)(tutti_driver *driver))
{
    for (int i = 0; i < list->count; i++) {
        close(list->part[i]->driver);
        tutti_members_free(&list->part[i]->members);
        free(list->part[i]);
    }
    free(list->part);
}

void tutti_driver_close_parts(tutti_driver *root, void (*close)(tutti_driver *driver))
{
    close_list(&root->groups, close);
    close_list(&root->edges, close);
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
    const tutti_driver_part *part = tutti_driver_part_at(root, slot);
    tutti_driver *driver = part ? part->driver : NULL;
    pthread_mutex_unlock(root->queue_lock);
    return driver;
}

const tutti_members *tutti_driver_members(tutti_driver *root, int slot)
{
    if (!slot) return &root->members;
    pthread_mutex_lock(root->queue_lock);
    const tutti_driver_part *part = tutti_driver_part_at(root, slot);
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
