#include "apps/session/transport.h"

#include "apps/session/aware.h"
#include "apps/session/device.h"
#include "collectives/boot.h"
#include "collectives/transport/gather.h"
#include "dag/base/log.h"
#include "dag/device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char automatic[] = "auto";

const char *tutti_transport_choice(int i)
{
    const tutti_transport_about *about = tutti_transports;
    if (!i) return automatic;
    while (about->name && (!about->lacks || --i)) about++;
    return about->name;
}

/* ---- where ranks compute ---- */

static tutti_status choose_place(tutti_session_transport *s, tutti_transport *mpi, double timeout_s)
{
    const int rank = mpi->rank, ranks = mpi->size;
    if (!s->device) return TUTTI_OK;
    if (strcmp(s->device, "cpu") == 0) {
        s->place = (tutti_binding_place){0};
        return TUTTI_OK;
    }
    double *offers = calloc((size_t)(ranks * TUTTI_DEVICE_OFFER), sizeof *offers);
    if (!offers) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d ranks", ranks);
    tutti_device_offer(rank, ranks, offers);
    tutti_status status = tutti_transport_gather(mpi, offers + rank * TUTTI_DEVICE_OFFER,
        TUTTI_DEVICE_OFFER * sizeof *offers, offers, timeout_s);
    if (!status) status = tutti_device_choose(s->device, rank, ranks, offers, &s->place);
    free(offers);
    return status;
}

/* ---- the transport ---- */

/* Whether the collectives of a session can be carried by a transport. */
typedef struct question {
    tutti_session_transport *of;
    const tutti_transport_about *about;
    tutti_transport *mpi;
    int lanes;
    double timeout_s;
    char no[512]; /* why not, the same on all ranks; "": they can */
} question;

/* What a rank shows the others. */
typedef struct card {
    int lacks; /* its build, or its machine, cannot have the transport */
    char host[256], bus[32];
} card;

static void fill_in(const question *q, card *mine)
{
    tutti_device_info info;
    mine->lacks = q->about->lacks() != NULL;
    gethostname(mine->host, sizeof mine->host - 1);
    if (!tutti_device_kind_built.info(q->of->place.gpu, &info))
        snprintf(mine->bus, sizeof mine->bus, "%s", info.bus);
}

/* From what a rank shows, and those before it. */
static void check_rank(question *q, const card all[], int r)
{
    const char *lacks = q->about->lacks();
    if (all[r].lacks)
        snprintf(
            q->no, sizeof q->no, "on rank %d, %s", r, lacks ? lacks : "another build has none");
    for (int i = 0; i < r && !*q->no; i++)
        if (!strcmp(all[i].host, all[r].host) && !strcmp(all[i].bus, all[r].bus))
            snprintf(q->no, sizeof q->no,
                "ranks %d and %d have the same GPU (%s of %s), and each needs one of its own", i, r,
                all[r].bus, all[r].host);
}

static tutti_status compare(question *q)
{
    card mine = {0}, *all = calloc((size_t)q->mpi->size, sizeof *all);
    if (!all) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d ranks", q->mpi->size);
    fill_in(q, &mine);
    tutti_status status = tutti_transport_gather(q->mpi, &mine, sizeof mine, all, q->timeout_s);
    for (int r = 0; r < q->mpi->size && !status && !*q->no; r++) check_rank(q, all, r);
    free(all);
    return status;
}

static tutti_status ask(question *q)
{
    const int most = q->about->most_lanes;
    if (q->about->replace && q->of->needs)
        snprintf(q->no, sizeof q->no, "%s", q->of->needs);
    else if (q->about->on_one_host && !q->mpi->near)
        snprintf(q->no, sizeof q->no,
            "the ranks are on several hosts: use --transport mesh, which connects them over TCP");
    else if (q->about->replace && q->about->lacks())
        snprintf(q->no, sizeof q->no, "%s", q->about->lacks());
    if (!q->about->on_gpus) return TUTTI_OK;
    if (q->of->place.device != TUTTI_CUDA)
        snprintf(q->no, sizeof q->no,
            "it sums in the memory of GPUs, and kernels run on the CPU: use it with --device cuda");
    else if (q->of->needs)
        snprintf(q->no, sizeof q->no, "%s", q->of->needs);
    else if (most && q->lanes > most)
        snprintf(q->no, sizeof q->no, "it has at most %d lanes, not %d", most, q->lanes);
    return *q->no ? TUTTI_OK : compare(q);
}

static const tutti_transport_about *find_on_gpus(void)
{
    const tutti_transport_about *about = tutti_transports;
    while (!about->on_gpus) about++;
    return about;
}

static tutti_status choose(question *q)
{
    const char *word = q->of->word ? q->of->word : "mpi";
    const int is_free = strcmp(word, automatic) == 0, tells = q->mpi->rank == 0;
    const tutti_transport_about *mpi = tutti_transport_find("mpi");
    if (is_free && (q->of->place.device != TUTTI_CUDA || q->mpi->size == 1)) word = "mpi";
    q->about = strcmp(word, automatic) == 0 ? find_on_gpus() : tutti_transport_find(word);
    tutti_status status = ask(q);
    if (status || !*q->no) return status;
    if (!is_free)
        return tells ? tutti_fail(TUTTI_ERR_USAGE, "--transport %s: %s; or use --transport mpi",
                           word, q->no)
                     : TUTTI_ERR_USAGE;
    if (tells) tutti_log(TUTTI_LOG_INFO, "auto: --transport mpi, because %s", q->no);
    q->about = mpi;
    return TUTTI_OK;
}

/* ---- MPI with the memory of GPUs ---- */

/* The ranks' answers. */
static tutti_status ask_mpi(question *q)
{
    char mine = tutti_boot_refuses_gpus() != NULL, *all = calloc((size_t)q->mpi->size, 1);
    if (!all) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d ranks", q->mpi->size);
    tutti_status status = tutti_transport_gather(q->mpi, &mine, sizeof mine, all, q->timeout_s);
    for (int r = 0; r < q->mpi->size && !status && !*q->no; r++)
        if (all[r])
            snprintf(q->no, sizeof q->no,
                "on rank %d, MPI does not say that it takes the memory of GPUs", r);
    free(all);
    return status;
}

static tutti_status check_aware(question *q)
{
    tutti_status status = TUTTI_OK;
    if (q->of->place.device != TUTTI_CUDA)
        snprintf(q->no, sizeof q->no, "kernels run on the CPU: use it with --device cuda");
    else if (q->of->word && strcmp(q->of->word, "mpi") && strcmp(q->of->word, automatic))
        snprintf(q->no, sizeof q->no, "it is about MPI: use it with --transport mpi");
    else if (q->of->needs)
        snprintf(q->no, sizeof q->no, "%s, which takes main memory alone", q->of->needs);
    else
        status = ask_mpi(q);
    if (status || !*q->no) return status;
    return q->mpi->rank == 0
               ? tutti_fail(TUTTI_ERR_USAGE, "--cuda-aware: %s; or leave it out", q->no)
               : TUTTI_ERR_USAGE;
}

static tutti_status open_aware(question *q)
{
    tutti_session_transport *s = q->of;
    tutti_status status = check_aware(q);
    if (!status) status = tutti_transport_aware(q->mpi, s->place.gpu);
    if (status) return status;
    s->place.collects_there = 1;
    s->chosen = "mpi, CUDA-aware";
    return TUTTI_OK;
}

tutti_status tutti_session_transport_open(
    void *ctx, tutti_transport **transport, int lanes, double timeout_s)
{
    tutti_transport *mpi = *transport;
    tutti_session_transport *s = ctx;
    question q = {.of = s, .mpi = mpi, .lanes = lanes, .timeout_s = timeout_s};
    tutti_status status = choose_place(s, mpi, timeout_s);
    if (!status && s->aware) return open_aware(&q);
    if (!status) status = choose(&q);
    if (status) return status;
    s->chosen = q.about->name;
    s->place.collects_there = q.about->on_gpus;
    const tutti_transport_options options = {
        .device = s->place.gpu, .lanes = lanes, .timeout_s = timeout_s};
    if (q.about->replace && mpi->size > 1) return q.about->replace(transport, &options);
    return q.about->give ? q.about->give(mpi, &options) : TUTTI_OK;
}

tutti_status tutti_session_transport_over(
    tutti_session_transport *chosen, tutti_transport *ranks, double timeout_s)
{
    chosen->chosen = "mesh";
    return choose_place(chosen, ranks, timeout_s);
}
