/* --init-from: a run begins with the weights of a checkpoint, of a safetensors file with PyTorch's
 * names and axes (apps/models/torch_names.h), or of an ONNX model, but at its own first step, with fresh momentum.
 * Threads: [M], with nothing submitted. */
#ifndef TUTTI_TRAIN_INITIAL_H
#define TUTTI_TRAIN_INITIAL_H

#include "apps/train/trainer.h"

/* Replaces initial weights and running statistics, and their averages, by the tensors of the same names in the file
 * of --init-from. apps/train/weights_file.h decides whether a file has PyTorch's names; its further tensors are ignored
 * (of an ONNX model, with a warning). A tensor that differs only where its size is the number of classes (the head)
 * keeps its initial value, and is named on stderr; with --evaluate it is an error. FORMAT (logged): a tensor is missing
 * or has another shape, the file is of another model, or nothing in it fits; the errors of tutti_checkpoint_open. All
 * ranks call it; rank 0 reads the file. */
tutti_status tutti_initial_load(const tutti_trainer *trainer);

#endif
