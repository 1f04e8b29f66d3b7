/* How the list of ranks changes: the coordinator settles, proposes, and commits; the others leave, ACK, and enter. */
#include "designs/membership/membership_parts.h"

#include <string.h>

/* ---- judging a list ---- */

/* Whether those of `of` that are not in the list are certainly dead, or the list has more than half of it. */
static int is_enough(const machine *m, const tutti_membership_list *of, uint64_t list)
{
    const uint64_t left_out = of->members & ~list;
    return !(left_out & ~m->gone) || 2 * count_of(of->members & list) > count_of(of->members);
}

/* A newcomer has no evidence about the list that it was shown. */
static int is_enough_for_all(const machine *m, uint64_t list)
{
    int enough = !m->epoch || is_enough(m, &m->base, list);
    for (int i = 0; i < m->pendings; i++) enough = enough && is_enough(m, &m->pending[i], list);
    return enough;
}

/* Removes those that can no longer be committed, or no longer matter. */
static void drop_pending(machine *m, int64_t proposer, int64_t from, int64_t to)
{
    int kept = 0;
    for (int i = 0; i < m->pendings; i++) {
        const tutti_membership_list *l = &m->pending[i];
        const int drops =
            (proposer < 0 || l->proposer == proposer) && l->epoch >= from && l->epoch <= to;
        if (!drops) m->pending[kept++] = *l;
    }
    m->pendings = kept;
}

static void add_pending(machine *m, const tutti_membership_list *list)
{
    if (list->proposer == m->id[m->self]) return;
    drop_pending(m, list->proposer, list->epoch, list->epoch);
    if (m->pendings == TUTTI_MEMBERSHIP_PENDING) {
        tutti_membership_stop(
            m, "%d lists of ranks were proposed, and none was agreed on", TUTTI_MEMBERSHIP_PENDING);
        return;
    }
    m->pending[m->pendings++] = *list;
}

static int is_pending(const machine *m, const tutti_membership_list *list)
{
    for (int i = 0; i < m->pendings; i++)
        if (m->pending[i].epoch == list->epoch && m->pending[i].proposer == list->proposer)
            return 1;
    return 0;
}

/* The list of a message as a set of places. 0: it has a rank that is unknown. */
static int find_list(const machine *m, const message *what, uint64_t *list)
{
    *list = 0;
    for (int i = 0; i < what->n; i++) {
        const int p = tutti_membership_find(m, what->entry[i].id);
        if (p < 0) return 0;
        *list |= bit_of(p);
    }
    return !(*list & ~(tutti_membership_known(m) | m->guests | m->view | bit_of(m->self)));
}

/* ---- leaving ---- */

static void leave_epoch(machine *m, int gently)
{
    if (m->left || !m->epoch || m->leaving >= (gently ? 1 : 2)) return;
    m->leaving = gently ? 1 : 2;
    m->finishers = 0;
    m->acts.leave(m->acts.ctx, m->epoch, gently);
}

/* ---- the coordinator ---- */

static void stop_all(machine *m, uint64_t list, int flag)
{
    const message stop = {.kind = TUTTI_MEMBERSHIP_STOP,
        .flag = flag,
        .epoch = m->highest + 1,
        .about = flag == TUTTI_MEMBERSHIP_TOO_FEW ? count_of(list) : 0};
    tutti_membership_send(m, list, &stop);
    if (flag == TUTTI_MEMBERSHIP_TOO_FEW)
        tutti_membership_stop(m, "%d rank%s left, and the run needs %d", count_of(list),
            count_of(list) == 1 ? " is" : "s are", m->options.least);
    else
        tutti_membership_stop(m, "no snapshot is left that all ranks have");
}

static void stop_minority(machine *m, uint64_t list)
{
    const uint64_t silent = m->base.members & ~list & ~m->gone;
    if (is_enough(m, &m->base, list))
        tutti_membership_stop(m,
            "others may continue with a list of ranks that was proposed, and too "
            "few of it are within reach");
    tutti_membership_stop(m,
        "%d of %d ranks are left within reach, and %d are silent, not dead for certain: more than "
        "half "
        "are needed, or two runs might continue",
        count_of(m->base.members & list), count_of(m->base.members), count_of(silent));
}

void tutti_membership_propose(machine *m)
{
    uint64_t list = tutti_membership_known(m) & ~lost_of(m);
    const int gently = m->phase == TUTTI_MEMBERSHIP_QUIET;
    list |= tutti_membership_ready_guests(m, list);
    if (!is_enough_for_all(m, list)) {
        stop_minority(m, list);
        return;
    }
    if (count_of(list) < m->options.least) {
        stop_all(m, list, TUTTI_MEMBERSHIP_TOO_FEW);
        return;
    }
    m->promised = ++m->highest;
    m->proposal =
        (tutti_membership_list){.epoch = m->highest, .proposer = m->id[m->self], .members = list};
    m->acks = 0;
    message propose = {.kind = TUTTI_MEMBERSHIP_PROPOSE,
        .flag = gently ? TUTTI_MEMBERSHIP_GENTLY : 0,
        .epoch = m->highest,
        .about = m->base.epoch};
    tutti_membership_fill(m, &propose, list, 0);
    tutti_membership_wait(m, TUTTI_MEMBERSHIP_PROPOSING, m->options.ack_s);
    tutti_membership_send(m, list, &propose);
    leave_epoch(m, gently);
    tutti_membership_try_ack(m);
}

/* ---- a new epoch ---- */

static void tell_the_excluded(const machine *m)
{
    const message out = {.kind = TUTTI_MEMBERSHIP_OUT, .epoch = m->proposal.epoch};
    tutti_membership_send(m, tutti_membership_known(m) & ~m->proposal.members, &out);
}

/* past: those that were members. */
static void forget_the_excluded(machine *m, uint64_t past)
{
    const uint64_t kept = m->base.members | (m->guests & ~lost_of(m));
    EACH (p, m->used & ~kept) {
        if (past & bit_of(p) && m->id[p] >= m->next) m->next = m->id[p] + 1;
        if (!(m->gone & bit_of(p))) m->acts.cut(m->acts.ctx, m->id[p]);
    }
    m->used &= kept;
    m->gone &= kept;
    m->silent &= kept;
    m->guests &= kept & ~m->base.members;
    m->view = m->acks = m->finishers = 0;
}

static void enter(machine *m, const message *commit)
{
    tutti_membership next = {.epoch = commit->epoch, .snapshot = commit->newest, .n = commit->n};
    memcpy(next.entry, commit->entry, (size_t)commit->n * sizeof *commit->entry);
    const uint64_t past = tutti_membership_known(m);
    m->base = m->proposal;
    m->epoch = m->proposal.epoch;
    m->pendings = m->leaving = m->left = m->acked = m->refused = 0;
    for (int i = 0; i < commit->n; i++)
        if (commit->entry[i].id == m->id[m->self] && !commit->entry[i].fresh) {
            if (m->newest[m->self] != commit->newest) m->before[m->self] = -1;
            m->newest[m->self] = commit->newest;
        }
    forget_the_excluded(m, past);
    tutti_membership_rest(m, TUTTI_MEMBERSHIP_QUIET);
    m->acts.enter(m->acts.ctx, &next);
    tutti_membership_show(m, m->guests);
    tutti_membership_reconsider(m);
}

/* The newest snapshot that all have who have any; -1: there is none. */
static int64_t choose_snapshot(const machine *m, uint64_t *fresh)
{
    int64_t least = -1;
    *fresh = 0;
    EACH (p, m->proposal.members) {
        if (m->newest[p] < 0)
            *fresh |= bit_of(p);
        else if (least < 0 || m->newest[p] < least)
            least = m->newest[p];
    }
    EACH (p, m->proposal.members & ~*fresh)
        if (m->newest[p] != least && m->before[p] != least) least = -1;
    return least;
}

static void commit(machine *m)
{
    uint64_t fresh;
    const int64_t snapshot = choose_snapshot(m, &fresh);
    if (snapshot < 0) {
        stop_all(m, m->proposal.members, TUTTI_MEMBERSHIP_NO_SNAPSHOT);
        return;
    }
    message commit = {
        .kind = TUTTI_MEMBERSHIP_COMMIT, .epoch = m->proposal.epoch, .newest = snapshot};
    tutti_membership_fill(m, &commit, m->proposal.members, fresh);
    tell_the_excluded(m);
    tutti_membership_send(m, m->proposal.members, &commit);
    enter(m, &commit);
}

void tutti_membership_on_ack(machine *m, int from, const message *what)
{
    if (m->phase != TUTTI_MEMBERSHIP_PROPOSING || what->epoch != m->proposal.epoch) return;
    if (!(m->proposal.members & bit_of(from))) return;
    m->newest[from] = what->newest;
    m->before[from] = what->before;
    m->acks |= bit_of(from);
    if (m->acks == m->proposal.members) commit(m);
}

/* What another rank knows: a list that was committed, or may be. Returns whether it is news. */
static int learn(machine *m, const message *what)
{
    tutti_membership_list list = {.epoch = what->epoch, .proposer = what->proposer};
    if (what->n == 0 || list.epoch <= m->base.epoch || list.proposer == m->id[m->self]) return 0;
    if (!find_list(m, what, &list.members)) return 0;
    if (!(what->flag & TUTTI_MEMBERSHIP_COMMITTED)) {
        if (is_pending(m, &list)) return 0;
        add_pending(m, &list);
        return 1;
    }
    if (!(list.members & bit_of(m->self))) {
        tutti_membership_stop(
            m, "the others continue without this rank (epoch %lld)", (long long)list.epoch);
        return 0;
    }
    drop_pending(m, -1, 0, list.epoch);
    m->base = list;
    return 1;
}

void tutti_membership_on_refuse(machine *m, int from, const message *what)
{
    (void)from;
    if (what->highest > m->highest) m->highest = what->highest;
    const int news = learn(m, what);
    if (m->phase != TUTTI_MEMBERSHIP_PROPOSING || what->about != m->proposal.epoch) return;
    if (news || what->flag & TUTTI_MEMBERSHIP_TOO_EARLY) tutti_membership_propose(m);
}

/* ---- the others ---- */

/* Of a proposal: the sender learns of this list. */
static void refuse(
    const machine *m, int to, int64_t about, const tutti_membership_list *list, int flag)
{
    message what = {
        .kind = TUTTI_MEMBERSHIP_REFUSE, .flag = flag, .about = about, .highest = m->promised};
    if (list) {
        what.flag |= list == &m->base ? TUTTI_MEMBERSHIP_COMMITTED : 0;
        what.epoch = list->epoch;
        what.proposer = list->proposer;
        tutti_membership_fill(m, &what, list->members, 0);
    }
    tutti_membership_send(m, bit_of(to), &what);
}

/* What speaks against the proposal that it follows. */
static void refuse_for_lists(machine *m)
{
    const int to = tutti_membership_find(m, m->proposal.proposer);
    if (m->refused || to < 0) return;
    m->refused = 1;
    if (m->epoch && !is_enough(m, &m->base, m->proposal.members))
        refuse(m, to, m->proposal.epoch, &m->base, 0);
    for (int i = 0; i < m->pendings; i++)
        if (!is_enough(m, &m->pending[i], m->proposal.members))
            refuse(m, to, m->proposal.epoch, &m->pending[i], 0);
}

void tutti_membership_try_ack(machine *m)
{
    if (!m->left && m->epoch) return;
    if (m->phase == TUTTI_MEMBERSHIP_PROPOSING) {
        m->acks |= bit_of(m->self);
        if (m->acks == m->proposal.members) commit(m);
    }
    if (m->phase != TUTTI_MEMBERSHIP_FOLLOWING || m->acked) return;
    if (!is_enough_for_all(m, m->proposal.members)) {
        refuse_for_lists(m);
        return;
    }
    const message ack = {.kind = TUTTI_MEMBERSHIP_ACK,
        .epoch = m->proposal.epoch,
        .newest = m->newest[m->self],
        .before = m->before[m->self]};
    add_pending(m, &m->proposal);
    if (m->phase == TUTTI_MEMBERSHIP_ENDED) return;
    m->acked = 1;
    tutti_membership_send(m, bit_of(tutti_membership_find(m, m->proposal.proposer)), &ack);
}

static double patience_of(const machine *m)
{
    return 2 * (m->options.settle_s + m->options.ack_s);
}

void tutti_membership_on_propose(machine *m, int from, const message *what)
{
    uint64_t list;
    if (!(tutti_membership_known(m) & bit_of(from))) return;
    if (what->epoch <= m->promised) {
        refuse(m, from, what->epoch, m->pendings ? &m->pending[m->pendings - 1] : NULL,
            TUTTI_MEMBERSHIP_TOO_EARLY);
        return;
    }
    if (!find_list(m, what, &list)) {
        refuse(m, from, what->epoch, &m->base, 0);
        return;
    }
    if (!(list & bit_of(m->self))) return; /* others suspect this rank: OUT follows */
    m->promised = what->epoch;
    if (what->epoch > m->highest) m->highest = what->epoch;
    /* What it has proposed before without committing it, it will not commit. */
    drop_pending(m, m->id[from], what->about + 1, INT64_MAX);
    m->proposal =
        (tutti_membership_list){.epoch = what->epoch, .proposer = m->id[from], .members = list};
    m->acked = m->refused = 0;
    tutti_membership_wait(m, TUTTI_MEMBERSHIP_FOLLOWING, patience_of(m));
    leave_epoch(m, what->flag == TUTTI_MEMBERSHIP_GENTLY);
    tutti_membership_try_ack(m);
}

void tutti_membership_on_commit(machine *m, int from, const message *what)
{
    const tutti_membership_list list = {.epoch = what->epoch, .proposer = m->id[from]};
    if (m->phase == TUTTI_MEMBERSHIP_FOLLOWING && m->acked && m->proposal.epoch == list.epoch &&
        m->proposal.proposer == list.proposer) {
        tell_the_excluded(m);
        enter(m, what);
        return;
    }
    /* It has ACKed a later one since, and does not enter this one. */
    for (int i = 0; i < m->pendings; i++)
        if (m->pending[i].epoch == list.epoch && m->pending[i].proposer == list.proposer &&
            list.epoch > m->base.epoch) {
            m->base = m->pending[i];
            drop_pending(m, -1, 0, list.epoch);
            return;
        }
}

/* ---- losses ---- */

void tutti_membership_suspect(machine *m, uint64_t set)
{
    EACH (p, set & ~lost_of(m) & ~bit_of(m->self)) {
        const message suspect = {.kind = TUTTI_MEMBERSHIP_SUSPECT, .about = m->id[p]};
        m->silent |= bit_of(p);
        if (m->epoch) tutti_membership_send(m, tutti_membership_known(m) & ~lost_of(m), &suspect);
    }
}

static void coordinate(machine *m)
{
    const uint64_t lost = lost_of(m);
    const int proposer = tutti_membership_find(m, m->proposal.proposer);
    int settles = 0;
    switch (m->phase) {
    case TUTTI_MEMBERSHIP_QUIET:
        settles = !!(m->base.members & lost);
        break;
    case TUTTI_MEMBERSHIP_WAITING:
    case TUTTI_MEMBERSHIP_SETTLING:
        settles = 1;
        break;
    case TUTTI_MEMBERSHIP_PROPOSING:
        settles = !!(m->proposal.members & lost);
        break;
    case TUTTI_MEMBERSHIP_FOLLOWING:
        settles = proposer < 0 || lost & bit_of(proposer);
        break;
    default:
        break;
    }
    if (settles) tutti_membership_wait(m, TUTTI_MEMBERSHIP_SETTLING, m->options.settle_s);
}

static void follow(machine *m)
{
    const uint64_t lost = lost_of(m);
    const int proposer = tutti_membership_find(m, m->proposal.proposer);
    const int waits =
        (m->phase == TUTTI_MEMBERSHIP_QUIET && m->base.members & lost) ||
        (m->phase == TUTTI_MEMBERSHIP_FOLLOWING && (proposer < 0 || lost & bit_of(proposer)));
    if (waits) tutti_membership_wait(m, TUTTI_MEMBERSHIP_WAITING, patience_of(m));
}

void tutti_membership_reconsider(machine *m)
{
    const int coordinator = tutti_membership_coordinator(m);
    if (m->phase == TUTTI_MEMBERSHIP_ENDED) return;
    if (!m->epoch && coordinator < 0 && m->base.epoch) {
        tutti_membership_stop(m, "all ranks of the run are lost before this one was taken in");
        return;
    }
    if (m->epoch && coordinator == m->self)
        coordinate(m);
    else if (m->epoch)
        follow(m);
    tutti_membership_try_ack(m);
}

void tutti_membership_expire(machine *m)
{
    uint64_t late = 0;
    if (tutti_membership_say_ready(
            m)) { /* and waits on for a snapshot; who has given it up says so */
        m->due_s = m->now_s + m->options.join_s;
        return;
    }
    if (!m->epoch) {
        tutti_membership_stop(m, "this rank was not taken in within %g s", m->options.join_s);
        return;
    }
    switch (m->phase) {
    case TUTTI_MEMBERSHIP_SETTLING:
        tutti_membership_propose(m);
        return;
    case TUTTI_MEMBERSHIP_PROPOSING:
        late = m->proposal.members & ~m->acks;
        break;
    case TUTTI_MEMBERSHIP_FOLLOWING: {
        const int proposer = tutti_membership_find(m, m->proposal.proposer);
        if (proposer >= 0) late = bit_of(proposer);
        break;
    }
    case TUTTI_MEMBERSHIP_WAITING: {
        const int coordinator = tutti_membership_coordinator(m);
        if (coordinator >= 0) late = bit_of(coordinator);
        break;
    }
    default:
        tutti_membership_rest(m, m->phase);
        return;
    }
    if (m->leaving) {
        tutti_membership_stop(m, "this rank did not leave its epoch within %g s", m->options.ack_s);
        return;
    }
    tutti_membership_suspect(m, late);
    tutti_membership_reconsider(m);
    if (m->phase == TUTTI_MEMBERSHIP_SETTLING) m->due_s = m->now_s;
}
