#include "designs/membership/membership_parts.h"

#include "dag/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- opening ---- */

static tutti_status check_options(const tutti_membership_options *o)
{
    const int n = o->first ? o->first->n : 1;
    if (o->least < 1 || o->most < o->least || o->most > TUTTI_MEMBERSHIP_MOST)
        return tutti_fail(TUTTI_ERR_USAGE,
            "%d to %d ranks may train: from 1 to %d are possible, and at least as many as the "
            "least",
            o->least, o->most, TUTTI_MEMBERSHIP_MOST);
    if (o->first && (n < o->least || n > o->most))
        return tutti_fail(
            TUTTI_ERR_USAGE, "a run of %d to %d ranks begins with %d", o->least, o->most, n);
    if (!(o->settle_s >= 0) || !(o->ack_s > 0) || !(o->join_s > 0) || o->self.id < 0)
        return tutti_fail(TUTTI_ERR_INVAL, "a membership with invalid deadlines or rank");
    for (int i = 1; i < n; i++)
        if (o->first->entry[i].id <= o->first->entry[i - 1].id)
            return tutti_fail(TUTTI_ERR_INVAL, "the ranks of a membership are not in order");
    return TUTTI_OK;
}

static void begin_first(machine *m, const tutti_membership *first)
{
    tutti_membership begun = *first;
    tutti_membership_rest(m, TUTTI_MEMBERSHIP_QUIET);
    m->epoch = m->promised = m->highest = m->base.epoch = begun.epoch = 1;
    begun.snapshot = 0;
    for (int i = 0; i < first->n; i++) {
        const int p = tutti_membership_add(m, &first->entry[i]);
        m->base.members |= bit_of(p);
        begun.entry[i].fresh = 0;
    }
    m->self = tutti_membership_find(m, m->options.self.id);
    m->newest[m->self] = 0;
    m->acts.enter(m->acts.ctx, &begun);
}

tutti_status tutti_membership_open(tutti_membership_machine *m,
    const tutti_membership_options *options, const tutti_membership_acts *acts, double now_s)
{
    tutti_status status = check_options(options);
    int found = !options->first;
    for (int i = 0; i < (options->first ? options->first->n : 0); i++)
        found |= options->first->entry[i].id == options->self.id;
    if (!status && !found)
        status = tutti_fail(TUTTI_ERR_INVAL, "rank %lld is not in the first membership",
            (long long)options->self.id);
    if (status) return status;
    memset(m, 0, sizeof *m);
    m->options = *options;
    m->options.first = NULL;
    m->acts = *acts;
    m->now_s = now_s;
    m->due_s = now_s + options->join_s;
    m->phase = TUTTI_MEMBERSHIP_NEW;
    if (options->first)
        begin_first(m, options->first);
    else
        m->self = tutti_membership_add(m, &options->self);
    return TUTTI_OK;
}

/* ---- newcomers ---- */

static tutti_membership_verdict refuse(char why[], tutti_membership_verdict verdict,
    const char *format, ...) __attribute__((format(printf, 3, 4)));

static tutti_membership_verdict refuse(
    char why[], tutti_membership_verdict verdict, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, TUTTI_MEMBERSHIP_WHY, format, args);
    va_end(args);
    return verdict;
}

static tutti_membership_verdict judge_hello(
    const machine *m, const tutti_membership_hello *h, char why[])
{
    if (h->version != TUTTI_MEMBERSHIP_VERSION)
        return refuse(why, TUTTI_MEMBERSHIP_REFUSED,
            "its version is %d, the run's is %d: install the same Tutti everywhere", h->version,
            TUTTI_MEMBERSHIP_VERSION);
    if (h->run != m->options.run)
        return refuse(why, TUTTI_MEMBERSHIP_REFUSED, "it belongs to another run");
    if (h->options != m->options.options)
        return refuse(why, TUTTI_MEMBERSHIP_REFUSED,
            "its options, or its version of Tutti, are not those of the run: start it with the "
            "same");
    if (m->phase == TUTTI_MEMBERSHIP_ENDED)
        return refuse(why, TUTTI_MEMBERSHIP_REFUSED, "the run has ended");
    const int known = tutti_membership_find(m, h->id);
    if (known >= 0 && m->asked & bit_of(known) & ~m->linked & ~lost_of(m)) {
        if (m->id[m->self] < h->id) return TUTTI_MEMBERSHIP_WELCOME;
        return refuse(
            why, TUTTI_MEMBERSHIP_LATER, "rank %lld connects itself", (long long)m->id[m->self]);
    }
    if (known >= 0 || h->id < m->next)
        return refuse(why, TUTTI_MEMBERSHIP_REFUSED,
            "the number %lld is, or was, that of another rank: a newcomer needs a new one",
            (long long)h->id);
    if (!~tutti_membership_taken(m))
        return refuse(why, TUTTI_MEMBERSHIP_LATER, "there are %d ranks and newcomers already",
            TUTTI_MEMBERSHIP_MOST);
    return TUTTI_MEMBERSHIP_WELCOME;
}

/* Two newcomers may know of each other: the one with the higher id connects. */
tutti_membership_verdict tutti_membership_admit(tutti_membership_machine *m,
    const tutti_membership_hello *hello, char why[TUTTI_MEMBERSHIP_WHY])
{
    const tutti_membership_verdict verdict = judge_hello(m, hello, why);
    if (verdict) return verdict;
    tutti_membership_entry e = {.id = hello->id};
    memcpy(e.address, hello->address, sizeof e.address);
    int p = tutti_membership_find(m, e.id);
    if (p < 0) p = tutti_membership_add(m, &e);
    m->guests |= bit_of(p) & ~m->base.members;
    m->linked |= bit_of(p);
    if (m->epoch)
        tutti_membership_show(m, bit_of(p));
    else
        tutti_membership_say_ready(m);
    return TUTTI_MEMBERSHIP_WELCOME;
}

void tutti_membership_connected(tutti_membership_machine *m, const tutti_membership_entry *to)
{
    if (m->phase == TUTTI_MEMBERSHIP_ENDED) return;
    int p = tutti_membership_find(m, to->id);
    if (p < 0) p = tutti_membership_add(m, to);
    if (p < 0) return;
    m->linked |= bit_of(p);
    tutti_membership_say_ready(m);
}

/* What failed before is tried again. */
static void ask_connections(machine *m)
{
    EACH (p, m->view & ~m->linked & ~m->asked) {
        tutti_membership_entry e = {.id = m->id[p]};
        memcpy(e.address, m->address[p], sizeof e.address);
        m->asked |= bit_of(p);
        m->silent &= ~bit_of(p);
        m->acts.connect(m->acts.ctx, &e);
    }
}

/* The ranks change. A newcomer that was connected to all has as long as at first for the next ones. */
static void begin_anew(machine *m)
{
    if (tutti_membership_is_connected(m)) m->due_s = m->now_s + m->options.join_s;
}

static void on_view(machine *m, int from, const message *what)
{
    (void)from;
    if (m->epoch || what->epoch < m->base.epoch) return;
    begin_anew(m);
    uint64_t view = 0, members = 0;
    for (int i = 0; i < what->n; i++) {
        int p = tutti_membership_find(m, what->entry[i].id);
        if (p < 0) p = tutti_membership_add(m, &what->entry[i]);
        if (p < 0) return;
        if (p == m->self) continue;
        view |= bit_of(p);
        if (!what->entry[i].fresh) members |= bit_of(p);
    }
    m->guests = (m->guests | view) & ~members;
    m->base = (tutti_membership_list){.epoch = what->epoch, .members = members};
    m->view = view;
    ask_connections(m);
    tutti_membership_say_ready(m);
}

static void on_ready(machine *m, int from, const message *what)
{
    if (!(m->guests & bit_of(from))) return;
    m->reach[from] = 0;
    for (int i = 0; i < what->n; i++) {
        const int p = tutti_membership_find(m, what->entry[i].id);
        if (p >= 0) m->reach[from] |= bit_of(p);
    }
}

void tutti_membership_snapshot(tutti_membership_machine *m, int64_t newest, int64_t before)
{
    if (m->phase == TUTTI_MEMBERSHIP_ENDED) return;
    m->newest[m->self] = newest;
    m->before[m->self] = before;
    if (m->phase == TUTTI_MEMBERSHIP_QUIET && tutti_membership_coordinator(m) == m->self &&
        !m->finishers && tutti_membership_ready_guests(m, m->base.members))
        tutti_membership_propose(m);
}

/* ---- losses ---- */

/* A member has lost a newcomer: the others need not connect to it. One that has never been connected to it would try
 * until its time is over. */
static void show_others(const machine *m, uint64_t lost)
{
    if (m->epoch && m->guests & lost) tutti_membership_show(m, m->guests & ~lost_of(m));
}

void tutti_membership_lost(tutti_membership_machine *m, int64_t id, int certain)
{
    const int p = tutti_membership_find(m, id);
    if (p < 0 || p == m->self || m->phase == TUTTI_MEMBERSHIP_ENDED) return;
    const uint64_t lost = bit_of(p) & ~lost_of(m);
    begin_anew(m);
    m->asked &= ~bit_of(p);
    m->linked &= ~bit_of(p);
    if (certain)
        m->gone |= bit_of(p);
    else
        tutti_membership_suspect(m, bit_of(p));
    show_others(m, lost);
    tutti_membership_say_ready(m);
    tutti_membership_reconsider(m);
}

static void on_suspect(machine *m, int from, const message *what)
{
    const int p = tutti_membership_find(m, what->about);
    (void)from;
    if (p < 0 || p == m->self || !m->epoch || lost_of(m) & bit_of(p)) return;
    m->silent |= bit_of(p);
    show_others(m, bit_of(p));
    tutti_membership_reconsider(m);
}

static void on_out(machine *m, int from, const message *what)
{
    if (what->epoch > m->epoch)
        tutti_membership_stop(m,
            "rank %lld says that the others continue without this rank (epoch %lld): it was "
            "silent, "
            "or "
            "too late",
            (long long)m->id[from], (long long)what->epoch);
}

static void on_stop(machine *m, int from, const message *what)
{
    if (what->epoch <= m->epoch) return;
    if (what->flag == TUTTI_MEMBERSHIP_TOO_FEW)
        tutti_membership_stop(m, "%lld ranks are left, and the run needs %d",
            (long long)what->about, m->options.least);
    else
        tutti_membership_stop(m, "rank %lld says that no snapshot is left that all ranks have",
            (long long)m->id[from]);
}

/* ---- the end of the run ---- */

static void end_run(machine *m)
{
    const message done = {.kind = TUTTI_MEMBERSHIP_DONE, .epoch = m->epoch};
    tutti_membership_send(m, m->base.members, &done);
    tutti_membership_rest(m, TUTTI_MEMBERSHIP_ENDED);
    m->acts.finish(m->acts.ctx);
}

static void count_finisher(machine *m, int p)
{
    m->finishers |= bit_of(p);
    if (m->phase == TUTTI_MEMBERSHIP_QUIET && m->finishers == m->base.members) end_run(m);
}

void tutti_membership_finish(tutti_membership_machine *m)
{
    const message finish = {.kind = TUTTI_MEMBERSHIP_FINISH, .epoch = m->epoch};
    const int coordinator = tutti_membership_coordinator(m);
    if (m->phase != TUTTI_MEMBERSHIP_QUIET) return; /* the epoch ends */
    if (coordinator == m->self)
        count_finisher(m, m->self);
    else
        tutti_membership_send(m, bit_of(coordinator), &finish);
}

static void on_finish(machine *m, int from, const message *what)
{
    if (what->epoch == m->epoch && m->base.members & bit_of(from)) count_finisher(m, from);
}

/* Each rank that receives it sends it to all, before it leaves: so all receive it. A list that this rank has ACKed
 * since may be committed, unless one of the list leaves here. */
static void on_done(machine *m, int from, const message *what)
{
    if (!m->epoch || what->epoch != m->epoch) return;
    for (int i = 0; i < m->pendings; i++)
        if (!(m->pending[i].members & bit_of(from))) return;
    end_run(m);
}

/* ---- events ---- */

/* A guest that was suspected, and still waits, would wait forever. */
static void answer_given_up(const machine *m, int guest)
{
    const message out = {.kind = TUTTI_MEMBERSHIP_OUT, .epoch = m->epoch};
    if (m->epoch && m->guests & bit_of(guest)) tutti_membership_send(m, bit_of(guest), &out);
}

void tutti_membership_receive(
    tutti_membership_machine *m, int64_t from, const tutti_membership_message *what)
{
    static void (*const on[TUTTI_MEMBERSHIP_KINDS])(machine *, int, const message *) = {
        [TUTTI_MEMBERSHIP_VIEW] = on_view,
        [TUTTI_MEMBERSHIP_READY] = on_ready,
        [TUTTI_MEMBERSHIP_SUSPECT] = on_suspect,
        [TUTTI_MEMBERSHIP_PROPOSE] = tutti_membership_on_propose,
        [TUTTI_MEMBERSHIP_ACK] = tutti_membership_on_ack,
        [TUTTI_MEMBERSHIP_REFUSE] = tutti_membership_on_refuse,
        [TUTTI_MEMBERSHIP_COMMIT] = tutti_membership_on_commit,
        [TUTTI_MEMBERSHIP_OUT] = on_out,
        [TUTTI_MEMBERSHIP_STOP] = on_stop,
        [TUTTI_MEMBERSHIP_FINISH] = on_finish,
        [TUTTI_MEMBERSHIP_DONE] = on_done,
    };
    const int p = tutti_membership_find(m, from);
    if (p < 0 || m->phase == TUTTI_MEMBERSHIP_ENDED) return;
    if (lost_of(m) & bit_of(p) && what->kind != TUTTI_MEMBERSHIP_OUT) {
        if (what->kind == TUTTI_MEMBERSHIP_READY) answer_given_up(m, p);
        return;
    }
    on[what->kind](m, p, what);
}

void tutti_membership_tick(tutti_membership_machine *m, double now_s)
{
    m->now_s = now_s;
    if (now_s >= m->due_s) tutti_membership_expire(m);
}

double tutti_membership_due(const tutti_membership_machine *m)
{
    return m->due_s;
}

void tutti_membership_left(tutti_membership_machine *m, int64_t newest, int64_t before)
{
    if (!m->leaving || m->phase == TUTTI_MEMBERSHIP_ENDED) return;
    m->newest[m->self] = newest;
    m->before[m->self] = before;
    m->leaving = 0;
    m->left = 1;
    tutti_membership_try_ack(m);
}
