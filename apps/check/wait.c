#include "apps/check/wait.h"

#include "apps/check/call.h"
#include "apps/check/now.h"
#include "apps/check/process.h"
#include "apps/check/requests.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* How long a thread spins before it says that it waits; and how long and how often it tests before it
 * answers that it still does. */
static const double quiet_s = 0.05, sure_s = 0.15;
/* A program that computes that long between two polls does something else, too. */
static const double busy_s = 0.001;
enum { spins = 500, sure_tests = 50, most_pending = 256 };

tutti_wait tutti_wait_for(tutti_item item)
{
    return (tutti_wait){.item = item, .started = tutti_now()};
}

tutti_wait tutti_wait_requests(tutti_wanted wanted, bool any)
{
    return (tutti_wait){.wanted = wanted, .any = any, .started = tutti_now()};
}

/* Items, gathered before the frame is opened: asking MPI takes other locks. */
typedef struct items {
    tutti_item *row;
    int count, capacity;
    const tutti_wait *wait;
} items;

static void append(items *list, tutti_item item)
{
    if (list->count == list->capacity) {
        list->capacity = 2 * list->capacity + 8;
        list->row = realloc(list->row, sizeof(*list->row) * (size_t)list->capacity);
        if (!list->row) abort();
    }
    list->row[list->count++] = item;
}

static void gather_waited(items *list)
{
    const tutti_wanted *wanted = &list->wait->wanted;
    if (!wanted->requests) append(list, list->wait->item);
    for (int i = 0; i < wanted->count; i++) {
        tutti_item item;
        int complete = 0;
        if (wanted->requests[i] == MPI_REQUEST_NULL) continue;
        if (!wanted->known[i]) {
            append(list, (tutti_item){.kind = TUTTI_ITEM_OTHER, .call = "?"});
            continue;
        }
        if (!tutti_request_waits(wanted->known[i], &item)) continue;
        if (!tutti_request_held(&wanted->known[i], 1))
            PMPI_Request_get_status(wanted->requests[i], &complete, MPI_STATUS_IGNORE);
        if (!complete) append(list, item);
    }
}

static void gather_pending(const tutti_request *request, void *with)
{
    items *list = with;
    if (list->count < most_pending && request->item.kind != TUTTI_ITEM_COLL)
        append(list, request->item);
}

static void put_items(tutti_frame *frame, const items *list)
{
    tutti_frame_put(frame, list->count);
    for (int i = 0; i < list->count; i++) {
        const tutti_item *item = &list->row[i];
        tutti_frame_put(frame, item->kind);
        tutti_frame_put(frame, (int64_t)item->comm);
        tutti_frame_put(frame, item->peer);
        tutti_frame_put(frame, item->tag == MPI_ANY_TAG ? -1 : item->tag);
        tutti_frame_put(frame, (int64_t)item->sequence);
        tutti_frame_put(frame, item->bytes);
        tutti_frame_text(frame, item->call ? item->call : "");
        tutti_frame_put(frame, item->site);
    }
}

static void tell(tutti_wait *wait)
{
    items waited = {.wait = wait}, pending = {.wait = wait};
    int site = tutti_call_site(), threads = tutti_process_threads();
    gather_waited(&waited);
    tutti_request_each(gather_pending, &pending);
    tutti_frame *frame = tutti_process_open(TUTTI_FRAME_BLOCKED);
    tutti_frame_put(frame, gettid());
    tutti_frame_put(frame, threads);
    tutti_frame_put(frame, wait->probe);
    tutti_frame_put(frame, wait->any);
    tutti_frame_text(frame, tutti_call_name());
    tutti_frame_put(frame, site);
    put_items(frame, &waited);
    put_items(frame, &pending);
    tutti_process_post();
    free(waited.row);
    free(pending.row);
    wait->told = true;
}

/* A question is answered after further tests, all in vain: a message that was on its way has come. */
static void answer(tutti_wait *wait)
{
    int64_t probe = tutti_process_self()->probe;
    if (probe != wait->probe) {
        wait->probe = probe;
        wait->answers = wait->steps;
        wait->started = tutti_now();
    } else if (wait->answers >= 0 && wait->steps - wait->answers >= sure_tests &&
               tutti_now() - wait->started >= sure_s) {
        wait->answers = -1;
        tell(wait);
    }
}

void tutti_wait_step(tutti_wait *wait)
{
    tutti_process_obey();
    wait->steps++;
    /* In a wait for the judge, too, what MPI has to do for other ranks goes on. */
    if (!wait->wanted.requests || wait->steps % 16 == 0) (void)tutti_process_progress();
    if (wait->steps < spins) {
        sched_yield();
        return;
    }
    if (!wait->told) {
        wait->answers = -1;
        wait->probe = tutti_process_self()->probe;
        if (wait->item.kind == TUTTI_ITEM_FINALIZE || tutti_now() - wait->started >= quiet_s) tell(wait);
    } else {
        answer(wait);
    }
    usleep(wait->steps < 2 * spins ? 50 : 500);
}

void tutti_wait_end(tutti_wait *wait)
{
    if (!wait->told) return;
    tutti_frame *frame = tutti_process_open(TUTTI_FRAME_FREE);
    tutti_frame_put(frame, gettid());
    tutti_process_post();
}

/* The polls of this thread. */
static __thread struct {
    tutti_wait wait;
    double since; /* 0: none */
    double cpu_s; /* of the thread, and how often it has slept, at the last poll */
    long sleeps;
} poll;

static void remember(void)
{
    struct timespec t;
    struct rusage usage = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    getrusage(RUSAGE_THREAD, &usage);
    poll.cpu_s = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    poll.sleeps = usage.ru_nvcsw;
}

/* Whether the thread has computed, slept or waited for something since the last poll. That it was not given
 * a processor does not count. */
static bool did_something_else(void)
{
    double cpu_s = poll.cpu_s;
    long sleeps = poll.sleeps;
    remember();
    return poll.cpu_s - cpu_s > busy_s || poll.sleeps != sleeps;
}

void tutti_wait_no_poll(void)
{
    if (poll.since == 0) return;
    tutti_wait_end(&poll.wait);
    poll.since = 0;
}

void tutti_wait_polled(tutti_wait wait)
{
    double limit = tutti_process_self()->timeout_s;
    if (did_something_else()) tutti_wait_no_poll();
    if (poll.since == 0) {
        poll.since = tutti_now();
        poll.wait = wait;
        tutti_call_on_other(tutti_wait_no_poll); /* polls are calls of one name */
    }
    poll.wait.wanted = wait.wanted;
    poll.wait.steps++;
    if (limit <= 0 || tutti_now() - poll.since < limit) return;
    if (poll.wait.told) {
        answer(&poll.wait);
    } else {
        poll.wait.answers = -1;
        poll.wait.probe = tutti_process_self()->probe;
        tell(&poll.wait);
    }
    remember(); /* telling takes time, too */
}
