#include "designs/drive/fault.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/base/number.h"
#include "dag/base/parameters.h"
#include "dag/run/sequence.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char variable[] = "TUTTI_FAULT";

struct tutti_fault {
    tutti_fault_wish wish;
    int logged;     /* the fault has been logged */
    int added;      /* EXTRA: it is in the queue */
    double until_s; /* DELAY: when the collective may start; 0: not ready yet */
};

static const struct {
    const char *name;
    int seconds; /* takes ":S" */
} kinds[] = {
    [TUTTI_FAULT_SKIP] = {"skip", 0},
    [TUTTI_FAULT_EXTRA] = {"extra", 0},
    [TUTTI_FAULT_SWAP] = {"swap", 0},
    [TUTTI_FAULT_RESIZE] = {"resize", 0},
    [TUTTI_FAULT_DELAY] = {"delay", 1},
    [TUTTI_FAULT_FLIP] = {"flip", 0},
    [TUTTI_FAULT_STOP] = {"stop", 0},
    [TUTTI_FAULT_KILL] = {"kill", 0},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

int tutti_fault_built(void)
{
    return 1;
}

/* ---- parsing ---- */

static tutti_status reject_text(const char *text, const char *reason)
{
    return tutti_fail(TUTTI_ERR_USAGE,
        "%s=%s: %s (rank=R,collective=N,do=KIND, or message=N in place of collective=N, with KIND "
        "one of skip, extra, swap, resize, delay:SECONDS, flip, stop, kill)",
        variable, text, reason);
}

static int read_number(const char *word, int64_t *number)
{
    return tutti_number_int(word, number) && *number >= 0;
}

/* "skip" or "delay:3". */
static int read_kind(const char *word, tutti_fault_wish *wish)
{
    size_t length = strcspn(word, ":");
    for (int i = 0; i < KINDS; i++) {
        if (strlen(kinds[i].name) != length || strncmp(kinds[i].name, word, length) != 0) continue;
        wish->kind = (tutti_fault_kind)i;
        if (!kinds[i].seconds) return !word[length];
        return word[length] && tutti_number_within(word + length + 1, 0, 1e6, 0, &wish->delay_s);
    }
    return 0;
}

static tutti_status read_part(
    const char *text, const char *part, const char *value, tutti_fault_wish *wish, int have[3])
{
    if (!part) return reject_text(text, "a part without \"=\"");
    if (strcmp(part, "rank") == 0) {
        have[0] = 1;
        return read_number(value, &wish->rank) ? TUTTI_OK
                                               : reject_text(text, "the rank is not a number");
    }
    if (strcmp(part, "collective") == 0 || strcmp(part, "message") == 0) {
        have[1]++;
        wish->message = strcmp(part, "message") == 0;
        return read_number(value, &wish->number)
                   ? TUTTI_OK
                   : reject_text(text, "the collective, or message, is not a sequence number");
    }
    if (strcmp(part, "do") == 0) {
        have[2] = 1;
        return read_kind(value, wish) ? TUTTI_OK : reject_text(text, "do is not one of the KINDs");
    }
    return reject_text(text, "a part that is not rank, collective, message or do");
}

tutti_status tutti_fault_parse(const char *text, tutti_fault_wish *wish)
{
    tutti_fault_wish w = {0};
    int have[3] = {0};
    tutti_parameters given;
    if (!tutti_parameters_cut(text, 0, &given)) return reject_text(text, "it is too long");
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < given.count && !status; i++)
        status = read_part(text, given.of[i].key, given.of[i].value, &w, have);
    if (!status && !(have[0] && have[1] && have[2]))
        status = reject_text(text, "rank, collective (or message) or do is missing");
    if (!status && have[1] > 1) status = reject_text(text, "several collectives or messages");
    if (!status && given.twice) status = reject_text(text, "a part is there twice");
    if (!status && w.message && w.kind == TUTTI_FAULT_EXTRA)
        status = reject_text(text, "there are no extra messages");
    if (!status) *wish = w;
    return status;
}

tutti_status tutti_fault_open(int rank, int size, tutti_fault **fault)
{
    const char *text = getenv(variable);
    tutti_fault_wish wish;
    *fault = NULL;
    if (!text || !*text) return TUTTI_OK;
    tutti_status status = tutti_fault_parse(text, &wish);
    if (status) return status;
    if (wish.rank >= size)
        return tutti_fail(TUTTI_ERR_USAGE, "%s=%s: there is no rank %" PRId64 ": the run has %d",
            variable, text, wish.rank, size);
    if (wish.rank != rank) return TUTTI_OK;
    tutti_fault *f = calloc(1, sizeof *f);
    if (!f) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a fault");
    f->wish = wish;
    *fault = f;
    return TUTTI_OK;
}

void tutti_fault_close(tutti_fault *fault)
{
    free(fault);
}

/* ---- injecting ---- */

static int matches_entry(const tutti_fault *f, tutti_fault_kind kind, const tutti_entry *entry)
{
    int64_t number = f->wish.message ? entry->message : entry->sequence;
    if (!f->wish.message && entry->message >= 0) return 0;
    return f->wish.kind == kind && f->wish.number == number;
}

/* Logs the fault once, so that it is not mistaken for a bug. */
static void log_collective(tutti_fault *f, int64_t number, const char *name)
{
    if (!f->logged)
        tutti_log(TUTTI_LOG_WARN, "%s: %s at collective %" PRId64 " \"%s\"", variable,
            kinds[f->wish.kind].name, number, name);
    f->logged = 1;
}

static void log_entry(tutti_fault *f, const tutti_entry *entry)
{
    if (!f->wish.message) {
        log_collective(f, entry->sequence, entry->name);
        return;
    }
    if (!f->logged)
        tutti_log(TUTTI_LOG_WARN, "%s: %s at message %" PRId64 " \"%s\", #%" PRId64 " of its edge",
            variable, kinds[f->wish.kind].name, entry->message, entry->name,
            tutti_sequence_number(entry->sequence));
    f->logged = 1;
}

/* Nothing is added between the chunks of one collective, even if the requested number lies among them. */
int tutti_fault_adds(tutti_fault *f, int64_t sequence)
{
    if (f->wish.kind != TUTTI_FAULT_EXTRA || sequence < f->wish.number || f->added) return 0;
    log_collective(f, sequence, "fault");
    return f->added = 1;
}

typedef struct extra {
    tutti_token token; /* first */
    float value;
} extra;

static void forget_extra(tutti_token *token, tutti_status status)
{
    (void)status;
    free(token);
}

tutti_token *tutti_fault_extra(tutti_coll_args *args)
{
    extra *e = calloc(1, sizeof *e);
    if (!e) return NULL;
    e->token.finish = forget_extra;
    *args = (tutti_coll_args){.kind = TUTTI_ALLREDUCE,
        .dtype = TUTTI_F32,
        .op = TUTTI_SUM,
        .count = 1,
        .recv = &e->value};
    return &e->token;
}

/* The entry after this one on its lane, or NULL. */
static tutti_entry *next_on_lane(tutti_queue *queue, const tutti_entry *entry)
{
    for (int64_t s = entry->sequence + 1; s < queue->next; s++)
        if (tutti_queue_get(queue, s)->lane == entry->lane) return tutti_queue_get(queue, s);
    return NULL;
}

/* The next one if it can start, this one once the next has started, NULL before that. */
static tutti_entry *admit_swapped(tutti_queue *queue, tutti_entry *entry)
{
    tutti_entry *next = next_on_lane(queue, entry);
    if (!next || next->state == TUTTI_ENTRY_RESERVED) return NULL;
    return next->state == TUTTI_ENTRY_READY ? next : entry;
}

static tutti_entry *admit_delayed(tutti_fault *f, tutti_entry *entry)
{
    double now = tutti_clock_s();
    if (f->until_s == 0) f->until_s = now + f->wish.delay_s;
    return now < f->until_s ? NULL : entry;
}

tutti_entry *tutti_fault_admit(tutti_fault *f, tutti_queue *queue, tutti_entry *entry)
{
    int swap = matches_entry(f, TUTTI_FAULT_SWAP, entry);
    if (!swap && !matches_entry(f, TUTTI_FAULT_DELAY, entry)) return entry;
    log_entry(f, entry);
    return swap ? admit_swapped(queue, entry) : admit_delayed(f, entry);
}

void tutti_fault_change(tutti_fault *f, tutti_entry *entry)
{
    if (!matches_entry(f, TUTTI_FAULT_RESIZE, entry) || entry->args.count == 0) return;
    log_entry(f, entry);
    entry->args.count--;
}

int tutti_fault_start(tutti_fault *f, const tutti_entry *entry)
{
    tutti_fault_kind kind = f->wish.kind;
    if (!matches_entry(f, kind, entry) || kind == TUTTI_FAULT_EXTRA) return 1;
    log_entry(f, entry);
    if (kind == TUTTI_FAULT_STOP) raise(SIGSTOP);
    if (kind == TUTTI_FAULT_KILL) raise(SIGKILL);
    return kind != TUTTI_FAULT_SKIP;
}

/* Flips the highest mantissa bit (float32) of the first nonzero element: no later sum rounds this change away. */
void tutti_fault_end(tutti_fault *f, const tutti_entry *entry)
{
    if (!matches_entry(f, TUTTI_FAULT_FLIP, entry)) return;
    size_t width = tutti_dtype_bytes(entry->args.dtype);
    unsigned char *data = entry->args.recv;
    for (int64_t i = 0; i < entry->args.count; i++, data += width) {
        if (width < 2 || !data[width - 1]) continue;
        data[width - 2] ^= 0x40;
        return;
    }
}
