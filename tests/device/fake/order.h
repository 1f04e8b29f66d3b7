/* Which operation runs next: the thread that runs them, and the host's waiting. Under the fake's lock.
 *
 *   eager    whatever may run does, the oldest first; who enqueues returns when nothing is left that may
 *   late     only what the host waits for runs, with what that waits for
 *   random   when the host waits, any that may run, until what it waits for is done; when it calls
 *            something else, sometimes a few
 * In late and random, an operation also runs when it has been there for 20 ms, since devices do not
 * stand still; and a question whether something is done sometimes makes it run. */
#ifndef TUTTI_DEVICE_ORDER_H
#define TUTTI_DEVICE_ORDER_H

#include "tests/device/fake/queue.h"

void order_open(void);
/* An operation was put on its stream. more: another follows at once, so nothing runs yet. */
void order_put(operation *op, int more);
/* The host waits until it is done, and has seen it. */
void order_wait(point at, const known *when);
/* The host waits for all that is on the device. */
void order_wait_device(int device);
/* The host asks whether it is done; if so, it has seen it. */
int order_ask(point at, const known *when);
/* 0 or 1, by the seed. */
int order_coin(void);

#endif
