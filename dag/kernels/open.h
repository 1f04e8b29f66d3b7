/* Opening the kernels that need only their descriptor: the same on every device, whose rows name
 * these. They are defined with the CPU's kernels of their family, and closed by tutti_cpu_free.
 * Internal to dag/kernels. */
#ifndef TUTTI_OPEN_H
#define TUTTI_OPEN_H

#include "dag/base/status.h"

tutti_status tutti_open_relu(const void *desc, void **args);
tutti_status tutti_open_dropout(const void *desc, void **args);
tutti_status tutti_open_sum(const void *desc, void **args);
tutti_status tutti_open_sum_narrow(const void *desc, void **args);
tutti_status tutti_open_widen(const void *desc, void **args); /* and narrow */
void tutti_cpu_free(void *args);

#endif
