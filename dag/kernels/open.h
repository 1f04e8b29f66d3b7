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
tutti_status tutti_open_widen(const void *desc, void **args);  /* and narrow */
tutti_status tutti_open_concat(const void *desc, void **args); /* and split */
tutti_status tutti_open_put(const void *desc, void **args);
tutti_status tutti_open_take(const void *desc, void **args);
tutti_status tutti_open_shortcut(const void *desc, void **args);
tutti_status tutti_open_mixup(const void *desc, void **args);
tutti_status tutti_open_normalise(const void *desc, void **args);
tutti_status tutti_open_sgd(const void *desc, void **args);
tutti_status tutti_open_adam(const void *desc, void **args);
tutti_status tutti_open_lengths(const void *desc, void **args);
tutti_status tutti_open_clip_factor(const void *desc, void **args);
tutti_status tutti_open_clip(const void *desc, void **args);
tutti_status tutti_open_average(const void *desc, void **args);
void tutti_cpu_free(void *args);

#endif
