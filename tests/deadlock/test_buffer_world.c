/* buffer world: the explorer on real connections in shared memory (collectives/transport): messages into memory that
 * is lent, each step of which is chosen. Rank 0 sends, or has a kernel write where rank 1 receives; rank 1 receives,
 * cancels, gives the memory back; either may end, and rank 0 may lie. The frames and pieces that rank 0 writes are a
 * step each, so that anything may come between the data and the word that they are there.
 *
 * A message is whole when it is received; memory that rank 1 has back is not written to; and all ends.
 *
 * TUTTI_EXPLORE_SCHEDULES=n: n random schedules; TUTTI_TEST_SEED replays one. TUTTI_TEST_FEWER: few of each. */
#include "collectives/transport/connection_parts.h"
#include "collectives/transport/shm.h"
#include "tests/deadlock/dice.h"
#include "tests/support/testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MESSAGES = 3, BYTES = 600, MOST_STEPS = 400, SCHEDULES = 6000 };

/* What may happen once in a world. */
enum {
    CANCELS = 1,
    GIVES = 2,
    DIES = 4,
    BREAKS = 8,
    STOPS = 16,
    LIES = 32,
    CLAIMS = 64, /* any number of times */
    ALL = 127
};

typedef struct settings {
    int messages, may;
} settings;

/* ---- the sender's stream: what is written through it is counted ---- */

typedef struct gate {
    tutti_stream base;
    tutti_stream *real;
    int open; /* how many writes pass */
} gate;

static ssize_t gate_write(tutti_stream *s, const struct iovec *part, int parts)
{
    gate *g = (gate *)s;
    if (!g->open) return 0;
    g->open--;
    return g->real->ops->write(g->real, part, parts);
}

static ssize_t gate_read(tutti_stream *s, void *to, size_t most)
{
    gate *g = (gate *)s;
    const ssize_t n = g->real->ops->read(g->real, to, most);
    memcpy(s->why, g->real->why, sizeof s->why);
    return n;
}

static int gate_is_ready(const tutti_stream *s, int writes)
{
    const gate *g = (const gate *)s;
    return g->real->ops->is_ready(g->real, writes);
}

static uint64_t gate_lend(tutti_stream *s, const void *data, size_t bytes)
{
    const gate *g = (const gate *)s;
    return g->real->ops->lend(g->real, data, bytes);
}

static void gate_take_back(tutti_stream *s, uint64_t place)
{
    const gate *g = (const gate *)s;
    g->real->ops->take_back(g->real, place);
}

static void *gate_reach(tutti_stream *s, uint64_t place, size_t bytes)
{
    const gate *g = (const gate *)s;
    return g->real->ops->reach(g->real, place, bytes);
}

static int gate_finds(const tutti_stream *s, uint64_t place, size_t bytes)
{
    const gate *g = (const gate *)s;
    return g->real->ops->reach(g->real, place, bytes) != NULL;
}

static int gate_put(
    tutti_stream *s, uint64_t place, size_t at, const void *data, size_t bytes, int *under_way)
{
    gate *g = (gate *)s;
    (void)under_way;
    if (!g->open) return 0;
    g->open--;
    memcpy((char *)gate_reach(s, place, at + bytes) + at, data, bytes);
    return 1;
}

static void gate_shut(tutti_stream *s)
{
    const gate *g = (const gate *)s;
    g->real->ops->shut(g->real);
}

static void gate_close(tutti_stream *s)
{
    const gate *g = (const gate *)s;
    g->real->ops->close(g->real);
    free(s);
}

static const tutti_stream_ops gate_ops = {
    .write = gate_write,
    .read = gate_read,
    .is_ready = gate_is_ready,
    .lend = gate_lend,
    .take_back = gate_take_back,
    .reach = gate_reach,
    .finds = gate_finds,
    .put = gate_put,
    .shut = gate_shut,
    .close = gate_close,
};

/* ---- a world ---- */

typedef enum step {
    SEND,  /* rank 0: the next message; its tensor is not read, if it was written there */
    CLAIM, /* a kernel of it begins, and asks where to write */
    WRITE, /* it writes half of the message there */
    WROTE,
    PASS, /* of the sender: one frame or piece at most */
    DIE,
    STOP,    /* it sends no more: rank 1 cancels what it has posted */
    LIE,     /* it says of the first message once more that it is there */
    RECEIVE, /* rank 1 */
    TAKE,    /* a pass of it */
    CANCEL,
    GIVE, /* its buffer, for another one */
    BREAK,
    STEPS
} step;

static const char *const step_names[STEPS] = {"send", "claim", "write", "wrote", "pass", "die",
    "stop", "lie", "receive", "take", "cancel", "give", "break"};

typedef struct world {
    settings set;
    int happened;
    tutti_shm *shm[2];
    tutti_connection *a, *b; /* a NULL: it has died */
    gate *gate;
    unsigned char out[MOST_MESSAGES][BYTES];
    tutti_connection_message *sends[MOST_MESSAGES]; /* NULL: ended, or not begun */
    int sent, send_ended;
    int asked;              /* for the next message */
    unsigned char *claimed; /* where it is written */
    int halves, is_written;
    tutti_connection_message *receive; /* NULL: none is posted */
    unsigned char *buffer;
    int received, cancelled, given;
    int steps, taken[MOST_STEPS];
    const char *wrong;
} world;

static unsigned char byte_of(int message, size_t i)
{
    return (unsigned char)(1 + message * 50 + (int)(i % 41));
}

static void get_buffer(world *w)
{
    void *memory;
    ck_assert_ok(tutti_shm_take(w->shm[1], BYTES, &memory));
    w->buffer = memory;
    memset(w->buffer, 0xEE, BYTES);
}

static void open_world(world *w, const settings *set)
{
    static const tutti_shm_options memory = {
        .rings = 1, .ring_bytes = 1 << 12, .arena_bytes = 1 << 12};
    static const tutti_connection_options through = {
        .lanes = 1, .tags = 1, .silence_s = INFINITY, .early_bytes = 0};
    *w = (world){.set = *set};
    for (int e = 0; e < 2; e++) ck_assert_ok(tutti_shm_create(&memory, &w->shm[e]));
    ck_assert_ok(tutti_shm_connect(w->shm[0], 0, w->shm[1], 0, &through, &w->a));
    ck_assert_ok(tutti_shm_connect(w->shm[1], 0, w->shm[0], 0, &through, &w->b));
    w->gate = calloc(1, sizeof *w->gate);
    ck_assert_ptr_nonnull(w->gate);
    *w->gate = (gate){
        .base = {.ops = &gate_ops, .socket = -1, .wakes = 1, .file = -1}, .real = w->a->stream};
    w->a->stream = &w->gate->base;
    for (int m = 0; m < MOST_MESSAGES; m++)
        for (size_t i = 0; i < BYTES; i++) w->out[m][i] = byte_of(m, i);
    get_buffer(w);
}

static int may(const world *w, int what)
{
    return (w->set.may & what) && !(w->happened & what);
}

static int is_possible(const world *w, step s)
{
    const int works = w->a && !tutti_connection_broken(w->a), more = w->sent < w->set.messages;
    switch (s) {
    case SEND:
        return works && more && !w->claimed;
    case CLAIM:
        return works && more && !w->claimed && !w->asked && (w->set.may & CLAIMS);
    case WRITE:
        return w->claimed && w->halves < 2;
    case WROTE:
        return w->claimed && w->halves == 2;
    case PASS:
        return works && tutti_connection_may_move(w->a);
    case DIE:
        return w->a && may(w, DIES);
    case STOP:
        return works && more && may(w, STOPS);
    case LIE:
        return works && !w->a->outgoing && w->send_ended && may(w, LIES);
    case RECEIVE:
        return !w->receive && w->received < w->set.messages && !tutti_connection_broken(w->b);
    case TAKE:
        return tutti_connection_may_move(w->b);
    case CANCEL:
        return w->receive && !w->cancelled &&
               (may(w, CANCELS) || (w->happened & STOPS && w->received >= w->sent));
    case GIVE:
        return w->receive && may(w, GIVES);
    case BREAK:
        return !tutti_connection_broken(w->b) && may(w, BREAKS);
    default:
        return 0;
    }
}

static void test_sends(world *w)
{
    for (int m = 0, done; m < w->sent; m++) {
        if (!w->sends[m]) continue;
        const tutti_status status = tutti_connection_test(w->sends[m], &done);
        if (!done) continue;
        w->sends[m] = NULL;
        w->send_ended++;
        if (status && !(w->happened & (DIES | BREAKS | LIES))) w->wrong = "a send has failed";
    }
}

static void send_next(world *w)
{
    static const unsigned char nothing[BYTES];
    const void *data = w->is_written ? nothing : w->out[w->sent];
    const tutti_status status = tutti_connection_isend(w->a, 0, 0, data, BYTES, &w->sends[w->sent]);
    if (status) w->sends[w->sent] = NULL;
    w->send_ended += status != TUTTI_OK;
    w->sent++;
    w->asked = w->is_written = 0;
}

static void die(world *w)
{
    w->happened |= DIES;
    tutti_connection_break(w->a);
    test_sends(w);
    tutti_connection_close(w->a);
    w->a = NULL;
    w->gate = NULL;
}

static void lie(world *w)
{
    unsigned char frame[TUTTI_TCP_HEADER_BYTES];
    const struct iovec part = {frame, sizeof frame};
    tutti_tcp_frame_write(&(tutti_tcp_frame){.kind = TUTTI_TCP_PLACED, .bytes = 0}, frame);
    ck_assert_int_eq(w->gate->real->ops->write(w->gate->real, &part, 1), sizeof frame);
    w->happened |= LIES;
}

static void receive_next(world *w)
{
    w->cancelled = w->given = 0;
    if (tutti_connection_irecv(w->b, 0, 0, w->buffer, BYTES, &w->receive)) {
        w->receive = NULL;
        w->received++;
    }
}

static void make_step(world *w, step s)
{
    if (s == SEND) send_next(w);
    if (s == CLAIM) {
        w->asked = 1;
        w->halves = 0;
        w->claimed = tutti_connection_claim(w->a, 0, 0, BYTES);
    }
    if (s == WRITE) {
        for (size_t i = w->halves * BYTES / 2; i < (w->halves + 1) * (size_t)BYTES / 2; i++)
            w->claimed[i] = byte_of(w->sent, i);
        w->halves++;
    }
    if (s == WROTE) {
        if (w->a) tutti_connection_wrote(w->a, 0, 0);
        w->claimed = NULL;
        w->is_written = 1;
    }
    if (s == PASS) {
        w->gate->open = 1;
        tutti_connection_pass(w->a);
        if (w->a->stream) w->gate->open = 0;
    }
    if (s == DIE) die(w);
    if (s == STOP) {
        w->happened |= STOPS;
        w->set.messages = w->sent;
    }
    if (s == LIE) lie(w);
    if (s == RECEIVE) receive_next(w);
    if (s == TAKE) tutti_connection_pass(w->b);
    if (s == CANCEL) {
        w->happened |= CANCELS;
        w->cancelled = 1;
        tutti_connection_cancel(w->b, w->receive);
    }
    if (s == GIVE) {
        w->happened |= GIVES;
        w->given = 1;
        tutti_shm_give(w->shm[1], w->buffer);
        get_buffer(w);
    }
    if (s == BREAK) {
        w->happened |= BREAKS;
        tutti_connection_break(w->b);
    }
}

/* The receive has ended. Memory of one that failed belongs to the other end, and is given back for another. */
static void end_receive(world *w, tutti_status status)
{
    w->receive = NULL;
    if (status && !(w->happened & (DIES | BREAKS | LIES))) w->wrong = "a receive has failed";
    for (size_t i = 0; i < BYTES && !status && !w->cancelled && !w->given; i++)
        if (w->buffer[i] != byte_of(w->received, i)) w->wrong = "a message was received otherwise";
    w->received++;
    if (status && !w->given) {
        tutti_shm_give(w->shm[1], w->buffer);
        get_buffer(w);
    }
    if (!w->given) memset(w->buffer, 0xEE, BYTES);
}

static void look(world *w)
{
    int done = 0;
    if (w->a) test_sends(w);
    const tutti_status status = w->receive ? tutti_connection_test(w->receive, &done) : TUTTI_OK;
    if (done) end_receive(w, status);
    for (size_t i = 0; i < BYTES && (!w->receive || w->given); i++)
        if (w->buffer[i] != 0xEE) w->wrong = "memory that rank 1 has back was written to";
}

static void close_world(world *w)
{
    if (w->receive) tutti_connection_abandon(w->b, w->receive);
    if (w->a) {
        tutti_connection_break(w->a);
        test_sends(w);
        tutti_connection_close(w->a);
    }
    tutti_connection_close(w->b);
    tutti_shm_give(w->shm[1], w->buffer);
    for (int e = 0; e < 2; e++) tutti_shm_close(w->shm[e]);
}

/* Runs it with the choices of choose(ctx, n): 0 to n - 1. Returns NULL, or what went wrong. */
static const char *run_world(
    const settings *set, int (*choose)(void *ctx, int n), void *ctx, char trail[], size_t room)
{
    world w;
    open_world(&w, set);
    for (;;) {
        step possible[STEPS];
        int n = 0;
        for (step s = 0; s < STEPS; s++)
            if (is_possible(&w, s)) possible[n++] = s;
        if (!n || w.wrong || w.steps == MOST_STEPS) break;
        const step s = possible[choose(ctx, n)];
        w.taken[w.steps++] = s;
        make_step(&w, s);
        look(&w);
    }
    if (!w.wrong && w.steps == MOST_STEPS) w.wrong = "it does not end";
    if (!w.wrong && (w.receive || w.send_ended < w.sent)) w.wrong = "a message does not end";
    size_t at = 0;
    trail[0] = 0;
    for (int i = 0; i < w.steps && w.wrong && at < room; i++)
        at += (size_t)snprintf(trail + at, room - at, " %s", step_names[w.taken[i]]);
    close_world(&w);
    return w.wrong;
}

/* ---- exploring ---- */

enum { TRAIL = 1 << 12 };

static int draw_step(void *ctx, int n)
{
    return dice_below(ctx, n);
}

START_TEST(random_schedules)
{
    const char *text = getenv("TUTTI_EXPLORE_SCHEDULES");
    const int fewer = testing_fewer() ? 10 : 1, most = getenv("TUTTI_TEST_SEED") ? 1
                                                       : text                    ? atoi(text)
                                                              : SCHEDULES / fewer;
    const unsigned long seed = testing_seed(1);
    char trail[TRAIL];
    for (int i = 0; i < most; i++) {
        dice d = {.seed = seed + (unsigned long)i};
        settings set = {.messages = 1 + dice_below(&d, MOST_MESSAGES)};
        set.may = dice_below(&d, ALL + 1);
        const char *wrong = run_world(&set, draw_step, &d, trail, sizeof trail);
        ck_assert_msg(!wrong, "seed %lu: %s:%s", seed + (unsigned long)i, wrong, trail);
    }
}
END_TEST

/* Choices as a number of many digits, which counts up. */
typedef struct odometer {
    int digit[MOST_STEPS], of[MOST_STEPS], at, digits;
} odometer;

static int next_digit(void *ctx, int n)
{
    odometer *o = ctx;
    if (o->at == o->digits) o->digit[o->digits++] = 0;
    o->of[o->at] = n;
    return o->digit[o->at++];
}

static int count_up(odometer *o)
{
    o->at = 0;
    while (o->digits && ++o->digit[o->digits - 1] == o->of[o->digits - 1]) o->digits--;
    return o->digits;
}

START_TEST(every_schedule)
{
    static const settings sets[] = {{2, CANCELS}, {2, GIVES}, {2, DIES}, {2, BREAKS}, {2, CLAIMS},
        {2, LIES}, {1, CANCELS | STOPS | CLAIMS}, {1, CANCELS | GIVES | CLAIMS}};
    odometer o = {.at = 0};
    char trail[TRAIL];
    int count = 0;
    do {
        const char *wrong = run_world(&sets[_i], next_digit, &o, trail, sizeof trail);
        ck_assert_msg(!wrong, "%d: %s:%s", _i, wrong, trail);
        count++;
    } while (count_up(&o) && (!testing_fewer() || count < 100));
}
END_TEST
enum { EVERY = 8 };

int main(void)
{
    Suite *suite = suite_create("buffer_world");
    TCase *all = testing_case(suite, "every");
    tcase_add_loop_test(all, every_schedule, 0, EVERY);
    TCase *some = testing_case(suite, "random");
    tcase_add_test(some, random_schedules);
    return testing_run(suite);
}
