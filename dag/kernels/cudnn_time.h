/* How long engines take, by the GPU's own clock. Internal to dag/kernels/cudnn*. */
#ifndef TUTTI_CUDNN_TIME_H
#define TUTTI_CUDNN_TIME_H

#include "dag/kernels/cudnn_engines.h"

/* Which of these engines is fastest on this GPU: its number, and its plan is then the convolution's; -1: none can be
 * timed. An engine gives way only to one that is clearly faster, so that a choice between equals does not change from
 * run to run. */
int tutti_cudnn_time(tutti_cudnn *k, int count, const tutti_cudnn_engine engine[]);

#endif
