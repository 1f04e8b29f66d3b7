#include "designs/verify/verify.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "designs/verify/compare.h"
#include "designs/verify/gate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HISTORY = 1024 };

/* Waiting times: for more hashes to send; for another lane to differ at an earlier collective; for answers, and for
 * the cause of a shift. */
static const double batch_s = 1e-3, settle_s = 10e-3, patience_s = 0.5;

/* Whether a rank has reached a place: not yet; with this fingerprint; too long ago to remember the fingerprint. */
enum { NOT_THERE, KNOWN, PASSED };

/* What one rank has at the place where ranks differ. */
typedef struct answer {
    int come, known; /* come: it has answered; known: what it has at this place, below */
    tutti_fingerprint fingerprint;
} answer;

/* The place where ranks differ, and what is known about it. */
typedef struct suspicion {
    int lane; /* -1: none */
    int64_t number, sequence;
    int asked;
    double since_s; /* when ranks were first seen to differ, here or at a later place */
    double due_s;   /* when to ask; after that, when to stop waiting for answers */
    answer *answer; /* [size] */
} suspicion;

struct tutti_verify {
    tutti_verify_options options;
    tutti_control *control;
    int rank, size, lanes;
    tutti_compare *compare; /* one of the two, by mode */
    tutti_gate *gate;
    const tutti_shutdown *shutdown;
    int64_t *offered;           /* [lanes] collectives that have asked to start */
    int64_t *reached;           /* [lanes] the same, or one more that is expected to ask */
    tutti_fingerprint expected; /* the latest of these */
    tutti_fingerprint *history; /* [kept] */
    int64_t kept;
    int64_t remembered; /* fingerprints entered in the history */
    suspicion suspicion;
    tutti_status status; /* of a message handler */
    int concluded;
    char sentence[TUTTI_CONTROL_TEXT];
};

static const char *const mode_names[TUTTI_VERIFY_MODES] = {"off", "on", "full"};

const char *tutti_verify_mode_name(int mode)
{
    return mode >= 0 && mode < TUTTI_VERIFY_MODES ? mode_names[mode] : NULL;
}

tutti_verify_mode tutti_verify_mode_find(const char *name)
{
    int mode = 0;
    while (mode < TUTTI_VERIFY_MODES && strcmp(name, mode_names[mode]) != 0) mode++;
    return (tutti_verify_mode)mode;
}

/* ---- opening ---- */

static void note_difference(void *ctx, int lane, int64_t number);
static void receive_question(void *ctx, const tutti_control_message *message);
static void receive_answer(void *ctx, const tutti_control_message *message);

static tutti_status open_parts(tutti_verify *v)
{
    v->offered = calloc((size_t)v->lanes, sizeof *v->offered);
    v->reached = calloc((size_t)v->lanes, sizeof *v->reached);
    v->history = calloc((size_t)v->kept, sizeof *v->history);
    v->suspicion.answer = calloc((size_t)v->size, sizeof *v->suspicion.answer);
    if (!v->offered || !v->reached || !v->history || !v->suspicion.answer)
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory to compare %d ranks", v->size);
    return v->options.mode == TUTTI_VERIFY_FULL || (v->options.untagged && v->size > 2)
               ? tutti_gate_open(v->control, v->lanes, note_difference, v, &v->gate)
               : tutti_compare_open(v->control, v->lanes, v->options.at_once ? 0 : batch_s,
                     note_difference, v, &v->compare);
}

tutti_status tutti_verify_open(const tutti_verify_options *options, tutti_control *control,
    int lanes, const tutti_shutdown *shutdown, tutti_verify **verify)
{
    tutti_verify *v = calloc(1, sizeof *v);
    if (!v) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to compare ranks");
    v->options = *options;
    v->control = control;
    v->rank = tutti_control_rank(control);
    v->size = tutti_control_size(control);
    v->lanes = lanes;
    v->shutdown = shutdown;
    v->kept = options->history ? options->history : HISTORY;
    v->suspicion.lane = v->expected.lane = -1;
    tutti_status status = open_parts(v);
    if (status) {
        tutti_verify_close(v);
        return status;
    }
    tutti_control_handle(control, TUTTI_CONTROL_ASK, receive_question, v);
    tutti_control_handle(control, TUTTI_CONTROL_FINGERPRINT, receive_answer, v);
    *verify = v;
    return TUTTI_OK;
}

void tutti_verify_close(tutti_verify *verify)
{
    if (!verify) return;
    tutti_compare_close(verify->compare);
    tutti_gate_close(verify->gate);
    free(verify->offered);
    free(verify->reached);
    free(verify->history);
    free(verify->suspicion.answer);
    free(verify);
}

/* ---- what this rank starts ---- */

static const tutti_fingerprint *find_fingerprint(const tutti_verify *v, int lane, int64_t number)
{
    for (int64_t i = v->remembered - 1; i >= 0 && i >= v->remembered - v->kept; i--) {
        const tutti_fingerprint *f = &v->history[i % v->kept];
        if (f->lane == lane && f->number == number) return f;
    }
    return NULL;
}

static tutti_status record_start(tutti_verify *v, const tutti_fingerprint *f)
{
    if (++v->offered[f->lane] > v->reached[f->lane]) v->reached[f->lane] = v->offered[f->lane];
    v->history[v->remembered++ % v->kept] = *f;
    return v->gate ? tutti_gate_come(v->gate, f->lane, f->number, f->hash)
                   : tutti_compare_add(v->compare, f->lane, f->hash);
}

tutti_status tutti_verify_admit(
    tutti_verify *verify, const tutti_fingerprint *fingerprint, int *may_start)
{
    const tutti_fingerprint *f = fingerprint;
    tutti_status status = TUTTI_OK;
    *may_start = 0;
    if (verify->concluded || verify->suspicion.lane == f->lane) return TUTTI_OK;
    if (f->number == verify->offered[f->lane]) status = record_start(verify, f);
    if (status) return status;
    *may_start = 1;
    if (verify->gate) status = tutti_gate_through(verify->gate, f->lane, may_start);
    if (verify->suspicion.lane == f->lane) *may_start = 0;
    return status;
}

/* ---- differences ---- */

/* If several places differ, the first in this rank's program counts. The other lanes continue until the conclusion,
 * because the cause may lie on one of them. */
static void note_difference(void *ctx, int lane, int64_t number)
{
    tutti_verify *v = ctx;
    suspicion *s = &v->suspicion;
    const tutti_fingerprint *f = find_fingerprint(v, lane, number);
    int64_t sequence = f ? f->sequence : INT64_MAX;
    if (v->concluded || (s->lane >= 0 && s->sequence <= sequence)) return;
    if (s->lane < 0) s->since_s = tutti_clock_s();
    s->due_s = s->since_s + (v->lanes > 1 && !v->options.at_once ? settle_s : 0);
    s->asked = 0;
    memset(s->answer, 0, (size_t)v->size * sizeof *s->answer);
    s->lane = lane;
    s->number = number;
    s->sequence = sequence;
}

static void look_up(const tutti_verify *v, int lane, int64_t number, answer *a)
{
    const tutti_fingerprint *f = find_fingerprint(v, lane, number);
    a->come = 1;
    int passed = lane >= 0 && lane < v->lanes && number < v->offered[lane];
    a->known = f ? KNOWN : passed ? PASSED : NOT_THERE;
    if (f) a->fingerprint = *f;
}

_Static_assert(sizeof(tutti_fingerprint) <= TUTTI_CONTROL_TEXT, "a fingerprint is one message");

static void receive_question(void *ctx, const tutti_control_message *message)
{
    tutti_verify *v = ctx;
    answer a = {0};
    look_up(v, (int)message->value[0], message->value[1], &a);
    tutti_control_message reply = {.kind = TUTTI_CONTROL_FINGERPRINT,
        .value = {message->value[0], message->value[1], a.known}};
    memcpy(reply.word, &a.fingerprint, sizeof a.fingerprint);
    tutti_status status = tutti_control_send(v->control, message->from, &reply);
    if (!v->status) v->status = status;
}

static void receive_answer(void *ctx, const tutti_control_message *message)
{
    tutti_verify *v = ctx;
    suspicion *s = &v->suspicion;
    if (!s->asked || message->value[0] != s->lane || message->value[1] != s->number) return;
    answer *a = &s->answer[message->from];
    a->come = 1;
    a->known = (int)message->value[2];
    memcpy(&a->fingerprint, message->word, sizeof a->fingerprint);
}

static tutti_status ask_ranks(tutti_verify *v)
{
    suspicion *s = &v->suspicion;
    const tutti_control_message question = {
        .kind = TUTTI_CONTROL_ASK, .value = {s->lane, s->number}};
    look_up(v, s->lane, s->number, &s->answer[v->rank]);
    s->asked = 1;
    s->due_s = tutti_clock_s() + patience_s;
    return tutti_control_broadcast(v->control, &question);
}

/* ---- the sentence ---- */

static size_t append_text(char *text, size_t size, size_t used, const char *more)
{
    int n = used < size ? snprintf(text + used, size - used, "%s", more) : 0;
    return used + (size_t)n < size ? used + (size_t)n : size - 1;
}

static int same_answer(const answer *a, const answer *b)
{
    if (a->come != b->come || a->known != b->known) return 0;
    return a->known != KNOWN || a->fingerprint.hash == b->fingerprint.hash;
}

/* "ranks 0, 2: #17 'fc.weight', ..." for the ranks that answered as `first` did. */
static size_t append_group(const tutti_verify *v, int first, char *text, size_t size, size_t used)
{
    enum { MOST_NAMED = 4 };
    const answer *all = v->suspicion.answer;
    char part[TUTTI_FINGERPRINT_TEXT];
    int named = 0, ranks = 0;
    for (int r = first; r < v->size; r++) ranks += same_answer(&all[r], &all[first]);
    used = append_text(text, size, used, ranks > 1 ? "ranks" : "rank");
    for (int r = first; r < v->size && named < MOST_NAMED; r++) {
        if (!same_answer(&all[r], &all[first])) continue;
        snprintf(part, sizeof part, "%s %d", named++ ? "," : "",
            tutti_control_whole_rank(v->control, r));
        used = append_text(text, size, used, part);
    }
    if (ranks > named) used = append_text(text, size, used, ", ...");
    if (!all[first].come) return append_text(text, size, used, " does not answer");
    if (all[first].known != KNOWN)
        return append_text(text, size, used,
            all[first].known == PASSED ? " started it too long ago to say what it was"
                                       : " not there yet");
    used = append_text(text, size, used, ": ");
    return append_text(
        text, size, used, tutti_fingerprint_write(&all[first].fingerprint, part, sizeof part));
}

/* Whether the ranks have the same collective here, but at different places in their programs: then some rank has
 * started one too many or too few before it, on another lane. */
static int is_shifted(const tutti_verify *v)
{
    const answer *all = v->suspicion.answer;
    for (int r = 0; r < v->size; r++) {
        const tutti_fingerprint *a = &all[0].fingerprint, *b = &all[r].fingerprint;
        if (!all[r].come || all[r].known != KNOWN) return 0;
        if (a->kind != b->kind || a->dtype != b->dtype || a->op != b->op || a->count != b->count ||
            a->root != b->root || a->priority != b->priority || strcmp(a->name, b->name) != 0)
            return 0;
    }
    return v->lanes > 1;
}

static int is_edge(const tutti_verify *v)
{
    return v->options.members && v->options.members->key < 0;
}

/* "lane 0", "lane 0 of group 2 {0, 3}" or "edge 3 from rank 0 to rank 1". */
static const char *lane_name(const tutti_verify *v, int lane, char *text, size_t size)
{
    char of[TUTTI_FINGERPRINT_NAME] = "";
    if (v->options.members) tutti_members_name(v->options.members, of, sizeof of);
    if (is_edge(v))
        snprintf(text, size, "%s", of);
    else
        snprintf(text, size, "lane %d%s%s", lane, *of ? " of " : "", of);
    return text;
}

static void conclude_difference(tutti_verify *v)
{
    enum { MOST_GROUPS = 3 };
    const suspicion *s = &v->suspicion;
    char *text = v->sentence;
    size_t size = sizeof v->sentence, used;
    int groups = 0;
    const char *sort = is_edge(v) ? "messages" : "collectives";
    char of[TUTTI_FINGERPRINT_NAME + 40];
    used = (size_t)snprintf(text, size, "the ranks' %s differ (number %lld on %s): ", sort,
        (long long)s->number, lane_name(v, s->lane, of, sizeof of));
    for (int r = 0; r < v->size && groups < MOST_GROUPS; r++) {
        int before = 0;
        while (before < r && !same_answer(&s->answer[before], &s->answer[r])) before++;
        if (before < r) continue;
        if (groups++) used = append_text(text, size, used, "; ");
        used = append_group(v, r, text, size, used);
    }
    if (is_shifted(v))
        used = append_text(text, size, used,
            ". On another lane a rank has started a collective too few or too many before this "
            "one");
    used = append_text(text, size, used, ". Every rank must start the same ");
    used = append_text(text, size, used, sort);
    append_text(text, size, used, " in the same order");
    v->concluded = 1;
}

/* A rank has left after fewer collectives than this rank has reached. */
static void conclude_leaving(tutti_verify *v, const tutti_shutdown_gap *gap)
{
    char text[TUTTI_FINGERPRINT_TEXT] = "collectives";
    const tutti_fingerprint *f = find_fingerprint(v, gap->lane, gap->theirs);
    if (!f && v->expected.lane == gap->lane) f = &v->expected;
    if (f) tutti_fingerprint_write(f, text, sizeof text);
    int theirs = tutti_control_whole_rank(v->control, gap->rank);
    char lane[TUTTI_FINGERPRINT_NAME + 40];
    v->concluded = 1;
    if (is_edge(v)) {
        static const char *const calls[] = {"tutti_send", "tutti_recv"}; /* of the edge's ranks */
        snprintf(v->sentence, sizeof v->sentence,
            "rank %d has ended after %lld messages on %s, but rank %d starts one more: %s. Rank %d "
            "lacks a call of %s, or rank %d has one of %s too many",
            theirs, (long long)gap->theirs, lane_name(v, gap->lane, lane, sizeof lane),
            tutti_control_whole_rank(v->control, v->rank), text, theirs, calls[gap->rank != 0],
            tutti_control_whole_rank(v->control, v->rank), calls[v->rank != 0]);
        return;
    }
    snprintf(v->sentence, sizeof v->sentence,
        "rank %d has ended after %lld collectives on %s, but rank %d starts one more: %s. "
        "Every rank must start the same number of collectives: does rank %d make fewer steps?",
        theirs, (long long)gap->theirs, lane_name(v, gap->lane, lane, sizeof lane),
        tutti_control_whole_rank(v->control, v->rank), text, theirs);
}

/* ---- passing ---- */

static int all_have_answered(const tutti_verify *v)
{
    for (int r = 0; r < v->size; r++)
        if (!v->suspicion.answer[r].come) return 0;
    return 1;
}

static tutti_status check_suspicion(tutti_verify *v)
{
    const suspicion *s = &v->suspicion;
    double now_s = tutti_clock_s();
    int due = now_s >= s->due_s;
    if (!s->asked) return due ? ask_ranks(v) : TUTTI_OK;
    if (!due && !all_have_answered(v)) return TUTTI_OK;
    if (is_shifted(v) && !v->options.at_once && now_s < s->since_s + patience_s) return TUTTI_OK;
    conclude_difference(v);
    return TUTTI_OK;
}

int tutti_verify_agrees(const tutti_verify *verify, int lane, int64_t number)
{
    return !verify->compare || tutti_compare_agrees(verify->compare, lane, number);
}

int tutti_verify_gates(const tutti_verify *verify)
{
    return verify->gate != NULL;
}

tutti_status tutti_verify_pass(tutti_verify *verify, const char **sentence)
{
    tutti_shutdown_gap gap;
    tutti_status status = verify->status;
    *sentence = NULL;
    if (verify->concluded) return status;
    if (!status && verify->compare) status = tutti_compare_pass(verify->compare);
    if (!status && verify->suspicion.lane >= 0)
        status = check_suspicion(verify);
    else if (!status && tutti_shutdown_finds_gap(verify->shutdown, verify->reached, &gap))
        conclude_leaving(verify, &gap);
    if (verify->concluded) *sentence = verify->sentence;
    return status;
}

int tutti_verify_curious(const tutti_verify *verify)
{
    return verify->suspicion.lane >= 0 && !verify->concluded;
}

/* ---- leaving ---- */

void tutti_verify_expect(tutti_verify *verify, const tutti_fingerprint *fingerprint)
{
    verify->expected = *fingerprint;
    verify->reached[fingerprint->lane] = verify->offered[fingerprint->lane] + 1;
}

tutti_status tutti_verify_flush(tutti_verify *verify)
{
    return verify->compare ? tutti_compare_flush(verify->compare) : TUTTI_OK;
}

const int64_t *tutti_verify_started(const tutti_verify *verify)
{
    return verify->offered;
}
