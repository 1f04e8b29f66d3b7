/* --freeze and --lr-scale: layers that keep their weights, and layers that learn faster or slower.
 *
 *   freeze   conv1,layer1*       these layers: names, or what names begin with and a star
 *            all-but:fc          all layers but these
 *   scale    fc=10,layer1*=0.1   what multiplies the learning rate, beside what the model says; of two that
 *                                are for a layer the later one counts, and freeze more than both
 *
 * Only layers with parameters count. Running statistics of a frozen batch normalisation still move: training
 * normalises with those of the batch, and an evaluation is to see the same. Threads: [P]. */
#ifndef TUTTI_SESSION_LAYER_RATES_H
#define TUTTI_SESSION_LAYER_RATES_H

#include "dag/base/status.h"
#include "dag/net/net.h"

#include <stdint.h>

typedef struct tutti_layer_rates {
    const char *freeze, *scale; /* NULL: none */
} tutti_layer_rates;

/* What is wrong: "--OPTION VALUE: REASON". */
typedef struct tutti_layer_rates_fault {
    const char *option, *value;
    char reason[320];
} tutti_layer_rates_fault;

/* Scales the rates of a net whose layers are complete. Returns 1; or 0 with *fault: a text that reads otherwise, a name
 * that no layer has, or nothing left to train. */
int tutti_layer_rates_apply(
    const tutti_layer_rates *rates, tutti_net *net, tutti_layer_rates_fault *fault);

/* How many numbers of a net are frozen, in how many layers. */
int64_t tutti_layer_rates_frozen(const tutti_net *net, int *layers);

#endif
