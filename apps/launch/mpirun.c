#include "config.h"

#include "apps/launch/mpirun.h"

#include "apps/launch/launch_text.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Behind launch.sh: what holds for MPIRUN RANKS ALL HOSTS SEVERAL, on descriptor 3, each word with a 0 behind it:
 * the kind, what is in the way, mpirun's options, an empty word, the environment. */
static const char question[] =
    "kind=$(launch_kind \"$1\")\n"
    "if [ -n \"$4\" ]; then launch_everywhere \"$kind\"; else launch_settings \"$kind\" \"$3\"; "
    "fi\n"
    "lacks=\n"
    "if [ -z \"$4\" ] && ! launch_has_hosts; then lacks=$(launch_lacks_room \"$kind\" \"$3\"); fi\n"
    "[ \"$5\" = 0 ] || launch_several_programs \"$kind\"\n"
    "launch_words=()\n"
    "[ -z \"$4\" ] || launch_dealt \"$kind\" \"$4\" \"$2\"\n"
    "printf '%s\\0' \"$kind\" \"$lacks\" ${launch_words[@]+\"${launch_words[@]}\"} '' >&3\n"
    "exec env -0 >&3\n";

static char *join_script(void)
{
    size_t bytes = sizeof question;
    for (size_t i = 0; i < sizeof launch_text / sizeof *launch_text; i++)
        bytes += strlen(launch_text[i]);
    char *script = malloc(bytes), *at = script;
    for (size_t i = 0; script && i < sizeof launch_text / sizeof *launch_text; i++)
        at = stpcpy(at, launch_text[i]);
    if (script) strcpy(at, question);
    return script;
}

static FILE *ask(const char *mpirun, const tutti_launch_options *o, pid_t *child)
{
    char ranks[16], all[16], *script = join_script();
    const char *several = tutti_launch_has_several(o) ? "1" : "0";
    int pipes[2];
    if (!script || pipe2(pipes, O_CLOEXEC) != 0) {
        free(script);
        return NULL;
    }
    snprintf(ranks, sizeof ranks, "%d", o->ranks);
    snprintf(all, sizeof all, "%d", o->ranks + o->servers + tutti_launch_count_others(o));
    *child = fork();
    if (*child == 0) {
        if (pipes[1] == 3 ? fcntl(3, F_SETFD, 0) : dup2(pipes[1], 3) < 0) _exit(126);
        execlp("bash", "bash", "-c", script, "tutti-run", mpirun, ranks, all,
            o->hosts ? o->hosts : "", several, (char *)NULL);
        _exit(127);
    }
    free(script);
    close(pipes[1]);
    if (*child > 0) return fdopen(pipes[0], "r");
    close(pipes[0]);
    return NULL;
}

/* What the user has not set: the shell's own variables are not for ranks. */
static void set_variable(const char *text)
{
    static const char *const own[] = {"_=", "SHLVL=", "PWD=", "OLDPWD="};
    char name[128];
    const char *equals = strchr(text, '=');
    if (!equals || equals - text >= (int)sizeof name) return;
    for (int i = 0; i < 4; i++)
        if (strncmp(text, own[i], strlen(own[i])) == 0) return;
    snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
    setenv(name, equals + 1, 0);
}

static int add_word(tutti_launch_mpirun *m, const char *word)
{
    char **more = realloc(m->word, (size_t)(m->words + 2) * sizeof *more);
    if (!more) return 0;
    m->word = more;
    more[m->words++] = strdup(word);
    more[m->words] = NULL;
    return more[m->words - 1] != NULL;
}

static int hear_answer(FILE *in, tutti_launch_mpirun *m, char lacks[1024])
{
    enum { KIND, LACKS, WORDS, VARIABLES } part = KIND;
    char *word = NULL;
    size_t room = 0;
    int well = 1;
    while (well && getdelim(&word, &room, '\0', in) > 0) {
        if (part == VARIABLES) set_variable(word);
        if (part == WORDS && *word) well = add_word(m, word);
        if (part == LACKS) snprintf(lacks, 1024, "%s", word);
        if (part == KIND) snprintf(m->kind, sizeof m->kind, "%s", word);
        if (part < WORDS || (part == WORDS && !*word)) part++;
    }
    free(word);
    return well && part == VARIABLES;
}

/* The file of a program, as execvp would find it; 0: there is none. */
static int find_program(const char *name, char path[PATH_MAX])
{
    const char *at = getenv("PATH");
    if (strchr(name, '/')) {
        snprintf(path, PATH_MAX, "%s", name);
        return access(path, X_OK) == 0;
    }
    for (; at && *at; at += strcspn(at, ":"), at += *at == ':') {
        snprintf(path, PATH_MAX, "%.*s/%s", (int)strcspn(at, ":"), at, name);
        if (access(path, X_OK) == 0) return 1;
    }
    return 0;
}

static int is_self(const char *program)
{
    char path[PATH_MAX], self[PATH_MAX], mine[PATH_MAX];
    if (!find_program(program, path) || !realpath(path, self)) return 0;
    return realpath("/proc/self/exe", mine) && strcmp(mine, self) == 0;
}

static int use_srun(const tutti_launch_options *o, tutti_launch_mpirun *m)
{
    char path[PATH_MAX], ranks[16];
    const char *job = getenv("SLURM_JOB_ID");
    if (!job || !*job) {
        tutti_launch_say("--srun: this is no job of Slurm: start it with salloc or sbatch (see "
                         "tutti-run --help)");
        return 2;
    }
    if (!find_program("srun", path)) {
        tutti_launch_say("srun, which starts the ranks, was not found");
        return 127;
    }
    snprintf(ranks, sizeof ranks, "%d", o->ranks);
    return add_word(m, "srun") && add_word(m, "--exact") && add_word(m, "-n") && add_word(m, ranks)
               ? -1
               : 1;
}

static int use_mpirun(const char *mpirun, const tutti_launch_options *o, tutti_launch_mpirun *m)
{
    char lacks[1024] = "", ranks[16];
    pid_t child = -1;
    int status = 0;
    snprintf(ranks, sizeof ranks, "%d", o->ranks);
    if (!add_word(m, mpirun) || !add_word(m, "-np") || !add_word(m, ranks)) return 1;
    FILE *in = ask(mpirun, o, &child);
    const int well = in && hear_answer(in, m, lacks);
    if (in) fclose(in);
    if (child > 0) waitpid(child, &status, 0);
    if (!well) {
        tutti_launch_say("bash, which asks %s what it is, failed (status %d)", mpirun,
            WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
        return 1;
    }
    if (!*lacks) return -1;
    tutti_launch_say("%s", lacks);
    return 1;
}

int tutti_launch_mpirun_find(const tutti_launch_options *o, tutti_launch_mpirun *m)
{
    char path[PATH_MAX];
    const char *set = getenv("MPIRUN"), *mpirun = set && *set ? set : TUTTI_MPIRUN;
    *m = (tutti_launch_mpirun){0};
    if (o->srun) return use_srun(o, m);
    if (!o->ranks) return -1;
    if (!find_program(mpirun, path)) {
        tutti_launch_say(
            "%s, which starts the ranks, was not found: install it, or set MPIRUN", mpirun);
        return 127;
    }
    if (!is_self(mpirun)) return use_mpirun(mpirun, o, m);
    tutti_launch_say(
        "MPIRUN is this program itself: set it to the mpirun of an MPI, or unset it (see "
        "tutti-run --help)");
    return 2;
}

const char *tutti_launch_mpirun_scratch(const tutti_launch_mpirun *m)
{
    if (strcmp(m->kind, "openmpi4") == 0) return "OMPI_MCA_orte_tmpdir_base";
    return strcmp(m->kind, "openmpi5") == 0 ? "PRTE_MCA_prte_tmpdir_base" : NULL;
}
