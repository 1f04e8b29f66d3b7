#include "designs/kv/message_order.h"

static int is_same_stream(const tutti_ordered_message *a, const tutti_ordered_message *b)
{
    return a->peer == b->peer && a->tag == b->tag && a->sends == b->sends;
}

static tutti_peer_state state_of(const tutti_message_order *s, int peer)
{
    return s->user.state(s->user.ctx, peer);
}

static void redirect_to_spare(const tutti_message_order *s, tutti_ordered_message *m)
{
    m->peer = m->spare.peer;
    m->tag = m->spare.tag;
    m->has_spare = 0;
    s->user.write(s->user.ctx, m->peer, m->spare.needed);
}

void tutti_message_order_put_back(tutti_message_order *s, tutti_ordered_message *m)
{
    tutti_ordered_message **at = &s->waiting;
    while (*at && (*at)->number < m->number) at = &(*at)->next;
    m->next = *at;
    *at = m;
}

void tutti_message_order_add(tutti_message_order *s, tutti_ordered_message *m)
{
    m->number = s->added++;
    if (m->has_spare && state_of(s, m->peer) == TUTTI_PEER_AWAY) redirect_to_spare(s, m);
    tutti_message_order_put_back(s, m);
}

/* Its peer is lost. Messages before it may have been put back, or will be. */
static int must_redirect(const tutti_message_order *s, const tutti_ordered_message *m)
{
    return m->has_spare && state_of(s, m->peer) == TUTTI_PEER_BROKEN;
}

static void begin_ready(tutti_message_order *s, const tutti_ordered_message *like)
{
    const tutti_ordered_message stream = *like; /* it may end */
    for (tutti_ordered_message **at = &s->waiting, *m; (m = *at);) {
        if (!is_same_stream(m, &stream)) {
            at = &m->next;
            continue;
        }
        if (!m->ready || must_redirect(s, m)) return;
        *at = m->next;
        s->user.begin(s->user.ctx, m);
    }
}

void tutti_message_order_ready(tutti_message_order *s, tutti_ordered_message *m)
{
    m->ready = 1;
    begin_ready(s, m);
}

void tutti_message_order_arrived(const tutti_message_order *s, const tutti_ordered_message *m)
{
    if (m->has_spare) s->user.write(s->user.ctx, m->spare.peer, m->spare.spared);
}

/* Whether it is the next of its stream. */
static int is_next(const tutti_message_order *s, const tutti_ordered_message *like)
{
    const tutti_ordered_message *m = s->waiting;
    while (!is_same_stream(m, like)) m = m->next;
    return m == like;
}

/* Ready messages begin, or end if there is no connection; if the other peer has broken, too, they wait for its loss. */
void tutti_message_order_redirect(tutti_message_order *s, int peer)
{
    for (tutti_ordered_message *m = s->waiting; m; m = m->next)
        if (m->has_spare && m->peer == peer) redirect_to_spare(s, m);
    for (tutti_ordered_message *m = s->waiting; m;) {
        int begins = m->ready && !must_redirect(s, m) && is_next(s, m);
        if (begins) begin_ready(s, m);
        m = begins ? s->waiting : m->next;
    }
}
