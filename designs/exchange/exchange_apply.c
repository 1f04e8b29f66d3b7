/* Applying a graph: it is placed, and then checked by all ranks before the first step. Each rank sends a digest of what
 * it is about to submit, and the full text only if digests differ. */
#include "designs/exchange/exchange.h"

#include "dag/base/log.h"

#include <stdlib.h>
#include <string.h>

static tutti_status gather(
    tutti_exchange *x, tutti_dtype dtype, int64_t count, const void *mine, void *all)
{
    const tutti_coll_args args = {
        .kind = TUTTI_ALLGATHER, .dtype = dtype, .count = count, .send = mine, .recv = all};
    return tutti_exchange_call(x, "the check of the graphs", &args);
}

/* What this rank submits with every section once, as text; the caller frees it. */
static tutti_status describe(tutti_exchange *x, const tutti_graph *graph, char **text)
{
    tutti_check *check;
    int rank = tutti_exchange_rank(x);
    tutti_status status = tutti_check_new(tutti_exchange_size(x), &check);
    if (status) return status;
    for (int s = 0; s < tutti_graph_sections(graph) && !status; s++)
        status = tutti_check_submit(check, rank, graph, s, NULL);
    if (!status) status = tutti_check_text(check, rank, text);
    tutti_check_free(check);
    return status;
}

/* Judges the texts of all ranks: rank r's starts at texts + r * bytes, NUL-terminated. */
static tutti_status judge(
    tutti_exchange *x, const char *texts, int64_t bytes, int workers, tutti_verdict *verdict)
{
    tutti_check *check;
    int size = tutti_exchange_size(x);
    tutti_status status = tutti_check_new(size, &check);
    if (status) return status;
    for (int r = 0; r < size && !status; r++) {
        check->rank[r].workers = workers;
        status = tutti_check_read(check, r, texts + r * bytes);
    }
    if (!status) status = tutti_check_judge(check, tutti_exchange_design(x), verdict);
    tutti_check_free(check);
    return status;
}

/* Gathers the full texts (text NULL: this rank has none) and judges them. */
static tutti_status gather_and_judge(
    tutti_exchange *x, const char *text, int workers, tutti_verdict *verdict)
{
    int size = tutti_exchange_size(x);
    int64_t mine = text ? (int64_t)strlen(text) + 1 : -1, bytes = 1;
    int64_t *lengths = calloc((size_t)size, sizeof *lengths);
    if (!lengths) return tutti_fail(TUTTI_ERR_NOMEM, "check: no memory for %d ranks", size);
    tutti_status status = gather(x, TUTTI_I64, 1, &mine, lengths);
    for (int r = 0; r < size && !status; r++) {
        if (lengths[r] < 0)
            status =
                tutti_fail(TUTTI_ERR_NOMEM, "check: rank %d cannot say what it will submit", r);
        if (lengths[r] > bytes) bytes = lengths[r];
    }
    free(lengths);
    if (status) return status;
    char *padded = calloc(1, (size_t)bytes), *texts = calloc((size_t)size, (size_t)bytes);
    if (padded && texts) {
        memcpy(padded, text, (size_t)mine);
        status = gather(x, TUTTI_U8, bytes, padded, texts);
        if (!status) status = judge(x, texts, bytes, workers, verdict);
    } else {
        status = tutti_fail(TUTTI_ERR_NOMEM, "check: no memory for %d ranks", size);
    }
    free(padded);
    free(texts);
    return status;
}

tutti_status tutti_exchange_judge(
    tutti_exchange *exchange, const tutti_graph *graph, int workers, tutti_verdict *verdict)
{
    char *text = NULL;
    tutti_status status = describe(exchange, graph, &text);
    tutti_status judged = gather_and_judge(exchange, text, workers, verdict);
    free(text);
    return status ? status : judged;
}

/* *same: whether all ranks have this digest. */
static tutti_status compare(tutti_exchange *x, uint64_t digest, int *same)
{
    int size = tutti_exchange_size(x);
    uint64_t *all = calloc((size_t)size, sizeof *all);
    if (!all) return tutti_fail(TUTTI_ERR_NOMEM, "check: no memory for %d ranks", size);
    tutti_status status = gather(x, TUTTI_I64, 1, &digest, all);
    *same = 1;
    for (int r = 0; r < size; r++) *same &= all[r] == digest;
    free(all);
    return status;
}

tutti_status tutti_exchange_check(tutti_exchange *exchange, const tutti_graph *graph)
{
    char *text = NULL;
    int same = 0;
    tutti_verdict verdict = {0};
    if (tutti_exchange_size(exchange) == 1) return TUTTI_OK;
    tutti_status described = describe(exchange, graph, &text);
    tutti_status status = compare(exchange, text ? tutti_check_digest(text) : 0, &same);
    if (!status && (!same || described)) status = gather_and_judge(exchange, text, 0, &verdict);
    free(text);
    if (described || status) return described ? described : status;
    if (!verdict.clause) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_MISMATCH,
        "the ranks would not run the same collectives: %s. Nothing has started; every rank must "
        "build the same graph",
        verdict.text);
}

tutti_status tutti_exchange_apply(tutti_exchange *exchange, tutti_graph *graph)
{
    int checks;
    tutti_status status = tutti_exchange_place(exchange, graph, &checks);
    if (!checks) return status;
    /* A rank that has failed also takes part: its text differs. */
    tutti_status checked = tutti_exchange_check(exchange, graph);
    return status ? status : checked;
}
