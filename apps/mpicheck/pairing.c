#include "apps/mpicheck/pairing.h"

#include "apps/mpicheck/process.h"
#include "apps/mpicheck/table.h"

#include <pthread.h>
#include <stdlib.h>

/* A posted receive whose position among those of its channel is not certain yet. */
typedef struct receive {
    struct receive *next; /* in the order of posting */
    uint64_t number;
    mpicheck_item item;
    mpicheck_signature data;
    bool resolved; /* item holds the actual sender and tag */
} receive;

/* `lock` protects all of it. */
static struct {
    bool lost;
    uint64_t posted;
    receive *first, **end;
    mpicheck_table counts; /* messages by channel and direction */
} state = {.end = &state.first};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t channel(uint64_t comm, int from, int to, int tag)
{
    uint64_t key = mpicheck_comm_mix(comm, (uint64_t)from);
    return mpicheck_comm_mix(mpicheck_comm_mix(key, (uint64_t)to), (uint64_t)tag);
}

static uint64_t next_of(uint64_t key)
{
    intptr_t count = (intptr_t)mpicheck_table_remove(&state.counts, key);
    mpicheck_table_add(&state.counts, key, (void *)(count + 1));
    return (uint64_t)count;
}

static void tell(const mpicheck_item *item, mpicheck_signature data)
{
    int self = mpicheck_process_self()->rank;
    bool sends = item->kind == MPICHECK_ITEM_SEND;
    uint64_t key = sends ? channel(item->comm, self, item->peer, item->tag)
                         : channel(item->comm, item->peer, self, item->tag);
    uint64_t index = next_of(sends ? key : ~key);
    mpicheck_frame *frame = mpicheck_process_open(MPICHECK_FRAME_MESSAGE);
    mpicheck_frame_put(frame, (int64_t)mpicheck_comm_mix(key, index));
    mpicheck_frame_put(frame, sends);
    mpicheck_frame_put(frame, (int64_t)item->comm);
    mpicheck_frame_put(frame, item->peer);
    mpicheck_frame_put(frame, item->tag);
    mpicheck_frame_text(frame, item->call);
    mpicheck_frame_put(frame, item->site);
    mpicheck_signature_put(frame, data);
    mpicheck_process_post();
}

static bool could_take(const receive *earlier, const mpicheck_item *item)
{
    return !earlier->resolved && earlier->item.comm == item->comm &&
           (earlier->item.peer == -1 || earlier->item.peer == item->peer) &&
           (earlier->item.tag == MPI_ANY_TAG || earlier->item.tag == item->tag);
}

/* Reports each resolved receive whose position no earlier unresolved one can take. */
static void settle(void)
{
    for (receive **at = &state.first; *at;) {
        receive *r = *at;
        bool certain = r->resolved;
        for (const receive *e = state.first; certain && e != r; e = e->next)
            certain = !could_take(e, &r->item);
        if (!certain) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        if (!*at) state.end = at;
        tell(&r->item, r->data);
        free(r);
    }
}

static bool certain(void)
{
    return !state.lost && !mpicheck_process_self()->threads;
}

uint64_t mpicheck_pairing_posted(const mpicheck_item *item, mpicheck_signature data)
{
    uint64_t number = 0;
    pthread_mutex_lock(&lock);
    if (certain() && item->kind == MPICHECK_ITEM_SEND) {
        tell(item, data);
    } else if (certain() && item->kind == MPICHECK_ITEM_RECV) {
        receive *r = malloc(sizeof(*r));
        if (!r) abort();
        number = ++state.posted;
        *r = (receive){.number = number, .item = *item, .data = data};
        *state.end = r;
        state.end = &r->next;
    }
    pthread_mutex_unlock(&lock);
    return number;
}

void mpicheck_pairing_received(uint64_t number, int source, int tag)
{
    pthread_mutex_lock(&lock);
    for (receive *r = state.first; r && certain(); r = r->next) {
        if (r->number != number) continue;
        r->item.peer = source;
        r->item.tag = tag;
        r->resolved = true;
        settle();
        break;
    }
    pthread_mutex_unlock(&lock);
}

void mpicheck_pairing_lost(void)
{
    pthread_mutex_lock(&lock);
    state.lost = true;
    while (state.first) {
        receive *r = state.first;
        state.first = r->next;
        free(r);
    }
    state.end = &state.first;
    pthread_mutex_unlock(&lock);
}

bool mpicheck_pairing_is_certain(void)
{
    pthread_mutex_lock(&lock);
    bool is = certain();
    pthread_mutex_unlock(&lock);
    return is;
}
