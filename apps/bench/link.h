/* What a link can carry. [P] */
#ifndef TUTTI_BENCH_LINK_H
#define TUTTI_BENCH_LINK_H

/* Bytes a second of TCP payload over a link of so many Mbit/s, as tc counts them: of the 1514 bytes
 * of a full Ethernet frame 1448 are payload (IPv4, timestamps). 0 for no link. */
static inline double tutti_link_goodput(double link_mbit)
{
    return link_mbit * 1e6 / 8 * 1448 / 1514;
}

#endif
