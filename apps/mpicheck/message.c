/* Both ends of a point-to-point message, compared. */
#include "apps/mpicheck/tracker.h"

#include <stdlib.h>
#include <string.h>

/* An end that waits for the other. */
typedef struct end {
    bool sends;
    int rank, peer, tag, site;
    uint64_t comm;
    char *call;
    mpicheck_signature data;
} end;

/* Ends that never meet (because one side has lost count) must not fill the memory. */
enum { most_ends = 1 << 20 };

static void free_end(void *value, void *unused)
{
    end *e = value;
    (void)unused;
    free(e->call);
    free(e);
}

static void compare(mpicheck_judge *judge, const end *a, const end *b)
{
    const end *send = a->sends ? a : b, *recv = a->sends ? b : a;
    if (a->sends == b->sends || mpicheck_signature_receives(send->data, recv->data)) return;
    mpicheck_report report = {0};
    mpicheck_report_add(
        &report, "tutti-mpicheck: error: the type of a message differs between its ends\n");
    for (int i = 0; i < 2; i++) {
        const end *e = i == 0 ? send : recv;
        mpicheck_report_add(&report, "tutti-mpicheck:   rank %d: %s at ", e->rank, e->call);
        mpicheck_report_site(&report, judge, e->rank, e->site);
        mpicheck_report_add(&report, i == 0 ? " sends it\n" : " receives it as something else\n");
    }
    mpicheck_report_error(judge, &report);
}

void mpicheck_tracker_message(mpicheck_judge *judge, int rank, mpicheck_frame *frame)
{
    uint64_t key = (uint64_t)mpicheck_frame_get(frame);
    end *here = calloc(1, sizeof(*here));
    if (!here) abort();
    here->rank = rank;
    here->sends = mpicheck_frame_get(frame) != 0;
    here->comm = (uint64_t)mpicheck_frame_get(frame);
    here->peer = (int)mpicheck_frame_get(frame);
    here->tag = (int)mpicheck_frame_get(frame);
    here->call = strdup(mpicheck_frame_get_text(frame));
    here->site = (int)mpicheck_frame_get(frame);
    here->data = mpicheck_signature_get(frame);
    end *there = mpicheck_table_remove(&judge->messages, key);
    if (there) {
        compare(judge, here, there);
        free_end(there, NULL);
    } else if (judge->messages.entries < most_ends) {
        mpicheck_table_add(&judge->messages, key, here);
        return;
    }
    free_end(here, NULL);
}

typedef struct search {
    const mpicheck_judge *judge;
    const mpicheck_item *recv;
    int receiver;
    int64_t found;
} search;

static void look(void *value, void *arg)
{
    const end *e = value;
    search *s = arg;
    s->found += e->sends && !s->judge->ranks[e->rank].unpaired && e->comm == s->recv->comm &&
                e->peer == s->receiver && (s->recv->peer == -1 || s->recv->peer == e->rank) &&
                (s->recv->tag == -1 || s->recv->tag == e->tag);
}

int64_t mpicheck_tracker_sent(mpicheck_judge *judge, const mpicheck_item *recv, int receiver)
{
    search s = {judge, recv, receiver, 0};
    mpicheck_table_each(&judge->messages, look, &s);
    return s.found;
}

void mpicheck_tracker_messages_free(mpicheck_judge *judge)
{
    mpicheck_table_each(&judge->messages, free_end, NULL);
    mpicheck_table_clear(&judge->messages);
}
