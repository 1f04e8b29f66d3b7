/* Damaged topologies: fuzz_topology [ITERATIONS]. */
#include "collectives/links/topology_text.h"
#include "tests/collectives/fuzz_text.h"

static const char *const lines[] = {"topology 1\n", "kind node cores 16 memory 80GB/s send 3us\n",
    "kind gpu reduce 200GB/s eager 64KiB\n", "host h[0-3] kind node\n", "host a\n",
    "device h[0-3].g[0-1] kind gpu socket 1\n", "switch s0 rate 40GB/s\n", "switch h0.s\n",
    "link h[0-3] s0 rate 25Gbit/s latency 1.5us\n", "link h[0-3].g0 .g1 rate 25GB/s count 2\n",
    "link a s0 rate 1e3MB/s\n", "bus h[0-3].pcie rate 12GB/s latency 1us : h[0-3] .g[0-1]\n",
    "bus b rate 1GB/s : a h0 h1\n", "ranks h[0-3]\n", "ranks h[0-3].g[0-1] a\n",
    "ranks 2 per host\n", "# a comment\n"};

static void draw(fuzz_dice *d, char text[FUZZ_TEXT])
{
    fuzz_draw_lines(d, lines, sizeof lines / sizeof *lines, "[]-.:#0123456789 \n\tkmGabhgs/", text);
}

static tutti_status read_text(const char *text, const char *name, uint64_t iteration, void **value)
{
    (void)iteration;
    return tutti_topology_read(text, name, (tutti_topology **)value);
}

static tutti_status print(const void *value, FILE *out)
{
    return tutti_topology_print(value, out);
}

static void release(void *value)
{
    tutti_topology_free(value);
}

int main(int argc, char **argv)
{
    static const fuzz_format format = {45, 0.5, draw, read_text, print, release};
    return fuzz_text_main(argc, argv, &format);
}
