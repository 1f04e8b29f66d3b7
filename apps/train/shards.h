/* --shards local: each rank reads shards of its own. Threads: [M]; all ranks call these. */
#ifndef TUTTI_TRAIN_SHARDS_H
#define TUTTI_TRAIN_SHARDS_H

#include "apps/train/trainer.h"

/* For tutti_dataset_options.assign; ctx: the trainer. USAGE (logged) if a rank gets no shard. */
tutti_status tutti_shards_assign(
    void *trainer, tutti_status mine, const char *folder, tutti_names *names);

/* Once both sets are open on all ranks: the classes that they have together, and the trainer's
 * numbers of images. FORMAT (logged). */
tutti_status tutti_shards_add_up(tutti_trainer *trainer);

#endif
