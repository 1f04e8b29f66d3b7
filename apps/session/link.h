/* How much a link can carry. [P] */
#ifndef TUTTI_LINK_H
#define TUTTI_LINK_H

/* TCP payload in bytes per second over a link of link_mbit Mbit/s, as tc counts: 1448 of the 1514
 * bytes of a full Ethernet frame are payload (IPv4, timestamps). 0 for no link. */
static inline double tutti_link_goodput(double link_mbit)
{
    return link_mbit * 1e6 / 8 * 1448 / 1514;
}

#endif
