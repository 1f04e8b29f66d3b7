/* tutti-bench: measures, after verifying. See tutti-bench(1). */
#include "apps/bench/bench.h"
#include "config.h"
#include "dag/base/conf_print.h"
#include "dag/base/log.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_help(FILE *out)
{
    fputs("Usage: tutti-bench COMMAND [OPTION]...\n\nMeasures parts of Tutti, each in turns with "
          "something that does the same work,\nand first verifies both. Ratios come from one run "
          "on one machine.\n\nCommands:\n",
        out);
    for (int i = 0; tutti_benches[i]; i++)
        fprintf(out, "  %-12s %s\n", tutti_benches[i]->name, tutti_benches[i]->summary);
    fputs("\ntutti-bench COMMAND --help lists a command's options. See tutti-bench(1).\n", out);
}

static void print_completion(FILE *out)
{
    for (int i = 0; tutti_benches[i]; i++)
        tutti_conf_print_completion(
            tutti_benches[i]->name, "command", "", tutti_benches[i]->summary, out);
}

/* "; did you mean step?" */
static void suggest(const char *word, char *meant, size_t size)
{
    const char *names[64];
    int n = 0;
    for (; tutti_benches[n] && n < 64; n++) names[n] = tutti_benches[n]->name;
    *meant = '\0';
    FILE *out = fmemopen(meant, size, "w");
    if (!out) return;
    tutti_conf_print_nearest(word, n, names, out);
    fclose(out);
}

static int refuse(const char *word)
{
    char known[512], meant[128];
    size_t used = 0;
    known[0] = '\0';
    for (int i = 0; tutti_benches[i] && used < sizeof known; i++)
        used += (size_t)snprintf(
            known + used, sizeof known - used, "%s%s", i ? ", " : "", tutti_benches[i]->name);
    suggest(word, meant, sizeof meant);
    tutti_fail(TUTTI_ERR_USAGE, "%s: no such command; known: %s%s (see tutti-bench --help)", word,
        known, meant);
    return 2;
}

int main(int argc, char **argv)
{
    if (argc < 2) return refuse("(nothing)");
    if (strcmp(argv[1], "--help") == 0) {
        if (argc > 2 && strcmp(argv[2], "completion") == 0)
            print_completion(stdout);
        else
            print_help(stdout);
        return EXIT_SUCCESS;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("tutti-bench (Tutti) " PACKAGE_VERSION);
        return EXIT_SUCCESS;
    }
    signal(SIGPIPE, SIG_IGN); /* the end of a peer program shows as an error of write */
    const tutti_bench *bench = tutti_bench_find(argv[1]);
    if (!bench) return refuse(argv[1]);
    tutti_status status = bench->run(argc - 1, argv + 1);
    if (!status && (fflush(stdout) || ferror(stdout)))
        status = tutti_fail(TUTTI_ERR_IO, "what the bench has found could not be written");
    return status == TUTTI_OK ? EXIT_SUCCESS : status == TUTTI_ERR_USAGE ? 2 : 1;
}
