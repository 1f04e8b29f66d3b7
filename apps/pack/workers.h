/* Threads that make items ahead of the writer, which takes them in the order of their places. A
 * ring of a few items for each thread bounds the memory. */
#ifndef TUTTI_PACK_WORKERS_H
#define TUTTI_PACK_WORKERS_H

#include "apps/pack/item.h"

typedef struct tutti_pack_workers tutti_pack_workers;

typedef struct tutti_pack_task {
    const tutti_pack_recipe *recipe;
    const tutti_dataset *dataset;
    int64_t first; /* the place to begin at */
    int shuffled;  /* 0: places are the images' numbers */
    uint64_t seed; /* of the order, if it is shuffled */
    int threads;
} tutti_pack_task;

/* The task's pointers are borrowed until close. NOMEM. [M] */
tutti_status tutti_pack_workers_open(const tutti_pack_task *task, tutti_pack_workers **workers);
/* The next item, in place after place; valid until the next call. Errors:
 * those of item_make. [M] */
tutti_status tutti_pack_workers_next(tutti_pack_workers *workers, const tutti_pack_item **item);
/* Accepts NULL. [M] */
void tutti_pack_workers_close(tutti_pack_workers *workers);

#endif
