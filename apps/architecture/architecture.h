/* Networks of one's own, as text in place of C: what apps/models says in calls of dag/net/net.h, a file FILE.json
 * says as a list of layers.
 *
 *     {"input": {"height": 32, "width": 32, "channels": 3, "classes": 10},
 *      "layers": [
 *        {"is": "conv", "name": "conv1", "filters": 16, "window": 3, "pad": 1},
 *        {"is": "norm", "name": "bn1", "relu": true},
 *        {"is": "global-avg-pool", "name": "pool"},
 *        {"is": "dense", "name": "fc", "features": "classes"}]}
 *
 * A layer reads the value of the one before, or of those that "of" names; the last one's value is the result.
 * tutti-network(5) lists the kinds and their keys.
 *
 * The architecture of FILE.onnx becomes such a text (onnx.h).
 *
 * A network is found by its name, or read from a file, and is there until the process ends: equal texts are one
 * network. It is called FILE.json#HASH, so that what is saved with one is not continued with another. [M] */
#ifndef TUTTI_ARCHITECTURE_H
#define TUTTI_ARCHITECTURE_H

#include "apps/models/model.h"

#include <stdio.h>

/* A model by its name, or the network of a file. FORMAT (logged: the file, the line or the layer, and what is wrong);
 * IO, NOMEM; USAGE (logged): no such model. */
tutti_status tutti_architecture_open(const char *name, const tutti_model **model);
/* The network of a text; file: what messages call it. FORMAT, NOMEM (logged). */
tutti_status tutti_architecture_parse(
    const char *file, const char *text, const tutti_model **model);
/* The text of a network that was read, on one line; NULL: it is one of apps/models. */
const char *tutti_architecture_text(const tutti_model *model);
/* Writes a network as such a text, whose classes and sizes are those that it is for. NOMEM (logged). */
tutti_status tutti_architecture_print(const tutti_model *model, FILE *out);
/* The weights of FILE.onnx as a safetensors file in memory (onnx.h), which the caller frees. FORMAT (logged: the node
 * or tensor, and what is wrong); IO, NOMEM; USAGE (logged: what this build lacks). */
tutti_status tutti_architecture_weights(const char *file, void **image, size_t *bytes);
/* Whether this is the name of a file whose weights can be read so: it ends in ".onnx". [P] */
int tutti_architecture_has_weights(const char *name);
/* Whether this is the name of a file that open would read: it ends in ".json" or ".onnx". [P] */
int tutti_architecture_is_file(const char *name);

#endif
