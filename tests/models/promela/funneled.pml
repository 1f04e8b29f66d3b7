/* Funneled: one communicator, one thread, sequence order. */
#define LANES 1
#include "queue.pml"
