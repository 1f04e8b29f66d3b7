#include "dag/run/init_starpu.h"

#include "dag/base/log.h"
#include "dag/run/home.h"
#include "dag/run/process_lock.h"

#include <starpu.h>
#include <stdio.h>
#include <string.h>

/* A StarPU for GPUs measures again when other GPUs are there. */
#ifdef STARPU_USE_CUDA
enum { has_gpus = 1 };
#else
enum { has_gpus = 0 };
#endif
/* Of all who start before this process. The first start on a machine with many GPUs measures each pair of them. */
static const double longest_start_s = 300;

tutti_status tutti_run_init_starpu(struct starpu_conf *conf)
{
    int lock;
    char name[32];
    tutti_status status = tutti_run_home_prepare();
    if (status) return status;
    snprintf(name, sizeof name, "starpu-%d", tutti_run_home_number());
    const int measured = !has_gpus && tutti_run_home_is_measured();
    status = tutti_process_lock_take(name, "starting StarPU", measured, longest_start_s, &lock);
    if (status) return status;
    const int rc = starpu_init(conf);
    if (!rc && !measured) tutti_run_home_set_measured();
    tutti_process_lock_release(lock);
    if (!rc) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_UNSUPPORTED, "StarPU failed to start: %s", strerror(-rc));
}
