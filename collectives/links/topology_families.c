/* Topologies that have a name: each is written as text, which the reader reads. */
#include "collectives/links/topology_text.h"

#include "dag/base/log.h"
#include "dag/base/number.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_HOSTS = 1 << 16 };

/* "16,10Gbit/s" or "2x8": numbers that `between` separates, then a rate. */
typedef struct arguments {
    int64_t number[2];
    char rate[32];
} arguments;

static tutti_status say_usage(const tutti_topology_family *f, const char *text)
{
    return tutti_fail(
        TUTTI_ERR_USAGE, "the topology '%s:%s' is written %s", f->name, text, f->usage);
}

static tutti_status read_arguments(const tutti_topology_family *f, const char *text, int numbers,
    char between, const char *rate, arguments *a)
{
    char copy[128];
    char *rest = copy;
    if (strlen(text) >= sizeof copy) return say_usage(f, text);
    strcpy(copy, text);
    char *comma = NULL;
    for (int i = 0; i < numbers; i++) {
        char *end = strchr(rest, i + 1 < numbers ? between : ',');
        if (i + 1 < numbers && !end) return say_usage(f, text);
        if (end) *end = '\0';
        if (!tutti_number_int(rest, &a->number[i]) || a->number[i] < 1 || a->number[i] > MOST_HOSTS)
            return say_usage(f, text);
        rest = end ? end + 1 : NULL;
        comma = end;
    }
    if (comma && strlen(rest) >= sizeof a->rate) return say_usage(f, text);
    strcpy(a->rate, comma ? rest : rate);
    return TUTTI_OK;
}

static tutti_status write_star(const tutti_topology_family *f, const char *text, FILE *out)
{
    arguments a;
    tutti_status status = read_arguments(f, text, 1, ',', "1Gbit/s", &a);
    if (status) return status;
    int last = (int)a.number[0] - 1;
    fprintf(out, "topology 1\nhost h[0-%d]\nswitch s0\n", last);
    fprintf(out, "link h[0-%d] s0 rate %s latency 10us\nranks h[0-%d]\n", last, a.rate, last);
    return TUTTI_OK;
}

static tutti_status write_two_level(const tutti_topology_family *f, const char *text, FILE *out)
{
    arguments a;
    tutti_status status = read_arguments(f, text, 2, 'x', "1Gbit/s", &a);
    if (status) return status;
    int last = (int)a.number[0] - 1;
    fprintf(out, "topology 1\nkind node memory 10GB/s\nhost h[0-%d] kind node\nswitch s0\n", last);
    fprintf(out, "link h[0-%d] s0 rate %s latency 10us\nranks %d per host\n", last, a.rate,
        (int)a.number[1]);
    return TUTTI_OK;
}

/* Leiserson's, of switches with k ports: k pods of k/2 edge and k/2 upper switches, (k/2)^2 core switches. */
static tutti_status write_fat_tree(const tutti_topology_family *f, const char *text, FILE *out)
{
    arguments a;
    tutti_status status = read_arguments(f, text, 1, ',', "10Gbit/s", &a);
    if (!status && (a.number[0] % 2 || a.number[0] > 64)) status = say_usage(f, text);
    if (status) return status;
    int k = (int)a.number[0], half = k / 2;
    fprintf(out,
        "topology 1\nhost h[0-%d]\nswitch edge[0-%d]\nswitch upper[0-%d]\nswitch core[0-%d]\n",
        k * half * half - 1, k * half - 1, k * half - 1, half * half - 1);
    for (int e = 0; e < k * half; e++) {
        fprintf(out, "link edge%d h[%d-%d] rate %s latency 1us\n", e, e * half, (e + 1) * half - 1,
            a.rate);
        fprintf(out, "link edge%d upper[%d-%d] rate %s latency 1us\n", e, e / half * half,
            (e / half + 1) * half - 1, a.rate);
        fprintf(out, "link upper%d core[%d-%d] rate %s latency 1us\n", e, e % half * half,
            (e % half + 1) * half - 1, a.rate);
    }
    fprintf(out, "ranks h[0-%d]\n", k * half * half - 1);
    return TUTTI_OK;
}

/* Groups of routers, all linked in a group, and each group with each: on the routers in turn. A host at each
 * router. */
static tutti_status write_dragonfly(const tutti_topology_family *f, const char *text, FILE *out)
{
    arguments a;
    tutti_status status = read_arguments(f, text, 2, 'x', "10Gbit/s", &a);
    if (!status && a.number[0] * a.number[1] > 4096) status = say_usage(f, text);
    if (status) return status;
    int groups = (int)a.number[0], routers = (int)a.number[1], all = groups * routers;
    fprintf(out, "topology 1\nhost h[0-%d]\nswitch r[0-%d]\n", all - 1, all - 1);
    fprintf(out, "link h[0-%d] r[0-%d] rate %s latency 1us\n", all - 1, all - 1, a.rate);
    for (int r = 0; r < all; r++)
        if ((r + 1) % routers)
            fprintf(out, "link r%d r[%d-%d] rate %s latency 1us\n", r, r + 1,
                (r / routers + 1) * routers - 1, a.rate);
    for (int g = 0; g < groups; g++)
        for (int to = g + 1; to < groups; to++)
            fprintf(out, "link r%d r%d rate %s latency 2us\n", g * routers + (to - 1) % routers,
                to * routers + g % routers, a.rate);
    fprintf(out, "ranks h[0-%d]\n", all - 1);
    return TUTTI_OK;
}

/* A grid of hosts that are linked with their neighbours. */
static tutti_status write_mesh(const tutti_topology_family *f, const char *text, FILE *out)
{
    arguments a;
    tutti_status status = read_arguments(f, text, 2, 'x', "10Gbit/s", &a);
    if (!status && a.number[0] * a.number[1] > MOST_HOSTS) status = say_usage(f, text);
    if (status) return status;
    int rows = (int)a.number[0], columns = (int)a.number[1], all = rows * columns;
    fprintf(out, "topology 1\nhost h[0-%d]\n", all - 1);
    for (int r = 0; r < rows && columns > 1; r++)
        fprintf(out, "link h[%d-%d] h[%d-%d] rate %s latency 1us\n", r * columns,
            (r + 1) * columns - 2, r * columns + 1, (r + 1) * columns - 1, a.rate);
    if (rows > 1)
        fprintf(out, "link h[0-%d] h[%d-%d] rate %s latency 1us\n", all - columns - 1, columns,
            all - 1, a.rate);
    fprintf(out, "ranks h[0-%d]\n", all - 1);
    return TUTTI_OK;
}

/* Eight GPUs: PCI Express to a switch for each two, two switches a processor; and NVLink, of which `links` has the
 * counts. */
static void write_dgx(const char links[8][9], const char *rate, FILE *out)
{
    fputs("topology 1\nkind gpu memory 900GB/s reduce 200GB/s send 5us recv 1us\nhost h0\n", out);
    fputs("device h0.g[0-7] kind gpu\nswitch h0.cpu[0-1]\nswitch h0.pcie[0-3]\n", out);
    for (int p = 0; p < 4; p++)
        fprintf(out,
            "link h0.pcie%d .g[%d-%d] rate 12GB/s latency 1us\n"
            "link h0.cpu%d .pcie%d rate 12GB/s latency 1us\n",
            p, 2 * p, 2 * p + 1, p / 2, p);
    fputs("link h0.cpu0 .cpu1 rate 19.2GB/s latency 1us\nlink h0 .cpu0 rate 40GB/s latency 1us\n",
        out);
    for (int a = 0; a < 8; a++)
        for (int b = a + 1; b < 8; b++)
            if (links[a][b] > '0')
                fprintf(out, "link h0.g%d .g%d rate %s latency 1us count %c\n", a, b, rate,
                    links[a][b]);
    fputs("ranks h0.g[0-7]\n", out);
}

/* NVIDIA DGX-1 system architecture (white papers of 2016 and 2017): a hybrid cube mesh. */
static tutti_status write_dgx_1p(const tutti_topology_family *f, const char *text, FILE *out)
{
    static const char links[8][9] = {"01111000", "10110100", "11010010", "11100001", "10000111",
        "01001011", "00101101", "00011110"};
    if (text[0]) return say_usage(f, text);
    write_dgx(links, "20GB/s", out);
    return TUTTI_OK;
}

static tutti_status write_dgx_1v(const tutti_topology_family *f, const char *text, FILE *out)
{
    static const char links[8][9] = {"01122000", "10210200", "12020010", "21200001", "20000112",
        "02001021", "00101202", "00012120"};
    if (text[0]) return say_usage(f, text);
    write_dgx(links, "25GB/s", out);
    return TUTTI_OK;
}

static tutti_status write_dgx_2(const tutti_topology_family *f, const char *text, FILE *out)
{
    if (text[0]) return say_usage(f, text);
    fputs("topology 1\nkind gpu memory 900GB/s reduce 200GB/s send 5us recv 1us\nhost h0\n", out);
    fputs("device h0.g[0-15] kind gpu\nswitch h0.nvswitch\n", out);
    fputs("link h0.g[0-15] .nvswitch rate 25GB/s latency 0.5us count 6\n", out);
    fputs("ranks h0.g[0-15]\n", out);
    return TUTTI_OK;
}

const tutti_topology_family tutti_topology_families[] = {
    {"star", "star:HOSTS[,RATE]", "hosts at one switch", write_star},
    {"two-level", "two-level:HOSTSxRANKS[,RATE]",
        "several ranks on each of the hosts at one switch", write_two_level},
    {"fat-tree", "fat-tree:K[,RATE]", "K^3/4 hosts, switches of K ports (even, up to 64)",
        write_fat_tree},
    {"dragonfly", "dragonfly:GROUPSxROUTERS[,RATE]", "a host at each router, up to 4096",
        write_dragonfly},
    {"mesh", "mesh:ROWSxCOLUMNS[,RATE]", "hosts linked with their neighbours", write_mesh},
    {"dgx-1p", "dgx-1p", "NVIDIA DGX-1 with eight P100", write_dgx_1p},
    {"dgx-1v", "dgx-1v", "NVIDIA DGX-1 with eight V100", write_dgx_1v},
    {"dgx-2", "dgx-2", "NVIDIA DGX-2, sixteen V100 at NVSwitch", write_dgx_2},
    {NULL, NULL, NULL, NULL},
};

static const tutti_topology_family *find_family(const char *spec, const char **rest)
{
    size_t n = strcspn(spec, ":");
    *rest = spec[n] ? spec + n + 1 : "";
    for (const tutti_topology_family *f = tutti_topology_families; f->name; f++)
        if (strlen(f->name) == n && !strncmp(f->name, spec, n)) return f;
    return NULL;
}

tutti_status tutti_topology_open(const char *spec, tutti_topology **t)
{
    const char *rest;
    const tutti_topology_family *f = find_family(spec, &rest);
    if (!f && access(spec, R_OK))
        return tutti_fail(TUTTI_ERR_USAGE,
            "the topology '%s' is neither known nor a file that can be read (known: tutti-info "
            "--list topologies)",
            spec);
    if (!f) return tutti_topology_read_file(spec, t);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a topology");
    tutti_status status = f->write(f, rest, out);
    if (fclose(out) && !status) status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for a topology");
    if (!status) status = tutti_topology_read(text, spec, t);
    free(text);
    return status;
}
