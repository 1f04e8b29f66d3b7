/* tutti-bench peers --install: PyTorch, in a virtual environment of its
 * own, for --peer of compute, step, pipeline and data; or MXNet, for that of kv.
 *
 * The environment is made as FOLDER.part, what is in it is tried, and then it is renamed: what is
 * called FOLDER is complete, whenever this program or the machine stops. FOLDER.log has what pip
 * said, if it failed. FOLDER.lock says who is making it (dag/base/lock.h). */
#include "config.h" /* first: it asks libc for nftw and asprintf */

#include "apps/bench/peer.h"
#include "apps/bench/rows.h"
#include "apps/terminal/terminal.h"
#include "dag/base/clock.h"
#include "dag/base/conf.h"
#include "dag/base/lock.h"
#include "dag/base/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH = TUTTI_PEER_PATH, MOST_WORDS = 12, NOT_FOUND = 127 };
extern char **environ;

/* What can be installed. The words are pip's, up to a NULL, behind those of the version. */
typedef struct package {
    const char *name, *title; /* "pytorch", "PyTorch" */
    const char *versioned;    /* what --torch is the version of; NULL: nothing */
    const char *word[5];
    const char *probe;          /* Python that ends well where it works */
    const char *use, *variable; /* the option that the folder follows; what else to set to it, or NULL */
    /* Instead of words: what is compiled, from PROGRAM.cpp of this folder, and tried with --probe; what it needs, as
     * pkg-config knows it, and Debian's package that has it. */
    const char *program, *library, *debian;
} package;
static const package packages[] = {
    {.name = "pytorch",
        .title = "PyTorch",
        .versioned = "torch",
        .word = {"torchvision", "pillow", "numpy"},
        .probe = "import torch; (torch.ones(64, 64) @ torch.ones(64, 64)).sum().item()",
        .use = "--peer ",
        .variable = "TUTTI_PEER"},
    /* the last release, and the last NumPy that it runs with */
    {.name = "mxnet",
        .title = "MXNet",
        .word = {"mxnet==1.9.1", "numpy==1.23.5"},
        .probe = "import mxnet; mxnet.nd.ones(64).sum().asscalar()",
        .use = "tutti-bench kv --peer ",
        .variable = "TUTTI_PEER_MXNET"},
    {.name = "libsvm",
        .title = "LIBSVM",
        .word = {"libsvm-official==3.37.0", "numpy", "scipy"},
        .probe = "import libsvm.svmutil",
        .use = "tutti-bench svm --libsvm "},
    {.name = "thundersvm",
        .title = "ThunderSVM",
        .word = {"thundersvm-cpu==0.3.3", "numpy", "scipy", "scikit-learn"},
        .probe = "import thundersvm",
        .use = "tutti-bench svm --thundersvm "},
    {.name = "intelex",
        .title = "scikit-learn-intelex",
        .word = {"scikit-learn-intelex==2026.2.0", "scikit-learn", "numpy", "scipy"},
        .probe = "import sklearnex.svm",
        .use = "tutti-bench svm --intelex "},
    {.name = "grpc",
        .title = "gRPC",
        .use = "tutti-bench channel --grpc ",
        .program = "channel_grpc",
        .library = "grpc++",
        .debian = "libgrpc++-dev"},
};
enum { PACKAGES = sizeof packages / sizeof *packages };

static const char *choice_package(int i)
{
    return i < PACKAGES ? packages[i].name : NULL;
}

typedef struct options {
    const char *install, *package, *torch, *python;
} options;

#define AT(member) .offset = offsetof(options, member)
static const tutti_setting settings[] = {
    {TUTTI_CONF_HEADING, .help = "Options"},
    {TUTTI_CONF_TEXT, "install", "DIR", .flags = TUTTI_CONF_REQUIRED, AT(install),
        .help = "make a virtual environment in this new folder"},
    {TUTTI_CONF_CHOICE, "package", "NAME", .fallback = "pytorch", .choice = choice_package,
        AT(package),
        .help =
            "what is in it: pytorch, for compute, step and pipeline; mxnet, for kv; libsvm, "
            "thundersvm or "
            "intelex, for svm; grpc, for channel: a program, compiled with this machine's gRPC"},
    {TUTTI_CONF_TEXT, "torch", "VERSION", .fallback = "latest", AT(torch),
        .help = "version of PyTorch, such as 2.15.0"},
    {TUTTI_CONF_TEXT, "python", "PROGRAM", .fallback = "python3", AT(python),
        .help = "Python to make it with; MXNet needs one from 3.8 to 3.11"},
    {0},
};
static const tutti_conf conf = {
    .program = "tutti-bench peers",
    .usage = "--install DIR [OPTION]...",
    .summary =
        "Makes a virtual environment with the latest PyTorch, for --peer DIR of tutti-bench "
        "compute and tutti-bench step, or with MXNet, for that of tutti-bench kv, or others. Takes "
        "them from where pip on this machine takes its packages. For gRPC it compiles a program.",
    .settings = settings,
};

/* An installation. */
typedef struct installation {
    const package *package;
    const char *torch, *python;
    char dir[PATH], part[PATH + 8], log[PATH + 8];
    char own_python[PATH + 32]; /* the environment's */
} installation;

/* ---- programs ---- */

/* Waits for a process, and shows what it is doing. Returns its exit status, or -1. */
static int wait_for(pid_t pid, const char *what)
{
    int status, columns = tutti_terminal_columns(STDERR_FILENO);
    double begun = tutti_clock_s();
    char time[TUTTI_TERMINAL_TIME], text[PATH];
    while (waitpid(pid, &status, WNOHANG) == 0) {
        tutti_terminal_time(tutti_clock_s() - begun, time);
        snprintf(text, sizeof text, "%s  %s", what, time);
        tutti_terminal_show(stderr, columns, text);
        tutti_clock_sleep(0.05);
    }
    tutti_terminal_clear(stderr, columns);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Runs a program found in PATH; its output is added to the log. Returns its exit status: NOT_FOUND
 * if it cannot be started, -1 if a signal ended it. */
static int run_program(const installation *in, const char *what, char *const words[])
{
    pid_t pid;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(
        &actions, STDOUT_FILENO, in->log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0666);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    int error = posix_spawnp(&pid, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error ? NOT_FOUND : wait_for(pid, what);
}

/* ---- what went wrong ---- */

/* The log's text, which the caller frees; empty if there is none. */
static char *read_log(const installation *in)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = fopen(in->log, "re");
    if (!file || getdelim(&text, &size, '\0', file) < 0) {
        free(text);
        text = strdup("");
    }
    if (file) fclose(file);
    return text;
}

static int says(const char *log, const char *const phrases[])
{
    for (; log && *phrases; phrases++)
        if (strstr(log, *phrases)) return 1;
    return 0;
}

/* What stopped pip or venv, which tell their reasons as text only. */
static tutti_status explain(const installation *in, const char *what)
{
    static const char *const full[] = {"No space left on device", "Disk quota exceeded", NULL};
    static const char *const alone[] = {"NewConnectionError", "ConnectTimeoutError",
        "ReadTimeoutError", "ProxyError", "SSLError", "ConnectionResetError", "Connection broken",
        "Temporary failure in name resolution", "Max retries exceeded", NULL};
    static const char *const none[] = {"No matching distribution found", NULL};
    char *log = read_log(in);
    tutti_status status;
    if (says(log, full))
        status = tutti_fail(TUTTI_ERR_IO,
            "--install %s: there is no space left for it: free some 10 GB there and in TMPDIR "
            "(%s has what %s said)",
            in->dir, in->log, what);
    else if (says(log, alone))
        status = tutti_fail(TUTTI_ERR_IO,
            "--install %s: pip cannot reach its package index: check the network and pip's "
            "settings, such as PIP_INDEX_URL (%s has what it said)",
            in->dir, in->log);
    else if (says(log, none))
        status = tutti_fail(TUTTI_ERR_IO,
            "--install %s: pip finds no %s%s%s for %s: try another %s--python (%s has "
            "what it said)",
            in->dir, in->package->title, in->package->versioned ? " " : "",
            in->package->versioned ? in->torch : "", in->python,
            in->package->versioned ? "--torch or " : "", in->log);
    else
        status = tutti_fail(TUTTI_ERR_IO, "--install %s: %s failed: see %s for what it said",
            in->dir, what, in->log);
    free(log);
    return status;
}

/* ---- the steps ---- */

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about;
    (void)kind;
    (void)where;
    return remove(path);
}

/* Removes a folder and all in it. Returns 0 or an errno value. */
static int remove_tree(const char *path)
{
    if (nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT) return 0;
    return errno;
}

static tutti_status name_all(const options *o, installation *in)
{
    size_t length = strlen(o->install);
    while (length > 1 && o->install[length - 1] == '/') length--;
    if (length >= sizeof in->dir)
        return tutti_conf_refuse(&conf, "install", o->install, "the path is too long");
    *in = (installation){.package = packages, .torch = o->torch, .python = o->python};
    while (strcmp(in->package->name, o->package) != 0) in->package++;
    if (!in->package->versioned && strcmp(o->torch, "latest") != 0)
        return tutti_conf_refuse(
            &conf, "torch", o->torch, "is a version of PyTorch: leave it out with another --package");
    memcpy(in->dir, o->install, length);
    snprintf(in->part, sizeof in->part, "%s.part", in->dir);
    snprintf(in->log, sizeof in->log, "%s.log", in->dir);
    snprintf(in->own_python, sizeof in->own_python, "%s/bin/python3", in->part);
    return TUTTI_OK;
}

static tutti_status refuse_existing(const installation *in)
{
    struct stat about;
    if (lstat(in->dir, &about) && errno == ENOENT) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_USAGE,
        "--install %s: it exists already: remove it, or name a new folder", in->dir);
}

/* Whether a folder is an installation, or has nothing in it: venv writes its pyvenv.cfg first, and a program's source
 * comes first. */
static int is_ours(const installation *in)
{
    char path[PATH + 64];
    const char *program = in->package->program;
    snprintf(path, sizeof path, "%s/%s%s", in->part, program ? program : "pyvenv",
        program ? ".cpp" : ".cfg");
    return access(path, F_OK) == 0 || rmdir(in->part) == 0 || errno == ENOENT;
}

/* Removes what an interrupted installation has left, and nothing else. */
static tutti_status clear(const installation *in)
{
    if (!is_ours(in))
        return tutti_fail(TUTTI_ERR_USAGE,
            "--install %s: %s exists, and is not left from an installation: name another folder",
            in->dir, in->part);
    int error = remove_tree(in->part);
    if (!error && unlink(in->log) && errno != ENOENT) error = errno;
    return error ? tutti_fail(TUTTI_ERR_IO, "--install %s: %s cannot be removed: %s", in->dir,
                       in->part, strerror(error))
                 : TUTTI_OK;
}

static tutti_status make_environment(const installation *in)
{
    char *python = (char *)in->python;
    char *const probe[] = {python, "-c", "import venv, ensurepip", NULL};
    char *const make[] = {python, "-m", "venv", (char *)in->part, NULL};
    int status = run_program(in, "looking for Python", probe);
    if (status == NOT_FOUND)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "--python %s: there is no such program: apt-get install python3-venv", in->python);
    if (status)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "--python %s: it cannot make virtual environments: apt-get install python3-venv",
            in->python);
    return run_program(in, "making an environment", make) ? explain(in, "venv") : TUTTI_OK;
}

static tutti_status install_package(const installation *in)
{
    const package *p = in->package;
    char first[PATH], what[64];
    char *words[4 + 1 + sizeof p->word / sizeof *p->word + 1] = {
        (char *)in->own_python, "-m", "pip", "install"};
    char *const probe[] = {(char *)in->own_python, "-c", (char *)p->probe, NULL};
    int n = 4;
    if (p->versioned) {
        const int latest = !strcmp(in->torch, "latest");
        snprintf(first, sizeof first, "%s%s%s", p->versioned,
            latest ? "" : "==", latest ? "" : in->torch);
        words[n++] = first;
    }
    for (int i = 0; p->word[i]; i++) words[n++] = (char *)p->word[i];
    snprintf(what, sizeof what, "installing %s", p->title);
    if (run_program(in, what, words)) return explain(in, "pip");
    snprintf(what, sizeof what, "trying %s", p->title);
    if (run_program(in, what, probe))
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "--install %s: the %s that pip installed does not run here: try another %s "
            "(%s has what it said)",
            in->dir, p->title, p->versioned ? "--torch" : "--python", in->log);
    return TUTTI_OK;
}

/* Compiles a program of this folder, from a copy beside it. */
static tutti_status build_program(const installation *in)
{
    static const char find[] = "command -v c++ && pkg-config --exists --print-errors \"$1\"",
                      make[] = "mkdir \"$1\" && cp \"$3\" \"$1/$2.cpp\" && c++ -std=c++17 -O2 "
                               "-o \"$1/$2\" \"$1/$2.cpp\" $(pkg-config --cflags --libs \"$4\")",
                      try[] = "timeout 120 \"$1/$2\" --probe";
    const package *p = in->package;
    char source[PATH], file[64], what[96];
    snprintf(file, sizeof file, "%s.cpp", p->program);
    if (!tutti_peer_find_file(file, source))
        return tutti_fail(TUTTI_ERR_IO, "--package %s: %s was not found", p->name, file);
    char *const look[] = {"sh", "-c", (char *)find, "sh", (char *)p->library, NULL};
    if (run_program(in, "looking for a compiler", look))
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "--package %s: no compiler, or no %s: apt-get install g++ pkg-config %s", p->name,
            p->title, p->debian);
    snprintf(what, sizeof what, "compiling %s", file);
    char *const words[] = {"sh", "-c", (char *)make, "sh", (char *)in->part, (char *)p->program,
        source, (char *)p->library, NULL};
    if (run_program(in, what, words)) return explain(in, "the compiler");
    snprintf(what, sizeof what, "trying %s", p->program);
    char *const probe[] = {
        "sh", "-c", (char *)try, "sh", (char *)in->part, (char *)p->program, NULL};
    if (!run_program(in, what, probe)) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_UNSUPPORTED,
        "--install %s: the %s that was compiled does not run here (%s has what it said)", in->dir,
        p->program, in->log);
}

/* Leaves nothing but Python in bin: other programs there begin with the path of FOLDER.part. */
static void strip(const installation *in)
{
    char path[sizeof in->part + 8];
    snprintf(path, sizeof path, "%s/bin", in->part);
    DIR *bin = opendir(path);
    struct dirent *entry;
    while (bin && (entry = readdir(bin)))
        if (strncmp(entry->d_name, "python", 6) != 0 && entry->d_name[0] != '.')
            unlinkat(dirfd(bin), entry->d_name, 0);
    if (bin) closedir(bin);
}

static tutti_status finish(const installation *in)
{
    strip(in);
    sync(); /* all of its files, before its name */
    if (rename(in->part, in->dir))
        return tutti_fail(TUTTI_ERR_IO, "--install %s: %s cannot be renamed: %s", in->dir, in->part,
            strerror(errno));
    unlink(in->log);
    printf("%s: %s is installed; use it with %s%s%s%s\n", in->dir, in->package->title,
        in->package->use, in->dir, in->package->variable ? ", or set " : "",
        in->package->variable ? in->package->variable : "");
    return TUTTI_OK;
}

static tutti_status install(const installation *in)
{
    tutti_status status = clear(in);
    if (status) return status;
    status = in->package->program ? build_program(in) : make_environment(in);
    if (!status && !in->package->program) status = install_package(in);
    if (!status) status = finish(in);
    if (status) remove_tree(in->part);
    return status;
}

static tutti_status run(int argc, char **argv)
{
    options o = {0};
    installation in;
    tutti_lock *lock = NULL;
    int go;
    tutti_status status = tutti_conf_start(&conf, argc, argv, &o, &go);
    if (!go) return status;
    status = name_all(&o, &in);
    if (!status) status = tutti_lock_take("--install", in.dir, &lock);
    if (!status) status = refuse_existing(&in);
    if (!status) status = install(&in);
    tutti_lock_release(lock);
    return status;
}

const tutti_bench tutti_bench_peers = {
    "peers", "PyTorch, MXNet, gRPC and others, for the other commands", run};
