/* Damaged rules: fuzz_rules [ITERATIONS]. */
#include "collectives/rules_text.h"
#include "tests/collectives/fuzz_text.h"

static const char *const lines[] = {"rules 1\n", "topology 00000000000000ff\n",
    "mpi Open MPI v4.1.4\n", "version 0.2.0\n", "each near 1 -> segment 512KiB\n",
    "allreduce P 8 element 4 wide 0 from 64KiB -> ring segment 60KiB chunk 4MiB\n",
    "reduce P 3- power-of-two -> k-nomial:8\n",
    "broadcast P 5-7 ordered 1 whole 0 from 4097B -> chain-chain:2\n", "reduce-scatter -> direct\n",
    "allreduce P 1024 -> chunk 1GiB\n", "# a comment\n"};

static void draw(fuzz_dice *d, char text[FUZZ_TEXT])
{
    fuzz_draw_lines(d, lines, sizeof lines / sizeof *lines, "->:#0123456789 \n\tKiBPaefgr", text);
}

static tutti_status read_text(const char *text, const char *name, uint64_t iteration, void **value)
{
    (void)iteration;
    return tutti_rules_read(text, name, (tutti_rules **)value);
}

static tutti_status print(const void *value, FILE *out)
{
    return tutti_rules_print(value, out);
}

static void release(void *value)
{
    tutti_rules_free(value);
}

int main(int argc, char **argv)
{
    static const fuzz_format format = {46, 0.5, draw, read_text, print, release};
    return fuzz_text_main(argc, argv, &format);
}
