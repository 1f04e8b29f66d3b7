#include "config.h" /* first: it asks libc for pipe2 */

#include "apps/bench/peer.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE = 4096, PATH = TUTTI_PEER_PATH, QUOTED = TUTTI_PEER_QUOTED, COMMAND = 64 };
extern char **environ;

struct tutti_peer {
    pid_t pid;
    int to, from;
    size_t used; /* bytes in text, read beyond the last line */
    char text[LINE], about[128];
    json_t *ready, *block; /* the first event, and the latest; block NULL: none yet */
};

/* Writes this program's own folder; "." if unknown. */
static void find_own_folder(char folder[PATH])
{
    ssize_t n = readlink("/proc/self/exe", folder, PATH - 1);
    char *end = NULL;
    if (n > 0) {
        folder[n] = '\0';
        end = strrchr(folder, '/');
    }
    if (end)
        *end = '\0';
    else
        memcpy(folder, ".", 2);
}

/* Seen from the program: in the build folder, also if libtool has put the program into .libs there; beside bin, as make
 * install may use another place than the one configured; there. */
int tutti_peer_find_file(const char *file, char path[TUTTI_PEER_PATH])
{
    static const char *const beside[] = {"bench", "../bench", "../share/tutti"};
    enum { BESIDE = sizeof beside / sizeof *beside };
    char folder[PATH];
    find_own_folder(folder);
    for (int i = 0; i < BESIDE; i++) {
        snprintf(path, PATH, "%.900s/%s/%.80s", folder, beside[i], file);
        if (access(path, R_OK) == 0) return 1;
    }
    snprintf(path, PATH, "%.900s/%.80s", TUTTI_PKGDATADIR, file);
    return access(path, R_OK) == 0;
}

void tutti_peer_quote(const char *text, char word[TUTTI_PEER_QUOTED])
{
    size_t used = 0;
    word[used++] = '\'';
    for (; *text && used + 6 < QUOTED; text++) {
        if (*text == '\'') {
            memcpy(word + used, "'\\''", 4);
            used += 4;
        } else {
            word[used++] = *text;
        }
    }
    word[used++] = '\'';
    word[*text ? 0 : used] = '\0';
}

/* What a Python has of the module, which may be PyTorch with a slow BLAS, or one that finds no GPU; and the script of
 * the model. */
typedef enum module_state { MODULE_NONE, MODULE_UNFIT, MODULE_NO_MODEL, MODULE_GOOD } module_state;

static module_state try_module(
    const char *python, const tutti_peer_script *script, const char *path)
{
    enum { NO_MODEL = 2 }; /* exit status of torch_compute.py --probe --model */
    char probe[4 * QUOTED], model[QUOTED] = "";
    snprintf(probe, sizeof probe, "timeout 120 %s -c 'import %s' > /dev/null 2>&1", python,
        script->module);
    if (system(probe) != 0) return MODULE_NONE;
    if (script->model) tutti_peer_quote(script->model, model);
    snprintf(probe, sizeof probe, "timeout 120 %s %s --probe%s%s", python, path,
        *model ? " --model " : "", model);
    const int status = system(probe);
    if (script->model && WIFEXITED(status) && WEXITSTATUS(status) == NO_MODEL)
        return MODULE_NO_MODEL;
    return status == 0 ? MODULE_GOOD : MODULE_UNFIT;
}

static int is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static const char *option_of(const tutti_peer_script *script)
{
    return script->option ? script->option : "peer";
}

/* The command that makes a folder with what the script needs, but for the folder. */
static const char *install_command(const tutti_peer_script *script, char text[COMMAND])
{
    snprintf(text, COMMAND, "tutti-bench peers%s%s --install", script->package ? " --package " : "",
        script->package ? script->package : "");
    return text;
}

/* An environment was asked for, so all that is wrong with it is an error. */
static tutti_status use_folder(const char *folder, const tutti_peer_script *script,
    const char *script_path, char *text, size_t size)
{
    char path[PATH + 16], python[QUOTED], install[COMMAND];
    install_command(script, install);
    snprintf(path, sizeof path, "%.1000s/bin/python3", folder);
    if (access(path, X_OK) != 0)
        return tutti_fail(TUTTI_ERR_USAGE,
            "--%s %s: the folder has no bin/python3: %s makes one that has", option_of(script),
            folder, install);
    tutti_peer_quote(path, python);
    switch (try_module(python, script, script_path)) {
    case MODULE_NONE:
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "--%s %s: its Python cannot import %s: remove the folder, and make it again with %s",
            option_of(script), folder, script->module, install);
    case MODULE_UNFIT:
        return tutti_fail(TUTTI_ERR_UNSUPPORTED, "--%s %s: its PyTorch %s", option_of(script),
            folder, script->device ? "finds no GPU" : "is too slow to compare with");
    case MODULE_NO_MODEL:
        return tutti_fail(TUTTI_ERR_UNSUPPORTED, "--%s %s: %s has no %s: use --%s none",
            option_of(script), folder, script->file, script->model, option_of(script));
    default:
        snprintf(text, size, "%s %s", python, script_path);
        return TUTTI_OK;
    }
}

static void use_debian(
    const tutti_peer_script *script, const char *script_path, char *text, size_t size)
{
    static const char python[] = "/usr/bin/python3";
    char install[COMMAND];
    module_state state = try_module(python, script, script_path);
    if (state == MODULE_GOOD) snprintf(text, size, "%s %s", python, script_path);
    if (state == MODULE_NONE)
        tutti_log(TUTTI_LOG_INFO, "no peer: %s has no %s (%s gets it, for --%s)", python,
            script->module, install_command(script, install), option_of(script));
    if (state == MODULE_UNFIT)
        tutti_log(TUTTI_LOG_INFO, "no peer: this PyTorch %s",
            script->device ? "finds no GPU" : "is too slow for a fair comparison");
    if (state == MODULE_NO_MODEL)
        tutti_log(TUTTI_LOG_INFO, "no peer: %s has no %s", script->file, script->model);
}

tutti_status tutti_peer_program(
    const char *wish, const tutti_peer_script *script, char *text, size_t size)
{
    char path[PATH], word[QUOTED + 32], device[32] = "", install[COMMAND];
    int folder = is_folder(wish);
    *text = '\0';
    if (strcmp(wish, "none") == 0) return TUTTI_OK;
    if (script->device) snprintf(device, sizeof device, " --device %s", script->device);
    if (strcmp(wish, "auto") != 0 && !folder) {
        if (strchr(wish, '/') && !strpbrk(wish, " \t'\"$;&|") && access(wish, F_OK) != 0)
            return tutti_fail(TUTTI_ERR_USAGE,
                "--%s %s: there is no such folder or program; %s makes a folder", option_of(script),
                wish, install_command(script, install));
        snprintf(text, size, "%s%s", wish, device);
        return TUTTI_OK;
    }
    if (!tutti_peer_find_file(script->file, path)) {
        if (folder)
            return tutti_fail(
                TUTTI_ERR_IO, "--%s %s: %s was not found", option_of(script), wish, script->file);
        tutti_log(TUTTI_LOG_INFO, "no peer: %s was not found", script->file);
        return TUTTI_OK;
    }
    tutti_peer_quote(path, word);
    strcat(word, device);
    if (folder) return use_folder(wish, script, word, text, size);
    use_debian(script, word, text, size);
    return TUTTI_OK;
}

tutti_status tutti_peer_split_variants(
    const tutti_conf *conf, const char *list, tutti_peer_variants *v)
{
    static const char known[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    for (v->count = 0;; list++) {
        size_t length = strspn(list, known);
        if (length == 0 || length >= sizeof *v->word || (list[length] && list[length] != ','))
            return tutti_conf_refuse(conf, "peer-variants", list,
                "is not a list such as eager,compile: words of --help with commas between them");
        if (v->count == TUTTI_PEER_VARIANTS)
            return tutti_conf_refuse(conf, "peer-variants", list, "is more than 8 variants");
        memcpy(v->word[v->count], list, length);
        v->word[v->count++][length] = '\0';
        list += length;
        if (!*list) return TUTTI_OK;
    }
}

/* Runs the command with stdin and stdout on pipes. Returns 0 or an errno value. */
static int spawn(const char *command, tutti_peer *peer)
{
    int in[2], out[2];
    char *argv[] = {"sh", "-c", (char *)command, NULL};
    posix_spawn_file_actions_t actions;
    if (pipe2(in, O_CLOEXEC)) return errno;
    if (pipe2(out, O_CLOEXEC)) {
        int error = errno;
        close(in[0]);
        close(in[1]);
        return error;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    int error = posix_spawn(&peer->pid, "/bin/sh", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    peer->to = in[1];
    peer->from = out[0];
    return error;
}

/* Reads one line into `line` (LINE bytes). */
static tutti_status read_line(tutti_peer *peer, double timeout_s, char *line)
{
    double end = tutti_clock_s() + timeout_s;
    for (;;) {
        char *newline = memchr(peer->text, '\n', peer->used);
        if (newline) {
            size_t length = (size_t)(newline - peer->text);
            memcpy(line, peer->text, length);
            line[length] = '\0';
            peer->used -= length + 1;
            memmove(peer->text, newline + 1, peer->used);
            return TUTTI_OK;
        }
        if (peer->used == LINE)
            return tutti_fail(TUTTI_ERR_FORMAT, "the peer program's line is too long");
        double left = end - tutti_clock_s();
        struct pollfd ready = {.fd = peer->from, .events = POLLIN};
        if (left <= 0)
            return tutti_fail(
                TUTTI_ERR_TIMEOUT, "the peer program did not answer within %.0f s", timeout_s);
        if (poll(&ready, 1, (int)(1e3 * left) + 1) <= 0) continue;
        ssize_t n = read(peer->from, peer->text + peer->used, LINE - peer->used);
        if (n == 0) return tutti_fail(TUTTI_ERR_IO, "the peer program ended");
        if (n > 0) peer->used += (size_t)n;
    }
}

/* The next line, an object with this event; the caller drops the reference. */
static tutti_status read_event(
    tutti_peer *peer, double timeout_s, const char *event, json_t **object)
{
    char line[LINE];
    tutti_status status = read_line(peer, timeout_s, line);
    if (status) return status;
    json_t *found = json_loads(line, 0, NULL);
    const char *name = json_string_value(json_object_get(found, "event"));
    if (!name || strcmp(name, event) != 0) {
        json_decref(found);
        return tutti_fail(TUTTI_ERR_FORMAT,
            "the peer program said \"%.200s\" instead of an event \"%s\"", line, event);
    }
    *object = found;
    return TUTTI_OK;
}

/* "PyTorch 2.15.0, bf16-best: graph", or what the peer says about itself. */
static void describe(tutti_peer *p)
{
    const char *about = json_string_value(json_object_get(p->ready, "about"));
    const char *torch = json_string_value(json_object_get(p->ready, "torch"));
    const char *variant = json_string_value(json_object_get(p->ready, "variant"));
    const char *won = json_string_value(json_object_get(p->ready, "won"));
    if (about || (variant && strcmp(variant, "eager") == 0)) variant = NULL;
    if (!variant) won = NULL;
    snprintf(p->about, sizeof p->about, "%s%s%s%s%s%s",
        about   ? about
        : torch ? "PyTorch "
                : "peer",
        torch && !about ? torch : "", variant ? ", " : "", variant ? variant : "", won ? ": " : "",
        won ? won : "");
}

tutti_status tutti_peer_start(const char *command, double timeout_s, tutti_peer **peer)
{
    tutti_peer *p = calloc(1, sizeof *p);
    if (!p) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a peer");
    p->to = p->from = -1;
    int error = spawn(command, p);
    tutti_status status =
        error ? tutti_fail(TUTTI_ERR_IO, "%s: cannot be started: %s", command, strerror(error))
              : read_event(p, timeout_s, "ready", &p->ready);
    if (status) {
        tutti_peer_stop(p);
        return status;
    }
    describe(p);
    *peer = p;
    return TUTTI_OK;
}

const char *tutti_peer_about(const tutti_peer *peer)
{
    return peer->about;
}

static double find_number(const json_t *event, const char *name)
{
    const json_t *value = json_object_get(event, name);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

double tutti_peer_number(const tutti_peer *peer, const char *name)
{
    return find_number(peer->ready, name);
}

double tutti_peer_block_number(const tutti_peer *peer, const char *name)
{
    return find_number(peer->block, name);
}

tutti_status tutti_peer_block(tutti_peer *peer, double timeout_s, double *step_s)
{
    return tutti_peer_ask(peer, "", timeout_s, step_s);
}

tutti_status tutti_peer_ask(tutti_peer *peer, const char *request, double timeout_s, double *step_s)
{
    json_t *block;
    char line[256];
    ssize_t length = snprintf(line, sizeof line, "%.250s\n", request);
    if (write(peer->to, line, (size_t)length) != length)
        return tutti_fail(TUTTI_ERR_IO, "the peer program does not listen: %s", strerror(errno));
    tutti_status status = read_event(peer, timeout_s, "block", &block);
    if (status) return status;
    double ms = json_number_value(json_object_get(block, "step_ms"));
    json_decref(peer->block);
    peer->block = block;
    if (!(ms > 0)) return tutti_fail(TUTTI_ERR_FORMAT, "the peer program reported no step_ms");
    *step_s = ms / 1e3;
    return TUTTI_OK;
}

void tutti_peer_stop(tutti_peer *peer)
{
    if (!peer) return;
    if (peer->to >= 0) close(peer->to); /* at the end of its stdin the peer ends */
    if (peer->from >= 0) close(peer->from);
    if (peer->pid > 0) {
        double end = tutti_clock_s() + 5;
        while (waitpid(peer->pid, NULL, WNOHANG) == 0) {
            if (tutti_clock_s() > end) kill(peer->pid, SIGKILL);
            tutti_clock_sleep(0.01);
        }
    }
    json_decref(peer->ready);
    json_decref(peer->block);
    free(peer);
}
