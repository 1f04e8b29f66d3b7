/* The tensors of a net with PyTorch's names and axes (apps/models/torch_names.h). Threads: [A]. */
#ifndef TUTTI_TRAIN_TORCH_H
#define TUTTI_TRAIN_TORCH_H

#include "apps/models/torch_names.h"
#include "dag/graph/graph.h"
#include "dag/net/net.h"

/* The number of the layer whose tensor has this name, "<layer>.<suffix>"; -1: there is none. */
int tutti_torch_layer(const tutti_net *net, const char *name);

/* What a parameter or running statistics of this net becomes, by its name (which, for an average, is
 * that of the tensor that is averaged). Returns how many parts; 0: PyTorch has no such tensor. */
int tutti_torch_describe(const tutti_net *net, const char *model, const tutti_tensor *tensor,
    const char *name, tutti_torch_part part[TUTTI_TORCH_PARTS]);

/* Shape of a part. [P] */
tutti_shape tutti_torch_shape(const tutti_torch_part *part);

#endif
