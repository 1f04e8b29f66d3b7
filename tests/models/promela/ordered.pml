/* The order of a step's collectives, agreed on between two steps: designs/exchange/order.c. LANES=1 is funneled, more concurrent. */
#define AGREES
#define S 2
#include "queue.pml"
