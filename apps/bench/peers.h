/* tutti-bench peers --install: the best PyTorch that is to be had, in a virtual environment of its
 * own, for --peer of compute and step; or MXNet, for that of kv.
 *
 * The environment is made as FOLDER.part, what is in it is tried, and then it is renamed: what is
 * called FOLDER is complete, whenever this program or the machine stops. FOLDER.log has what pip
 * said, if it failed. FOLDER.lock says who is making it (dag/base/lock.h). */
#ifndef TUTTI_BENCH_PEERS_H
#define TUTTI_BENCH_PEERS_H

#include "apps/bench/bench.h"

extern const tutti_bench tutti_bench_peers;

#endif
