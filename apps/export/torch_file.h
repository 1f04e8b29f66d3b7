/* A trained network as a safetensors file with PyTorch's names and axes (apps/models/torch_names.h):
 * a state dictionary without num_batches_tracked. Its metadata have format ("pt", as PyTorch's own
 * files), and from the checkpoint what the network's images and classes are. Threads: [M]. */
#ifndef TUTTI_EXPORT_TORCH_FILE_H
#define TUTTI_EXPORT_TORCH_FILE_H

#include "apps/train/network.h"

/* Writes it to a new file, which replaces an earlier one. UNSUPPORTED (logged: a tensor that PyTorch
 * has no name for); IO; NOMEM. */
tutti_status tutti_torch_save(tutti_network *network, const char *path);

#endif
