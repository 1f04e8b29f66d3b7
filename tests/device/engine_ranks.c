/* One of three ranks that agree on engines chosen by timing, run by engines.sh under mpirun on the fake device: the
 * tables of all become equal, and have, of each convolution, what the first rank that computes it has chosen. Ranks 0
 * and 1 lack the engine that is the fastest elsewhere. Exit status: 0 if all of it is so. */
#include "apps/session/engines.h"
#include "apps/session/session.h"
#include "collectives/boot.h"
#include "dag/kernels/conv.h"
#include "dag/net/site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 3, C = 8 };

static void must(int well, const char *what)
{
    if (well) return;
    printf("%s\n", what);
    tutti_boot_abort(EXIT_FAILURE);
}

/* A convolution of N images, which are its number. */
static void add_conv(tutti_graph *graph, int64_t N)
{
    const tutti_conv_desc desc = {
        .N = N, .H = 4, .W = 4, .C = C, .K = C, .R = 3, .S = 3, .stride = {1, 1}, .pad = {1, 1}};
    const tutti_shape shape[] = {
        tutti_shape_of(N, 4, 4, C), tutti_shape_of(C, 3, 3, C), tutti_shape_of(N, 4, 4, C)};
    char name[32];
    int tensor[3], node;
    for (int t = 0; t < 3; t++) {
        snprintf(name, sizeof name, "%c%lld", "xwy"[t], (long long)N);
        must(!tutti_graph_tensor(graph, name, TUTTI_ROLE_SCRATCH, TUTTI_F32, shape[t], &tensor[t]),
            "a tensor");
    }
    const tutti_access access[] = {
        tutti_reads(tensor[0]), tutti_reads(tensor[1]), tutti_writes(tensor[2])};
    snprintf(name, sizeof name, "conv%lld", (long long)N);
    must(!tutti_graph_kernel(graph, name, &tutti_op_conv, &desc, sizeof desc, 3, access, &node),
        "a convolution");
}

/* The first rank that has convolution N chose this value of the knob. */
static void expect(const tutti_engines *engines, int N, int tile)
{
    char computed[200], engine[64];
    snprintf(computed, sizeof computed, "conv f32 %dx4x4x8 8x3x3 stride 1x1 pad 1x1 groups 1", N);
    snprintf(engine, sizeof engine, " e14 2=%d", tile);
    const char *found = tutti_engines_find(engines, computed);
    must(found && strstr(found, engine), computed);
}

int main(void)
{
    const char *number = getenv("OMPI_COMM_WORLD_RANK");
    const int rank = number ? atoi(number) : -1;
    tutti_training_session s;
    tutti_engines *engines;
    must(rank >= 0 && !setenv("TUTTI_FAKE_CUDNN_LACKS", rank < 2 ? "14:2" : "none", 1) &&
             !tutti_engines_new(&engines),
        "no rank, or no memory");
    const tutti_training_session_options options = {.workers = 1,
        .device = "cuda",
        .place.engines = engines,
        .exchange = {.design = tutti_design_find("funneled"),
            .bucket_bytes = -1,
            .chunk_bytes = -1,
            .timeout_s = 60}};
    must(!tutti_training_session_open(&options, &s) && !tutti_training_session_blank(&s) &&
             tutti_exchange_size(s.exchange) == RANKS,
        "no session of three ranks");
    add_conv(s.graph, 1);
    if (rank > 0) add_conv(s.graph, 2);
    if (rank > 1) add_conv(s.graph, 3);
    must(!tutti_training_session_apply(&s), "the graph cannot be applied");
    must(!tutti_session_engines_agree(s.exchange, s.graph, &s.place), "the ranks do not agree");
    char *mine = tutti_engines_print(engines);
    must(mine != NULL, "no text");
    must(tutti_engines_count(engines) == 4, mine);
    expect(engines, 1, 1);
    expect(engines, 2, 1);
    expect(engines, 3, 2);
    free(mine);
    must(!tutti_training_session_close(&s), "the session does not close");
    tutti_engines_free(engines);
    return EXIT_SUCCESS;
}
