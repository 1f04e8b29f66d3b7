#include "config.h"

#include "apps/launch/options.h"
#include "dag/base/conf_print.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "Usage: tutti-run [OPTION]... -n N PROGRAM [ARGUMENT]...\n"
    "       tutti-run [OPTION]... --servers S --clients C -n N PROGRAM [ARGUMENT]...\n"
    "       tutti-run [OPTION]... --elastic LEAST:MOST -n N PROGRAM [ARGUMENT]...\n"
    "       tutti-run [OPTION]... LAUNCHER [ARGUMENT]... PROGRAM [ARGUMENT]...\n"
    "Starts N ranks of PROGRAM with the mpirun and the settings that fit this\n"
    "machine; or S servers, and N workers in C clients, as jobs of their own\n"
    "(tutti-kv(3)); or runs a launcher's command unchanged (srun ..., mpirun ...).\n"
    "When a command with --checkpoint FILE fails, it is started again, with\n"
    "--resume FILE once it has saved FILE.\n\n";

static const char notes[] =
    "\nExit status: the command's; 128 + N when signal N stopped tutti-run; 2 for a\n"
    "mistake in the options. A mistake in the program's options (status 2), an\n"
    "interrupted run (130, 143), a command that cannot be run (126, 127) and what\n"
    "would fail in the same way, such as a damaged file, are not tried again. See\n"
    "tutti-run(1).\n";

#define AT(member) offsetof(tutti_launch_options, member)

/* An option: `what` names a value that is a text, else it is a whole number from `least`, or, without a value's name, a
 * flag. */
typedef struct option {
    const char *names, *value, *what, *help[5];
    size_t at;
    int least;
} option;

static const option table[] = {
    {"-n, --ranks", "N", NULL,
        {"ranks to start, with the mpirun of the MPI that Tutti was", "built with (or $MPIRUN)"},
        AT(ranks), 1},
    {"--hosts", "HOST,...", "names of hosts, with \",\" between them",
        {"start them on these hosts, in turn; with --servers each",
            "job on one of them, the servers' on the first"},
        AT(hosts), 0},
    {"--rsh", "COMMAND", "a command", {"with --elastic: what reaches a host ($TUTTI_RSH, or ssh)"},
        AT(rsh), 0},
    {"--srun", NULL, NULL, {"start them as a step of this job of Slurm (srun --exact)"}, AT(srun),
        0},
    {"--servers", "S", NULL, {"one job of S servers ..."}, AT(servers), 1},
    {"--server-replicas", "N", NULL,
        {"on how many servers each key lies: 1, or 2, and then each",
            "server is a job, whose death the run survives, if the",
            "type is sync (default: $TUTTI_KV_SERVER_REPLICAS, or 1)"},
        AT(replicas), 1},
    {"--clients", "C", NULL, {"... and C jobs of N / C workers each"}, AT(clients), 1},
    {"--output", "FOLDER", "a folder",
        {"write what a job says to FOLDER/JOB.log (default: pass it",
            "on, with [JOB] before each line)"},
        AT(output), 0},
    {"--elastic", "LEAST:MOST", "two numbers of ranks",
        {"without MPI: how many may train, while ranks die and come"}, AT(elastic), 0},
    {"--max-restarts", "N", NULL,
        {"restart at most N times (default: 3, or 0 for -n without",
            "--checkpoint); with --servers, each client (default: 0);",
            "with --elastic, ranks (default: 3)"},
        AT(max_restarts), 0},
    {"--pause", "S", NULL,
        {"seconds before the first restart; doubles before each",
            "further one, up to 60 (default: 1)"},
        AT(pause_s), 0},
    {"--continue", NULL, NULL, {"if FILE exists, resume from it even at the first start"},
        AT(proceed), 0},
    {"--grace", "S", NULL,
        {"seconds between asking the command to end and killing",
            "it, when tutti-run is stopped (default: 10)"},
        AT(grace_s), 0},
    {"--linger", "S", NULL,
        {"seconds that the command may run on after a rank has",
            "reported an error (default: 30; with -n alone, no limit),",
            "and mpirun after its last process has ended (default: 30)"},
        AT(linger_s), 0},
    {"--help", NULL, NULL, {"print this and exit"}, 0, 0},
    {"--version", NULL, NULL, {"print the version and exit"}, 0, 0},
};
enum { OPTIONS = sizeof table / sizeof *table, MOST = 999999, FAILS = 2, COLUMN = 19 };

void tutti_launch_say(const char *format, ...)
{
    char text[4096];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fprintf(stderr, "tutti-run: %s\n", text);
}

/* A mistake in the options. */
__attribute__((format(printf, 1, 2))) static int refuse(const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    tutti_launch_say("%s (see tutti-run --help)", text);
    return FAILS;
}

static int print_help(void)
{
    fputs(usage, stdout);
    for (int i = 0; i < OPTIONS; i++) {
        char name[64];
        snprintf(name, sizeof name, "  %s%s%s", table[i].names, table[i].value ? " " : "",
            table[i].value ? table[i].value : "");
        if (strlen(name) >= COLUMN) {
            puts(name);
            *name = '\0';
        }
        for (int k = 0; k < 5 && table[i].help[k]; k++) {
            printf("%-*s  %s\n", COLUMN, name, table[i].help[k]);
            *name = '\0';
        }
    }
    fputs(notes, stdout);
    return 0;
}

/* The longest of an option's names. */
static const char *long_name(const option *row)
{
    const char *comma = strchr(row->names, ',');
    return comma ? comma + 2 : row->names;
}

static int print_completion(void)
{
    for (int i = 0; i < OPTIONS; i++) {
        const option *row = &table[i];
        tutti_conf_print_completion(long_name(row),
            !row->value                     ? "flag"
            : !strcmp(row->value, "FOLDER") ? "file"
                                            : "value",
            "", row->help[0], stdout);
    }
    tutti_conf_print_completion(
        "-", "command", "", "the program, or mpirun or srun with it", stdout);
    return 0;
}

static int refuse_name(const char *name)
{
    const char *names[OPTIONS];
    char meant[256] = "";
    for (int i = 0; i < OPTIONS; i++) names[i] = long_name(&table[i]);
    FILE *out = fmemopen(meant, sizeof meant, "w");
    if (out) {
        tutti_conf_print_nearest(name, OPTIONS, names, out);
        fclose(out);
    }
    return refuse("%s: unknown option%s", name, meant);
}

static const option *find_option(const char *name)
{
    if (strcmp(name, "-np") == 0) return &table[0];
    const size_t length = strlen(name);
    for (int i = 0; i < OPTIONS; i++)
        for (const char *at = strstr(table[i].names, name); at; at = strstr(at + 1, name))
            if ((at == table[i].names || at[-1] == ' ') && (!at[length] || at[length] == ','))
                return &table[i];
    return NULL;
}

/* A whole number in base 10, whatever zeros it begins with. */
static int read_number(const char *name, const char *text, int least, int *value)
{
    const size_t length = text ? strlen(text) : 0;
    *value = -1;
    if (length > 0 && length <= 6 && strspn(text, "0123456789") == length) *value = atoi(text);
    if (*value >= least) return -1;
    return refuse(
        "%s %s: must be a whole number, %d to %d", name, length ? text : "''", least, MOST);
}

static int take_option(
    tutti_launch_options *o, const option *row, const char *name, const char *value)
{
    char *at = (char *)o + row->at;
    if (row->at == AT(servers) && value && strcmp(value, "all") == 0)
        return refuse("--servers all: a job of servers trains nothing: say how many; every rank of "
                      "one mpirun: --layout servers=all");
    if (!row->what) return read_number(name, value, row->least, (int *)at);
    if (!value || !*value) return refuse("%s: must be followed by %s", name, row->what);
    *(const char **)at = value;
    return -1;
}

static int read_options(int argc, char **argv, tutti_launch_options *o)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        char name[64];
        char *equals = strncmp(argv[i], "--", 2) == 0 ? strchr(argv[i], '=') : NULL;
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        snprintf(name, sizeof name, "%.*s", equals ? (int)(equals - argv[i]) : 63, argv[i]);
        const option *row = find_option(name);
        if (!row) return refuse_name(name);
        if (!row->value && equals) return refuse("%s: takes no value", name);
        if (strcmp(row->names, "--help") == 0)
            return argv[i + 1] && !strcmp(argv[i + 1], "completion") ? print_completion()
                                                                     : print_help();
        if (strcmp(row->names, "--version") == 0) {
            printf("tutti-run (Tutti) %s\n", PACKAGE_VERSION);
            return 0;
        }
        if (!row->value) {
            *(int *)((char *)o + row->at) = 1;
            continue;
        }
        const int status = take_option(o, row, name, equals ? equals + 1 : argv[i + 1]);
        if (status >= 0) return status;
        i += !equals;
    }
    o->command = argv + i;
    o->words = argc - i;
    return -1;
}

int tutti_launch_next_pause(int pause_s)
{
    enum { LONGEST = 60 };
    if (pause_s >= LONGEST) return pause_s;
    return 2 * pause_s < LONGEST ? 2 * pause_s : LONGEST;
}

const char *tutti_launch_checkpoint(const tutti_launch_options *o)
{
    static const char name[] = "--checkpoint";
    const char *file = NULL;
    for (int i = 0; i < o->words; i++) {
        const char *word = o->command[i];
        if (strncmp(word, name, sizeof name - 1) != 0) continue;
        if (!word[sizeof name - 1]) file = o->command[i + 1];
        if (word[sizeof name - 1] == '=') file = word + sizeof name;
    }
    return file && *file ? file : NULL;
}

int tutti_launch_has_several(const tutti_launch_options *o)
{
    for (int i = 0; i < o->words; i++)
        if (strcmp(o->command[i], ":") == 0) return 1;
    return 0;
}

int tutti_launch_count_others(const tutti_launch_options *o)
{
    static const char *const counts[] = {"-n", "-np", "-c"};
    int others = 0;
    for (int i = 0; i + 2 < o->words; i++)
        for (int k = 0; k < 3 && strcmp(o->command[i], ":") == 0; k++)
            if (strcmp(o->command[i + 1], counts[k]) == 0) others += atoi(o->command[i + 2]);
    return others;
}

/* The number of servers that have a key, from the option or its variable. */
static int check_replicas(tutti_launch_options *o)
{
    const char *set = getenv("TUTTI_KV_SERVER_REPLICAS");
    char from[128];
    snprintf(from, sizeof from, "--server-replicas %d", o->replicas);
    if (!o->replicas && set && *set) {
        o->replicas = strcmp(set, "1") == 0 || strcmp(set, "2") == 0 ? atoi(set) : -1;
        snprintf(from, sizeof from, "TUTTI_KV_SERVER_REPLICAS='%.60s'", set);
    }
    if (!o->replicas) o->replicas = 1;
    if (o->replicas != 1 && o->replicas != 2) return refuse("%s: must be 1 or 2", from);
    if (o->replicas > o->servers)
        return refuse(
            "%s: each key is to lie on two servers, but there is one: take --servers 2 or "
            "more",
            from);
    return -1;
}

static int check_jobs(tutti_launch_options *o)
{
    if (!o->servers || !o->clients)
        return refuse("--servers and --clients go together: say how many there are of each");
    if (!o->ranks)
        return refuse(
            "--servers %d: say with -n how many workers there are, of all clients together",
            o->servers);
    if (o->ranks % o->clients)
        return refuse(
            "-n %d: this many workers cannot form %d clients of equal size: take a multiple "
            "of %d",
            o->ranks, o->clients, o->clients);
    const int status = check_replicas(o);
    if (status >= 0) return status;
    if (o->proceed)
        return refuse("--continue: not with --servers: a client that returns gets the values from "
                      "the servers");
    if (tutti_launch_has_several(o))
        return refuse("\":\": not with --servers: all jobs run the same program");
    return -1;
}

static int check_elastic(tutti_launch_options *o)
{
    enum { MOST_ELASTIC = 32 };
    int used = 0;
    if (sscanf(o->elastic, "%4d:%4d%n", &o->least, &o->most, &used) != 2 || o->elastic[used] ||
        o->least < 1 || o->most < o->least || o->most > MOST_ELASTIC)
        return refuse("--elastic %s: must be LEAST:MOST, 1 to %d", o->elastic, MOST_ELASTIC);
    if (o->ranks < o->least || o->ranks > o->most)
        return refuse("--elastic %s: say with -n how many ranks to start, %d to %d", o->elastic,
            o->least, o->most);
    const char *other = o->servers || o->clients ? "--servers and --clients"
                        : o->proceed             ? "--continue"
                                                 : NULL;
    if (other)
        return refuse("%s: not with --elastic%s", other,
            o->proceed ? ": give the program --resume FILE" : ", whose ranks keep the weights");
    if (o->linger_s >= 0)
        return refuse(
            "--linger: not with --elastic, whose ranks know at once that another has died");
    if (tutti_launch_has_several(o))
        return refuse("\":\": not with --elastic: all ranks run the same program");
    return -1;
}

/* Options that have to do with each other. */
static int check_options(tutti_launch_options *o)
{
    const int jobs = o->servers || o->clients;
    const char *checkpoint = tutti_launch_checkpoint(o);
    int status = -1;
    if (!o->words) return refuse("there is no command to run");
    if (o->elastic) status = check_elastic(o);
    if (status < 0 && jobs) status = check_jobs(o);
    if (status < 0 && !jobs && o->output)
        status = refuse("--output: with --servers and --clients only");
    if (status < 0 && !jobs && o->replicas)
        status = refuse("--server-replicas: with --servers and --clients only");
    if (status >= 0) return status;
    if (o->rsh && !(o->elastic && o->hosts))
        return refuse("--rsh: with --elastic and --hosts only");
    if (!o->ranks && (o->srun || o->hosts))
        return refuse("--srun and --hosts: say with -n how many ranks to start");
    if (o->srun && o->hosts)
        return refuse("--hosts: not with --srun: Slurm chooses hosts of its job");
    if (o->max_restarts < 0) {
        const int none = jobs || (o->ranks && !checkpoint && !o->elastic);
        o->max_restarts = none ? 0 : 3;
    }
    if (!checkpoint && o->max_restarts && !jobs && !o->elastic)
        return refuse(
            "no --checkpoint FILE in the command: a restart would start from the beginning");
    if (!checkpoint && o->proceed)
        return refuse(
            "--continue: no --checkpoint FILE in the command, so there is nothing to continue");
    /* Of -n without restarts and on this host alone: a program may know what to do about an error. */
    o->ends_after_error = o->linger_s >= 0 || o->max_restarts || o->hosts || o->srun || !o->ranks;
    if (o->linger_s < 0) o->linger_s = 30;
    return -1;
}

int tutti_launch_parse(int argc, char **argv, tutti_launch_options *o)
{
    *o = (tutti_launch_options){.max_restarts = -1, .pause_s = 1, .grace_s = 10, .linger_s = -1};
    const int status = read_options(argc, argv, o);
    return status >= 0 ? status : check_options(o);
}
