#include "designs/trace/write.h"
#include "dag/base/file.h"
#include "dag/base/json.h"
#include "dag/base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <tutti/version.h>
#include <unistd.h>

enum { CHUNK = 1 << 20 };

/* What every rank sends before its events. */
typedef struct digest {
    int64_t bytes;               /* of its events */
    int64_t dropped, lost_step;  /* see tutti_trace_dropped */
    int64_t offset_ns, error_ns; /* of its clock at the end, and the bound of its error */
    int64_t workers;
} digest;

typedef struct text {
    char *data;
    size_t bytes;
} text;

static tutti_status share_base(tutti_exchange *x, tutti_trace_rank *rank)
{
    rank->base_s = rank->before.at_s;
    return tutti_exchange_broadcast(x, "the trace's start", TUTTI_F64, 0, 1, &rank->base_s);
}

static tutti_status print_mine(const tutti_trace *trace, const tutti_trace_rank *rank, text *mine)
{
    FILE *out = open_memstream(&mine->data, &mine->bytes);
    if (!out) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the text of a trace");
    tutti_status status = tutti_trace_print(trace, rank, out);
    if (fclose(out) && !status)
        status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for the text of a trace");
    return status;
}

static digest digest_of(const tutti_trace *trace, const tutti_trace_rank *rank, int64_t bytes)
{
    digest own = {.bytes = bytes,
        .offset_ns = (int64_t)(1e9 * rank->after.offset_s),
        .error_ns = (int64_t)(1e9 * fmax(rank->before.error_s, rank->after.error_s)),
        .workers = tutti_trace_workers(trace)};
    own.dropped = tutti_trace_dropped(trace, &own.lost_step);
    return own;
}

static tutti_status share_digests(tutti_exchange *x, const tutti_trace *trace,
    const tutti_trace_rank *rank, const text *mine, digest all[])
{
    digest own = digest_of(trace, rank, (int64_t)mine->bytes);
    return tutti_exchange_call(x, "the traces' sizes",
        &(tutti_coll_args){.kind = TUTTI_ALLGATHER,
            .dtype = TUTTI_I64,
            .count = sizeof own / sizeof(int64_t),
            .out_of_place = 1,
            .send = &own,
            .recv = all});
}

/* ---- rank 0 ---- */

static void write_list(FILE *out, const char *name, int ranks, const digest all[], size_t field)
{
    fprintf(out, ",\"%s\":[", name);
    for (int r = 0; r < ranks; r++)
        fprintf(out, "%s%" PRId64, r ? "," : "", *(const int64_t *)((const char *)&all[r] + field));
    fputc(']', out);
}

static void put_text(FILE *out, const char *name, const char *value)
{
    fprintf(out, ",\"%s\":", name);
    tutti_json_string(out, value);
}

/* The last step that is complete on all ranks: none of its spans was lost. */
static int64_t last_whole(const tutti_trace_about *about, int ranks, const digest all[])
{
    int64_t last = about->last_step;
    for (int r = 0; r < ranks; r++)
        if (all[r].lost_step && all[r].lost_step <= last) last = all[r].lost_step - 1;
    return last;
}

/* Prints the first line, and one event: all others begin with a comma. */
static void print_head(FILE *out, const tutti_trace_about *about, int ranks, const digest all[])
{
    int64_t dropped = 0;
    for (int r = 0; r < ranks; r++) dropped += all[r].dropped;
    fprintf(out,
        "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"format\":%d,\"ranks\":%d,\"lanes\":%d,"
        "\"first_step\":%" PRId64 ",\"last_step\":%" PRId64 ",\"spans_dropped\":%" PRId64,
        TUTTI_TRACE_FORMAT, ranks, about->lanes, about->first_step, last_whole(about, ranks, all),
        dropped);
    if (about->stages > 1)
        fprintf(out, ",\"stages\":%d,\"micro_batches\":%d,\"servers\":%d", about->stages,
            about->micro_batches, about->servers);
    if (about->images)
        fprintf(out,
            ",\"images\":%" PRId64
            ",\"blocks\":%d,\"height\":%d,\"width\":%d,\"channels\":%d,\"classes\":%d",
            about->images, about->blocks, about->height, about->width, about->channels,
            about->classes);
    if (about->shards) fputs(",\"shards\":1", out);
    if (about->tasks)
        fprintf(out,
            ",\"kernels\":%d,\"tasks\":%d,\"launches\":%d,\"graphs\":%d,\"graph_bytes\":%" PRId64,
            about->kernels, about->tasks, about->launches, about->graphs, about->graph_bytes);
    put_text(out, "program", "tutti " TUTTI_VERSION);
    put_text(out, "design", about->design);
    put_text(out, "model", about->model);
    put_text(out, "algorithm", about->algorithm);
    write_list(out, "workers", ranks, all, offsetof(digest, workers));
    write_list(out, "dropped", ranks, all, offsetof(digest, dropped));
    write_list(out, "clock_offset_ns", ranks, all, offsetof(digest, offset_ns));
    write_list(out, "clock_error_ns", ranks, all, offsetof(digest, error_ns));
    fputs("},\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":0,\"name\":\"process_labels\",\"args\":"
          "{\"labels\":",
        out);
    tutti_json_string(out, about->design);
    fputs("}}", out);
}

static tutti_status begin_file(const tutti_file_options *place, const tutti_trace_about *about,
    int ranks, const digest all[], tutti_file *file)
{
    text head = {0};
    FILE *out = open_memstream(&head.data, &head.bytes);
    if (!out) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the head of a trace");
    print_head(out, about, ranks, all);
    if (fclose(out)) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the head of a trace");
    tutti_status status = tutti_file_begin(place, file);
    if (!status) tutti_file_write(file, head.data, head.bytes);
    free(head.data);
    return status;
}

static const char tail[] = "\n]}\n";

tutti_status tutti_trace_save_all(tutti_trace *const trace[], int ranks,
    const tutti_trace_about *about, const tutti_file_options *place)
{
    tutti_file file = {0};
    digest *all = calloc((size_t)ranks, sizeof *all);
    if (!all) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a trace of %d ranks", ranks);
    for (int r = 0; r < ranks; r++) all[r] = digest_of(trace[r], &(tutti_trace_rank){.rank = r}, 0);
    tutti_status status = begin_file(place, about, ranks, all, &file);
    free(all);
    if (status) return status;
    for (int r = 0; !status && r < ranks; r++) {
        const tutti_trace_rank rank = {.rank = r, .host = "simulated"};
        text mine = {0};
        status = print_mine(trace[r], &rank, &mine);
        if (!status) tutti_file_write(&file, mine.data, mine.bytes);
        free(mine.data);
    }
    if (status) file.error = ENOMEM;
    tutti_file_write(&file, tail, sizeof tail - 1);
    tutti_status ended = tutti_file_end(&file);
    return status ? status : ended;
}

/* ---- all ranks ---- */

/* Sends rank r's text to rank 0, piece by piece. */
static tutti_status send_text(
    tutti_exchange *x, int r, int64_t bytes, const text *mine, char *piece, tutti_file *file)
{
    int rank = tutti_exchange_rank(x);
    for (int64_t at = 0; at < bytes; at += CHUNK) {
        int64_t count = bytes - at < CHUNK ? bytes - at : CHUNK;
        void *data = rank == r ? mine->data + at : piece;
        tutti_status status =
            tutti_exchange_broadcast(x, "a rank's trace", TUTTI_U8, r, count, data);
        if (status) return status;
        if (rank == 0) tutti_file_write(file, data, (size_t)count);
    }
    return TUTTI_OK;
}

static tutti_status send_all(tutti_exchange *x, const tutti_trace_about *about, const text *mine,
    const digest all[], const tutti_file_options *place)
{
    int ranks = tutti_exchange_size(x), here = tutti_exchange_rank(x) == 0;
    tutti_file file = {0};
    char *piece = malloc(CHUNK);
    tutti_status status =
        piece ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for a piece of a trace");
    if (!status && here) status = begin_file(place, about, ranks, all, &file);
    int begun = here && !status;
    status = tutti_exchange_agree(x, status, NULL);
    if (begun && !status) tutti_file_write(&file, mine->data, mine->bytes);
    for (int r = 1; r < ranks && !status; r++)
        status = send_text(x, r, all[r].bytes, mine, piece, &file);
    if (begun) {
        if (status) file.error = ECANCELED;
        tutti_file_write(&file, tail, sizeof tail - 1);
        tutti_status ended = tutti_file_end(&file);
        if (!status) status = ended;
    }
    free(piece);
    return status;
}

tutti_status tutti_trace_save(tutti_exchange *x, const tutti_trace *trace,
    const tutti_trace_about *about, tutti_trace_rank *rank, const tutti_file_options *place)
{
    char host[256] = "";
    text mine = {0};
    int ranks = tutti_exchange_size(x);
    gethostname(host, sizeof host - 1);
    rank->host = host;
    digest *all = calloc((size_t)ranks, sizeof *all);
    tutti_status status = share_base(x, rank);
    if (status) goto done;
    status = all ? print_mine(trace, rank, &mine)
                 : tutti_fail(TUTTI_ERR_NOMEM, "no memory for a trace of %d ranks", ranks);
    status = tutti_exchange_agree(x, status, NULL);
    if (!status) status = share_digests(x, trace, rank, &mine, all);
    rank->dropped = 0;
    for (int r = 0; r < ranks && !status; r++) rank->dropped += all[r].dropped;
    if (!status) status = send_all(x, about, &mine, all, place);
    status = tutti_exchange_agree(x, status, NULL);
done:
    rank->host = NULL;
    free(mine.data);
    free(all);
    return status;
}
