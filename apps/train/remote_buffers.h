/* --remote-buffers: where the tensors that travel are received, and why they are copied, if they
 * are, before any step. */
#ifndef TUTTI_TRAIN_REMOTE_BUFFERS_H
#define TUTTI_TRAIN_REMOTE_BUFFERS_H

#include "apps/train/trainer.h"

/* Prints those of rank 0 in a prepared trainer, and how many all ranks have. All ranks call it. NOMEM, INTERNAL; what
 * a collective returns. */
tutti_status tutti_train_remote_buffers(tutti_trainer *trainer);

#endif
