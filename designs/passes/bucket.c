#include "designs/passes/bucket.h"

#include "dag/base/log.h"

#include <stdlib.h>

/* A bucket being filled. */
typedef struct bucket {
    int64_t bytes;
    int *mark, marks;
} bucket;

/* The sums of one verb over one group: an open bucket per element type. */
typedef struct filling {
    tutti_graph *graph;
    const int
        *follower; /* [tensor] the mark that gathers what a reduce-scatter has scattered; or -1 */
    int64_t limit;
    tutti_verb verb;
    int group, root;
    int64_t left; /* bytes of the section's marks that are in no bucket yet, open or closed */
    bucket open[TUTTI_DTYPE_COUNT];
} filling;

static const tutti_tensor *marked_tensor(const tutti_graph *graph, int node)
{
    return tutti_graph_get_tensor(graph, tutti_graph_get_node(graph, node)->access[0].tensor);
}

static int is_mark(const tutti_node *node, tutti_verb verb)
{
    return node->kind == TUTTI_NODE_MARK && node->mark.verb == verb;
}

/* Whether a node is a mark that buckets take: a sum, a broadcast, or a gather of rows. Not a reduce-scatter that no
 * gather follows: its blocks are those of its own tensor. */
static int is_sum(const filling *f, int node)
{
    const tutti_node *n = tutti_graph_get_node(f->graph, node);
    if (is_mark(n, TUTTI_MARK_ALLGATHER)) return n->mark.rows;
    if (!is_mark(n, TUTTI_MARK_REDUCE_SCATTER))
        return is_mark(n, TUTTI_MARK_ALLREDUCE) || is_mark(n, TUTTI_MARK_REDUCE) ||
               is_mark(n, TUTTI_MARK_BROADCAST);
    int gather = f->follower[n->mark.tensor];
    return gather >= 0 && tutti_graph_get_node(f->graph, gather)->mark.follows == node + 1;
}

/* Whether the mark is among those being fused now. */
static int is_taken(const filling *f, int node)
{
    const tutti_mark *mark = &tutti_graph_get_node(f->graph, node)->mark;
    return is_sum(f, node) && mark->verb == f->verb && mark->group == f->group &&
           mark->root == f->root;
}

/* Bytes of these sums in this section. */
static int64_t bytes_of(const filling *f, int section)
{
    int64_t total = 0;
    for (int n = 0; n < tutti_graph_nodes(f->graph); n++)
        if (is_taken(f, n) && tutti_graph_get_node(f->graph, n)->section == section)
            total += (int64_t)marked_tensor(f->graph, n)->bytes;
    return total;
}

int64_t tutti_bucket_default_bytes(const tutti_graph *graph)
{
    enum { PARTS = 8, LEAST = 64 << 10, MOST = 4 << 20 };
    int64_t total = 0;
    for (int n = 0; n < tutti_graph_nodes(graph); n++) {
        const tutti_node *node = tutti_graph_get_node(graph, n);
        if (is_mark(node, TUTTI_MARK_ALLREDUCE) || is_mark(node, TUTTI_MARK_REDUCE_SCATTER) ||
            is_mark(node, TUTTI_MARK_REDUCE) ||
            (is_mark(node, TUTTI_MARK_ALLGATHER) && node->mark.rows))
            total += (int64_t)marked_tensor(graph, n)->bytes;
    }
    int64_t part = total / PARTS;
    return part < LEAST ? LEAST : part > MOST ? MOST : part;
}

/* The size limit of this bucket. */
static int64_t limit_of(const filling *f, const bucket *b)
{
    enum { LEAST = 16 << 10 };
    int64_t half = (f->left + b->bytes) / 2, most = half < LEAST ? LEAST : half;
    return most < f->limit ? most : f->limit;
}

static tutti_status close_bucket(filling *f, bucket *b)
{
    int marks = b->marks;
    b->marks = 0;
    b->bytes = 0;
    if (!marks) return TUTTI_OK;
    return f->verb == TUTTI_MARK_ALLGATHER ? tutti_graph_join(f->graph, marks, b->mark)
                                           : tutti_graph_fuse(f->graph, marks, b->mark);
}

static tutti_status close_all(filling *f)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < TUTTI_DTYPE_COUNT && !status; i++) status = close_bucket(f, &f->open[i]);
    return status;
}

/* Whether a node uses a sum of the bucket, or one of its inputs: then the bucket's marks cannot wait for later
 * ones. */
static int uses_bucket(const filling *f, const bucket *b, const tutti_node *node)
{
    for (int m = 0; m < b->marks; m++) {
        const tutti_node *mark = tutti_graph_get_node(f->graph, b->mark[m]);
        for (int i = 0; i < mark->accesses; i++)
            for (int a = 0; a < node->accesses; a++)
                if (node->access[a].tensor == mark->access[i].tensor) return 1;
    }
    return 0;
}

static tutti_status close_used(filling *f, const tutti_node *node)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < TUTTI_DTYPE_COUNT && !status; i++)
        if (uses_bucket(f, &f->open[i], node)) status = close_bucket(f, &f->open[i]);
    return status;
}

/* Whether an earlier sum has already laid out the tensor, or one of its vectors, with others: then the mark is not
 * fused. */
static int is_laid_out(const tutti_graph *graph, int n)
{
    const tutti_node *node = tutti_graph_get_node(graph, n);
    for (int a = 0; a < node->accesses; a++) {
        const tutti_tensor *tensor = tutti_graph_get_tensor(graph, node->access[a].tensor);
        if (tensor->block != node->access[a].tensor || tensor->block_bytes != tensor->bytes)
            return 1;
    }
    return 0;
}

/* Marks of different priorities, or with other numbers of vectors, are separate collectives. */
static int fits_bucket(const filling *f, const bucket *b, int n, int64_t bytes)
{
    const tutti_node *node = tutti_graph_get_node(f->graph, n),
                     *first = tutti_graph_get_node(f->graph, b->mark[0]);
    return b->bytes + bytes <= limit_of(f, b) && first->place.priority == node->place.priority &&
           first->mark.vectors == node->mark.vectors;
}

static tutti_status add_mark(filling *f, int n)
{
    const tutti_tensor *tensor = marked_tensor(f->graph, n);
    bucket *b = &f->open[tensor->dtype];
    int64_t bytes = (int64_t)tensor->bytes;
    tutti_status status = close_used(f, tutti_graph_get_node(f->graph, n));
    if (!status && !is_laid_out(f->graph, n)) {
        if (b->marks && !fits_bucket(f, b, n, bytes)) status = close_bucket(f, b);
        b->mark[b->marks++] = n;
        b->bytes += bytes;
    }
    f->left -= bytes;
    return status;
}

/* Any other mark uses a sum like a kernel. */
static tutti_status fuse_marks(filling *f, int nodes)
{
    tutti_status status = TUTTI_OK;
    int section = -1;
    for (int n = 0; n < nodes && !status; n++) {
        const tutti_node *node = tutti_graph_get_node(f->graph, n);
        if (node->section != section) {
            status = close_all(f);
            section = node->section;
            f->left = bytes_of(f, section);
        }
        if (status) return status;
        status = is_taken(f, n) ? add_mark(f, n) : close_used(f, node);
    }
    return status ? status : close_all(f);
}

/* Whether no sum before this one has the same verb, group and root. */
static int is_first(const filling *f, int n)
{
    const tutti_mark *mark = &tutti_graph_get_node(f->graph, n)->mark;
    for (int i = n - 1; i >= 0; i--) {
        const tutti_node *before = tutti_graph_get_node(f->graph, i);
        if (before->mark.group == mark->group && before->mark.verb == mark->verb &&
            before->mark.root == mark->root &&
            (is_sum(f, i) || before->kind == TUTTI_NODE_ABSORBED))
            return 0;
    }
    return 1;
}

/* ---- what follows a reduce-scatter ---- */

static void find_followers(const tutti_graph *graph, int follower[])
{
    for (int t = 0; t < tutti_graph_tensors(graph); t++) follower[t] = -1;
    for (int n = 0; n < tutti_graph_nodes(graph); n++) {
        const tutti_node *node = tutti_graph_get_node(graph, n);
        if (node->kind == TUTTI_NODE_MARK && node->mark.follows)
            follower[tutti_graph_get_node(graph, node->mark.follows - 1)->mark.tensor] = n;
    }
}

/* The gathers that follow the sums of a bucket are laid out as these are, in one collective. */
static tutti_status fuse_gathers(const filling *f, int mark[])
{
    tutti_status status = TUTTI_OK;
    for (int n = 0; n < tutti_graph_nodes(f->graph) && !status; n++) {
        const tutti_node *node = tutti_graph_get_node(f->graph, n);
        if (!is_mark(node, TUTTI_MARK_REDUCE_SCATTER)) continue;
        const int each = 1 + node->mark.vectors, sums = node->accesses / each;
        if (sums < 2) continue;
        for (int s = 0; s < sums; s++) mark[s] = f->follower[node->access[s * each].tensor];
        status = tutti_graph_fuse(f->graph, sums, mark);
    }
    return status;
}

tutti_status tutti_bucket_fuse(tutti_graph *graph, int64_t bytes)
{
    if (bytes <= 0) return TUTTI_OK;
    size_t nodes = (size_t)tutti_graph_nodes(graph);
    int *marks = calloc(TUTTI_DTYPE_COUNT * (nodes + 1), sizeof *marks);
    int *follower = malloc((size_t)(tutti_graph_tensors(graph) + 1) * sizeof *follower);
    filling f = {.graph = graph, .follower = follower, .limit = bytes};
    tutti_status status =
        marks && follower ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for buckets");
    if (!status) find_followers(graph, follower);
    for (size_t i = 0; i < TUTTI_DTYPE_COUNT && !status; i++)
        f.open[i].mark = marks + i * (nodes + 1);
    for (int n = 0; n < (int)nodes && !status; n++) {
        if (!is_sum(&f, n) || !is_first(&f, n)) continue;
        f.group = tutti_graph_get_node(graph, n)->mark.group;
        f.verb = tutti_graph_get_node(graph, n)->mark.verb;
        f.root = tutti_graph_get_node(graph, n)->mark.root;
        status = fuse_marks(&f, (int)nodes);
    }
    if (!status) status = fuse_gathers(&f, marks);
    free(marks);
    free(follower);
    return status;
}
