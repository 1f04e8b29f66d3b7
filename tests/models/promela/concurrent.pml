/* Concurrent: two communicators, one thread that never waits, sequence order on each. */
#define LANES 2
#include "queue.pml"
