#include "apps/bench/rows.h"

#include <stddef.h>
#include <string.h>

const tutti_bench *const tutti_benches[] = {&tutti_bench_compute, &tutti_bench_allreduce,
    &tutti_bench_overlap, &tutti_bench_step, &tutti_bench_pipeline, &tutti_bench_kv,
    &tutti_bench_strategies, &tutti_bench_interference, &tutti_bench_channel, &tutti_bench_data,
    &tutti_bench_svm, &tutti_bench_svm_ranks, &tutti_bench_tune_collectives, &tutti_bench_plot,
    &tutti_bench_peers, NULL};

const tutti_bench *tutti_bench_find(const char *name)
{
    for (int i = 0; tutti_benches[i]; i++)
        if (strcmp(tutti_benches[i]->name, name) == 0) return tutti_benches[i];
    return NULL;
}
