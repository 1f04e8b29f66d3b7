/* Both ends of a point-to-point message, compared. */
#include "apps/check/court.h"

#include <stdlib.h>
#include <string.h>

/* An end that waits for the other. */
typedef struct end {
    bool sends;
    int rank, site;
    char *call;
    tutti_signature data;
} end;

/* Ends that never meet (of a side that has lost count) must not fill the memory. */
enum { most_ends = 1 << 20 };

static void free_end(void *value, void *unused)
{
    end *e = value;
    (void)unused;
    free(e->call);
    free(e);
}

static void compare(tutti_judge *judge, const end *a, const end *b)
{
    const end *send = a->sends ? a : b, *recv = a->sends ? b : a;
    if (a->sends == b->sends || tutti_signature_receives(send->data, recv->data)) return;
    tutti_report report = {0};
    tutti_report_add(
        &report, "tutti-check: error: the type of a message differs between its ends\n");
    for (int i = 0; i < 2; i++) {
        const end *e = i == 0 ? send : recv;
        tutti_report_add(&report, "tutti-check:   rank %d: %s at ", e->rank, e->call);
        tutti_report_site(&report, judge, e->rank, e->site);
        tutti_report_add(&report, i == 0 ? " sends it\n" : " receives it as something else\n");
    }
    tutti_report_error(judge, &report);
}

void tutti_court_message(tutti_judge *judge, int rank, tutti_frame *frame)
{
    uint64_t key = (uint64_t)tutti_frame_get(frame);
    end *here = calloc(1, sizeof(*here));
    if (!here) abort();
    here->rank = rank;
    here->sends = tutti_frame_get(frame) != 0;
    here->call = strdup(tutti_frame_get_text(frame));
    here->site = (int)tutti_frame_get(frame);
    here->data = tutti_signature_get(frame);
    end *there = tutti_table_remove(&judge->messages, key);
    if (there) {
        compare(judge, here, there);
        free_end(there, NULL);
    } else if (judge->messages.entries < most_ends) {
        tutti_table_add(&judge->messages, key, here);
        return;
    }
    free_end(here, NULL);
}

void tutti_court_messages_free(tutti_judge *judge)
{
    tutti_table_each(&judge->messages, free_end, NULL);
    tutti_table_clear(&judge->messages);
}
