/* Priorities without a graph (programs that attach): the ranks agree at run time on what starts next.
 *
 *   every rank   reports to its parent what is ready on it and below it      rank 0
 *   rank 0       grants the most urgent of what is ready on all ranks        /    \
 *   every rank   forwards grants to its children, and starts collectives   rank 1  rank 2 ...
 *                on each lane in the order of the grants
 *
 * Rank 0 grants at most a window of bytes at a time, because what has started cannot be overtaken. A collective that
 * one rank does not have ready delays no other, so the link is never idle while anything could be sent, and the tasks
 * that a program has between its collectives do not matter.
 *
 * Grants begin with the first collective that has a priority; the ranks compare it. Earlier collectives go in program
 * order, and a lane starts granted ones after all of those. comm_lock is held everywhere. */
#include "designs/drive/driver_parts.h"
#include "designs/drive/grants.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = TUTTI_CONTROL_TEXT / 8, MOST_NEIGHBOURS = 3 };
enum { FIRST, RANGES }; /* values of READY; its words are ranges: the first number, how many */
enum { COUNT, NUMBER }; /* values of GRANT: how many numbers, and how many were granted before */

struct tutti_granting {
    int rank, parent; /* parent -1: rank 0 */
    int child[2], children;
    int opened;             /* grants has been opened */
    int announced;          /* the neighbours know where this rank's priorities begin */
    int64_t received_first; /* where a neighbour's begin; -1: not received */
    int received_from;
    int64_t given; /* numbers granted so far */
    tutti_grants grants;
    tutti_control_message report; /* under construction */
    tutti_status status;          /* of a message handler */
};

static void receive_ready(void *ctx, const tutti_control_message *message);
static void receive_grant(void *ctx, const tutti_control_message *message);

tutti_status tutti_driver_grant_open(tutti_driver *d)
{
    tutti_control *control = d->options.control;
    int can = d->options.start->reorders && !d->options.one_order;
    if (!d->options.priorities.on || !control || !can) return TUTTI_OK;
    tutti_granting *g = calloc(1, sizeof *g);
    if (!g) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for priorities");
    *g = (tutti_granting){.rank = tutti_control_rank(control), .received_first = -1};
    g->parent = g->rank ? (g->rank - 1) / 2 : -1;
    for (int below = 2 * g->rank + 1; below <= 2 * g->rank + 2; below++)
        if (below < tutti_control_size(control)) g->child[g->children++] = below;
    g->report.kind = TUTTI_CONTROL_READY;
    tutti_control_handle(control, TUTTI_CONTROL_READY, receive_ready, d);
    tutti_control_handle(control, TUTTI_CONTROL_GRANT, receive_grant, d);
    d->granting = g;
    return TUTTI_OK;
}

void tutti_driver_grant_close(tutti_driver *d)
{
    if (d->granting) tutti_grants_close(&d->granting->grants);
    free(d->granting);
}

/* ---- messages ---- */

static tutti_status send_to_children(tutti_driver *d, const tutti_control_message *message)
{
    const tutti_granting *g = d->granting;
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < g->children && !status; i++)
        status = tutti_control_send(d->options.control, g->child[i], message);
    return status;
}

static tutti_status send_report(tutti_driver *d)
{
    tutti_granting *g = d->granting;
    tutti_status status = tutti_control_send(d->options.control, g->parent, &g->report);
    g->report.value[RANGES] = 0;
    return status;
}

/* Adds a number to the report for the parent. */
static tutti_status report_sequence(tutti_driver *d, int64_t sequence)
{
    tutti_control_message *m = &d->granting->report;
    int64_t ranges = m->value[RANGES];
    uint64_t *last = &m->word[2 * ranges - (ranges > 0 ? 2 : 0)];
    if (ranges && last[0] + last[1] == (uint64_t)sequence) {
        last[1]++;
        return TUTTI_OK;
    }
    tutti_status status = 2 * ranges + 2 > WORDS ? send_report(d) : TUTTI_OK;
    ranges = m->value[RANGES]++;
    m->word[2 * ranges] = (uint64_t)sequence;
    m->word[2 * ranges + 1] = 1;
    return status;
}

/* Sends the neighbours at once where this rank's priorities begin, also those that report nothing. */
static tutti_status announce_first(tutti_driver *d)
{
    tutti_granting *g = d->granting;
    if (g->announced) return TUTTI_OK;
    g->announced = 1;
    g->report.value[FIRST] = d->seen_prior_from;
    const tutti_control_message message = {
        .kind = TUTTI_CONTROL_READY, .value = {[FIRST] = d->seen_prior_from}};
    tutti_status status = send_to_children(d, &message);
    return status || g->parent < 0 ? status
                                   : tutti_control_send(d->options.control, g->parent, &message);
}

/* ---- ready ---- */

/* The entry of a number; NULL: not submitted here, or ended. Queue lock held. */
static tutti_entry *find_entry(tutti_driver *d, int64_t sequence)
{
    int known = sequence >= d->queue.lowest && sequence < d->queue.next;
    return known ? tutti_queue_get(&d->queue, sequence) : NULL;
}

/* The collective is ready here and on all ranks below: reports it to the parent; rank 0 makes it a candidate. */
static tutti_status add_candidate(tutti_driver *d, int64_t sequence)
{
    if (d->granting->parent >= 0) return report_sequence(d, sequence);
    pthread_mutex_lock(d->queue_lock);
    const tutti_entry *entry = find_entry(d, sequence);
    tutti_candidate candidate = {.sequence = sequence};
    if (entry) candidate.bytes = tutti_entry_bytes(entry);
    if (entry) candidate.priority = entry->priority;
    pthread_mutex_unlock(d->queue_lock);
    return tutti_grants_add(&d->granting->grants, &candidate);
}

/* This rank, or one of its children, has the collective ready. */
static tutti_status count_report(tutti_driver *d, int64_t first, int64_t sequence)
{
    tutti_granting *g = d->granting;
    int is_complete = 0;
    tutti_status status = TUTTI_OK;
    if (!g->opened)
        status = tutti_grants_open(&g->grants, first, 1 + g->children, d->options.priorities.window,
            TUTTI_COMM_DEPTH * d->queue.lanes);
    g->opened = !status;
    if (!status) status = tutti_grants_report(&g->grants, sequence, &is_complete);
    return status || !is_complete ? status : add_candidate(d, sequence);
}

static void receive_ready(void *ctx, const tutti_control_message *message)
{
    tutti_driver *d = ctx;
    tutti_granting *g = d->granting;
    int64_t first = message->value[FIRST], ranges = message->value[RANGES];
    if (tutti_driver_failure(d) || ranges < 0 || 2 * ranges > WORDS) return;
    int differs = d->seen_prior_from >= 0 && first != d->seen_prior_from;
    int strange = differs || (g->received_first >= 0 && first != g->received_first);
    if (g->received_first < 0 || differs) {
        g->received_first = first;
        g->received_from = message->from;
    }
    if (strange) return; /* one of the two aborts, once both know where their priorities begin */
    for (int64_t i = 0; i < ranges; i++)
        for (uint64_t k = 0; k < message->word[2 * i + 1] && !g->status; k++)
            g->status = count_report(d, first, (int64_t)(message->word[2 * i] + k));
}

/* Counts what has become ready here. */
static tutti_status report_fresh(tutti_driver *d, int *moved)
{
    for (;;) {
        pthread_mutex_lock(d->queue_lock);
        const tutti_entry *entry = tutti_queue_report(&d->queue);
        int64_t sequence = entry ? entry->sequence : -1;
        pthread_mutex_unlock(d->queue_lock);
        if (sequence < 0) return TUTTI_OK;
        *moved = 1;
        tutti_status status = count_report(d, d->seen_prior_from, sequence);
        if (status) return status;
    }
}

/* ---- granted ---- */

/* A granted collective is ready on all ranks. After a failure, or with an injected fault, it may have ended here. */
static tutti_status grant_sequence(tutti_driver *d, int64_t sequence)
{
    pthread_mutex_lock(d->queue_lock);
    tutti_entry *entry = find_entry(d, sequence);
    int granted = entry && tutti_queue_grant(&d->queue, entry);
    int strange = sequence >= d->queue.next || (entry && entry->state == TUTTI_ENTRY_RESERVED);
    pthread_mutex_unlock(d->queue_lock);
    if (granted || !strange) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INTERNAL,
        "collective #%" PRId64 " is to start, but it is not ready on rank %d", sequence,
        d->granting->rank);
}

/* The message lists the numbers in the order in which they start. */
static tutti_status forward_grants(tutti_driver *d, const tutti_control_message *message)
{
    tutti_status status = send_to_children(d, message);
    for (int64_t i = 0; i < message->value[COUNT] && !status; i++)
        status = grant_sequence(d, (int64_t)message->word[i]);
    d->granting->given += message->value[COUNT];
    return status;
}

static void receive_grant(void *ctx, const tutti_control_message *message)
{
    tutti_driver *d = ctx;
    tutti_granting *g = d->granting;
    int64_t numbers = message->value[COUNT];
    if (tutti_driver_failure(d) || g->status || numbers < 0 || numbers > WORDS) return;
    if (message->value[NUMBER] != g->given)
        g->status = tutti_fail(TUTTI_ERR_INTERNAL,
            "grants from number %" PRId64 " on have come to rank %d, which has had %" PRId64,
            message->value[NUMBER], g->rank, g->given);
    else
        g->status = forward_grants(d, message);
}

/* On rank 0. */
static tutti_status send_grants(tutti_driver *d, int *moved)
{
    tutti_granting *g = d->granting;
    tutti_status status = TUTTI_OK;
    for (int64_t sequence; !status;) {
        tutti_control_message message = {
            .kind = TUTTI_CONTROL_GRANT, .value = {[NUMBER] = g->given}};
        while (message.value[COUNT] < WORDS && tutti_grants_next(&g->grants, &sequence))
            message.word[message.value[COUNT]++] = (uint64_t)sequence;
        if (!message.value[COUNT]) break;
        *moved = 1;
        status = forward_grants(d, &message);
    }
    return status;
}

void tutti_driver_grant_end(tutti_driver *d, const tutti_entry *entry)
{
    if (!d->granting || !entry->prior || d->granting->parent >= 0 || !d->granting->opened) return;
    tutti_grants_end(&d->granting->grants, tutti_entry_bytes(entry));
}

/* ---- ranks that leave ---- */

/* Nothing waits on a rank that has left. So it has not inserted what waits here, unless the grant is on its way. */
void tutti_driver_grant_expect(tutti_driver *d)
{
    if (!d->granting || d->seen_prior_from < 0 || !tutti_shutdown_count(d->shutdown)) return;
    for (int line = 0; line < d->queue.lines; line++) {
        tutti_fingerprint print;
        pthread_mutex_lock(d->queue_lock);
        int64_t first = d->queue.ready[line].first;
        int waits = first >= 0 && tutti_queue_get(&d->queue, first)->prior;
        tutti_entry entry = waits ? *tutti_queue_get(&d->queue, first) : (tutti_entry){0};
        pthread_mutex_unlock(d->queue_lock);
        if (!waits) continue;
        tutti_fingerprint_make(&entry, tutti_comm_posted(d->comm, entry.lane), &d->members, &print);
        tutti_verify_expect(d->verify, &print);
    }
}

/* ---- the same on all ranks ---- */

static void abort_with(tutti_driver *d, int64_t first, int from, int64_t number, const char *name)
{
    char text[TUTTI_CONTROL_TEXT], here[160] = "has given none";
    if (number < 0)
        snprintf(here, sizeof here, "from #%" PRId64 " on", d->seen_prior_from);
    else if (*name)
        snprintf(
            here, sizeof here, "has inserted #%" PRId64 " \"%.60s\" without one", number, name);
    snprintf(text, sizeof text,
        "the ranks' priorities differ: rank %d gives them from collective #%" PRId64
        " on, rank %d %s. Every rank must give the same priorities, before it inserts the same "
        "collectives",
        from, first, d->granting->rank, here);
    tutti_driver_abort(d, TUTTI_ERR_MISMATCH, text);
}

/* Ends the driver if a neighbour's priorities begin elsewhere. If any two ranks differ, then so do two neighbours on
 * the path between them. */
static void compare_first(tutti_driver *d)
{
    tutti_granting *g = d->granting;
    int64_t first = g->received_first;
    char name[TUTTI_RECORD_NAME] = "";
    if (first < 0 || first == d->seen_prior_from) return;
    if (d->seen_prior_from >= 0) {
        abort_with(d, first, g->received_from, -1, name);
        return;
    }
    if (d->seen_next <= first) return; /* it may still come */
    pthread_mutex_lock(d->queue_lock);
    const tutti_entry *entry = find_entry(d, first);
    if (entry && entry->name) snprintf(name, sizeof name, "%s", entry->name);
    pthread_mutex_unlock(d->queue_lock);
    abort_with(d, first, g->received_from, first, name);
}

tutti_status tutti_driver_grant_pass(tutti_driver *d, int *moved)
{
    tutti_granting *g = d->granting;
    if (!g || (d->seen_prior_from < 0 && g->received_first < 0)) return TUTTI_OK;
    compare_first(d);
    if (d->seen_prior_from < 0 || tutti_driver_failure(d)) return TUTTI_OK;
    tutti_status status = g->status ? g->status : announce_first(d);
    if (!status) status = report_fresh(d, moved);
    if (!status && g->report.value[RANGES]) status = send_report(d);
    if (!status && g->parent < 0 && g->opened) status = send_grants(d, moved);
    return status;
}
