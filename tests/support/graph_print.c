#include "tests/support/graph_print.h"

#include "dag/graph/edges.h"

static void print_kind(const tutti_node *n, FILE *out)
{
    static const char *const kinds[] = {"", "", " (collective)", " (fused)"};
    const tutti_mark *mark = &n->mark;
    if (n->kind != TUTTI_NODE_MARK)
        fputs(kinds[n->kind], out);
    else if (mark->verb == TUTTI_MARK_SEND || mark->verb == TUTTI_MARK_RECV)
        fprintf(
            out, " (%s, rank %d, edge %d)", tutti_verb_name(mark->verb), mark->peer, mark->edge);
    else if (mark->group)
        fprintf(out, " (%s over group %d)", tutti_verb_name(mark->verb), mark->group);
    else if (mark->verb == TUTTI_MARK_ALLREDUCE)
        fputs(" (sum over ranks)", out);
    else
        fprintf(out, " (%s over ranks)", tutti_verb_name(mark->verb));
}

void tutti_graph_print(const tutti_graph *graph, int section, FILE *out)
{
    static const char *const modes[] = {
        [TUTTI_READ] = "r", [TUTTI_WRITE] = "w", [TUTTI_READWRITE] = "rw", [TUTTI_CHAIN] = "chain"};
    for (int i = 0; i < tutti_graph_nodes(graph); i++) {
        const tutti_node *n = tutti_graph_get_node(graph, i);
        if (n->section != section) continue;
        fprintf(out, "%d %s", i, n->name);
        print_kind(n, out);
        fputc(':', out);
        for (int a = 0; a < n->accesses; a++)
            fprintf(out, "%s %s %s", a ? "," : "",
                tutti_graph_get_tensor(graph, n->access[a].tensor)->name, modes[n->access[a].mode]);
        if (n->place.lane >= 0)
            fprintf(out, "  @ lane %d, index %lld", n->place.lane, (long long)n->place.index);
        fputc('\n', out);
    }
}

static void print_edge(void *ctx, int64_t from, int64_t to, tutti_edge edge)
{
    static const char *const looks[] = {
        [TUTTI_EDGE_END] = "", [TUTTI_EDGE_START] = " [style=dashed]"};
    fprintf(ctx, "  n%lld -> n%lld%s;\n", (long long)from, (long long)to, looks[edge]);
}

tutti_status tutti_edges_dot(const tutti_graph *graph, int section, FILE *out)
{
    static const char *const looks[] = {
        "shape=box", "shape=box,style=dashed", "shape=ellipse,style=filled"};
    tutti_edges *edges;
    tutti_status status = tutti_edges_new(tutti_graph_tensors(graph), &edges);
    if (status) return status;
    fprintf(out, "digraph \"%s\" {\n", tutti_graph_section_name(graph, section));
    for (int i = 0; i < tutti_graph_nodes(graph) && !status; i++) {
        const tutti_node *n = tutti_graph_get_node(graph, i);
        if (n->section != section) continue;
        fprintf(out, "  n%d [label=\"%s\",%s];\n", i, n->name, looks[n->kind]);
        status = tutti_edges_add(edges, i, n->accesses, n->access, print_edge, out);
    }
    fprintf(out, "}\n");
    tutti_edges_free(edges);
    return status;
}
