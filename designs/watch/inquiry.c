#include "designs/watch/inquiry.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/run/blocker.h"
#include "dag/run/sequence.h"
#include "designs/watch/pulse.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const double beat_every_s = 1;

/* Progress so far: while this stays the same, nothing moves. */
typedef struct counts {
    int64_t submitted, ended, tasks;
    double moved_s; /* of the oldest in flight */
    int outside;
} counts;

struct tutti_inquiry {
    tutti_driver *driver;
    tutti_control *control;
    int rank, ranks;
    pthread_mutex_t lock; /* protects what follows */
    tutti_ledger *ledger;
    int whole;
    const char *doing;
    int announced;
    double doing_s;   /* when it began */
    int waiting;      /* nested waits of the main thread */
    double outside_s; /* when its program last called Tutti, as far as seen */
    counts last;
    double moved_s;                /* when the counts last changed */
    int64_t about;                 /* the collective that queries name, or NOTHING */
    double every_s, asked_s;       /* how often, and when last */
    double beat_s;                 /* when a rank was last queried without a stall */
    int turn;                      /* which rank that was */
    int calling, called;           /* requests for dumps: to be sent, and received */
    tutti_stall_state *others;     /* [ranks]; last_report_s is the time, not an age */
    tutti_pulse_id self, *process; /* process: [ranks], pid 0 until known */
    int greeted;
};

/* Fields of the messages. */
enum { ABOUT, ABOUT_KEY };
enum {
    PLACE = 255,
    CAN_MOVE = 256,
    ANNOUNCED = 512,
    AWAY = 1024,
    LEFT = 2048
}; /* bits of a place */
enum { PID, STARTED };
enum {
    STATE_ABOUT,
    STATE_PLACE,
    STATE_SUBMITTED,
    STATE_ENDED,
    STATE_TASKS,
    STATE_WAITS,
    STATE_WAITS_US,
    STATE_IDLE_US,
    STATE_ABOUT_KEY,
    STATE_WAITS_KEY,
    STATE_BEHIND,
    STATE_BEHIND_KEY
};

/* ---- this rank ---- */

static int same_counts(const counts *a, const counts *b)
{
    return a->submitted == b->submitted && a->ended == b->ended && a->tasks == b->tasks &&
           a->outside == b->outside && !(a->moved_s < b->moved_s) && !(a->moved_s > b->moved_s);
}

/* The collective's progress on this rank. */
static tutti_stall_place state_of(const tutti_driver_entry *entry)
{
    static const tutti_stall_place places[] = {[TUTTI_ENTRY_GONE] = TUTTI_STALL_ENDED,
        [TUTTI_ENTRY_RESERVED] = TUTTI_STALL_SUBMITTED,
        [TUTTI_ENTRY_READY] = TUTTI_STALL_READY,
        [TUTTI_ENTRY_STARTED] = TUTTI_STALL_STARTED};
    return entry->sequence < 0 ? TUTTI_STALL_NOT_SUBMITTED : places[entry->state];
}

/* A collective at the gate, where it waits for the other ranks, counts as started here. */
static tutti_stall_place place_of(const tutti_driver_look *look, const tutti_driver_entry *entry)
{
    tutti_stall_place place = state_of(entry);
    int waits = place == TUTTI_STALL_READY && entry->sequence == look->started.sequence;
    return waits ? TUTTI_STALL_STARTED : place;
}

/* Describes the task that keeps a collective from being ready. Returns the collective that the task waits for, or
 * -1. */
static int64_t find_task(
    tutti_inquiry *q, int64_t collective, double now_s, char *text, size_t size)
{
    tutti_blocker blocker = {.found = 0};
    if (!q->ledger || tutti_blocker_find(q->ledger, collective, now_s, &blocker) || !blocker.found)
        return -1;
    tutti_driver_entry end = tutti_driver_find(q->driver, blocker.collective);
    /* If the blocking collective is not ready itself, it waits for a task of the program, which the ledger does
     * not have. */
    if (!q->whole &&
        (blocker.collective == collective || state_of(&end) <= TUTTI_STALL_SUBMITTED)) {
        snprintf(text, size, "a task of the program on the same data, submitted before it");
        return -1;
    }
    int lost = blocker.collective >= 0 && blocker.collective != collective &&
               state_of(&end) == TUTTI_STALL_ENDED;
    snprintf(text, size, "%s%s", blocker.text,
        lost ? ", which has ended without its task noticing" : "");
    return lost || blocker.collective == collective ? -1 : blocker.collective;
}

/* Describes what the program does instead of submitting the collective. */
static void find_program(
    tutti_inquiry *q, const tutti_driver_look *look, double now_s, char *text, size_t size)
{
    char running[160] = "";
    if (q->ledger) tutti_blocker_running(q->ledger, now_s, running, sizeof running);
    if (look->leaving)
        snprintf(text, size, "it has left");
    else if (q->doing)
        snprintf(text, size, "it %s, for %.1f s so far", q->doing, now_s - q->doing_s);
    else if (!q->waiting)
        snprintf(text, size, "it is in its own code, for %.1f s so far", now_s - q->outside_s);
    else if (*running)
        snprintf(text, size, "it waits for its tasks; running: %s", running);
    else
        snprintf(text, size, "it waits for what it submitted before");
}

/* Describes what a ready collective waits for. */
static void find_predecessor(tutti_inquiry *q, const tutti_driver_look *look, int64_t collective,
    double now_s, char *text, size_t size)
{
    const tutti_driver_entry *first = &look->oldest;
    if (look->main_drives && !q->waiting) {
        int used = snprintf(text, size, "its program: ");
        find_program(q, look, now_s, text + used, size - (size_t)used);
        return;
    }
    if (first->sequence < 0 || first->sequence >= collective) return;
    if (tutti_sequence_slot(first->sequence) != tutti_sequence_slot(collective)) return;
    int used = snprintf(text, size, "collective #%" PRId64 " \"%s\", which comes first",
        tutti_sequence_number(first->sequence), first->name);
    char task[200] = "";
    if (first->state == TUTTI_ENTRY_RESERVED)
        find_task(q, first->sequence, now_s, task, sizeof task);
    if (*task && used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, ", and waits for %s", task);
}

/* Whether this rank can continue with the collective by itself: a task runs, or the program is in its own code and
 * the collective may be waiting for that. If the ledger does not have the program's own tasks (not `whole`), the
 * tasks that a collective waits for may run, unless it waits for another collective (behind). A rank that has left
 * starts nothing more. Lock held. */
static int can_move(const tutti_inquiry *q, const tutti_driver_look *look,
    const tutti_ledger_look *tasks, tutti_stall_place place, int64_t behind)
{
    int away = !q->waiting;
    int foreign = q->ledger && !q->whole && behind < 0;
    if (look->leaving) return 0;
    if (q->whole && tasks->running) return 1;
    if (look->main_drives && away && place < TUTTI_STALL_ENDED) return 1;
    if (place >= TUTTI_STALL_STARTED) return 0;
    if (place == TUTTI_STALL_READY && look->oldest.state != TUTTI_ENTRY_RESERVED) return 0;
    return away || foreign;
}

/* Records what has moved since the last look. Lock held. */
static void notice_moves(
    tutti_inquiry *q, const tutti_driver_look *look, const tutti_ledger_look *tasks, double now_s)
{
    counts now = {.submitted = look->all_submitted,
        .ended = look->ended,
        .tasks = tasks->ended,
        .moved_s = look->started.since_s,
        .outside = tasks->outside};
    if (now.submitted != q->last.submitted) q->outside_s = now_s;
    if ((q->whole && tasks->running) || !same_counts(&now, &q->last)) q->moved_s = now_s;
    q->last = now;
}

/* Messages of an edge run in order. Returns the first earlier one that has not ended here, or -1. */
static int64_t find_earlier(const tutti_inquiry *q, const tutti_stall_state *s)
{
    int slot = tutti_sequence_slot(s->about);
    int waits = s->place == TUTTI_STALL_NOT_SUBMITTED || s->place == TUTTI_STALL_READY;
    const tutti_members *members = slot ? tutti_driver_members(q->driver, slot) : NULL;
    if (!waits || !members || members->key >= 0) return -1;
    int64_t lowest = tutti_driver_lowest(q->driver, slot);
    return lowest < s->about ? lowest : -1;
}

/* Finds what blocks the collective here. Lock held. */
static void find_blocker(
    tutti_inquiry *q, const tutti_driver_look *look, tutti_stall_state *s, double now_s)
{
    if (s->about < 0) return;
    s->behind = find_earlier(q, s);
    if (s->place == TUTTI_STALL_NOT_SUBMITTED)
        find_program(q, look, now_s, s->way, sizeof s->way);
    else if (s->place == TUTTI_STALL_SUBMITTED)
        s->behind = find_task(q, s->about, now_s, s->way, sizeof s->way);
    else if (s->place == TUTTI_STALL_STARTED && look->main_drives && !q->waiting)
        find_program(q, look, now_s, s->way, sizeof s->way);
    else if (s->place == TUTTI_STALL_READY)
        find_predecessor(q, look, s->about, now_s, s->way, sizeof s->way);
}

/* Lock held. */
static tutti_stall_state look_at_self(
    tutti_inquiry *q, int64_t collective, double now_s, int *stuck)
{
    tutti_driver_look look = tutti_driver_see(q->driver);
    tutti_ledger_look tasks = {0};
    if (q->ledger) tasks = tutti_ledger_see(q->ledger);
    notice_moves(q, &look, &tasks, now_s);
    tutti_driver_entry entry = tutti_driver_find(q->driver, collective);
    int waits = look.started.sequence >= 0 && (!look.main_drives || q->waiting || look.in_flight);
    tutti_stall_state s = {.known = 1,
        .answers = 1,
        .announced = q->doing && q->announced,
        .left = look.leaving,
        .away = look.main_drives,
        .about = collective,
        .place = place_of(&look, &entry),
        .submitted = look.submitted,
        .ended = look.ended,
        .tasks = tasks.ended,
        .waits = waits ? look.started.sequence : -1,
        .waits_s = waits ? now_s - look.started.since_s : 0,
        .behind = -1,
        .idle_s = now_s - q->moved_s};
    memcpy(s.name, entry.name, sizeof s.name);
    const tutti_members *members = tutti_driver_members(q->driver, tutti_sequence_slot(collective));
    if (members) tutti_members_name(members, s.members, sizeof s.members);
    s.message = members && members->key < 0;
    find_blocker(q, &look, &s, now_s);
    s.can_move = can_move(q, &look, &tasks, s.place, s.behind);
    int own = q->whole && q->waiting && tasks.ended < tasks.submitted && !tasks.running &&
              !look.in_flight && !look.may_start && !waits;
    if (own && collective < 0) find_task(q, -1, now_s, s.way, sizeof s.way);
    if (stuck) *stuck = own;
    return s;
}

tutti_stall_state tutti_inquiry_self(
    tutti_inquiry *inquiry, int64_t collective, double now_s, int *stuck)
{
    pthread_mutex_lock(&inquiry->lock);
    tutti_stall_state s = look_at_self(inquiry, collective, now_s, stuck);
    pthread_mutex_unlock(&inquiry->lock);
    return s;
}

/* ---- messages (comm_lock held) ---- */

static int64_t to_microseconds(double s)
{
    return (int64_t)(1e6 * s);
}

static void receive_query(void *ctx, const tutti_control_message *query)
{
    tutti_inquiry *q = ctx;
    int64_t key = query->value[ABOUT_KEY], number = query->value[ABOUT];
    int64_t about = tutti_driver_sequence_of(q->driver, key, number);
    tutti_stall_state s = tutti_inquiry_self(q, about, tutti_clock_s(), NULL);
    tutti_control_message reply = {.kind = TUTTI_CONTROL_STATE,
        .value = {[STATE_ABOUT] = number,
            [STATE_ABOUT_KEY] = key,
            [STATE_WAITS_KEY] = tutti_driver_key_of(q->driver, s.waits),
            [STATE_BEHIND] = tutti_sequence_number(s.behind),
            [STATE_BEHIND_KEY] = tutti_driver_key_of(q->driver, s.behind),
            [STATE_PLACE] = (int64_t)s.place | (s.can_move ? CAN_MOVE : 0) |
                            (s.announced ? ANNOUNCED : 0) | (s.away ? AWAY : 0) |
                            (s.left ? LEFT : 0),
            [STATE_SUBMITTED] = s.submitted,
            [STATE_ENDED] = s.ended,
            [STATE_TASKS] = s.tasks,
            [STATE_WAITS] = tutti_sequence_number(s.waits),
            [STATE_WAITS_US] = to_microseconds(s.waits_s),
            [STATE_IDLE_US] = to_microseconds(s.idle_s)}};
    _Static_assert(sizeof s.name + sizeof s.way <= sizeof reply.text, "a state fits a message");
    memcpy(reply.text, s.name, sizeof s.name);
    memcpy(reply.text + sizeof s.name, s.way, sizeof s.way);
    if (tutti_control_send(q->control, query->from, &reply))
        tutti_log(TUTTI_LOG_DEBUG, "could not answer rank %d about #%" PRId64, query->from, number);
}

static void receive_state(void *ctx, const tutti_control_message *message)
{
    tutti_inquiry *q = ctx;
    const int64_t *v = message->value;
    if (message->from < 0 || message->from >= q->ranks) return;
    tutti_stall_state s = {.known = 1,
        .last_report_s = tutti_clock_s(),
        .about = tutti_driver_sequence_of(q->driver, v[STATE_ABOUT_KEY], v[STATE_ABOUT]),
        .can_move = (v[STATE_PLACE] & CAN_MOVE) != 0,
        .announced = (v[STATE_PLACE] & ANNOUNCED) != 0,
        .away = (v[STATE_PLACE] & AWAY) != 0,
        .left = (v[STATE_PLACE] & LEFT) != 0,
        .place = (tutti_stall_place)(v[STATE_PLACE] & PLACE),
        .submitted = v[STATE_SUBMITTED],
        .ended = v[STATE_ENDED],
        .tasks = v[STATE_TASKS],
        .waits = tutti_driver_sequence_of(q->driver, v[STATE_WAITS_KEY], v[STATE_WAITS]),
        .waits_s = 1e-6 * (double)v[STATE_WAITS_US],
        .behind = tutti_driver_sequence_of(q->driver, v[STATE_BEHIND_KEY], v[STATE_BEHIND]),
        .idle_s = 1e-6 * (double)v[STATE_IDLE_US]};
    memcpy(s.name, message->text, sizeof s.name - 1);
    memcpy(s.way, message->text + sizeof s.name, sizeof s.way - 1);
    pthread_mutex_lock(&q->lock);
    q->others[message->from] = s;
    pthread_mutex_unlock(&q->lock);
}

static void receive_call(void *ctx, const tutti_control_message *message)
{
    tutti_inquiry *q = ctx;
    (void)message;
    pthread_mutex_lock(&q->lock);
    q->called = 1;
    pthread_mutex_unlock(&q->lock);
}

static void receive_hello(void *ctx, const tutti_control_message *message)
{
    tutti_inquiry *q = ctx;
    if (message->from < 0 || message->from >= q->ranks) return;
    tutti_pulse_id process = {.pid = message->value[PID], .started = message->value[STARTED]};
    memcpy(process.host, message->text, sizeof process.host - 1);
    pthread_mutex_lock(&q->lock);
    q->process[message->from] = process;
    pthread_mutex_unlock(&q->lock);
}

/* Sent once: others can then look up this process when it is silent. */
static tutti_status send_hello(tutti_inquiry *q)
{
    if (q->greeted) return TUTTI_OK;
    q->greeted = 1;
    tutti_control_message hello = {
        .kind = TUTTI_CONTROL_HELLO, .value = {[PID] = q->self.pid, [STARTED] = q->self.started}};
    _Static_assert(sizeof q->self.host <= sizeof hello.text, "a host fits a message");
    memcpy(hello.text, q->self.host, sizeof q->self.host);
    return tutti_control_broadcast(q->control, &hello);
}

static tutti_control_message query_about(tutti_inquiry *q, int64_t collective)
{
    return (tutti_control_message){.kind = TUTTI_CONTROL_QUERY,
        .value = {[ABOUT] = tutti_sequence_number(collective),
            [ABOUT_KEY] = tutti_driver_key_of(q->driver, collective)}};
}

/* Without a stall, queries one rank after another: then something is known about a rank that stops. */
static tutti_status ask_in_turn(tutti_inquiry *q, double now_s)
{
    if (now_s - q->beat_s < beat_every_s) return TUTTI_OK;
    q->beat_s = now_s;
    q->turn = (q->turn + 1) % q->ranks;
    if (q->turn == q->rank) return TUTTI_OK;
    const tutti_control_message query = query_about(q, -1);
    return tutti_control_send(q->control, q->turn, &query);
}

void tutti_inquiry_pass(tutti_inquiry *inquiry)
{
    tutti_inquiry *q = inquiry;
    if (!q->control) return;
    double now_s = tutti_clock_s();
    pthread_mutex_lock(&q->lock);
    int stalls = q->about != TUTTI_INQUIRY_NOTHING;
    int asks = stalls && now_s - q->asked_s >= q->every_s;
    int calls = q->calling;
    const tutti_control_message query = query_about(q, q->about);
    if (asks) q->asked_s = now_s;
    q->calling = 0;
    pthread_mutex_unlock(&q->lock);
    const tutti_control_message call = {.kind = TUTTI_CONTROL_DUMP};
    tutti_status status = send_hello(q);
    if (!status && calls) status = tutti_control_broadcast(q->control, &call);
    if (!status && asks) status = tutti_control_broadcast(q->control, &query);
    if (!status && !stalls) status = ask_in_turn(q, now_s);
    if (status) tutti_log(TUTTI_LOG_DEBUG, "not every rank could be queried");
}

/* ---- calls from outside ---- */

tutti_status tutti_inquiry_open(
    tutti_driver *driver, tutti_control *control, tutti_inquiry **inquiry)
{
    int ranks = control ? tutti_control_size(control) : 1;
    tutti_inquiry *q = calloc(1, sizeof *q);
    if (q) q->others = calloc((size_t)ranks, sizeof *q->others);
    if (q) q->process = calloc((size_t)ranks, sizeof *q->process);
    if (!q || !q->others || !q->process) {
        if (q) free(q->others);
        free(q);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the states of %d ranks", ranks);
    }
    q->driver = driver;
    q->control = control;
    q->rank = control ? tutti_control_rank(control) : 0;
    q->ranks = ranks;
    q->about = TUTTI_INQUIRY_NOTHING;
    q->moved_s = q->outside_s = tutti_clock_s();
    q->self = tutti_pulse_self();
    pthread_mutex_init(&q->lock, NULL);
    if (control) {
        tutti_control_handle(control, TUTTI_CONTROL_QUERY, receive_query, q);
        tutti_control_handle(control, TUTTI_CONTROL_STATE, receive_state, q);
        tutti_control_handle(control, TUTTI_CONTROL_DUMP, receive_call, q);
        tutti_control_handle(control, TUTTI_CONTROL_HELLO, receive_hello, q);
    }
    *inquiry = q;
    return TUTTI_OK;
}

void tutti_inquiry_close(tutti_inquiry *inquiry)
{
    if (!inquiry) return;
    pthread_mutex_destroy(&inquiry->lock);
    free(inquiry->others);
    free(inquiry->process);
    free(inquiry);
}

int tutti_inquiry_rank(const tutti_inquiry *inquiry)
{
    return inquiry->rank;
}

int tutti_inquiry_ranks(const tutti_inquiry *inquiry)
{
    return inquiry->ranks;
}

void tutti_inquiry_observe(tutti_inquiry *inquiry, tutti_ledger *ledger, int whole)
{
    pthread_mutex_lock(&inquiry->lock);
    inquiry->ledger = ledger;
    inquiry->whole = whole;
    pthread_mutex_unlock(&inquiry->lock);
}

void tutti_inquiry_set_activity(tutti_inquiry *inquiry, const char *doing, int announced)
{
    double now_s = tutti_clock_s();
    pthread_mutex_lock(&inquiry->lock);
    inquiry->doing = doing;
    inquiry->announced = announced;
    inquiry->doing_s = inquiry->outside_s = now_s;
    pthread_mutex_unlock(&inquiry->lock);
}

void tutti_inquiry_wait(tutti_inquiry *inquiry, int begins)
{
    double now_s = tutti_clock_s();
    pthread_mutex_lock(&inquiry->lock);
    inquiry->waiting += begins ? 1 : -1;
    inquiry->moved_s = inquiry->outside_s = now_s;
    pthread_mutex_unlock(&inquiry->lock);
}

int tutti_inquiry_left_waiting(tutti_inquiry *inquiry, double now_s, double *for_s)
{
    tutti_inquiry *q = inquiry;
    pthread_mutex_lock(&q->lock);
    tutti_driver_look look = tutti_driver_see(q->driver);
    int left = look.main_drives && !q->waiting && !look.failure ? look.ready : 0;
    double since_s = q->outside_s > look.oldest.since_s ? q->outside_s : look.oldest.since_s;
    *for_s = now_s - since_s;
    pthread_mutex_unlock(&q->lock);
    return left;
}

void tutti_inquiry_ask(tutti_inquiry *inquiry, int64_t collective, double every_s)
{
    pthread_mutex_lock(&inquiry->lock);
    if (inquiry->about != collective) inquiry->asked_s = 0;
    inquiry->about = collective;
    inquiry->every_s = every_s;
    pthread_mutex_unlock(&inquiry->lock);
}

void tutti_inquiry_fail(tutti_inquiry *inquiry, tutti_status status)
{
    pthread_mutex_lock(&inquiry->lock);
    if (inquiry->ledger) tutti_ledger_fail(inquiry->ledger, status);
    pthread_mutex_unlock(&inquiry->lock);
}

void tutti_inquiry_call(tutti_inquiry *inquiry)
{
    pthread_mutex_lock(&inquiry->lock);
    inquiry->calling = 1;
    pthread_mutex_unlock(&inquiry->lock);
}

int tutti_inquiry_called(tutti_inquiry *inquiry)
{
    pthread_mutex_lock(&inquiry->lock);
    int called = inquiry->called;
    inquiry->called = 0;
    pthread_mutex_unlock(&inquiry->lock);
    return called;
}

/* The call by which the program submits a rank's end of a message; NULL: there is no such call. Lock held. */
static const char *missing_call(const tutti_inquiry *q, const tutti_members *members, int rank)
{
    int from, to, edge;
    if (q->whole || !members || !tutti_edge_find(members->key, &from, &to, &edge)) return NULL;
    return rank == from ? "tutti_send" : rank == to ? "tutti_recv" : NULL;
}

void tutti_inquiry_states(tutti_inquiry *inquiry, int64_t collective, double now_s, double recent_s,
    tutti_stall_state state[])
{
    tutti_inquiry *q = inquiry;
    pthread_mutex_lock(&q->lock);
    const tutti_stall_state self = look_at_self(q, collective, now_s, NULL);
    const tutti_members *members = tutti_driver_members(q->driver, tutti_sequence_slot(collective));
    for (int r = 0; r < q->ranks; r++) {
        tutti_stall_state *s = &state[r];
        *s = r == q->rank ? self : q->others[r];
        s->outside = members && members->of;
        s->call = missing_call(q, members, r);
        for (int i = 0; s->outside && i < members->size; i++)
            if (members->of[i] == r) s->outside = 0;
        if (r == q->rank) continue;
        s->away = self.away; /* all have the same design */
        s->last_report_s = now_s - s->last_report_s;
        s->answers = s->known && s->last_report_s <= recent_s;
        s->pulse = s->answers ? TUTTI_PULSE_RUNS : tutti_pulse_of(&q->self, &q->process[r]);
        s->idle_s += s->last_report_s;
        s->waits_s += s->last_report_s;
    }
    pthread_mutex_unlock(&q->lock);
}

void tutti_inquiry_say(tutti_inquiry *inquiry, double now_s)
{
    tutti_inquiry *q = inquiry;
    char text[240] = "";
    pthread_mutex_lock(&q->lock);
    tutti_driver_look look = tutti_driver_see(q->driver);
    tutti_stall_state s = look_at_self(q, look.oldest.sequence, now_s, NULL);
    if (q->ledger) tutti_blocker_running(q->ledger, now_s, text, sizeof text);
    const char *doing = q->doing;
    int waiting = q->waiting;
    pthread_mutex_unlock(&q->lock);
    tutti_log_say("state: %" PRId64 " collectives submitted, %" PRId64
                  " ended, %d in flight; %" PRId64 " tasks ended; nothing has moved for %.1f s",
        s.submitted, s.ended, look.in_flight, s.tasks, s.idle_s);
    if (look.started.sequence >= 0)
        tutti_log_say("state: the oldest in flight is #%" PRId64 " \"%s\" (%s of %" PRId64
                      " elements, lane %d), which has not moved for %.1f s",
            tutti_sequence_number(look.started.sequence), look.started.name,
            tutti_coll_kind_name(look.started.kind), look.started.count, look.started.lane,
            s.waits_s);
    if (*s.way)
        tutti_log_say("state: #%" PRId64 " \"%s\" has not started; blocked by %s",
            tutti_sequence_number(s.about), s.name, s.way);
    tutti_log_say("state: runs %s; the program %s", *text ? text : "no task",
        doing     ? doing
        : waiting ? "waits in a call to Tutti"
                  : "is in its own code");
}
