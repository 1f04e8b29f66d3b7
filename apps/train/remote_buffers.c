#include "apps/train/remote_buffers.h"

#include "dag/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* How many, and their bytes; of what is sent, all, those that nothing else reads, and those that may be written
 * where they are received. */
enum { ZERO, ZERO_BYTES, ONE, ONE_BYTES, SMALL, SMALL_BYTES, SENT, ALONE, DIRECT, SUMS };

static void add_up(const tutti_remote_buffer *b, int64_t sum[SUMS])
{
    const int at = b->small ? SMALL : *b->why ? ONE : ZERO;
    if (b->sends) {
        sum[SENT]++;
        sum[ALONE] += !b->readers;
        sum[DIRECT] += b->direct;
        return;
    }
    sum[at]++;
    sum[at + 1] += (int64_t)b->bytes;
}

/* "'x'", or "'x' and 3 more". */
static void name_tensors(const tutti_graph *graph, const tutti_remote_buffer *b, char text[200])
{
    const char *name = tutti_graph_get_tensor(graph, b->tensor)->name;
    if (b->tensors > 1)
        snprintf(text, 200, "'%.150s' and %d more", name, b->tensors - 1);
    else
        snprintf(text, 200, "'%.150s'", name);
}

static void print_one(const tutti_graph *graph, const tutti_remote_buffer *b)
{
    char name[200];
    name_tensors(graph, b, name);
    if (!b->sends) {
        tutti_text_print(stdout, "receives %s, %zu bytes: %s%s\n", name, b->bytes,
            *b->why ? "one copy: " : "zero copy", b->why);
        return;
    }
    tutti_text_print(stdout, "sends %s, %zu bytes: ", name, b->bytes);
    if (b->origin < 0)
        tutti_text_print(stdout, "fed, or of another section");
    else
        tutti_text_print(stdout, "written by '%s'", tutti_graph_get_node(graph, b->origin)->name);
    if (b->in_place) tutti_text_print(stdout, ", changed in place by %d", b->in_place);
    if (b->readers)
        tutti_text_print(stdout, ", read by %d more", b->readers);
    else
        tutti_text_print(stdout, ", read by nothing else");
    tutti_text_print(stdout, "%s\n",
        b->direct ? ": written where it is received, if its receive is posted by then" : "");
}

tutti_status tutti_train_remote_buffers(tutti_trainer *trainer)
{
    const tutti_training_session *on = &trainer->session;
    tutti_remote_buffer *found = NULL;
    int count = 0, on_gpu = on->place.device == TUTTI_CUDA && !on->place.collects_there;
    int64_t sum[SUMS] = {0};
    tutti_status status =
        tutti_exchange_remote_buffers(on->exchange, on->graph, on_gpu, &count, &found);
    status = tutti_exchange_agree(on->exchange, status, NULL);
    for (int i = 0; i < count && !status; i++) add_up(&found[i], sum);
    for (int i = 0; i < count && !status && tutti_trainer_reports(trainer); i++)
        print_one(on->graph, &found[i]);
    free(found);
    if (status) return status;
    const tutti_coll_args args = {.dtype = TUTTI_I64, .op = TUTTI_SUM, .count = SUMS, .recv = sum};
    status = tutti_exchange_call(on->exchange, "the ranks' remote buffers", &args);
    if (status || !tutti_trainer_reports(trainer)) return status;
    tutti_text_print(stdout,
        "remote buffers of %d ranks: %" PRId64 " zero copy (%.2f MB), %" PRId64
        " one copy (%.2f MB), %" PRId64 " small (%.2f MB); sent: %" PRId64
        ", of which nothing else reads %" PRId64 ", and kernels may write %" PRId64
        " where they are received\n",
        on->placement.ranks, sum[ZERO], 1e-6 * (double)sum[ZERO_BYTES], sum[ONE],
        1e-6 * (double)sum[ONE_BYTES], sum[SMALL], 1e-6 * (double)sum[SMALL_BYTES], sum[SENT],
        sum[ALONE], sum[DIRECT]);
    return TUTTI_OK;
}
