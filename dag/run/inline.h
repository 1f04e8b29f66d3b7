/* The runner that needs nothing: see run.h. Nodes run inside wait, on its thread; seed 0 is program
 * order. */
#ifndef TUTTI_INLINE_H
#define TUTTI_INLINE_H

#include "dag/run/run.h"

extern const tutti_runner tutti_runner_inline;

#endif
