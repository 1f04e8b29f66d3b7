#include "apps/mpicheck/wait.h"

#include "apps/mpicheck/call.h"
#include "apps/mpicheck/now.h"
#include "apps/mpicheck/pairing.h"
#include "apps/mpicheck/process.h"
#include "apps/mpicheck/requests.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* How long a thread spins before it reports that it waits; then how long and how often it tests before it answers
 * that it still waits. */
static const double quiet_s = 0.05, sure_s = 0.15;
/* A program that computes this long between two polls, or this part of all the time, is not just polling. */
static const double busy_s = 0.001, most_outside = 0.5;
enum { spins = 500, sure_tests = 50, most_pending = 4096 };

mpicheck_wait mpicheck_wait_for(mpicheck_item item)
{
    return (mpicheck_wait){.item = item, .started = mpicheck_now()};
}

mpicheck_wait mpicheck_wait_requests(mpicheck_wanted wanted, bool any)
{
    return (mpicheck_wait){.wanted = wanted, .any = any, .started = mpicheck_now()};
}

/* Items, gathered before the frame is opened: asking MPI takes other locks. */
typedef struct items {
    mpicheck_item *row;
    int count, capacity;
    const mpicheck_wait *wait;
} items;

static void append(items *list, mpicheck_item item)
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
    const mpicheck_wanted *wanted = &list->wait->wanted;
    if (!wanted->requests) append(list, list->wait->item);
    for (int i = 0; i < wanted->count; i++) {
        mpicheck_item item;
        int complete = 0;
        if (wanted->requests[i] == MPI_REQUEST_NULL) continue;
        if (!wanted->known[i]) {
            append(list, (mpicheck_item){.kind = MPICHECK_ITEM_OTHER, .call = "?"});
            continue;
        }
        if (!mpicheck_request_waits(wanted->known[i], &item)) continue;
        if (!mpicheck_request_held(&wanted->known[i], 1))
            PMPI_Request_get_status(wanted->requests[i], &complete, MPI_STATUS_IGNORE);
        if (!complete) append(list, item);
    }
}

static void gather_pending(const mpicheck_request *request, void *with)
{
    items *list = with;
    if (list->count < most_pending && request->item.kind != MPICHECK_ITEM_COLL)
        append(list, request->item);
}

static void put_items(mpicheck_frame *frame, const items *list)
{
    mpicheck_frame_put(frame, list->count);
    for (int i = 0; i < list->count; i++) {
        const mpicheck_item *item = &list->row[i];
        mpicheck_frame_put(frame, item->kind);
        mpicheck_frame_put(frame, (int64_t)item->comm);
        mpicheck_frame_put(frame, item->peer);
        mpicheck_frame_put(frame, item->tag == MPI_ANY_TAG ? -1 : item->tag);
        mpicheck_frame_put(frame, (int64_t)item->sequence);
        mpicheck_frame_put(frame, (int64_t)item->number);
        mpicheck_frame_put(frame, item->bytes);
        mpicheck_frame_text(frame, item->call ? item->call : "");
        mpicheck_frame_put(frame, item->site);
    }
}

static void tell(mpicheck_wait *wait)
{
    items waited = {.wait = wait}, pending = {.wait = wait};
    /* Below MPI_THREAD_MULTIPLE no other thread may call MPI while this one is in a call. */
    int site = mpicheck_call_site(),
        threads = mpicheck_process_self()->threads ? mpicheck_process_awake() : 1;
    bool paired = mpicheck_pairing_is_certain();
    gather_waited(&waited);
    mpicheck_request_each(gather_pending, &pending);
    mpicheck_frame *frame = mpicheck_process_open(MPICHECK_FRAME_BLOCKED);
    mpicheck_frame_put(frame, gettid());
    mpicheck_frame_put(frame, threads);
    mpicheck_frame_put(frame, wait->probe);
    mpicheck_frame_put(frame, wait->any);
    mpicheck_frame_put(frame, paired);
    mpicheck_frame_text(frame, mpicheck_call_name());
    mpicheck_frame_put(frame, site);
    put_items(frame, &waited);
    put_items(frame, &pending);
    mpicheck_process_post();
    free(waited.row);
    free(pending.row);
    wait->told = true;
}

/* Whether it is time to tell the judge, for the first time or in answer to a question: that only after further
 * unsuccessful tests, so that a message under way has arrived. */
static bool is_due(mpicheck_wait *wait, double quiet)
{
    int64_t probe = mpicheck_process_self()->probe;
    if (!wait->told) {
        wait->answers = -1;
        wait->probe = probe;
        return mpicheck_now() - wait->started >= quiet;
    }
    if (probe != wait->probe) {
        wait->probe = probe;
        wait->answers = wait->steps;
        wait->started = mpicheck_now();
        return false;
    }
    if (wait->answers < 0 || wait->steps - wait->answers < sure_tests ||
        mpicheck_now() - wait->started < sure_s)
        return false;
    wait->answers = -1;
    return true;
}

void mpicheck_wait_step(mpicheck_wait *wait)
{
    mpicheck_process_obey();
    wait->steps++;
    /* MPI must make progress for other ranks, also while this one waits for the judge. */
    if (!wait->wanted.requests || wait->steps % 16 == 0) (void)mpicheck_process_progress();
    if (wait->steps < spins) {
        sched_yield();
        return;
    }
    if (is_due(wait, wait->item.kind == MPICHECK_ITEM_FINALIZE ? 0 : quiet_s)) tell(wait);
    usleep(wait->steps < 2 * spins ? 50 : 500);
}

void mpicheck_wait_end(mpicheck_wait *wait)
{
    if (!wait->told) return;
    mpicheck_frame *frame = mpicheck_process_open(MPICHECK_FRAME_FREE);
    mpicheck_frame_put(frame, gettid());
    mpicheck_process_post();
}

/* The polls of this thread. Times are those of its processor: waiting for one does not count. */
static __thread struct {
    bool polls;
    mpicheck_wait wait;
    uint64_t subject; /* what it polls for */
    double first_s;   /* when its polls began, or were last reported */
    double outside_s; /* that it has spent since between polls */
    double left_s;    /* when the last poll ended, and how often the thread had slept by then */
    long sleeps;
} poll;

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long sleeps_now(void)
{
    struct rusage usage = {0};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

/* The poll ends. renewed: what comes is measured anew. */
static void leave_poll(bool renewed)
{
    poll.sleeps = sleeps_now();
    poll.left_s = cpu_now();
    if (!renewed) return;
    poll.first_s = poll.left_s;
    poll.outside_s = 0;
}

void mpicheck_wait_no_poll(void)
{
    if (poll.polls) mpicheck_wait_end(&poll.wait);
    poll.polls = false;
}

void mpicheck_wait_poll_begins(void)
{
    mpicheck_process_obey();
    if (!poll.polls) return;
    const double outside_s = cpu_now() - poll.left_s;
    poll.outside_s += outside_s;
    if (outside_s > busy_s || sleeps_now() != poll.sleeps) mpicheck_wait_no_poll();
}

/* Whether the program does something with what is not there yet: this thread computes for most of the time, if only for
 * a moment between two polls, or others run and may give it something to do. MPI_THREAD_MULTIPLE lets those wait
 * in calls of their own: there the judge looks at all. */
static bool is_busy(void)
{
    return poll.outside_s > most_outside * (cpu_now() - poll.first_s) ||
           (!mpicheck_process_self()->threads && mpicheck_process_awake() > 1);
}

/* A number for what is waited for. */
static uint64_t subject_of(const mpicheck_wait *wait)
{
    const mpicheck_item *item = &wait->item;
    uint64_t subject =
        mpicheck_comm_mix(item->comm, mpicheck_comm_mix((uint64_t)item->peer, (uint64_t)item->tag));
    for (int i = 0; i < wait->wanted.count; i++)
        subject = mpicheck_comm_mix(subject, (uint64_t)(uintptr_t)wait->wanted.known[i]);
    return subject;
}

/* Who polls for several things in turn waits for none of them alone, and does not count as waiting. */
void mpicheck_wait_polled(mpicheck_wait wait)
{
    const double limit = mpicheck_process_self()->timeout_s;
    const uint64_t subject = subject_of(&wait);
    if (subject != poll.subject) mpicheck_wait_no_poll();
    const bool begins = !poll.polls;
    if (begins) {
        poll.polls = true;
        poll.subject = subject;
        poll.wait = wait;
        mpicheck_call_on_other(mpicheck_wait_no_poll); /* polls are calls of one name */
    }
    poll.wait.wanted = wait.wanted;
    poll.wait.steps++;
    const bool due = limit > 0 && is_due(&poll.wait, limit);
    if (due && is_busy())
        mpicheck_wait_no_poll();
    else if (due)
        tell(&poll.wait);
    leave_poll(begins || due);
}
