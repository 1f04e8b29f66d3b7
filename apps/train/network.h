/* A trained network, for evaluation: the model of a checkpoint, or of what tutti-export made of one
 * (apps/train/weights_file.h), with its weights, in one process,
 * without MPI and without the training data. Threads: [M]. */
#ifndef TUTTI_TRAIN_NETWORK_H
#define TUTTI_TRAIN_NETWORK_H

#include "apps/session/session.h"
#include "apps/train/weights_file.h"

enum { TUTTI_NETWORK_BATCH = 2 /* batch normalisation needs two values of each channel */ };

typedef struct tutti_network {
    tutti_weights_file weights;
    const tutti_model *model;
    tutti_model_input input; /* of the size that evaluations saw */
    int resize;    /* of an evaluation's photographs: the shorter side; 0: images have one size */
    float epsilon; /* of its batch normalisation, as the file says; 0: it does not */
    tutti_training_session session; /* STARTED, for batches of TUTTI_NETWORK_BATCH images */
} tutti_network;

/* Zeroed before, and closed in any case. FORMAT (logged: what the file lacks), the errors of
 * tutti_checkpoint_open and of sessions. */
tutti_status tutti_network_open(const char *path, tutti_network *network);
tutti_status tutti_network_close(tutti_network *network);

#endif
