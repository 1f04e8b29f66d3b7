/* A net drawn from a seed, for tests of how steps are ordered and cut: branches, values that are read
 * again many layers later, dropout and batch norm in any order, an auxiliary output. */
#ifndef TUTTI_DRAWN_H
#define TUTTI_DRAWN_H

#include "dag/net/net.h"

#include <stdint.h>

enum { DRAWN_CHANNELS = 3, DRAWN_CLASSES = 5 };

/* Adds its layers for images of this side, at least 4; the parameters are the same for every side,
 * those of the auxiliary output ("early") excepted. */
void drawn_net(tutti_net *net, uint64_t seed, int side);

#endif
