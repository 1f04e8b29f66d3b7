#include "dag/kernels/loss.h"

#include "dag/base/log.h"
#include "dag/kernels/cpu.h"

#include <inttypes.h>
#include <math.h>

tutti_status tutti_check_xent(const tutti_xent_desc *d)
{
    const int64_t logits[] = {d->N, d->K};
    tutti_status status = tutti_cpu_check("softmax_xent", "N", d->N, 1);
    if (!status) status = tutti_cpu_check("softmax_xent", "K", d->K, 1);
    if (!status) status = tutti_cpu_check_count("softmax_xent", logits, 2);
    if (!status && !isfinite(d->weight))
        status = tutti_fail(TUTTI_ERR_INVAL, "softmax_xent: the weight is not a finite number");
    if (!status && !(d->smoothing >= 0 && d->smoothing < 1))
        status = tutti_fail(
            TUTTI_ERR_INVAL, "softmax_xent: smoothing %g is not in [0, 1)", (double)d->smoothing);
    if (!status && d->views < 0)
        status = tutti_fail(TUTTI_ERR_INVAL, "softmax_xent: %d views", d->views);
    if (!status && d->mixed && d->N % 2)
        status = tutti_fail(
            TUTTI_ERR_INVAL, "softmax_xent: %" PRId64 " rows cannot be mixed in pairs", d->N);
    return status;
}

TUTTI_CPU_OPEN(xent)
{
    tutti_status status = tutti_check_xent(desc);
    return status ? status : tutti_cpu_copy("softmax_xent", desc, sizeof(tutti_xent_desc), args);
}

static tutti_status check_labels(const tutti_xent_desc *d, const int32_t *labels)
{
    for (int64_t n = 0; n < d->N; n++)
        if (labels[n] >= d->K)
            return tutti_fail(TUTTI_ERR_KERNEL,
                "softmax_xent: row %" PRId64 " has label %" PRId32 ", but there are %" PRId64
                " classes",
                n, labels[n], d->K);
    return TUTTI_OK;
}

/* The first maximum; -1, which no label equals, if any logit is NaN. */
static int64_t first_maximum(int64_t K, const float *logits)
{
    int64_t best = 0;
    for (int64_t k = 0; k < K; k++) {
        if (isnan(logits[k])) return -1;
        if (logits[k] > logits[best]) best = k;
    }
    return best;
}

/* log(sum of exp), relative to the largest logit so that nothing overflows. */
static double log_sum_exp(int64_t K, const float *logits, float largest, float part)
{
    double total = 0;
    for (int64_t k = 0; k < K; k++) total += (double)expf(part * (logits[k] - largest));
    return log(total);
}

/* The mean of the logits; 0 without smoothing, so that the plain loss costs nothing more. */
static double smooth_logit(const tutti_xent_desc *d, const float *logits)
{
    double total = 0;
    for (int64_t k = 0; d->smoothing > 0 && k < d->K; k++) total += (double)logits[k];
    return total / (double)d->K;
}

/* What a row should be: its label, and with weight 1 - part that of its partner. */
typedef struct target {
    int32_t label, other; /* other -1: the label alone */
    float part;
} target;

/* part NULL: rows are not mixed. */
static target target_of(const int32_t *labels, const float *part, int64_t n)
{
    target t = {labels[n], -1, 1};
    if (part && labels[n ^ 1] >= 0) t = (target){labels[n], labels[n ^ 1], part[n]};
    return t;
}

static double target_logit(const float *logits, target t)
{
    double own = (double)logits[t.label], part = (double)t.part;
    return t.other < 0 ? own : part * own + (1 - part) * (double)logits[t.other];
}

static void add_row(const tutti_xent_desc *d, const float *logits, target t, float *dlogits,
    double metrics[TUTTI_METRICS])
{
    int64_t best = first_maximum(d->K, logits);
    float largest = logits[best < 0 ? 0 : best], part = d->views > 1 ? 1 / (float)d->views : 1;
    double lse = log_sum_exp(d->K, logits, largest, part), smoothing = (double)d->smoothing;
    metrics[0] +=
        lse + (double)part * ((double)largest - (1 - smoothing) * target_logit(logits, t) -
                                 smoothing * smooth_logit(d, logits));
    metrics[1] += best == (t.other < 0 || t.part >= 0.5f ? t.label : t.other);
    metrics[2] += 1;
    if (!dlogits) return;
    float weight = part * d->weight, others = weight * d->smoothing / (float)d->K;
    float scale = (float)((double)weight * exp(-lse));
    for (int64_t k = 0; k < d->K; k++)
        dlogits[k] = scale * expf(part * (logits[k] - largest)) - others;
    dlogits[t.label] -= weight * (1 - d->smoothing) * t.part;
    if (t.other >= 0) dlogits[t.other] -= weight * (1 - d->smoothing) * (1 - t.part);
}

/* part NULL: rows are not mixed; dlogits NULL: metrics only. */
static tutti_status xent(const tutti_xent_desc *d, const float *logits, const int32_t *labels,
    const float *part, float *dlogits, double *metrics)
{
    tutti_status status = check_labels(d, labels);
    if (status) return status;
    double total[TUTTI_METRICS] = {0};
    for (int64_t n = 0; n < d->N; n++) {
        float *row = dlogits ? dlogits + n * d->K : NULL;
        if (labels[n] >= 0)
            add_row(d, logits + n * d->K, target_of(labels, part, n), row, total);
        else if (row)
            memset(row, 0, (size_t)d->K * sizeof *row);
    }
    memcpy(metrics, total, sizeof total);
    return TUTTI_OK;
}

TUTTI_CPU_FN(softmax_xent)
{
    const tutti_xent_desc *d = args;
    void *const *after = buf + (d->mixed ? 3 : 2);
    (void)queue;
    return xent(d, buf[0], buf[1], d->mixed ? buf[2] : NULL, after[0], after[1]);
}

TUTTI_CPU_FN(xent_eval)
{
    (void)queue;
    return xent(args, buf[0], buf[1], NULL, NULL, buf[2]);
}

TUTTI_OP(softmax_xent, "logits,labels:I32,[part:F32]->dlogits,metrics:F64", TUTTI_PART_FORWARD,
    sizeof(tutti_xent_desc));
TUTTI_OP(xent_eval, "logits,labels:I32->metrics:F64", TUTTI_PART_FORWARD, sizeof(tutti_xent_desc));

const tutti_kernel tutti_kernels_loss_cpu[] = {
    TUTTI_CPU_LOOP(softmax_xent, xent_open, softmax_xent_run),
    TUTTI_CPU_LOOP(xent_eval, xent_open, xent_eval_run),
    {0},
};
