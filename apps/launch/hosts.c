#include "apps/launch/hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { PATIENCE = 2, FAILS = 2, MOST_WORDS = 32 };

/* A host that does not answer any more ends its ssh after 15 seconds. */
static const char ssh[] =
    "ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5 -o ServerAliveCountMax=3";
static const char srun[] = "srun --exact --nodes=1 --ntasks=1 --nodelist";

static int split_command(tutti_launch_hosts *h, const char *text)
{
    char *copy = strdup(text), *rest = NULL;
    h->rsh = calloc(MOST_WORDS + 1, sizeof *h->rsh);
    if (!copy || !h->rsh) return 0;
    for (char *word = strtok_r(copy, " \t\n", &rest); word; word = strtok_r(NULL, " \t\n", &rest)) {
        if (h->words == MOST_WORDS) return 0;
        h->rsh[h->words++] = word;
    }
    if (!h->words) free(copy);
    return h->words > 0;
}

/* What stands behind a "@"; an address of IPv6 in brackets. */
static int add_host(tutti_launch_hosts *h, const char *name)
{
    tutti_launch_host *more = realloc(h->host, (size_t)(h->n + 1) * sizeof *more), *one;
    if (!more) return 0;
    h->host = more;
    one = &more[h->n++];
    *one = (tutti_launch_host){.name = strdup(name)};
    const char *at = strrchr(name, '@');
    const char *address = at ? at + 1 : name;
    const int six = *address != '[' && strchr(address, ':') != NULL;
    const int length = snprintf(
        one->address, sizeof one->address, "%s%s%s", six ? "[" : "", address, six ? "]" : "");
    return one->name && *address && length < (int)sizeof one->address;
}

static int refuse_host(const char *name, const char *why)
{
    tutti_launch_say("--hosts: '%s' %s (see tutti-run --help)", name, why);
    return FAILS;
}

static int read_hosts(const char *list, tutti_launch_hosts *h)
{
    char *copy = strdup(list), *rest = copy, *name;
    int status = copy ? -1 : 1;
    while (status < 0 && (name = strsep(&rest, ",")) != NULL) {
        if (!*name || *name == '-' || strpbrk(name, " \t\n/'\""))
            status = refuse_host(name, "is not the name of a host");
        else if (!add_host(h, name))
            status = refuse_host(name, "is too long for the name of a host");
    }
    for (int i = 0; i < h->n && status < 0 && h->n > 1; i++)
        if (!strcmp(h->host[i].address, "localhost"))
            status = refuse_host(
                "localhost", "is another host for each rank: give the name that the others know");
    free(copy);
    return status;
}

/* The names that Slurm has for the hosts of its job. */
static int read_job(tutti_launch_hosts *h)
{
    char *line = NULL;
    size_t room = 0;
    FILE *in = popen("scontrol show hostnames", "re");
    while (in && getline(&line, &room, in) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (*line && !add_host(h, line)) break;
    }
    free(line);
    const int how = in ? pclose(in) : -1;
    if (how == 0 && h->n) return -1;
    tutti_launch_say(
        "--srun: \"scontrol show hostnames\" names no hosts of this job: start it with "
        "salloc or sbatch (see tutti-run --help)");
    return FAILS;
}

int tutti_launch_hosts_find(const tutti_launch_options *o, tutti_launch_hosts *h)
{
    const char *set = getenv("TUTTI_RSH"), *command = o->srun       ? srun
                                                      : o->rsh      ? o->rsh
                                                      : set && *set ? set
                                                                    : ssh;
    *h = (tutti_launch_hosts){.shell = !o->srun};
    if (!o->hosts && !o->srun) return -1;
    if (!split_command(h, command)) {
        tutti_launch_say("%s '%s': is no command, or one of more than %d words",
            o->rsh ? "--rsh" : "TUTTI_RSH", command, MOST_WORDS);
        return FAILS;
    }
    return o->srun ? read_job(h) : read_hosts(o->hosts, h);
}

static int is_better(const tutti_launch_host *one, const tutti_launch_host *other)
{
    return one->failures != other->failures ? one->failures < other->failures
                                            : one->running < other->running;
}

int tutti_launch_hosts_choose(const tutti_launch_hosts *h)
{
    int best = -1;
    for (int i = 0; i < h->n; i++)
        if (!h->host[i].left_out && (best < 0 || is_better(&h->host[i], &h->host[best]))) best = i;
    return best;
}

void tutti_launch_hosts_fail(tutti_launch_hosts *h, int i)
{
    tutti_launch_host *host = &h->host[i];
    if (++host->failures < PATIENCE || host->left_out) return;
    host->left_out = 1;
    tutti_launch_say(
        "host %s is left out: %d ranks in turn were lost there, or have not come to train",
        host->name, PATIENCE);
}

void tutti_launch_hosts_free(tutti_launch_hosts *h)
{
    for (int i = 0; i < h->n; i++) free(h->host[i].name);
    if (h->rsh) free(h->rsh[0]);
    free(h->rsh);
    free(h->host);
}
