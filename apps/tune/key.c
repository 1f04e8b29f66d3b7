#include "apps/tune/key.h"

#include "collectives/links/run.h"
#include "config.h"
#include "dag/base/log.h"
#include "dag/codecs/codecs.h"
#include "dag/kernels/kernel.h"
#include "dag/step/codec.h"
#include "dag/step/strategy.h"
#include "dag/step/update_rule.h"
#include "dag/strategies/strategies.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { HOST = 64 };

/* The number of hosts, and a hash of which rank runs where. */
static tutti_status describe_hosts(tutti_exchange *exchange, char text[40])
{
    int ranks = tutti_exchange_size(exchange), hosts = 0;
    char mine[HOST] = "", *all = calloc((size_t)ranks, HOST);
    if (!all) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the names of %d hosts", ranks);
    gethostname(mine, sizeof mine - 1);
    tutti_status status = tutti_exchange_call(exchange, "the hosts' names",
        &(tutti_coll_args){.kind = TUTTI_ALLGATHER,
            .dtype = TUTTI_U8,
            .count = HOST,
            .out_of_place = 1,
            .send = mine,
            .recv = all});
    for (int r = 0; r < ranks; r++) {
        int seen = 0;
        for (int q = 0; q < r && !seen; q++)
            seen = memcmp(all + q * HOST, all + r * HOST, HOST) == 0;
        hosts += !seen;
    }
    snprintf(text, 40, "%d:%016" PRIx64, hosts, (uint64_t)XXH3_64bits(all, (size_t)ranks * HOST));
    free(all);
    return status;
}

tutti_status tutti_tune_key(const tutti_training_session *session, const tutti_workload *workload,
    const char *fixed, char text[TUTTI_KEY_TEXT])
{
    char hosts[40];
    const tutti_model_input *in = tutti_workload_input(workload);
    const tutti_step_options *recipe = &workload->recipe;
    const tutti_layout *l = &session->options.layout;
    char layout[TUTTI_LAYOUT_TEXT], layers[TUTTI_LAYOUT_LAYERS_TEXT], link[32] = "unknown";
    char wire[TUTTI_CODEC_TEXT], strategy[TUTTI_STRATEGY_TEXT], frozen[32] = "";
    const char *freeze = session->options.rates.freeze; /* these layers have no sums */
    const int given = *tutti_layout_print(&l->placement, layout) != '\0';
    const tutti_session_transport *carrier = session->transport;
    if (l->link_bytes_per_s > 0)
        snprintf(link, sizeof link, "%g", l->link_bytes_per_s / tutti_link_goodput(1));
    snprintf(wire, sizeof wire, "%s", tutti_dtype_name(recipe->wire));
    if (recipe->codec && recipe->codec->compresses)
        tutti_codec_print(recipe->codec, recipe->codec_value, wire);
    if (freeze)
        snprintf(frozen, sizeof frozen, " freeze=%016" PRIx64,
            (uint64_t)XXH3_64bits(freeze, strlen(freeze)));
    tutti_status status = describe_hosts(session->exchange, hosts);
    if (status) return status;
    snprintf(text, TUTTI_KEY_TEXT,
        "model=%s image=%dx%dx%d classes=%d batch=%" PRId64
        " accumulate=%d optimizer=%s strategy=%s clips=%d averages=%d%s"
        " wire=%s precision=%s device=%s%s%s%s transport=%s workers=%d ranks=%d layout=%s "
        "stage_layers=%s "
        "link_mbit=%s micro_batches=%d pipeline=%s hosts=%s "
        "%s tutti=%s mpi=%s starpu=%s "
        "kernels=%s",
        workload->model->name, in->H, in->W, in->C, in->classes, recipe->batch,
        recipe->accumulate > 1 ? recipe->accumulate : 1,
        recipe->rule ? recipe->rule->name : tutti_update_sgd.name,
        tutti_strategy_print(recipe->strategy, &recipe->settings, strategy), recipe->clip_norm > 0,
        recipe->average_decay > 0, frozen, wire, tutti_dtype_name(recipe->precision),
        tutti_device_name(session->place.device),
        session->options.cuda_aware     ? "+aware"
        : session->place.collects_there ? "+nccl"
                                        : "",
        session->place.tf32 ? "+tf32" : "", session->place.engines ? "+timed" : "",
        carrier && carrier->chosen ? carrier->chosen : "mpi", session->options.workers,
        session->placement.ranks, given ? tutti_layout_print(&session->placement, layout) : "none",
        tutti_layout_print_layers(l, layers), link,
        tutti_training_session_micro_batches(session, recipe),
        tutti_pipeline_order_name((int)l->order), hosts, fixed, PACKAGE_VERSION,
        tutti_boot_version(), tutti_run_starpu_version(), tutti_kernel_library());
    return TUTTI_OK;
}
