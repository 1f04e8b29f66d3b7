/* PyTorch's names and axes for the tensors of the models, in both directions. [P]
 *
 *   ours                        PyTorch's
 *   LAYER.weight (K,R,S,C)      NAME.weight (K,C,R,S)         a convolution; C channels of a group
 *   LAYER.weight (K,H*W*C)      NAME.weight (K,C*H*W)         a dense layer behind an image
 *   LAYER.scaleshift (2,C)      NAME.weight (C), NAME.bias (C)
 *   LAYER.running (2,C)         NAME.running_mean (C), NAME.running_var (C)
 *   LAYER.bias (K)              NAME.bias (K)
 *
 * NAME is torchvision's where it has the model. Except in the VGG networks for 224x224 images,
 * whose modules it numbers (features.0, classifier.6), NAME is LAYER. Models that it lacks (those
 * for CIFAR, Caffe's, mobilenet-v1) keep their names. Source: torchvision 0.20, models/alexnet.py,
 * googlenet.py, resnet.py, vgg.py. */
#ifndef TUTTI_TORCH_NAMES_H
#define TUTTI_TORCH_NAMES_H

#include <stdint.h>

enum { TUTTI_TORCH_NAME = 96, TUTTI_TORCH_RANK = 4, TUTTI_TORCH_PARTS = 2 };

/* A parameter or running statistics of a model. */
typedef struct tutti_torch_tensor {
    const char *model; /* its name in the table of models */
    const char *name;
    int rank;
    int64_t dim[TUTTI_TORCH_RANK];
    /* the extent of what the layer reads; only of use for a dense layer's weight */
    int64_t H, W, C;
} tutti_torch_tensor;

/* One tensor of PyTorch's, and which elements of ours it has. */
typedef struct tutti_torch_part {
    char name[TUTTI_TORCH_NAME];
    int rank;
    int64_t dim[TUTTI_TORCH_RANK];
    int64_t count; /* elements */
    /* ours, from element `first` on: (rows, pixels, channels); PyTorch's: (rows, channels, pixels) */
    int64_t first, rows, pixels, channels;
} tutti_torch_part;

/* What one of our tensors becomes; returns the number of parts: 1 or 2, or 0 for a tensor that a
 * model of PyTorch's does not have. */
int tutti_torch_parts(const tutti_torch_tensor *ours, tutti_torch_part part[TUTTI_TORCH_PARTS]);

/* Copies a part out of our tensor, or into it. */
void tutti_torch_pack(const tutti_torch_part *part, const float *ours, float *theirs);
void tutti_torch_unpack(const tutti_torch_part *part, const float *theirs, float *ours);

#endif
