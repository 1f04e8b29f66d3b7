/* Priorities on which the ranks agree as they run: designs/drive/driver_grant.c. LANES=1 is funneled, more concurrent. */
#define GRANTS
#define POLLS
#include "queue.pml"
