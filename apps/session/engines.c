#include "apps/session/engines.h"

#include "dag/base/log.h"
#include "dag/device/device.h"

#include <stdlib.h>
#include <string.h>

static const char gpu_key[] = "GPU";

/* ---- this rank ---- */

/* A table says for which kind of GPU it is. */
static tutti_status put_gpu(const tutti_binding_place *place)
{
    tutti_device_info info;
    if (tutti_engines_find(place->engines, gpu_key)) return TUTTI_OK;
    tutti_status status = tutti_device_kind_built.info(place->gpu, &info);
    return status ? status : tutti_engines_put(place->engines, gpu_key, info.name);
}

static tutti_status choose(const tutti_graph *graph, const tutti_binding_place *place)
{
    const tutti_status status = put_gpu(place);
    return status ? status : tutti_binding_choose_engines(graph, place);
}

/* The first engine in the table that is of another library than this rank's, or of another version; NULL: none. */
static const char *find_foreign(const tutti_engines *given, const char *library)
{
    const size_t length = strlen(library);
    for (int i = 0; i < tutti_engines_count(given); i++) {
        const char *computed, *engine;
        tutti_engines_row(given, i, &computed, &engine);
        const int is_engine = strcmp(computed, gpu_key) != 0 && strstr(engine, " e") != NULL;
        if (is_engine && (strncmp(engine, library, length) != 0 || engine[length] != ' '))
            return engine;
    }
    return NULL;
}

/* Whether the table holds on this rank's GPU, with its library; else a warning says what does not. */
static int holds(const tutti_engines *given, const tutti_device_info *info, const char *from)
{
    static const char then[] = "this run chooses others, and adds in another order";
    char library[TUTTI_ENGINES_LIBRARY];
    const char *gpu = tutti_engines_find(given, gpu_key);
    const char *foreign = find_foreign(given, tutti_engines_library(library));
    if (!gpu || strcmp(gpu, info->name) != 0)
        tutti_log(TUTTI_LOG_WARN, "%s: its engines were chosen on %s, and this is %s: %s", from,
            gpu ? gpu : "an unknown GPU", info->name, then);
    else if (foreign)
        tutti_log(TUTTI_LOG_WARN, "%s: its engines are those of %.*s, and this is %s: %s", from,
            (int)(strstr(foreign, " e") - foreign), foreign, library, then);
    else
        return 1;
    return 0;
}

tutti_status tutti_session_engines_read(
    const tutti_binding_place *place, const char *text, const char *from)
{
    tutti_device_info info;
    tutti_engines *given;
    tutti_status status = tutti_device_kind_built.info(place->gpu, &info);
    if (!status) status = tutti_engines_new(&given);
    if (status) return status;
    status = tutti_engines_read(given, text);
    if (!status && holds(given, &info, from)) status = tutti_engines_read(place->engines, text);
    tutti_engines_free(given);
    return status;
}

/* ---- all ranks ---- */

/* A rank's text on all ranks; the caller frees it. */
static tutti_status share(
    tutti_exchange *exchange, int root, const char *mine, int64_t bytes, char **text)
{
    char *shared = calloc((size_t)bytes + 1, 1);
    const tutti_status room =
        shared ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for a table of engines");
    tutti_status status = tutti_exchange_agree(exchange, room, NULL);
    if (!status && mine) memcpy(shared, mine, (size_t)bytes);
    if (!status)
        status = tutti_exchange_broadcast(exchange, "engines", TUTTI_U8, root, bytes, shared);
    if (status)
        free(shared);
    else
        *text = shared;
    return status;
}

/* Adds the texts of all ranks, in their order, to a table; sizes: of each, 0: none. */
static tutti_status gather(
    tutti_exchange *exchange, const char *mine, const int64_t sizes[], tutti_engines *merged)
{
    const int rank = tutti_exchange_rank(exchange);
    tutti_status status = TUTTI_OK;
    for (int r = 0; r < tutti_exchange_size(exchange) && !status; r++) {
        char *text = NULL;
        if (!sizes[r]) continue;
        status = share(exchange, r, r == rank ? mine : NULL, sizes[r], &text);
        if (!status)
            status = tutti_exchange_agree(exchange, tutti_engines_read(merged, text), NULL);
        free(text);
    }
    return status;
}

static tutti_status take_merged(tutti_engines *engines, const tutti_engines *merged)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < tutti_engines_count(merged) && !status; i++) {
        const char *computed, *engine;
        tutti_engines_row(merged, i, &computed, &engine);
        status = tutti_engines_put(engines, computed, engine);
    }
    return status;
}

/* Makes tables equal, in which the first rank that has a row counts. gives: this rank's table counts. */
static tutti_status merge(tutti_exchange *exchange, tutti_engines *engines, int gives)
{
    const int size = tutti_exchange_size(exchange);
    int64_t *sizes = calloc((size_t)size, sizeof *sizes), own = 0;
    char *mine = tutti_engines_print(engines);
    tutti_engines *merged = NULL;
    tutti_status status = tutti_engines_new(&merged);
    if (!status && (!sizes || !mine))
        status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for the engines of %d ranks", size);
    if (mine && gives) own = (int64_t)strlen(mine);
    tutti_coll_args args = {.kind = TUTTI_ALLGATHER,
        .dtype = TUTTI_I64,
        .count = 1,
        .out_of_place = 1,
        .send = &own,
        .recv = sizes};
    status = tutti_exchange_agree(exchange, status, NULL);
    if (!status) status = tutti_exchange_call(exchange, "the sizes of tables of engines", &args);
    if (!status) status = gather(exchange, mine, sizes, merged);
    if (!status) status = tutti_exchange_agree(exchange, take_merged(engines, merged), NULL);
    tutti_engines_free(merged);
    free(sizes);
    free(mine);
    return status;
}

tutti_status tutti_session_engines_agree(
    tutti_exchange *exchange, const tutti_graph *graph, const tutti_binding_place *place)
{
    tutti_engines *engines = place->engines;
    if (!engines || place->device == TUTTI_CPU) return TUTTI_OK;
    const int ranks = exchange ? tutti_exchange_size(exchange) : 1;
    const int rank = exchange ? tutti_exchange_rank(exchange) : 0;
    tutti_status status = rank ? TUTTI_OK : choose(graph, place);
    if (ranks == 1) return status;
    status = tutti_exchange_agree(exchange, status, NULL);
    if (!status) status = merge(exchange, engines, rank == 0);
    if (status) return status;
    const int had = tutti_engines_count(engines);
    status = tutti_exchange_agree(exchange, rank ? choose(graph, place) : TUTTI_OK, NULL);
    if (status) return status;
    return merge(exchange, engines, rank == 0 || tutti_engines_count(engines) > had);
}
