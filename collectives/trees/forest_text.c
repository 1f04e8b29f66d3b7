#include "collectives/trees/forest_text.h"

#include "collectives/links/quantity.h"
#include "collectives/links/topology_text.h"
#include "collectives/trees/network.h"
#include "dag/base/lines.h"
#include "dag/base/log.h"
#include "dag/base/number.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 1 << 16, MOST_TREES = 1 << 16 };

/* Rates are written in decimal: the load of a full capacity may be as much more. */
static const double slack = 1e-6;

typedef struct reader {
    tutti_lines lines;
    const tutti_topology *topology; /* NULL: none */
    uint64_t hash;                  /* of the topology */
    int P;                          /* 0: not yet known */
    tutti_forest *forest;
    int *parent;                 /* [P] */
    tutti_tree_network *network; /* NULL: no topology */
    double *load;                /* of its capacities */
} reader;

static tutti_status read_topology(reader *r, char *rest)
{
    const char *word = tutti_lines_cut_word(&rest);
    uint64_t own = 0;
    if (!word || strlen(word) != 16 || strspn(word, "0123456789abcdef") != 16 ||
        tutti_lines_cut_word(&rest))
        return tutti_lines_fail(
            &r->lines, "the hash of a topology has 16 digits, as in 'topology 0123456789abcdef'");
    r->hash = strtoull(word, NULL, 16);
    tutti_status status = r->topology ? tutti_topology_hash(r->topology, &own) : TUTTI_OK;
    if (!status && r->topology && own != r->hash)
        status = tutti_lines_fail(&r->lines,
            "these trees are for another topology: theirs is %s, this one is %016" PRIx64, word,
            own);
    return status;
}

static tutti_status open_load(reader *r)
{
    tutti_status status =
        r->topology ? tutti_tree_network_of_routes(r->topology, &r->network) : TUTTI_OK;
    if (status || !r->network) return status;
    r->load = calloc((size_t)r->network->capacities + 1, sizeof *r->load);
    return r->load ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for a forest");
}

static tutti_status read_ranks(reader *r, char *rest)
{
    const char *word = tutti_lines_cut_word(&rest);
    int64_t P;
    if (!word || !tutti_number_int(word, &P) || P < 1 || P > MOST_RANKS ||
        tutti_lines_cut_word(&rest))
        return tutti_lines_fail(
            &r->lines, "the number of ranks is 1 to %d, as in 'ranks 8'", MOST_RANKS);
    if (r->topology && P != r->topology->ranks)
        return tutti_lines_fail(
            &r->lines, "trees of %d ranks, for a topology of %d", (int)P, r->topology->ranks);
    r->P = (int)P;
    r->parent = malloc((size_t)P * sizeof *r->parent);
    if (!r->parent) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a forest");
    tutti_status status = tutti_forest_new(r->P, 0, &r->forest);
    return status ? status : open_load(r);
}

/* A rank, as "3". */
static int read_rank(const reader *r, const char *word, int *rank)
{
    int64_t number;
    if (!word || !word[0] || word[strspn(word, "0123456789")]) return 0;
    if (!tutti_number_int(word, &number) || number < 0 || number >= r->P) return 0;
    *rank = (int)number;
    return 1;
}

/* "3<2" */
static tutti_status read_edge(reader *r, int root, char *word)
{
    char *parent = strchr(word, '<');
    int child, above;
    if (parent) *parent++ = '\0';
    if (!parent || !read_rank(r, word, &child) || !read_rank(r, parent, &above))
        return tutti_lines_fail(&r->lines, "'%s%s%s': an edge is CHILD<PARENT, of ranks 0 to %d",
            word, parent ? "<" : "", parent ? parent : "", r->P - 1);
    if (child == root)
        return tutti_lines_fail(&r->lines, "rank %d is the root: it has no parent", child);
    if (r->parent[child] >= 0) return tutti_lines_fail(&r->lines, "rank %d has two parents", child);
    r->parent[child] = above;
    return TUTTI_OK;
}

static tutti_status check_spanning(const reader *r, int root)
{
    for (int v = 0; v < r->P; v++) {
        int at = v, steps = 0;
        if (v != root && r->parent[v] < 0)
            return tutti_lines_fail(
                &r->lines, "rank %d has no parent: a tree has every rank but its root, once", v);
        while (at != root && r->parent[at] >= 0 && steps++ < r->P) at = r->parent[at];
        if (at != root && r->parent[at] >= 0)
            return tutti_lines_fail(&r->lines, "rank %d is in a circle", v);
    }
    return TUTTI_OK;
}

static tutti_status check_load(const reader *r, double rate)
{
    const tutti_tree_network *n = r->network;
    if (!n) return TUTTI_OK;
    tutti_tree_network_add_load(n, r->parent, rate, r->load);
    for (int e = 0; e < n->edges; e++) {
        if (r->parent[n->to[e]] != n->from[e]) continue;
        for (int k = n->first[e]; k < n->first[e + 1]; k++) {
            double load = r->load[n->use[k]], most = n->capacity[n->use[k]];
            if (load > most * (1 + slack))
                return tutti_lines_fail(&r->lines,
                    "the trees so far send %g GB/s over a link of %g GB/s, from rank %d to rank %d",
                    load / 1e9, most / 1e9, n->from[e], n->to[e]);
        }
    }
    return TUTTI_OK;
}

static tutti_status read_tree(reader *r, char *rest)
{
    char *edges = strchr(rest, ':');
    int root = -1;
    double rate;
    if (edges) *edges++ = '\0';
    const char *number = tutti_lines_cut_word(&rest), *weight = tutti_lines_cut_word(&rest);
    if (!edges || !number || !weight || tutti_lines_cut_word(&rest))
        return tutti_lines_fail(&r->lines, "a tree is written 'tree ROOT RATE: CHILD<PARENT ...'");
    if (!read_rank(r, number, &root))
        return tutti_lines_fail(
            &r->lines, "the root '%s' is not a rank: 0 to %d", number, r->P - 1);
    if (!tutti_rate_read(weight, &rate))
        return tutti_lines_fail(&r->lines,
            "the rate '%s' must be more than 0, a number and its unit, as in '25GB/s'", weight);
    if (r->forest->trees == MOST_TREES)
        return tutti_lines_fail(&r->lines, "more than %d trees", MOST_TREES);
    for (int v = 0; v < r->P; v++) r->parent[v] = -1;
    tutti_status status = TUTTI_OK;
    for (char *word; !status && (word = tutti_lines_cut_word(&edges));)
        status = read_edge(r, root, word);
    if (!status) status = check_spanning(r, root);
    if (!status) status = check_load(r, rate);
    return status ? status : tutti_forest_add(r->forest, r->parent, rate);
}

/* The lines of a text: each kind may come when those before it have come. */
static tutti_status read_line(reader *r, char *line, int *begun)
{
    char *rest = line;
    const char *word = tutti_lines_cut_word(&rest);
    if (*begun == 0) {
        const char *version = tutti_lines_cut_word(&rest);
        if (strcmp(word, "forest") != 0 || !version || strcmp(version, "1") != 0 ||
            tutti_lines_cut_word(&rest))
            return tutti_lines_fail(&r->lines, "the first line must be 'forest 1'");
        *begun = 1;
        return TUTTI_OK;
    }
    if (*begun == 1 && !strcmp(word, "topology")) {
        *begun = 2;
        return read_topology(r, rest);
    }
    if (*begun == 2 && !strcmp(word, "ranks")) {
        *begun = 3;
        return read_ranks(r, rest);
    }
    if (*begun == 3 && !strcmp(word, "tree")) return read_tree(r, rest);
    static const char *const next[] = {
        "", "topology HASH", "ranks P", "tree ROOT RATE: CHILD<PARENT ..."};
    return tutti_lines_fail(
        &r->lines, "'%s' is unexpected here; a line '%s' comes next", word, next[*begun]);
}

static tutti_status read_lines(reader *r)
{
    tutti_status status = TUTTI_OK;
    char *line;
    int begun = 0;
    r->lines.comment = '#';
    while (!status && !(status = tutti_lines_next(&r->lines, &line)) && line)
        status = read_line(r, line, &begun);
    if (!status && !begun)
        status = tutti_lines_fail(&r->lines, "the first line must be 'forest 1'");
    if (!status && (begun < 3 || !r->forest->trees))
        status = tutti_lines_fail(&r->lines, "the forest has no trees");
    return status;
}

/* Takes the lines over. */
static tutti_status read_forest(
    tutti_lines lines, const tutti_topology *topology, tutti_forest **forest, uint64_t *hash)
{
    reader r = {.lines = lines, .topology = topology};
    tutti_status status = read_lines(&r);
    if (status) {
        tutti_forest_free(r.forest);
    } else {
        *forest = r.forest;
        *hash = r.hash;
    }
    tutti_tree_network_free(r.network);
    free(r.load);
    free(r.parent);
    tutti_lines_close(&lines);
    return status;
}

tutti_status tutti_forest_read(const char *text, const char *name, const tutti_topology *topology,
    tutti_forest **forest, uint64_t *hash)
{
    tutti_lines lines;
    tutti_status status = tutti_lines_copy(name, text, &lines);
    return status ? status : read_forest(lines, topology, forest, hash);
}

tutti_status tutti_forest_open(
    const char *path, const tutti_topology *topology, tutti_forest **forest, uint64_t *hash)
{
    tutti_lines lines;
    tutti_status status = tutti_lines_open(path, &lines);
    if (status == TUTTI_ERR_IO) return TUTTI_ERR_USAGE;
    return status ? status : read_forest(lines, topology, forest, hash);
}

tutti_status tutti_forest_print(const tutti_forest *f, uint64_t hash, FILE *out)
{
    fprintf(out, "forest 1\ntopology %016" PRIx64 "\nranks %d\n", hash, f->P);
    for (int t = 0; t < f->trees; t++) {
        fprintf(out, "tree %d ", tutti_tree_root(f->tree[t].parent));
        tutti_rate_print(out, f->tree[t].weight);
        fputc(':', out);
        for (int r = 0; r < f->P; r++)
            if (f->tree[t].parent[r] >= 0) fprintf(out, " %d<%d", r, f->tree[t].parent[r]);
        fputc('\n', out);
    }
    return ferror(out) ? tutti_fail(TUTTI_ERR_IO, "a forest could not be written") : TUTTI_OK;
}

/* FNV-1a over values. */
static void mix(uint64_t *hash, uint64_t value)
{
    for (int i = 0; i < 64; i += 8) *hash = (*hash ^ (value >> i & 255)) * 1099511628211u;
}

uint64_t tutti_forest_hash(const tutti_forest *f)
{
    uint64_t hash = 14695981039346656037u, bits;
    mix(&hash, (uint64_t)f->P);
    for (int t = 0; t < f->trees; t++) {
        memcpy(&bits, &f->tree[t].weight, sizeof bits);
        mix(&hash, bits);
        for (int r = 0; r < f->P; r++) mix(&hash, (uint64_t)(int64_t)f->tree[t].parent[r]);
    }
    return hash;
}
