/* Which files a checkpoint's path stands for: itself, or those of an index.
 *
 * An index (model.safetensors.index.json) is what writers of large models put beside their files:
 *   {"metadata": {...}, "weight_map": {"tensor": "model-00001-of-00002.safetensors", ...}} */
#ifndef TUTTI_TRAIN_CHECKPOINT_PARTS_H
#define TUTTI_TRAIN_CHECKPOINT_PARTS_H

#include "apps/train/checkpoint.h"

#include <jansson.h>

typedef struct tutti_checkpoint_parts {
    int count;
    char **path;
    json_t *map; /* tensors' names to files' names; NULL: no index */
} tutti_checkpoint_parts;

/* Zeroed before. IO, FORMAT (logged: what the folder or the index lacks), NOMEM. A path that cannot
 * be opened stands for itself. */
tutti_status tutti_checkpoint_parts_find(const char *path, tutti_checkpoint_parts *parts);
void tutti_checkpoint_parts_free(tutti_checkpoint_parts *parts);

#endif
