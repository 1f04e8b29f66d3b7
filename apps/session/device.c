#include "apps/session/device.h"

#include "dag/base/log.h"
#include "dag/device/device.h"
#include "dag/kernels/conv.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const tutti_device_kind *const devices = &tutti_device_kind_built;

double tutti_device_region_s(tutti_conf_real region_us)
{
    return region_us.word == TUTTI_CONF_AUTO ? 0 : tutti_conf_real_or(region_us, -1e6) * 1e-6;
}

/* ---- what a rank has ---- */

enum { HOST, FIRST, GPUS, WHOLE }; /* of an offer */

/* A name as a number above 0 that a double holds exactly (FNV-1a, its upper 48 bits). */
static double number_of(const char *name)
{
    uint64_t hash = 14695981039346656037u;
    for (const char *c = name; *c; c++) hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    return (double)(hash >> 16) + 1;
}

static double host_number(void)
{
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    return number_of(name);
}

/* Where the first GPU is that this rank sees; 0: it sees none. */
static double first_number(int gpus)
{
    tutti_device_info info;
    return gpus && !devices->info(0, &info) ? number_of(info.bus) : 0;
}

/* Whether this build has convolutions for GPUs, which need a library that CUDA does not bring. */
static int has_convolutions(void)
{
    return tutti_kernel_find(&tutti_op_conv, TUTTI_CUDA, TUTTI_F32) != NULL;
}

void tutti_device_offer(int rank, int ranks, double offers[])
{
    memset(offers, 0, (size_t)(ranks * TUTTI_DEVICE_OFFER) * sizeof *offers);
    double *mine = offers + rank * TUTTI_DEVICE_OFFER;
    mine[HOST] = host_number();
    mine[GPUS] = devices->count();
    mine[FIRST] = first_number((int)mine[GPUS]);
    mine[WHOLE] = has_convolutions();
}

/* ---- the choice ---- */

static const double *offer_of(const double offers[], int rank)
{
    return offers + rank * TUTTI_DEVICE_OFFER;
}

/* The first rank without a GPU, or `ranks`. */
static int first_without(int ranks, const double offers[])
{
    int r = 0;
    while (r < ranks && offer_of(offers, r)[GPUS] > 0) r++;
    return r;
}

static int count_with(int ranks, const double offers[])
{
    int count = 0;
    for (int r = 0; r < ranks; r++) count += offer_of(offers, r)[GPUS] > 0;
    return count;
}

static tutti_status refuse(int rank, int ranks, const double offers[])
{
    const char *lacks = devices->lacks();
    const int with = count_with(ranks, offers);
    if (rank != first_without(ranks, offers)) return TUTTI_ERR_USAGE;
    if (with)
        return tutti_fail(TUTTI_ERR_USAGE,
            "--device cuda: rank %d has no GPU, but %d of %d ranks have one: %s; use hosts that "
            "all "
            "have GPUs, or --device cpu",
            rank, with, ranks, lacks);
    return tutti_fail(TUTTI_ERR_USAGE, "--device cuda: %s (or use --device cpu)", lacks);
}

/* Of the ranks of this host that see the same GPUs: how many there are, and this rank's number among them. */
static int count_local(int rank, int ranks, const double offers[], int *local)
{
    int count = 0;
    *local = 0;
    for (int r = 0; r < ranks; r++) {
        const int here = offer_of(offers, r)[HOST] == offer_of(offers, rank)[HOST] &&
                         offer_of(offers, r)[FIRST] == offer_of(offers, rank)[FIRST];
        count += here;
        *local += here && r < rank;
    }
    return count;
}

static void take_gpu(int rank, int ranks, const double offers[], tutti_binding_place *place)
{
    int local;
    const int gpus = (int)offer_of(offers, rank)[GPUS];
    const int here = count_local(rank, ranks, offers, &local);
    place->device = TUTTI_CUDA;
    place->gpu = local % gpus;
    if (here > gpus && !local)
        tutti_log(TUTTI_LOG_INFO, "%d ranks of this host share %d GPU%s", here, gpus,
            gpus == 1 ? "" : "s");
}

tutti_status tutti_device_choose(
    const char *word, int rank, int ranks, const double offers[], tutti_binding_place *place)
{
    const int whole = ranks == first_without(ranks, offers);
    const tutti_binding_place asked = *place;
    *place = (tutti_binding_place){0};
    if (strcmp(word, "cpu") == 0) return TUTTI_OK;
    if (strcmp(word, "cuda") == 0 && !whole) return refuse(rank, ranks, offers);
    int able = whole;
    for (int r = 0; r < ranks; r++) able = able && offer_of(offers, r)[WHOLE] > 0;
    if (able || strcmp(word, "cuda") == 0) {
        place->tf32 = asked.tf32;
        place->engines = asked.engines;
        take_gpu(rank, ranks, offers, place);
        return TUTTI_OK;
    }
    if (rank == 0 && !has_convolutions())
        tutti_log(TUTTI_LOG_INFO,
            "auto: --device cpu, because this build computes no convolutions on GPUs");
    else if (rank == 0 && count_with(ranks, offers) == ranks)
        tutti_log(TUTTI_LOG_INFO,
            "auto: --device cpu, because another rank's build computes no convolutions on GPUs");
    else if (rank == 0)
        tutti_log(TUTTI_LOG_INFO, "auto: --device cpu, because %d of %d ranks have a GPU",
            count_with(ranks, offers), ranks);
    return TUTTI_OK;
}

/* ---- what is computed there ---- */

tutti_status tutti_device_check(const tutti_binding_place *place, const tutti_graph *graph)
{
    for (int n = 0; place->device != TUTTI_CPU && n < tutti_graph_nodes(graph); n++) {
        const tutti_node *node = tutti_graph_get_node(graph, n);
        if (node->kind != TUTTI_NODE_KERNEL) continue;
        const tutti_dtype dtype = tutti_graph_get_tensor(graph, node->access[0].tensor)->dtype;
        if (!tutti_kernel_find(node->op, place->device, dtype))
            return tutti_fail(TUTTI_ERR_USAGE,
                "--device cuda: this build computes no %s of %s on GPUs, which %s needs: see "
                "tutti-info, and the end of what configure says; or use --device cpu",
                node->op->name, tutti_dtype_name(dtype), node->name);
    }
    return TUTTI_OK;
}

char *tutti_device_text(const tutti_binding_place *place, char *text, size_t size)
{
    tutti_device_info info;
    if (place->device == TUTTI_CPU)
        snprintf(text, size, "CPU");
    else if (devices->info(place->gpu, &info))
        snprintf(text, size, "GPU %d", place->gpu);
    else
        snprintf(text, size, "GPU %d (%s)", place->gpu, info.name);
    return text;
}
