/* Nets of every kind of layer, and a batch for them, for trials. Any failure fails the test. */
#ifndef TUTTI_NETS_H
#define TUTTI_NETS_H

#include "tests/step/trial.h"

enum { SIZE = 8, CHANNELS = 3, CLASSES = 5, BATCH = 7, IMAGE = SIZE * SIZE * CHANNELS };
enum { MOST_PARAMETERS = 4096 /* of these nets */ };

/* Every kind of layer; a value with three consumers; adds without ReLU, whose gradients are shared
 * tensors. */
void with_norm(tutti_net *net);
/* Residual blocks: a norm that is added as the first input, with layers between both; as the second; one that another
 * layer reads, too; one that is added without a ReLU; two norms that are added to each other. */
void with_residuals(tutti_net *net);
/* Without batch normalisation the gradient of a batch is the sum over its images, however they are
 * distributed. */
void without_norm(tutti_net *net);
/* A block as in GoogLeNet, of four branches; a part of a value with three consumers; an add without
 * ReLU, which leaves one tensor as the gradient of two parts; images among what is joined, which
 * have no gradient. */
void with_branches(tutti_net *net);
/* Windows R x S, groups, a depthwise convolution, windows that stick out, LRN. */
void with_windows(tutti_net *net);
/* Two classifiers in the middle, trained with shares of their losses; one has layers of its own. */
void with_auxiliaries(tutti_net *net);

/* Two batches. */
typedef struct data {
    float images[2 * BATCH * IMAGE];
    int32_t labels[2 * BATCH];
} data;

/* Random images and labels; the caller frees them. */
data *make_data(void);

/* Runs a step at rate 0; the loss by which it trains. */
double mean_loss(trial *t, const data *d);
/* Adds the rank's gradients, all parameters in sequence, to sum; returns the number of elements. */
int64_t add_gradients(const trial *t, double *sum);

#endif
