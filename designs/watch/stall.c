#include "designs/watch/stall.h"

#include "dag/run/sequence.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { DETAILED = 3 /* missing ranks that a sentence describes; the others are counted */ };
static const double most_alive_s = 2;

/* A text that grows until it is full. */
typedef struct text_buffer {
    char *text;
    size_t size, used;
} text_buffer;

__attribute__((format(printf, 2, 3))) static void append_text(
    text_buffer *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int wanted = vsnprintf(p->text + p->used, p->size - p->used, format, args);
    va_end(args);
    if (wanted > 0) p->used += (size_t)wanted;
    if (p->used >= p->size) p->used = p->size - 1;
}

int64_t tutti_stall_lowest(int ranks, const tutti_stall_state state[])
{
    int64_t lowest = -1;
    for (int r = 0; r < ranks; r++)
        if (state[r].answers && state[r].waits >= 0 && (lowest < 0 || state[r].waits < lowest))
            lowest = state[r].waits;
    return lowest;
}

/* By its last report, however old. */
static int has_arrived(const tutti_stall_state *s, int64_t collective)
{
    if (s->outside) return 1;
    if (!s->known) return 0;
    int stands = s->away && s->can_move; /* started, but no thread advances it */
    if (s->about == collective)
        return s->place > TUTTI_STALL_STARTED || (s->place == TUTTI_STALL_STARTED && !stands);
    return s->waits == collective ||
           (s->answers && !tutti_sequence_slot(collective) && s->submitted > collective);
}

/* Ranks that fell silent much later than the first one are no cause: their answers are late, or the first one stopped
 * them. */
static void forgive_late_answers(int ranks, const tutti_stall_state state[], int missing[])
{
    double longest_s = 0;
    for (int r = 0; r < ranks; r++)
        if (missing[r] && state[r].known && !state[r].answers && state[r].last_report_s > longest_s)
            longest_s = state[r].last_report_s;
    for (int r = 0; r < ranks; r++)
        if (state[r].known && !state[r].answers && state[r].last_report_s < longest_s / 2)
            missing[r] = 0;
}

int tutti_stall_missing(
    int ranks, const tutti_stall_state state[], int64_t collective, int missing[])
{
    int count = 0;
    for (int r = 0; r < ranks; r++) count += missing[r] = !has_arrived(&state[r], collective);
    if (!count) /* a rank that started it may have been stopped since */
        for (int r = 0; r < ranks; r++) missing[r] = !state[r].answers && !state[r].outside;
    forgive_late_answers(ranks, state, missing);
    count = 0;
    for (int r = 0; r < ranks; r++) count += missing[r];
    return count;
}

int64_t tutti_stall_behind(int ranks, const tutti_stall_state state[], int64_t collective)
{
    int missing[ranks];
    int64_t behind = -1;
    if (collective < 0) return -1;
    tutti_stall_missing(ranks, state, collective, missing);
    for (int r = 0; r < ranks; r++) {
        const tutti_stall_state *s = &state[r];
        if (!missing[r]) continue;
        if (!s->answers || s->about != collective || s->can_move || s->behind < 0) return -1;
        if (behind < 0) behind = s->behind;
    }
    return behind;
}

int tutti_stall_announced(int ranks, const tutti_stall_state state[], int64_t collective)
{
    int missing[ranks], announced = 0;
    int count = tutti_stall_missing(ranks, state, collective, missing);
    for (int r = 0; r < ranks; r++)
        announced += missing[r] && state[r].answers && state[r].can_move && state[r].announced;
    return count > 0 && announced == count;
}

/* A rank that receives messages only at times, and whose process may run, counts as running its program's own
 * code. */
static int is_away(const tutti_stall_state *s)
{
    return !s->answers && s->away &&
           (s->pulse == TUTTI_PULSE_RUNS || s->pulse == TUTTI_PULSE_UNKNOWN);
}

/* How long the rank has not been able to continue by itself, as far as is known. */
static double blocked_s(const tutti_stall_state *s, double unreported_s)
{
    if (is_away(s) || (s->answers && s->can_move)) return 0;
    if (!s->known) return unreported_s;
    return s->can_move ? s->last_report_s : s->idle_s;
}

double tutti_stall_lasts_s(
    int ranks, const tutti_stall_state state[], int64_t collective, double unreported_s)
{
    int missing[ranks];
    double quiet_s = unreported_s, silent_s = 0;
    tutti_stall_missing(ranks, state, collective, missing);
    for (int r = 0; r < ranks; r++) {
        const tutti_stall_state *s = &state[r];
        double stands = blocked_s(s, unreported_s);
        double unreported =
            s->known && s->last_report_s < unreported_s ? s->last_report_s : unreported_s;
        if (stands < quiet_s) quiet_s = stands;
        if (missing[r] && !s->answers && !is_away(s) && unreported > silent_s)
            silent_s = unreported;
    }
    return quiet_s > silent_s ? quiet_s : silent_s;
}

int tutti_stall_spokesman(int ranks, const tutti_stall_state state[])
{
    for (int r = 0; r < ranks; r++)
        if (state[r].answers) return r;
    return -1;
}

int tutti_stall_first_to_wait(int ranks, const tutti_stall_state state[])
{
    for (int r = 0; r < ranks; r++)
        if (state[r].answers && state[r].waits >= 0) return r;
    return -1;
}

static const char *name_of(int ranks, const tutti_stall_state state[], int64_t collective)
{
    for (int r = 0; r < ranks; r++)
        if (state[r].known && state[r].about == collective && *state[r].name) return state[r].name;
    return "";
}

/* A rank on which something has moved within this time makes progress: half of the longest wait, at most 2 s. */
static double alive_s(int ranks, const tutti_stall_state state[])
{
    double longest_s = 0;
    for (int r = 0; r < ranks; r++)
        if (state[r].answers && state[r].waits_s > longest_s) longest_s = state[r].waits_s;
    return longest_s / 2 < most_alive_s ? longest_s / 2 : most_alive_s;
}

/* A silent rank. */
static void add_silence(text_buffer *p, const tutti_stall_state *s)
{
    static const char *const pulses[] = {
        [TUTTI_PULSE_UNKNOWN] = "it is stopped, dead, or stuck outside of Tutti",
        [TUTTI_PULSE_RUNS] = "its process runs, but is stuck outside of Tutti",
        [TUTTI_PULSE_STOPPED] = "its process is stopped",
        [TUTTI_PULSE_GONE] = "its process has ended"};
    append_text(p, s->left ? "has left, and answers no more" : "does not answer");
    if (s->known)
        append_text(p,
            " (%.1f s ago it had completed %" PRId64 " collectives and %" PRId64 " tasks)",
            s->last_report_s, s->ended, s->tasks);
    if (s->left) return;
    if (!is_away(s))
        append_text(p, ": %s", pulses[s->pulse]);
    else
        append_text(p, ", because it receives messages only while its program waits in Tutti: %s",
            s->pulse == TUTTI_PULSE_RUNS ? "its program is in its own code, and late"
                                         : "its program is in its own code, or its process is "
                                           "stopped or dead, which cannot be seen from here");
}

/* Why a rank has not arrived. */
static void add_reason(text_buffer *p, const tutti_stall_state *s, int64_t collective, double alive)
{
    const char *way = s->about == collective ? s->way : "";
    if (!s->answers) {
        add_silence(p, s);
        return;
    }
    if (s->about != collective) /* its answer is on the way */
        append_text(p, "has not reported its progress yet");
    else if (s->place == TUTTI_STALL_NOT_SUBMITTED && s->call)
        append_text(p, "has not called %s for it%s%s", s->call, *way ? "; " : "", way);
    else if (s->place == TUTTI_STALL_NOT_SUBMITTED)
        append_text(p, "has not submitted it: its program has yet to submit %s #%" PRId64 "%s%s",
            tutti_sequence_slot(collective) ? "number" : "collective",
            tutti_sequence_slot(collective) ? tutti_sequence_number(collective) : s->submitted,
            *way ? "; " : "", way);
    else if (s->place == TUTTI_STALL_STARTED)
        append_text(p, "has started it, but continues it only while its program waits in Tutti");
    else if (s->place == TUTTI_STALL_READY)
        append_text(p, "is ready for it, but may not start it yet");
    else
        append_text(p, "has not reached it");
    if (*way && s->place == TUTTI_STALL_STARTED)
        append_text(p, "; %s", way);
    else if (*way && s->place != TUTTI_STALL_NOT_SUBMITTED)
        append_text(p, "; blocked by %s", way);
    if (s->can_move && s->call && s->place == TUTTI_STALL_NOT_SUBMITTED)
        append_text(p, "; if it does not call it any more, this message is one too many");
    else if (s->can_move)
        append_text(p, "; it is late, not stuck");
    else if (s->idle_s < alive)
        append_text(p, "; but it makes progress: it is late, not stuck");
    else
        append_text(p, "; nothing has moved there for %.1f s", s->idle_s);
}

/* Adds "1, 2 and 5": the missing ranks, without the first `from`. */
static void add_numbers(text_buffer *p, int ranks, const int missing[], int from, int count)
{
    int seen = 0;
    for (int r = 0; r < ranks; r++) {
        if (!missing[r] || seen++ < from) continue;
        int last = seen == count, first = seen == from + 1;
        append_text(p, "%s%d", first ? "" : last ? " and " : ", ", r);
    }
}

/* No rank is missing: the ranks that have ended it have sent, or believe so, what the others still wait for. */
static void add_lost(text_buffer *p, int ranks, const tutti_stall_state state[], int64_t collective)
{
    int ended[ranks], count = 0;
    for (int r = 0; r < ranks; r++) {
        const tutti_stall_state *s = &state[r];
        count += ended[r] = !s->outside && s->about == collective && s->place == TUTTI_STALL_ENDED;
    }
    if (!count) {
        append_text(p, "every rank has started it, but its messages do not move");
        return;
    }
    append_text(p, count > 1 ? "ranks " : "rank ");
    add_numbers(p, ranks, ended, 0, count);
    append_text(p, " %s ended it, but messages of it have not arrived", count > 1 ? "have" : "has");
}

static void add_missing(
    text_buffer *p, int ranks, const tutti_stall_state state[], int64_t collective)
{
    int missing[ranks], described = 0;
    int count = tutti_stall_missing(ranks, state, collective, missing);
    if (!count) {
        add_lost(p, ranks, state, collective);
        return;
    }
    if (count > 1) {
        append_text(p, "ranks ");
        add_numbers(p, ranks, missing, 0, count);
        append_text(p, " have not arrived; ");
    }
    for (int r = 0; r < ranks && described < DETAILED; r++) {
        if (!missing[r]) continue;
        append_text(p, "%srank %d ", described++ ? "; " : "", r);
        add_reason(p, &state[r], collective, alive_s(ranks, state));
    }
}

static void add_title(
    text_buffer *p, int ranks, const tutti_stall_state state[], int64_t collective)
{
    const char *name = name_of(ranks, state, collective), *members = "", *what = "collective";
    for (int r = 0; r < ranks; r++) {
        if (state[r].about != collective || !*state[r].members) continue;
        members = state[r].members;
        if (state[r].message) what = tutti_coll_kind_name(TUTTI_MESSAGE);
    }
    append_text(p, "%s #%" PRId64, what, tutti_sequence_number(collective));
    if (*name && strcmp(name, what) != 0) append_text(p, " \"%s\"", name);
    if (*members) append_text(p, " of %s", members);
}

char *tutti_stall_title(
    int ranks, const tutti_stall_state state[], int64_t collective, char *text, size_t size)
{
    text_buffer p = {text, size, 0};
    text[0] = '\0';
    add_title(&p, ranks, state, collective);
    return text;
}

char *tutti_stall_sentence(
    int ranks, const tutti_stall_state state[], int64_t collective, char *text, size_t size)
{
    text_buffer p = {text, size, 0};
    text[0] = '\0';
    add_title(&p, ranks, state, collective);
    append_text(&p, ": ");
    add_missing(&p, ranks, state, collective);
    return text;
}

char *tutti_stall_line(
    int ranks, const tutti_stall_state all[], int rank, int64_t collective, char *text, size_t size)
{
    const tutti_stall_state *state = &all[rank];
    int missing[ranks];
    text_buffer p = {text, size, 0};
    tutti_stall_missing(ranks, all, collective, missing);
    text[0] = '\0';
    append_text(&p, "rank %d ", rank);
    if (missing[rank])
        add_reason(&p, state, collective, alive_s(ranks, all));
    else if (!state->known)
        append_text(&p, "has not reported yet");
    else if (state->waits >= 0)
        append_text(&p, "waits in %s#%" PRId64 ", where nothing has moved for %.1f s",
            tutti_sequence_slot(state->waits) == tutti_sequence_slot(collective)
                ? ""
                : "another group's ",
            tutti_sequence_number(state->waits), state->waits_s);
    else
        append_text(&p, "is not waiting in a collective");
    if (!state->answers && state->known && !missing[rank])
        append_text(&p, " (reported %.1f s ago)", state->last_report_s);
    if (state->answers)
        append_text(&p, " (%" PRId64 " submitted, %" PRId64 " ended; %" PRId64 " tasks ended)",
            state->submitted, state->ended, state->tasks);
    return text;
}
