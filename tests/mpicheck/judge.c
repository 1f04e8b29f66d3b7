/* The judge of libtutti-mpicheck and its connections: neither strangers nor a rank that does not read delay it, and a
 * rank does not take another program for the judge. */
#include "apps/mpicheck/channel.h"
#include "apps/mpicheck/frame.h"
#include "apps/mpicheck/item.h"
#include "apps/mpicheck/judge.h"
#include "apps/mpicheck/record.h"
#include "apps/mpicheck/signature.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ASSERT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int knock(const mpicheck_card *card)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_port = card->port};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ASSERT(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0);
    return fd;
}

/* Connects as a stranger that sends HELLO with these fields. */
static int hello(const mpicheck_card *card, int64_t token, int64_t rank)
{
    mpicheck_frame frame = {0};
    int fd = knock(card);
    mpicheck_frame_begin(&frame, MPICHECK_FRAME_HELLO);
    mpicheck_frame_put(&frame, token);
    mpicheck_frame_put(&frame, rank);
    ASSERT(mpicheck_frame_send(&frame, fd));
    mpicheck_frame_free(&frame);
    return fd;
}

/* Whether the other side closes the connection within ten seconds and sends nothing before. */
static bool rejected(int fd)
{
    struct pollfd line = {.fd = fd, .events = POLLIN};
    char byte;
    bool away = poll(&line, 1, 10000) == 1 && recv(fd, &byte, 1, 0) <= 0;
    close(fd);
    return away;
}

/* Sends a byte now and then, but never a whole HELLO. */
static void *drip(void *with)
{
    int fd = *(int *)with;
    for (int i = 0; i < 20; i++) {
        if (send(fd, "\x20", 1, MSG_NOSIGNAL) != 1) break;
        usleep(50000);
    }
    close(fd);
    return NULL;
}

enum { IDLE = 100, RANKS = 3 };

static void say_comm(int fd)
{
    mpicheck_frame frame = {0};
    mpicheck_frame_begin(&frame, MPICHECK_FRAME_COMM);
    mpicheck_frame_put(&frame, 1);
    mpicheck_frame_text(&frame, "MPI_COMM_WORLD");
    mpicheck_frame_put(&frame, 0);
    mpicheck_frame_put(&frame, RANKS);
    mpicheck_frame_put(&frame, 0);
    for (int r = 0; r < RANKS; r++) mpicheck_frame_put(&frame, r);
    ASSERT(mpicheck_frame_send(&frame, fd));
    mpicheck_frame_free(&frame);
}

static void say_collective(int fd, mpicheck_frame *frame, int number)
{
    mpicheck_record record = {.call = "MPI_Ibarrier",
        .kind = "Barrier",
        .what = "",
        .op = "",
        .comm = 1,
        .sequence = (uint64_t)number,
        .root = -1};
    mpicheck_frame_begin(frame, MPICHECK_FRAME_COLL);
    mpicheck_record_put(frame, &record);
    ASSERT(mpicheck_frame_send(frame, fd));
}

/* Enough that the judge's answers do not fit into the socket of a rank that does not read. */
enum { COLLECTIVES = 60000 };

static void *speak(void *with)
{
    int fd = *(int *)with;
    mpicheck_frame frame = {0};
    for (int i = 0; i < COLLECTIVES; i++) say_collective(fd, &frame, i);
    mpicheck_frame_free(&frame);
    return NULL;
}

/* Reads the judge's answer for each collective. */
static void *hear(void *with)
{
    mpicheck_frame input = {0}, frame;
    int heard = 0, fd = *(int *)with;
    while (heard < COLLECTIVES) {
        ASSERT(mpicheck_frame_receive(&input, fd));
        while (mpicheck_frame_take(&input, &frame))
            if (mpicheck_frame_kind_of(&frame) == MPICHECK_FRAME_GO) heard++;
        mpicheck_frame_drop(&input);
    }
    mpicheck_frame_free(&input);
    return NULL;
}

static void leave(int fd)
{
    mpicheck_frame frame = {0};
    mpicheck_frame_begin(&frame, MPICHECK_FRAME_LEAVE);
    mpicheck_frame_put(&frame, 0);
    ASSERT(mpicheck_frame_send(&frame, fd));
    mpicheck_frame_free(&frame);
}

static void test_strangers(void)
{
    mpicheck_card card = {0};
    int idle[IDLE], line[RANKS], listener = mpicheck_channel_listen(&card, true);
    pthread_t dripping, speaking[RANKS], hearing[RANKS];
    ASSERT(listener >= 0);
    mpicheck_judge *judge = mpicheck_judge_start(listener, &card, RANKS);
    ASSERT(judge);
    double begin = now();
    int slow = knock(&card), huge = knock(&card);
    pthread_create(&dripping, NULL, drip, &slow);
    for (int i = 0; i < IDLE; i++) idle[i] = knock(&card);
    const uint64_t most[4] = {UINT64_C(1) << 62, 0, 0, 0};
    ASSERT(send(huge, most, sizeof(most), MSG_NOSIGNAL) == sizeof(most));
    ASSERT(rejected(huge));
    ASSERT(rejected(hello(&card, card.token + 1, 0)));
    ASSERT(rejected(hello(&card, card.token, RANKS)));
    ASSERT(rejected(hello(&card, card.token, -1)));
    for (int r = 0; r < RANKS; r++) {
        line[r] = mpicheck_channel_connect(&card, r);
        ASSERT(line[r] >= 0);
    }
    printf("strangers: %.2f s\n", now() - begin);
    ASSERT(now() - begin < 8);
    for (int i = 0; i < IDLE; i++) close(idle[i]);
    for (int r = 0; r < RANKS; r++) say_comm(line[r]);
    /* The last rank does not read. */
    for (int r = 0; r < RANKS; r++) {
        pthread_create(&speaking[r], NULL, speak, &line[r]);
        if (r < RANKS - 1) pthread_create(&hearing[r], NULL, hear, &line[r]);
    }
    for (int r = 0; r < RANKS; r++) {
        pthread_join(speaking[r], NULL);
        if (r < RANKS - 1) pthread_join(hearing[r], NULL);
    }
    pthread_join(dripping, NULL);
    for (int r = 0; r < RANKS; r++) leave(line[r]);
    for (int r = 0; r < RANKS; r++) close(line[r]);
    mpicheck_judge_join(judge);
}

/* A rank that has the token but then sends no valid frame is disconnected, and the others go on. */
static void test_torn(void)
{
    mpicheck_card card = {0};
    int listener = mpicheck_channel_listen(&card, true);
    mpicheck_judge *judge = mpicheck_judge_start(listener, &card, 1);
    int line = mpicheck_channel_connect(&card, 0);
    const uint64_t most[2] = {UINT64_C(1) << 62, MPICHECK_FRAME_SITE};
    ASSERT(judge && line >= 0);
    leave(line);
    ASSERT(send(line, most, sizeof(most), MSG_NOSIGNAL) == sizeof(most));
    ASSERT(rejected(line));
    mpicheck_judge_join(judge);
}

static int bound(uint32_t address, uint16_t port)
{
    struct sockaddr_in here = {
        .sin_family = AF_INET, .sin_addr = {htonl(address)}, .sin_port = port};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ASSERT(fd >= 0);
    if (bind(fd, (struct sockaddr *)&here, sizeof(here)) == 0 && listen(fd, 8) == 0) return fd;
    close(fd);
    return -1;
}

/* Another program with the same port, as on another host of the same name: it accepts and answers. */
static void *pretend(void *with)
{
    char bytes[MPICHECK_FRAME_HELLO_BYTES] = {MPICHECK_FRAME_WELCOME_BYTES};
    int fd = accept(*(int *)with, NULL, NULL);
    bytes[8] = MPICHECK_FRAME_WELCOME;
    ASSERT(send(fd, bytes, MPICHECK_FRAME_WELCOME_BYTES, MSG_NOSIGNAL) > 0);
    (void)recv(fd, bytes, sizeof(bytes), MSG_WAITALL);
    close(fd);
    return NULL;
}

static void test_other_program(void)
{
    const uint32_t other = INADDR_LOOPBACK + 1;
    mpicheck_card card = {0};
    pthread_t pretending;
    int foreign, listener = -1, fd = mpicheck_channel_listen(&card, true);
    close(fd);
    foreign = bound(INADDR_LOOPBACK, card.port);
    if (foreign >= 0) listener = bound(other, card.port);
    if (listener < 0) return; /* the port is taken */
    card.addresses = 1;
    card.address[0].s_addr = htonl(other);
    mpicheck_judge *judge = mpicheck_judge_start(listener, &card, 1);
    pthread_create(&pretending, NULL, pretend, &foreign);
    int line = mpicheck_channel_connect(&card, 0);
    ASSERT(judge && line >= 0);
    pthread_join(pretending, NULL);
    leave(line);
    close(line);
    close(foreign);
    mpicheck_judge_join(judge);
}

/* One host name, two networks. */
static void test_place(void)
{
    uint64_t here = mpicheck_channel_place();
    int status = 0;
    ASSERT(here == mpicheck_channel_place());
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit(unshare(CLONE_NEWNET) != 0 || mpicheck_channel_place() != here ? 0 : 1);
    ASSERT(waitpid(child, &status, 0) == child && status == 0);
}

/* The judge can quit although ranks never connect. */
static void test_quit(void)
{
    mpicheck_card card = {0};
    int listener = mpicheck_channel_listen(&card, true);
    mpicheck_judge *judge = mpicheck_judge_start(listener, &card, 2);
    int line = mpicheck_channel_connect(&card, 0);
    ASSERT(judge && line >= 0);
    mpicheck_judge_quit(judge);
    ASSERT(rejected(line));
}

static void put_item(
    mpicheck_frame *frame, mpicheck_item_kind kind, int64_t number, const char *call)
{
    const int64_t comm = 1, peer = 0, tag = 7;
    mpicheck_frame_put(frame, kind);
    mpicheck_frame_put(frame, comm);
    mpicheck_frame_put(frame, peer);
    mpicheck_frame_put(frame, tag);
    mpicheck_frame_put(frame, 0);
    mpicheck_frame_put(frame, number);
    mpicheck_frame_put(frame, 0);
    mpicheck_frame_text(frame, call);
    mpicheck_frame_put(frame, 0);
}

/* Waits in MPI_Finalize, or for receives: a letter for each that was posted, w for those that it waits for. */
static void say_blocked(int fd, int64_t probe, const char *receives)
{
    const int posted = (int)strlen(receives);
    const char *call = posted ? "MPI_Waitall" : "MPI_Finalize";
    int waited = posted == 0;
    mpicheck_frame frame = {0};
    for (int i = 0; i < posted; i++) waited += receives[i] == 'w';
    mpicheck_frame_begin(&frame, MPICHECK_FRAME_BLOCKED);
    mpicheck_frame_put(&frame, 1); /* thread */
    mpicheck_frame_put(&frame, 1); /* threads */
    mpicheck_frame_put(&frame, probe);
    mpicheck_frame_put(&frame, 0); /* for all of them */
    mpicheck_frame_put(&frame, 1); /* it has told all its messages */
    mpicheck_frame_text(&frame, call);
    mpicheck_frame_put(&frame, 0);
    mpicheck_frame_put(&frame, waited);
    if (!posted) put_item(&frame, MPICHECK_ITEM_FINALIZE, 0, call);
    for (int i = 0; i < posted; i++)
        if (receives[i] == 'w') put_item(&frame, MPICHECK_ITEM_RECV, i + 1, "MPI_Irecv");
    mpicheck_frame_put(&frame, posted);
    for (int i = 0; i < posted; i++) put_item(&frame, MPICHECK_ITEM_RECV, i + 1, "MPI_Irecv");
    ASSERT(mpicheck_frame_send(&frame, fd));
    mpicheck_frame_free(&frame);
}

static void say_sent(int fd)
{
    mpicheck_frame frame = {0};
    mpicheck_frame_begin(&frame, MPICHECK_FRAME_MESSAGE);
    mpicheck_frame_put(&frame, 99); /* its channel and number */
    mpicheck_frame_put(&frame, 1);
    mpicheck_frame_put(&frame, 1); /* communicator */
    mpicheck_frame_put(&frame, 1); /* to */
    mpicheck_frame_put(&frame, 7); /* tag */
    mpicheck_frame_text(&frame, "MPI_Bsend");
    mpicheck_frame_put(&frame, 0);
    mpicheck_signature_put(&frame, (mpicheck_signature){.anything = true});
    ASSERT(mpicheck_frame_send(&frame, fd));
    mpicheck_frame_free(&frame);
}

/* Answers the judge's questions: whether it ends the run within so many seconds. */
static bool is_ended(const int line[2], const char *receives, double most_s)
{
    mpicheck_frame input = {0}, frame;
    bool ended = false;
    for (double until = now() + most_s; !ended && now() < until;) {
        struct pollfd two[2] = {{line[0], POLLIN, 0}, {line[1], POLLIN, 0}};
        if (poll(two, 2, 100) <= 0) continue;
        for (int r = 0; r < 2; r++) {
            if (!two[r].revents) continue;
            ASSERT(mpicheck_frame_receive(&input, line[r]));
            while (mpicheck_frame_take(&input, &frame)) {
                mpicheck_frame_kind kind = mpicheck_frame_kind_of(&frame);
                if (kind == MPICHECK_FRAME_ABORT) ended = true;
                if (kind == MPICHECK_FRAME_PROBE)
                    say_blocked(line[r], mpicheck_frame_get(&frame), r ? receives : "");
            }
            mpicheck_frame_drop(&input);
        }
    }
    mpicheck_frame_free(&input);
    return ended;
}

/* Rank 0 finalizes while rank 1 waits for messages from it, of which at most one was sent: whether the judge ends
 * them within so many seconds. It takes 1 s. */
static bool is_deadlock(bool sent, const char *receives, double most_s)
{
    mpicheck_card card = {0};
    int listener = mpicheck_channel_listen(&card, true), line[2];
    mpicheck_judge *judge = mpicheck_judge_start(listener, &card, 2);
    ASSERT(judge);
    for (int r = 0; r < 2; r++) {
        line[r] = mpicheck_channel_connect(&card, r);
        ASSERT(line[r] >= 0);
    }
    if (sent) say_sent(line[0]);
    say_blocked(line[0], 0, "");
    say_blocked(line[1], 0, receives);
    bool ended = is_ended(line, receives, most_s);
    for (int r = 0; r < 2; r++) leave(line[r]);
    for (int r = 0; r < 2; r++) close(line[r]);
    mpicheck_judge_join(judge);
    return ended;
}

/* A message that was sent arrives, whatever its sender does, and the receive that was posted first gets it. */
static void test_sent(void)
{
    ASSERT(is_deadlock(false, "w", 20));
    ASSERT(!is_deadlock(true, "w", 3));
    ASSERT(is_deadlock(true, "ww", 20));
    ASSERT(!is_deadlock(true, "w-", 3));
    ASSERT(is_deadlock(true, "-w", 20));
}

int main(void)
{
    test_sent();
    test_strangers();
    test_torn();
    test_other_program();
    test_place();
    test_quit();
    return 0;
}
