#define _GNU_SOURCE /* SYS_close_range, POLLRDHUP */
#include "designs/elastic/keeper.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* A message with room for one descriptor. */
typedef struct letter {
    char byte;
    struct iovec part;
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } control;
    struct msghdr header;
} letter;

static void prepare_letter(letter *l)
{
    memset(l, 0, sizeof *l);
    l->part = (struct iovec){&l->byte, 1};
    l->header = (struct msghdr){.msg_iov = &l->part,
        .msg_iovlen = 1,
        .msg_control = l->control.bytes,
        .msg_controllen = sizeof l->control.bytes};
}

/* ---- the keeper: after a fork among threads, only calls of the kernel are safe ---- */

enum { LETTERS = 0 }; /* its descriptor of the rank */

static void close_others(void)
{
    long most = sysconf(_SC_OPEN_MAX);
    if (most < 0 || most > 1 << 16) most = 1 << 16;
#ifdef SYS_close_range
    if (!syscall(SYS_close_range, LETTERS + 1, ~0u, 0)) return;
#endif
    for (int fd = LETTERS + 1; fd < most; fd++) close(fd);
}

/* -1: the rank has ended. -2: none has come. */
static int receive_socket(void)
{
    letter l;
    int socket = -2;
    prepare_letter(&l);
    const ssize_t n = recvmsg(LETTERS, &l.header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0) return errno == EAGAIN || errno == EINTR ? -2 : -1;
    if (n == 0) return -1;
    const struct cmsghdr *c = CMSG_FIRSTHDR(&l.header);
    if (c && c->cmsg_type == SCM_RIGHTS) memcpy(&socket, CMSG_DATA(c), sizeof socket);
    return socket;
}

/* Both ends have shut those that poll says have hung up. */
static void drop_ended(struct pollfd kept[], int *count)
{
    for (int i = 1; i < *count; i++) {
        if (!(kept[i].revents & (POLLHUP | POLLERR | POLLNVAL))) continue;
        close(kept[i].fd);
        kept[i--] = kept[--*count];
    }
}

static void keep_until_end(struct pollfd kept[], int *count)
{
    for (;;) {
        poll(kept, (nfds_t)*count, -1);
        drop_ended(kept, count);
        if (!kept[0].revents) continue;
        const int socket = receive_socket();
        if (socket == -1) return;
        if (socket < 0) continue;
        if (*count == TUTTI_ELASTIC_KEPT)
            close(socket);
        else
            kept[(*count)++] = (struct pollfd){.fd = socket};
    }
}

/* 0: the other end has closed it. */
static int read_rest(int socket)
{
    char dropped[4096];
    ssize_t n;
    do n = recv(socket, dropped, sizeof dropped, MSG_DONTWAIT);
    while (n > 0);
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static void close_in_order(struct pollfd kept[], int count)
{
    static const double most_s = 2;
    const double until_s = tutti_clock_s() + most_s;
    for (int i = 1; i < count; i++) {
        kept[i].events = POLLIN;
        read_rest(kept[i].fd);
        shutdown(kept[i].fd, SHUT_WR);
    }
    for (double left_s = most_s; left_s > 0; left_s = until_s - tutti_clock_s()) {
        int open = 0;
        for (int i = 1; i < count; i++) {
            if (kept[i].fd >= 0 && !read_rest(kept[i].fd)) kept[i].fd = -1;
            open += kept[i].fd >= 0;
        }
        if (!open) return;
        poll(kept + 1, (nfds_t)count - 1, (int)ceil(1e3 * left_s));
    }
}

static void run_keeper(int socket)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1};
    struct pollfd kept[TUTTI_ELASTIC_KEPT];
    int count = 1;
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) signal(ignored[i], SIG_IGN);
    /* not prctl: what a sanitizer has in its place takes a lock, which another thread may have held at the fork */
    syscall(SYS_prctl, PR_SET_NAME, "tutti-keeper", 0, 0, 0);
    if (dup2(socket, LETTERS) < 0) _exit(1);
    close_others();
    kept[0] = (struct pollfd){.fd = LETTERS, .events = POLLIN};
    keep_until_end(kept, &count);
    close_in_order(kept, count);
    _exit(0);
}

/* ---- the rank ---- */

void tutti_elastic_keeper_open(tutti_elastic_keeper *k)
{
    int ends[2];
    *k = (tutti_elastic_keeper){.socket = -1, .pid = -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) return;
    k->pid = fork();
    if (!k->pid) run_keeper(ends[1]);
    close(ends[1]);
    k->socket = ends[0];
    if (k->pid > 0) return;
    tutti_log(TUTTI_LOG_WARN,
        "no process keeps the connections of this rank: if it dies, others may suspect it only");
    close(k->socket);
    k->socket = -1;
}

void tutti_elastic_keeper_keep(const tutti_elastic_keeper *k, int socket)
{
    letter l;
    if (k->socket < 0) return;
    prepare_letter(&l);
    struct cmsghdr *c = CMSG_FIRSTHDR(&l.header);
    *c = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof socket), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(c), &socket, sizeof socket);
    if (sendmsg(k->socket, &l.header, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        tutti_log(TUTTI_LOG_DEBUG, "a connection is not kept: %s", strerror(errno));
}

void tutti_elastic_keeper_close(tutti_elastic_keeper *k)
{
    static const double most_s = 5; /* it ends within two */
    const double until_s = tutti_clock_s() + most_s;
    pid_t ended;
    if (k->socket < 0) return;
    close(k->socket);
    k->socket = -1;
    while (!(ended = waitpid(k->pid, NULL, WNOHANG)) && tutti_clock_s() < until_s) poll(NULL, 0, 5);
    if (ended) return;
    kill(k->pid, SIGKILL);
    while (waitpid(k->pid, NULL, 0) < 0 && errno == EINTR) continue;
}
