#include "tests/device/child.h"

#include "tests/support/testing.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void be_child(const child *c, int to, void (*body)(void *arg), void *arg)
{
    char text[32];
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    dup2(to, STDERR_FILENO);
    setenv("TUTTI_FAKE_ORDER", c->order, 1);
    snprintf(text, sizeof text, "%d", c->devices ? c->devices : 1);
    setenv("TUTTI_FAKE_DEVICES", text, 1);
    snprintf(text, sizeof text, "%u", c->seed);
    if (c->seed) setenv("TUTTI_FAKE_SEED", text, 1);
    body(arg);
    exit(0);
}

static void listen_to(int from, char *said, size_t room)
{
    size_t length = 0;
    ssize_t got;
    while ((got = read(from, said + length, room - 1 - length)) > 0) length += (size_t)got;
    said[length] = 0;
}

void child_run(child *c, void (*body)(void *arg), void *arg)
{
    int ends[2], status;
    fflush(NULL);
    ck_assert_int_eq(pipe(ends), 0);
    const pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (!pid) be_child(c, ends[1], body, arg);
    close(ends[1]);
    listen_to(ends[0], c->said, sizeof c->said);
    close(ends[0]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    c->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    c->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void *child_shared(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(memory != MAP_FAILED);
    return memory;
}

void child_check_right(const child *c, const char *what)
{
    ck_assert_msg(!c->signal && !c->status && !*c->said, "%s (%s): signal %d, status %d: %s", what,
        c->order, c->signal, c->status, c->said);
}

void child_check_fails(const child *c, const char *what, const char *sentence)
{
    ck_assert_msg(c->signal == SIGABRT || c->signal == SIGSEGV, "%s (%s): signal %d, status %d: %s",
        what, c->order, c->signal, c->status, c->said);
    ck_assert_msg(!strncmp(c->said, "fake device: ", 13) && strstr(c->said, sentence),
        "%s (%s): it does not say \"%s\": %s", what, c->order, sentence, c->said);
}
