/* The layers of a network as text (architecture.h), appended to a net. [M] */
#ifndef TUTTI_ARCHITECTURE_LAYERS_H
#define TUTTI_ARCHITECTURE_LAYERS_H

#include "dag/net/net.h"

#include <jansson.h>

/* file: what messages call the text. FORMAT (logged): a layer is wrong; the net's own failures are in its status. */
tutti_status tutti_architecture_append(const char *file, const json_t *layers, tutti_net *net,
    int64_t H, int64_t W, int64_t C, int64_t classes);

#endif
