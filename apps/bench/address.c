#include "config.h" /* first: it asks libc for IFF_UP */

#include "apps/bench/address.h"

#include "dag/base/log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* How well an address fits: 0 not at all, 1 the loopback, 2 any other. */
static int fit_of(const struct ifaddrs *a, const char *interface)
{
    if (!a->ifa_addr || a->ifa_addr->sa_family != AF_INET || !(a->ifa_flags & IFF_UP)) return 0;
    if (interface) return strcmp(a->ifa_name, interface) == 0;
    return a->ifa_flags & IFF_LOOPBACK ? 1 : 2;
}

/* A port chosen by the system. If another program takes it meanwhile, the peer reports it. */
static int free_port(void)
{
    struct sockaddr_in any = {.sin_family = AF_INET};
    socklen_t size = sizeof any;
    int port = -1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    if (bind(fd, (struct sockaddr *)&any, sizeof any) == 0 &&
        getsockname(fd, (struct sockaddr *)&any, &size) == 0)
        port = ntohs(any.sin_port);
    close(fd);
    return port;
}

tutti_status tutti_address_find(const char *interface, tutti_address *address)
{
    struct ifaddrs *all;
    int best = 0;
    if (getifaddrs(&all))
        return tutti_fail(TUTTI_ERR_IO, "the network interfaces: %s", strerror(errno));
    for (const struct ifaddrs *a = all; a; a = a->ifa_next) {
        int fit = fit_of(a, interface);
        if (fit <= best) continue;
        best = fit;
        const struct sockaddr_in *in = (const void *)a->ifa_addr;
        snprintf(address->interface, sizeof address->interface, "%s", a->ifa_name);
        inet_ntop(AF_INET, &in->sin_addr, address->host, sizeof address->host);
    }
    freeifaddrs(all);
    if (!best)
        return tutti_fail(TUTTI_ERR_IO, "no network interface %s with an IPv4 address is up",
            interface ? interface : "");
    address->port = free_port();
    return address->port < 0 ? tutti_fail(TUTTI_ERR_IO, "no free port: %s", strerror(errno))
                             : TUTTI_OK;
}
