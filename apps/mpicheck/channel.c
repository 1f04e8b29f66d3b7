#include "apps/mpicheck/channel.h"

#include "apps/mpicheck/frame.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

/* The judge may have to wait for a processor before it answers. */
enum { connect_ms = 3000, answer_ms = 20000 };

/* Mixes bytes into a hash (FNV-1a). */
static uint64_t mixed(uint64_t hash, const void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(1099511628211);
    return hash;
}

uint64_t mpicheck_channel_place(void)
{
    char text[256] = "";
    struct stat network;
    uint64_t place = UINT64_C(1469598103934665603);
    gethostname(text, sizeof(text) - 1);
    place = mixed(place, text, strlen(text));
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t length = read(fd, text, sizeof(text));
        if (length > 0) place = mixed(place, text, (size_t)length);
        close(fd);
    }
    if (stat("/proc/self/ns/net", &network) == 0)
        place = mixed(place, &network.st_ino, sizeof(network.st_ino));
    return place;
}

static void own_addresses(mpicheck_card *card)
{
    struct ifaddrs *all, *at;
    const int most = sizeof(card->address) / sizeof(card->address[0]);
    if (getifaddrs(&all) != 0) return;
    for (at = all; at && card->addresses < most; at = at->ifa_next) {
        if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET) continue;
        if ((at->ifa_flags & IFF_LOOPBACK) || !(at->ifa_flags & IFF_UP)) continue;
        card->address[card->addresses++] = ((struct sockaddr_in *)(void *)at->ifa_addr)->sin_addr;
    }
    freeifaddrs(all);
}

int mpicheck_channel_listen(mpicheck_card *card, bool local)
{
    struct sockaddr_in any = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(local ? INADDR_LOOPBACK : INADDR_ANY)};
    socklen_t length = sizeof(any);
    if (getrandom(&card->token, sizeof(card->token), 0) != sizeof(card->token)) return -1;
    if (getrandom(&card->answer, sizeof(card->answer), 0) != sizeof(card->answer)) return -1;
    card->place = mpicheck_channel_place();
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    if (bind(fd, (struct sockaddr *)&any, length) != 0 || listen(fd, SOMAXCONN) != 0 ||
        getsockname(fd, (struct sockaddr *)&any, &length) != 0) {
        close(fd);
        return -1;
    }
    card->port = any.sin_port;
    own_addresses(card);
    return fd;
}

static int connected(struct in_addr address, uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr = address, .sin_port = port};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1, error = 0;
    socklen_t length = sizeof(error);
    if (fd < 0) return -1;
    int rc = connect(fd, (struct sockaddr *)&to, sizeof(to));
    if (rc != 0 && errno == EINPROGRESS) {
        struct pollfd wait = {.fd = fd, .events = POLLOUT};
        rc = poll(&wait, 1, connect_ms) == 1 &&
                     getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0
                 ? 0
                 : -1;
    }
    if (rc != 0) {
        close(fd);
        return -1;
    }
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return fd;
}

/* Sends HELLO and waits for WELCOME. Reads no further byte: what follows is for the listener. */
static bool introduced(int fd, const mpicheck_card *card, int rank)
{
    unsigned char bytes[MPICHECK_FRAME_WELCOME_BYTES];
    mpicheck_frame hello = {0}, input = {.bytes = bytes}, frame;
    struct timeval limit = {.tv_sec = answer_ms / 1000}, none = {0};
    mpicheck_frame_begin(&hello, MPICHECK_FRAME_HELLO);
    mpicheck_frame_put(&hello, card->token);
    mpicheck_frame_put(&hello, rank);
    bool sent = mpicheck_frame_send(&hello, fd);
    mpicheck_frame_free(&hello);
    if (!sent) return false;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    while (input.length < sizeof(bytes)) {
        ssize_t got = recv(fd, bytes + input.length, sizeof(bytes) - input.length, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        input.length += (size_t)got;
    }
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none));
    return mpicheck_frame_take(&input, &frame) &&
           mpicheck_frame_kind_of(&frame) == MPICHECK_FRAME_WELCOME &&
           mpicheck_frame_get(&frame) == card->answer;
}

static int reached(struct in_addr address, const mpicheck_card *card, int rank)
{
    int fd = connected(address, card->port);
    if (fd < 0 || introduced(fd, card, rank)) return fd;
    close(fd);
    return -1;
}

int mpicheck_channel_connect(const mpicheck_card *card, int rank)
{
    int fd = -1;
    if (card->place == mpicheck_channel_place())
        fd = reached((struct in_addr){htonl(INADDR_LOOPBACK)}, card, rank);
    for (int i = 0; fd < 0 && i < card->addresses; i++) fd = reached(card->address[i], card, rank);
    return fd;
}
