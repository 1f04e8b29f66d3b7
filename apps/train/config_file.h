/* --config FILE: options from a file of JSON, as defaults: those of the command line and of variables count more.
 *
 *     {"model": "resnet20", "batch": 64, "augment": "crop", "keep-best": true}
 *
 * A file that --json has written is one, too: the object "options" of its last event of that name. [M] */
#ifndef TUTTI_TRAIN_CONFIG_H
#define TUTTI_TRAIN_CONFIG_H

#include "apps/train/options.h"

#include <jansson.h>

/* The file of --config in a command line; NULL: there is none. */
const char *tutti_train_config_find(int argc, char *const argv[]);
/* Reads it as words of a command line, "--batch=64", into a list that ends with NULL and is there until the process
 * ends. USAGE (logged): an option does not exist, or does not take its value; IO, NOMEM. */
tutti_status tutti_train_config_read(
    const tutti_train_options *options, const char *path, char ***words);
/* The options of a run as such an object, without those that name files to write; NULL: no memory. */
json_t *tutti_train_config_object(const tutti_train_options *options);

#endif
