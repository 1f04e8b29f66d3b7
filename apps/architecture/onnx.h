/* The architecture of an ONNX model as a network's text (architecture.h), and its weights.
 *
 * Read are the operators that have layers here: what tutti-export writes, and what PyTorch's exporter makes of
 * convolutional networks. Nodes that the first output does not need are left out. Layers are called as their weights
 * are ("conv1.weight": conv1), the others as their nodes. A ReLU behind a norm or an addition is part of it, and so is
 * a Clip from 0 on behind a norm. What ONNX does not hold has its default: the recipe, initial values, factors of the
 * learning rate, auxiliary classifiers.
 *
 * A build without protobuf-c refuses all. */
#ifndef TUTTI_ARCHITECTURE_ONNX_H
#define TUTTI_ARCHITECTURE_ONNX_H

#include "dag/base/status.h"

#include <stddef.h>

/* NULL: this build reads ONNX; or what it lacks, for people. [P] */
const char *tutti_architecture_lacks(void);
/* *text: the caller frees it. file: what messages call the model. FORMAT (logged: the node, and what is wrong), USAGE
 * (logged: what the build lacks), NOMEM. [A] */
tutti_status tutti_architecture_from_onnx(
    const char *file, const void *data, size_t bytes, char **text);

/* The weights of the model as a safetensors file in memory (apps/train/checkpoint.h), which the caller frees: float32,
 * float16, bfloat16 and double, with PyTorch's names and axes; the metadata of the model, and the network that it is
 * (architecture.h; text: what from_onnx made of it, name: what it is called). Tensors may be in a file beside it
 * (PyTorch's FILE.onnx.data). FORMAT (logged: the tensor, and what is wrong), IO, USAGE, NOMEM. [A] */
tutti_status tutti_architecture_onnx_weights(const char *file, const void *data, size_t bytes,
    const char *name, const char *text, void **image, size_t *image_bytes);

#endif
