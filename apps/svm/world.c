#include "apps/svm/world.h"

#include "apps/svm/memory.h"

#include <stdio.h>
#include <string.h>

int tutti_svm_world_is_launched(void)
{
    static const char *const variables[] = {
        "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PMI_SIZE", NULL};
    for (int v = 0; variables[v]; v++)
        if (getenv(variables[v])) return 1;
    return 0;
}

tutti_status tutti_svm_gather(
    tutti_svm_world *world, const void *send, int64_t bytes, void *receive)
{
    for (int r = 0; r < world->size && world->size > 1; r++) world->counts[r] = bytes;
    return tutti_svm_gather_counts(world, send, world->size > 1 ? world->counts : &bytes, receive);
}

tutti_status tutti_svm_gather_counts(
    tutti_svm_world *world, const void *send, const int64_t counts[], void *receive)
{
    if (world->size > 1) return world->ops->gather(world, send, counts, receive);
    if (counts[0]) memcpy(receive, send, (size_t)counts[0]);
    return TUTTI_OK;
}

tutti_status tutti_svm_exchange(tutti_svm_world *world, const void *send,
    const int64_t send_counts[], void *receive, const int64_t receive_counts[])
{
    static char none; /* where there is nothing to send or receive */
    if (!send) send = &none;
    if (!receive) receive = &none;
    if (world->size > 1)
        return world->ops->exchange(world, send, send_counts, receive, receive_counts);
    if (send_counts[0]) memcpy(receive, send, (size_t)send_counts[0]);
    return TUTTI_OK;
}

tutti_status tutti_svm_shift(tutti_svm_world *world, const void *send, int64_t send_bytes,
    void *receive, int64_t receive_bytes)
{
    const int size = world->size;
    if (world->ops->shift)
        return world->ops->shift(world, send, send_bytes, receive, receive_bytes);
    memset(world->counts, 0, 2 * (size_t)size * sizeof *world->counts);
    world->counts[(world->rank + 1) % size] = send_bytes;
    world->counts[size + (world->rank + size - 1) % size] = receive_bytes;
    return world->ops->exchange(world, send, world->counts, receive, world->counts + size);
}

tutti_status tutti_svm_shifted(tutti_svm_world *world)
{
    return world->ops->shifted ? world->ops->shifted(world) : TUTTI_OK;
}

tutti_status tutti_svm_combine_all(tutti_svm_world *world, void *record, size_t bytes)
{
    if (world->size == 1) return TUTTI_OK;
    if (world->ops->combine) return world->ops->combine(world, record, bytes);
    char *all = tutti_svm_new(world->size, bytes);
    if (!all) return TUTTI_ERR_NOMEM;
    tutti_status status = tutti_svm_gather(world, record, (int64_t)bytes, all);
    for (size_t r = 1; r < (size_t)world->size && !status; r++)
        world->combine(all, all + r * bytes, all, bytes);
    if (!status) memcpy(record, all, bytes);
    free(all);
    return status;
}

tutti_status tutti_svm_run(tutti_svm_world *world, int parts, tutti_svm_work *work, void *ctx)
{
    if (world->ops && world->ops->run) return world->ops->run(world, parts, work, ctx);
    for (int p = 0; p < parts; p++) work(ctx, p);
    return TUTTI_OK;
}

typedef struct verdict {
    int status;
    char sentence[TUTTI_ERROR_TEXT];
} verdict;

tutti_status tutti_svm_agree(tutti_svm_world *world, tutti_status mine)
{
    if (world->size == 1) return mine;
    verdict own = {.status = (int)mine}, *all = tutti_svm_new(world->size, sizeof *all);
    if (mine) snprintf(own.sentence, sizeof own.sentence, "%s", tutti_last_error());
    if (!all) return TUTTI_ERR_NOMEM;
    tutti_status status = tutti_svm_gather(world, &own, sizeof own, all);
    for (int r = 0; r < world->size && !status; r++) {
        if (!all[r].status) continue;
        status = (tutti_status)all[r].status;
        if (!mine) tutti_fail(status, "%s", all[r].sentence);
    }
    free(all);
    return status;
}

tutti_status tutti_svm_place(tutti_svm_world *world, int64_t mine, int64_t *before, int64_t *all)
{
    int64_t *of = world->size > 1 ? world->counts + world->size : &mine;
    tutti_status status = tutti_svm_gather(world, &mine, sizeof mine, of);
    *before = *all = 0;
    for (int r = 0; r < world->size && !status; r++) {
        if (r < world->rank) *before += of[r];
        *all += of[r];
    }
    return status;
}

tutti_status tutti_svm_sum(tutti_svm_world *world, int64_t *value)
{
    int64_t before;
    return tutti_svm_place(world, *value, &before, value);
}

tutti_status tutti_svm_largest(tutti_svm_world *world, double *value)
{
    if (world->size == 1) return TUTTI_OK;
    double other;
    int64_t *all = world->counts + world->size;
    tutti_status status = tutti_svm_gather(world, value, sizeof *value, all);
    for (int r = 0; r < world->size && !status; r++) {
        memcpy(&other, &all[r], sizeof other);
        if (other > *value) *value = other;
    }
    return status;
}

tutti_status tutti_svm_broadcast(tutti_svm_world *world, void *data, int64_t bytes)
{
    if (world->size == 1) return TUTTI_OK;
    void *from = tutti_svm_new(bytes, 1);
    if (!from) return TUTTI_ERR_NOMEM;
    memcpy(from, data, (size_t)bytes);
    memset(world->counts, 0, (size_t)world->size * sizeof *world->counts);
    world->counts[0] = bytes;
    tutti_status status = tutti_svm_gather_counts(world, from, world->counts, data);
    free(from);
    return status;
}

/* Of `bytes` bytes of every rank and the whole of rank 0, one becomes the other. */
static tutti_status move_parts(
    tutti_svm_world *world, int collects, void *part, int64_t bytes, void *whole)
{
    const size_t size = (size_t)world->size;
    int64_t *all = tutti_svm_new(2 * world->size, sizeof *all), *here = all + size;
    if (!all) return TUTTI_ERR_NOMEM;
    tutti_status status = tutti_svm_gather(world, &bytes, sizeof bytes, all);
    if (world->rank) memset(all, 0, size * sizeof *all);
    here[0] = bytes;
    if (!status && collects) status = tutti_svm_exchange(world, part, here, whole, all);
    if (!status && !collects) status = tutti_svm_exchange(world, whole, all, part, here);
    free(all);
    return status;
}

tutti_status tutti_svm_collect(tutti_svm_world *world, const void *part, int64_t bytes, void *whole)
{
    return move_parts(world, 1, (void *)part, bytes, whole);
}

tutti_status tutti_svm_spread(tutti_svm_world *world, const void *whole, int64_t bytes, void *part)
{
    return move_parts(world, 0, part, bytes, (void *)whole);
}

tutti_status tutti_svm_output_begin(
    tutti_svm_world *world, const char *what, const char *path, tutti_svm_output *output)
{
    const tutti_file_options options = {.what = what, .path = path};
    *output = (tutti_svm_output){.world = world, .piece = (int64_t)64 << 20};
    const tutti_status mine = world->rank ? TUTTI_OK : tutti_file_begin(&options, &output->file);
    tutti_status status = tutti_svm_agree(world, mine);
    if (status && !mine && !world->rank) tutti_file_drop(&output->file);
    return status;
}

tutti_status tutti_svm_output_try(tutti_svm_world *world, const char *what, const char *path)
{
    const tutti_file_options options = {.what = what, .path = path};
    tutti_file file;
    tutti_status mine = TUTTI_OK;
    if (path && !world->rank) mine = tutti_file_begin(&options, &file);
    if (path && !world->rank && !mine) tutti_file_drop(&file);
    return tutti_svm_agree(world, mine);
}

/* What a rank has of a piece of the whole text. */
static int64_t share(int64_t begin, int64_t end, int64_t from, int64_t to)
{
    if (begin < from) begin = from;
    if (end > to) end = to;
    return end > begin ? end - begin : 0;
}

/* The bytes [from, to) of the whole text get to rank 0. begin[r]: where rank r's text begins in it. */
static tutti_status write_piece(tutti_svm_output *o, const char *text, const int64_t begin[],
    int64_t from, int64_t to, char *piece)
{
    const int rank = o->world->rank, size = o->world->size;
    int64_t *sent = o->world->counts, *received = sent + size;
    memset(sent, 0, 2 * (size_t)size * sizeof *sent);
    sent[0] = share(begin[rank], begin[rank + 1], from, to);
    for (int r = 0; r < size && !rank; r++) received[r] = share(begin[r], begin[r + 1], from, to);
    const char *mine = from > begin[rank] && sent[0] ? text + (from - begin[rank]) : text;
    tutti_status status = tutti_svm_exchange(o->world, mine, sent, piece, received);
    if (!status && !rank) tutti_file_write(&o->file, piece, (size_t)(to - from));
    return status;
}

tutti_status tutti_svm_output_write(tutti_svm_output *o, const void *text, size_t bytes)
{
    const int size = o->world->size;
    if (size == 1) {
        tutti_file_write(&o->file, text, bytes);
        return TUTTI_OK;
    }
    int64_t mine = (int64_t)bytes, *begin = tutti_svm_new(size + 1, sizeof *begin);
    char *piece = o->world->rank ? NULL : tutti_svm_new(o->piece, 1);
    tutti_status status = begin && (piece || o->world->rank) ? TUTTI_OK : TUTTI_ERR_NOMEM;
    status = tutti_svm_agree(o->world, status);
    if (!status) status = tutti_svm_gather(o->world, &mine, sizeof mine, begin + 1);
    for (int r = 0; r < size && !status; r++) begin[r + 1] += begin[r];
    for (int64_t from = 0; !status && from < begin[size]; from += o->piece) {
        const int64_t left = begin[size] - from, n = left < o->piece ? left : o->piece;
        status = write_piece(o, text, begin, from, from + n, piece);
    }
    free(begin);
    free(piece);
    return status;
}

tutti_status tutti_svm_output_end(tutti_svm_output *o, tutti_status mine)
{
    tutti_status status = tutti_svm_agree(o->world, mine);
    if (!o->world->rank && status) tutti_file_drop(&o->file);
    if (!o->world->rank && !status) status = tutti_file_end(&o->file);
    return tutti_svm_agree(o->world, status);
}
