#include "apps/check/channel.h"

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
#include <unistd.h>

enum { connect_ms = 3000 };

static void own_addresses(tutti_card *card)
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

int tutti_channel_listen(tutti_card *card, bool local)
{
    struct sockaddr_in any = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(local ? INADDR_LOOPBACK : INADDR_ANY)};
    socklen_t length = sizeof(any);
    if (getrandom(&card->token, sizeof(card->token), 0) != sizeof(card->token)) return -1;
    gethostname(card->host, sizeof(card->host) - 1);
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

int tutti_channel_connect(const tutti_card *card)
{
    char host[64] = "";
    int fd = -1;
    gethostname(host, sizeof(host) - 1);
    if (strcmp(host, card->host) == 0)
        fd = connected((struct in_addr){htonl(INADDR_LOOPBACK)}, card->port);
    for (int i = 0; fd < 0 && i < card->addresses; i++)
        fd = connected(card->address[i], card->port);
    return fd;
}
