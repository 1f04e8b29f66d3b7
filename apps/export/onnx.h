/* A trained network as an ONNX model, for evaluation.
 *
 * Input "images": (N,C,H,W) float32, normalised; output "logits": (N,classes). N is open. Layers that
 * only auxiliary classifiers need are left out, and dropout does nothing. Weights have PyTorch's
 * names and axes. The metadata say how images are normalised, and name the classes.
 *
 * Source: ONNX 1.8, onnx/onnx.proto (the messages and their field numbers) and docs/Operators.md;
 * https://github.com/onnx/onnx. The operators are those of opset 13. */
#ifndef TUTTI_EXPORT_ONNX_H
#define TUTTI_EXPORT_ONNX_H

#include "apps/train/network.h"

enum { TUTTI_ONNX_IR = 7, TUTTI_ONNX_OPSET = 13 };

/* Writes the model to a new file, which replaces an earlier one. UNSUPPORTED (logged: the layer, or
 * the size: a message has less than 2^31 bytes); IO; NOMEM. [M] */
tutti_status tutti_onnx_save(tutti_network *network, const char *path);

#endif
