#include "designs/passes/bucket.h"

#include "dag/base/log.h"

#include <stdlib.h>

/* The bucket being filled. */
typedef struct filling {
    tutti_graph *graph;
    int64_t limit, bytes;
    int64_t left; /* bytes of the section's marks that are in no bucket yet, not even this one */
    int *mark, marks;
} filling;

static const tutti_tensor *marked_tensor(const tutti_graph *graph, int node)
{
    return tutti_graph_get_tensor(graph, tutti_graph_get_node(graph, node)->access[0].tensor);
}

static int is_mark(const tutti_graph *graph, int node)
{
    return tutti_graph_get_node(graph, node)->kind == TUTTI_NODE_MARK;
}

/* Bytes of this section's marks or, with -1, of all marks. */
static int64_t marked_bytes(const tutti_graph *graph, int section)
{
    int64_t total = 0;
    for (int n = 0; n < tutti_graph_nodes(graph); n++)
        if (is_mark(graph, n) &&
            (section < 0 || tutti_graph_get_node(graph, n)->section == section))
            total += (int64_t)marked_tensor(graph, n)->bytes;
    return total;
}

int64_t tutti_bucket_default_bytes(const tutti_graph *graph)
{
    enum { PARTS = 8, LEAST = 64 << 10, MOST = 4 << 20 };
    int64_t part = marked_bytes(graph, -1) / PARTS;
    return part < LEAST ? LEAST : part > MOST ? MOST : part;
}

/* The size limit of this bucket. */
static int64_t limit_of(const filling *f)
{
    enum { LEAST = 16 << 10 };
    int64_t half = (f->left + f->bytes) / 2, most = half < LEAST ? LEAST : half;
    return most < f->limit ? most : f->limit;
}

static tutti_status close_bucket(filling *f)
{
    int marks = f->marks;
    f->marks = 0;
    f->bytes = 0;
    return marks ? tutti_graph_fuse(f->graph, marks, f->mark) : TUTTI_OK;
}

/* Whether a node uses a sum of the bucket: then its marks cannot wait for later ones. */
static int uses(const filling *f, const tutti_node *node)
{
    for (int m = 0; m < f->marks; m++) {
        int tensor = tutti_graph_get_node(f->graph, f->mark[m])->access[0].tensor;
        for (int a = 0; a < node->accesses; a++)
            if (node->access[a].tensor == tensor) return 1;
    }
    return 0;
}

static int fits(const filling *f, int n)
{
    const tutti_node *first = tutti_graph_get_node(f->graph, f->mark[0]);
    const tutti_tensor *tensor = marked_tensor(f->graph, n);
    return f->bytes + (int64_t)tensor->bytes <= limit_of(f) &&
           tensor->dtype == marked_tensor(f->graph, f->mark[0])->dtype &&
           tutti_graph_get_node(f->graph, n)->section == first->section;
}

static tutti_status take(filling *f, int n)
{
    tutti_status status = f->marks && !fits(f, n) ? close_bucket(f) : TUTTI_OK;
    int64_t bytes = (int64_t)marked_tensor(f->graph, n)->bytes;
    f->mark[f->marks++] = n;
    f->bytes += bytes;
    f->left -= bytes;
    return status;
}

tutti_status tutti_bucket_fuse(tutti_graph *graph, int64_t bytes)
{
    if (bytes <= 0) return TUTTI_OK;
    int nodes = tutti_graph_nodes(graph);
    filling f = {.graph = graph, .limit = bytes};
    f.mark = calloc((size_t)nodes + 1, sizeof *f.mark);
    if (!f.mark) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for buckets");
    tutti_status status = TUTTI_OK;
    int section = -1;
    for (int n = 0; n < nodes && !status; n++) {
        if (tutti_graph_get_node(graph, n)->section != section) {
            section = tutti_graph_get_node(graph, n)->section;
            f.left = marked_bytes(graph, section);
        }
        if (is_mark(graph, n))
            status = take(&f, n);
        else if (uses(&f, tutti_graph_get_node(graph, n)))
            status = close_bucket(&f);
    }
    if (!status) status = close_bucket(&f);
    free(f.mark);
    return status;
}
