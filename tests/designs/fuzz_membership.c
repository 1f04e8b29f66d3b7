/* Damaged messages of a membership: fuzz_membership [ITERATIONS]. Messages and hellos that are right are changed in a
 * few bytes. Whatever comes, the reader says what is wrong, or what it reads gives the same bytes again; and a
 * machine takes every message that was read, from anybody, without harm. */
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "designs/membership/membership.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 60000, RANKS = 4 };

typedef struct dice {
    uint64_t seed, iteration, next;
} dice;

static uint64_t roll(dice *d, uint64_t bound)
{
    return tutti_rng_below(d->seed, d->iteration, d->next++, bound);
}

static void draw_entry(dice *d, tutti_membership_entry *e, int64_t id)
{
    *e = (tutti_membership_entry){.id = id, .fresh = !roll(d, 4)};
    snprintf(e->address, sizeof e->address, "host%d:%d", (int)id, (int)roll(d, 70000));
}

/* What a message of each kind has; now and then one that it does not have. */
static void draw_message(dice *d, tutti_membership_message *m)
{
    static const struct {
        int list, flags, about;
    } has[TUTTI_MEMBERSHIP_KINDS] = {[TUTTI_MEMBERSHIP_VIEW] = {.list = 1},
        [TUTTI_MEMBERSHIP_READY] = {.list = 1},
        [TUTTI_MEMBERSHIP_SUSPECT] = {.about = 1},
        [TUTTI_MEMBERSHIP_PROPOSE] = {.list = 1, .flags = 1, .about = 1},
        [TUTTI_MEMBERSHIP_REFUSE] = {.list = 1, .flags = 3, .about = 1},
        [TUTTI_MEMBERSHIP_COMMIT] = {.list = 1},
        [TUTTI_MEMBERSHIP_STOP] = {.flags = 2, .about = 1}};
    memset(m, 0, sizeof *m);
    m->kind = (tutti_membership_kind)roll(d, TUTTI_MEMBERSHIP_KINDS);
    m->epoch = (int64_t)roll(d, 6);
    m->flag = (int)roll(d, roll(d, 20) ? (uint64_t)has[m->kind].flags + 1 : 4);
    if (has[m->kind].about || !roll(d, 20)) m->about = (int64_t)roll(d, 6);
    if (m->kind == TUTTI_MEMBERSHIP_REFUSE) m->highest = (int64_t)roll(d, 6);
    if (m->kind == TUTTI_MEMBERSHIP_ACK) m->before = -1, m->newest = (int64_t)roll(d, 9) - 1;
    if (m->kind == TUTTI_MEMBERSHIP_COMMIT) m->newest = (int64_t)roll(d, 9);
    if (has[m->kind].list || !roll(d, 20))
        for (int id = 0; id < RANKS + 2; id++)
            if (roll(d, 2)) draw_entry(d, &m->entry[m->n++], id);
}

static void damage(dice *d, unsigned char *bytes, size_t used, size_t all)
{
    for (uint64_t n = roll(d, 4); n--;)
        bytes[roll(d, roll(d, 4) ? used : all)] =
            (unsigned char)(roll(d, 2) ? roll(d, 4) : roll(d, 256));
}

static void on_send(void *ctx, int64_t to, const tutti_membership_message *m)
{
    static unsigned char bytes[TUTTI_MEMBERSHIP_MESSAGE_BYTES];
    static tutti_membership_message read;
    tutti_membership_message_write(m, bytes);
    if (to < 0 || tutti_membership_message_read(bytes, &read)) *(int *)ctx += 1;
}

static void on_leave(void *ctx, int64_t epoch, int gently)
{
    (void)ctx, (void)epoch, (void)gently;
}

static void on_enter(void *ctx, const tutti_membership *next)
{
    if (next->n < 1 || next->epoch < 1) *(int *)ctx += 1;
}

static void on_connect(void *ctx, const tutti_membership_entry *to)
{
    (void)ctx, (void)to;
}

static void on_cut(void *ctx, int64_t id)
{
    (void)ctx, (void)id;
}

static void on_stop(void *ctx, const char *why)
{
    if (!why[0]) *(int *)ctx += 1;
}

static void on_finish(void *ctx)
{
    (void)ctx;
}

static void open_machine(dice *d, tutti_membership_machine *m, int *failures)
{
    tutti_membership first = {.n = RANKS};
    for (int id = 0; id < RANKS; id++) draw_entry(d, &first.entry[id], id);
    const int newcomer = !roll(d, 4);
    tutti_membership_options o = {.first = newcomer ? NULL : &first,
        .self = {.id = newcomer ? RANKS : (int64_t)roll(d, RANKS)},
        .least = 1,
        .most = RANKS + 1,
        .settle_s = 1,
        .ack_s = 1,
        .join_s = 1};
    const tutti_membership_acts acts = {.ctx = failures,
        .send = on_send,
        .leave = on_leave,
        .enter = on_enter,
        .connect = on_connect,
        .cut = on_cut,
        .stop = on_stop,
        .finish = on_finish};
    *failures += tutti_membership_open(m, &o, &acts, 0) != TUTTI_OK;
    if (newcomer) tutti_membership_connected(m, &first.entry[0]);
}

/* One message, and what the machine may do next. */
static void feed(dice *d, tutti_membership_machine *m, const tutti_membership_message *what)
{
    tutti_membership_receive(m, (int64_t)roll(d, RANKS + 2), what);
    if (!roll(d, 3)) tutti_membership_left(m, (int64_t)roll(d, 9), -1);
    if (!roll(d, 9)) tutti_membership_tick(m, m->now_s + (double)roll(d, 3));
    if (!roll(d, 9)) tutti_membership_snapshot(m, (int64_t)roll(d, 9), -1);
    if (!roll(d, 20)) tutti_membership_lost(m, (int64_t)roll(d, RANKS + 2), (int)roll(d, 2));
    if (!roll(d, 20)) tutti_membership_finish(m);
}

static int fuzz_message(dice *d, tutti_membership_machine *machine, int *right)
{
    static unsigned char bytes[TUTTI_MEMBERSHIP_MESSAGE_BYTES], again[sizeof bytes];
    static tutti_membership_message m;
    draw_message(d, &m);
    tutti_membership_message_write(&m, bytes);
    damage(d, bytes, 72 + (size_t)m.n * TUTTI_MEMBERSHIP_ENTRY_BYTES, sizeof bytes);
    if (tutti_membership_message_read(bytes, &m)) return 0;
    *right += 1;
    tutti_membership_message_write(&m, again);
    feed(d, machine, &m);
    return !!memcmp(bytes, again, sizeof bytes);
}

static int fuzz_hello(dice *d, tutti_membership_machine *machine)
{
    unsigned char bytes[TUTTI_MEMBERSHIP_HELLO_BYTES], again[sizeof bytes];
    char why[TUTTI_MEMBERSHIP_WHY] = "";
    tutti_membership_hello h = {.version = TUTTI_MEMBERSHIP_VERSION,
        .id = (int64_t)roll(d, RANKS + 4),
        .options = !roll(d, 9),
        .address = "host:1"};
    tutti_membership_hello_write(&h, bytes);
    damage(d, bytes, sizeof bytes, sizeof bytes);
    if (tutti_membership_hello_read(bytes, &h)) return 0;
    tutti_membership_hello_write(&h, again);
    const int same = h.version != TUTTI_MEMBERSHIP_VERSION || !memcmp(bytes, again, sizeof bytes);
    return !same || (tutti_membership_admit(machine, &h, why) && !why[0]);
}

int main(int argc, char **argv)
{
    static tutti_membership_machine machine;
    const int all = testing_fewer() ? ITERATIONS / 10 : ITERATIONS;
    const int iterations = argc > 1 ? atoi(argv[1]) : all;
    dice d = {.seed = testing_seed(9)};
    int right = 0, failures = 0;
    tutti_log_set_level(TUTTI_LOG_NONE);
    for (; d.iteration < (uint64_t)iterations; d.iteration++) {
        d.next = 0;
        if (d.iteration % 20 == 0) open_machine(&d, &machine, &failures);
        failures += fuzz_message(&d, &machine, &right);
        if (!roll(&d, 8)) failures += fuzz_hello(&d, &machine);
        if (failures) {
            printf("iteration %llu\n", (unsigned long long)d.iteration);
            return 1;
        }
    }
    printf("%d of %d messages were right\n", right, iterations);
    return right < iterations / 20 || right > 0.9 * iterations;
}
