#define _GNU_SOURCE /* pipe2, environ */
#include "config.h"

#include "apps/launch/remote.h"

#include "apps/launch/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Variables that ranks on other hosts get, too. */
static const char *const passed[] = {
    "TUTTI_", "STARPU_", "OMP_", "DNNL_", "ONEDNN_", "LD_LIBRARY_PATH="};

/* ---- starting the agent ---- */

/* Into single quotes, as a shell reads them. 0: no room. */
static int quote(const char *text, char *line, size_t size)
{
    size_t n = 0;
    if (size < 3) return 0;
    line[n++] = '\'';
    for (; *text; text++) {
        if (n + 6 > size) return 0;
        if (*text == '\'')
            n += (size_t)sprintf(line + n, "'\\''");
        else
            line[n++] = *text;
    }
    line[n++] = '\'';
    line[n] = '\0';
    return 1;
}

static pid_t start_command(
    const tutti_launch_watch *watch, const tutti_launch_hosts *h, int i, int in, int out)
{
    char self[PATH_MAX], line[2 * PATH_MAX + 32] = "exec ";
    char **command = calloc((size_t)h->words + 5, sizeof *command);
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    pid_t process = -1;
    int n = 0;
    if (command && length > 0) {
        self[length] = '\0';
        for (; n < h->words; n++) command[n] = h->rsh[n];
        command[n++] = h->host[i].name;
        if (h->shell && quote(self, line + 5, sizeof line - 32)) {
            command[n++] = strcat(line, " " TUTTI_LAUNCH_AGENT);
        } else {
            command[n++] = self;
            command[n++] = TUTTI_LAUNCH_AGENT;
        }
        process = tutti_launch_watch_start(watch, command, 1, in, out, STDERR_FILENO);
    }
    free(command);
    return process;
}

pid_t tutti_launch_remote_open(
    const tutti_launch_watch *watch, const tutti_launch_hosts *h, int i, tutti_launch_remote *r)
{
    int to[2] = {-1, -1}, from[2] = {-1, -1};
    pid_t process = -1;
    *r = (tutti_launch_remote){.to = -1, .from = -1};
    if (!pipe2(to, O_CLOEXEC) && !pipe2(from, O_CLOEXEC))
        process = start_command(watch, h, i, to[0], from[1]);
    else
        tutti_launch_say("no pipe to host %s: %s", h->host[i].name, strerror(errno));
    if (to[0] >= 0) close(to[0]);
    if (from[1] >= 0) close(from[1]);
    r->to = to[1];
    r->from = from[0];
    if (process > 0) {
        fcntl(r->to, F_SETFL, O_NONBLOCK); /* what does not fit is lost, and so is the host */
        fcntl(r->from, F_SETFL, O_NONBLOCK);
    } else {
        tutti_launch_remote_close(r);
    }
    return process;
}

void tutti_launch_remote_close(tutti_launch_remote *r)
{
    if (r->to >= 0) close(r->to);
    if (r->from >= 0) close(r->from);
    r->to = r->from = -1;
}

/* ---- reading ---- */

static void read_door(tutti_launch_remote *r, const tutti_launch_frame *f, const char *host)
{
    const char *blank = strchr(f->bytes, ' ');
    const int port = blank ? atoi(blank + 1) : 0;
    const size_t length = blank ? (size_t)(blank - f->bytes) : 0;
    if (length == strlen(PACKAGE_VERSION) && !strncmp(f->bytes, PACKAGE_VERSION, length)) {
        r->port = port > 0 && port <= 65535 ? port : 0;
        r->wrong = !r->port;
        return;
    }
    r->wrong = 1;
    tutti_launch_say("host %s has tutti-run %.*s, and this is %s: install the same on all hosts",
        host, (int)length, f->bytes, PACKAGE_VERSION);
}

static void write_output(const tutti_launch_frame *f)
{
    for (size_t done = 0; done < f->length;) {
        const ssize_t n = write(STDOUT_FILENO, f->bytes + done, f->length - done);
        if (n < 0 && errno != EINTR) return;
        if (n > 0) done += (size_t)n;
    }
}

static void take_frame(tutti_launch_remote *r, const tutti_launch_frame *f, const char *host)
{
    switch (f->kind) {
    case TUTTI_LAUNCH_DOOR:
        read_door(r, f, host);
        break;
    case TUTTI_LAUNCH_OUTPUT:
        write_output(f);
        break;
    case TUTTI_LAUNCH_ENTERED:
        r->entered = 1;
        break;
    case TUTTI_LAUNCH_FINISHED:
        r->finished = 1;
        break;
    case TUTTI_LAUNCH_ENDED:
        r->ended = 1;
        r->how = atoi(f->bytes);
        break;
    case TUTTI_LAUNCH_START:
    case TUTTI_LAUNCH_SIGNAL:
        r->wrong = 1;
        break;
    }
}

/* A shell there may write something of its own first: its first line is shown. */
static void refuse_bytes(tutti_launch_remote *r, const char *host)
{
    const char *at = r->frames.bytes + r->frames.begin;
    const size_t most = r->frames.end - r->frames.begin;
    int length = 0;
    while ((size_t)length < most && length < 60 && at[length] >= ' ' && at[length] <= '~') length++;
    r->wrong = 1;
    tutti_launch_say("host %s: '%.*s' is not what tutti-run says there: a shell's start-up files "
                     "must write nothing",
        host, length, at);
}

void tutti_launch_remote_read(tutti_launch_remote *r, const char *host)
{
    tutti_launch_frame f;
    int more = 1, got = 0;
    while (more && r->from >= 0 && !r->wrong) {
        const size_t before = r->frames.end - r->frames.begin;
        more = tutti_launch_frames_fill(&r->frames, r->from);
        const int came = r->frames.end > before;
        while (!r->wrong && (got = tutti_launch_frames_next(&r->frames, &f)) > 0)
            take_frame(r, &f, host);
        if (got < 0 && !r->wrong) refuse_bytes(r, host);
        if (!more) {
            close(r->from);
            r->from = -1;
        }
        more = more && came;
    }
}

/* ---- writing ---- */

static int is_passed(const char *variable)
{
    int is = 0;
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
        is |= !strncmp(variable, passed[i], strlen(passed[i]));
    return is && strncmp(variable, "TUTTI_ELASTIC=", 14) != 0;
}

static int add_word(char *words, size_t *used, const char *word)
{
    const size_t length = strlen(word) + 1;
    if (*used + length > TUTTI_LAUNCH_FRAME_MOST) return 0;
    memcpy(words + *used, word, length);
    *used += length;
    return 1;
}

int tutti_launch_remote_start(tutti_launch_remote *r, const char *host, const char *before,
    const char *after, char *const command[])
{
    char words[TUTTI_LAUNCH_FRAME_MOST], folder[PATH_MAX], number[16];
    size_t used = 0;
    int n = 0, room = 1;
    for (char **e = environ; *e; e++) n += is_passed(*e);
    snprintf(number, sizeof number, "%d", n);
    room = getcwd(folder, sizeof folder) && add_word(words, &used, folder) &&
           add_word(words, &used, number);
    for (char **e = environ; *e && room; e++)
        if (is_passed(*e)) room = add_word(words, &used, *e);
    room = room && add_word(words, &used, before) && add_word(words, &used, after);
    for (int i = 0; command[i] && room; i++) room = add_word(words, &used, command[i]);
    r->started = room && tutti_launch_frame_write(r->to, TUTTI_LAUNCH_START, words, used);
    if (!room)
        tutti_launch_say(
            "the command and its variables are longer than %d bytes", TUTTI_LAUNCH_FRAME_MOST);
    else if (!r->started)
        tutti_launch_say("host %s: a rank there cannot be started: %s", host, strerror(errno));
    return r->started;
}

void tutti_launch_remote_signal(const tutti_launch_remote *r, int number)
{
    char text[16];
    const int length = snprintf(text, sizeof text, "%d", number);
    if (r->to >= 0) tutti_launch_frame_write(r->to, TUTTI_LAUNCH_SIGNAL, text, (size_t)length);
}
