/* designs: who waits for whom, from made-up states of the ranks: what is a stall, whose fault it is, and the sentences
 * that say so. */
#include "dag/base/log.h"
#include "designs/watch/pulse.h"
#include "designs/watch/stall.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static tutti_stall_state arrived(int64_t collective, double waits_s)
{
    return (tutti_stall_state){.known = 1,
        .answers = 1,
        .about = collective,
        .place = TUTTI_STALL_STARTED,
        .submitted = collective + 4,
        .ended = collective,
        .tasks = 100,
        .waits = collective,
        .waits_s = waits_s,
        .idle_s = waits_s,
        .name = "fc.weight"};
}

static tutti_stall_state computing(int64_t collective, tutti_stall_place place, double idle_s)
{
    return (tutti_stall_state){.known = 1,
        .answers = 1,
        .about = collective,
        .place = place,
        .submitted = place == TUTTI_STALL_NOT_SUBMITTED ? collective - 1 : collective + 1,
        .waits = -1,
        .idle_s = idle_s,
        .way = "task \"bwd\", running for 5.0 s"};
}

static const char *sentence(int ranks, const tutti_stall_state state[], int64_t collective)
{
    static char text[512];
    return tutti_stall_sentence(ranks, state, collective, text, sizeof text);
}

START_TEST(a_sentence_names_who_is_missing)
{
    tutti_stall_state s[5] = {arrived(18, 5), computing(18, TUTTI_STALL_SUBMITTED, 5)};
    ck_assert_int_eq((int)tutti_stall_lowest(2, s), 18);
    ck_assert_str_eq(sentence(2, s, 18), "collective #18 \"fc.weight\": rank 1 has not reached it; "
                                         "blocked by task \"bwd\", running "
                                         "for 5.0 s; nothing has moved there for 5.0 s");
    s[1].can_move = 1;
    ck_assert_str_eq(sentence(2, s, 18), "collective #18 \"fc.weight\": rank 1 has not reached it; "
                                         "blocked by task \"bwd\", running "
                                         "for 5.0 s; it is late, not stuck");
    s[1] = computing(18, TUTTI_STALL_NOT_SUBMITTED, 0.1);
    strcpy(s[1].way, "it waits for its tasks");
    ck_assert_str_eq(sentence(2, s, 18), "collective #18 \"fc.weight\": rank 1 has not submitted "
                                         "it: its program has yet to submit collective "
                                         "#17; it waits for its tasks; but "
                                         "it makes progress: it is late, not "
                                         "stuck");
    s[1].answers = 0;
    s[1].last_report_s = 3;
    ck_assert_str_eq(sentence(2, s, 18),
        "collective #18 \"fc.weight\": rank 1 does not answer (3.0 s ago it had completed 0 "
        "collectives "
        "and 0 tasks): it is stopped, dead, or stuck outside of Tutti");
    s[1].left = 1;
    ck_assert_str_eq(sentence(2, s, 18),
        "collective #18 \"fc.weight\": rank 1 has left, and answers no more (3.0 s ago it had "
        "completed 0 collectives and 0 tasks)");
    s[1].left = 0;
    s[1].pulse = TUTTI_PULSE_STOPPED;
    ck_assert(strstr(sentence(2, s, 18), "tasks): its process is stopped"));
    s[1].pulse = TUTTI_PULSE_GONE;
    ck_assert(strstr(sentence(2, s, 18), "tasks): its process has ended"));
    ck_assert(!tutti_stall_announced(2, s, 18));
    s[1] = computing(18, TUTTI_STALL_NOT_SUBMITTED, 0);
    s[1].can_move = 1;
    ck_assert(!tutti_stall_announced(2, s, 18));
    s[1].announced = 1;
    ck_assert(tutti_stall_announced(2, s, 18));
    s[1] = arrived(18, 4);
    ck_assert(!tutti_stall_announced(2, s, 18));
    ck_assert_str_eq(sentence(2, s, 18),
        "collective #18 \"fc.weight\": every rank has started it, but "
        "its messages do not move");
    s[1].place = TUTTI_STALL_ENDED; /* as a broadcast's root may */
    s[1].waits = 20;
    ck_assert_str_eq(sentence(2, s, 18),
        "collective #18 \"fc.weight\": rank 1 has ended it, but messages of it have not arrived");
    int missing[2];
    ck_assert_int_eq(tutti_stall_missing(2, s, 18, missing), 0);
    s[2] = s[3] = (tutti_stall_state){.waits = -1};
    s[4] = computing(18, TUTTI_STALL_READY, 4);
    const char *many = sentence(5, s, 18);
    ck_assert_msg(strstr(many, "ranks 2, 3 and 4 have not arrived; rank 2 does not answer: it") &&
                      strstr(many, "rank 4 is ready for it, but may not start it yet"),
        "%s", many);
}
END_TEST

/* Waiting for a rank that can go on by itself is not a stall, however long. */
/* A message is called one by its kind, whatever its name and the name of its edge. */
START_TEST(a_title_says_what_it_is_of)
{
    char text[200];
    tutti_stall_state s[2] = {arrived(18, 5), arrived(18, 5)};
    strcpy(s[0].members, "edge 3 from rank 0 to rank 1");
    ck_assert_str_eq(tutti_stall_title(2, s, 18, text, sizeof text),
        "collective #18 \"fc.weight\" of edge 3 from rank 0 to rank 1");
    s[0].message = 1;
    ck_assert_str_eq(tutti_stall_title(2, s, 18, text, sizeof text),
        "message #18 \"fc.weight\" of edge 3 from rank 0 to rank 1");
    strcpy(s[0].name, "message");
    ck_assert_str_eq(tutti_stall_title(2, s, 18, text, sizeof text),
        "message #18 of edge 3 from rank 0 to rank 1");
}
END_TEST

START_TEST(a_stall_is_what_no_rank_can_end)
{
    const double unheard_s = 7;
    tutti_stall_state s[3] = {
        arrived(18, 50), computing(18, TUTTI_STALL_SUBMITTED, 40), arrived(18, 50)};
    ck_assert_double_eq(tutti_stall_lasts_s(3, s, 18, 100), 40);
    ck_assert_double_eq(tutti_stall_lasts_s(3, s, 18, unheard_s), unheard_s);
    s[1].can_move = 1; /* it computes, or its program does */
    ck_assert_double_eq(tutti_stall_lasts_s(3, s, 18, 100), 0);
    s[2].answers = 0; /* arrived, then stopped: the wait is for the late one */
    s[2].last_report_s = 30;
    ck_assert_double_eq(tutti_stall_lasts_s(3, s, 18, 100), 0);
    s[2] = computing(18, TUTTI_STALL_NOT_SUBMITTED, 0); /* silent and not arrived: a stall */
    s[2].can_move = 1;
    s[2].answers = 0;
    s[2].last_report_s = 30;
    ck_assert_double_eq(tutti_stall_lasts_s(3, s, 18, 100), 30);
    s[2].away = 1; /* unless it listens only now and then, */
    ck_assert_double_eq(tutti_stall_lasts_s(3, s, 18, 100), 0);
    s[1] = arrived(18, 50);
    ck_assert_double_eq(tutti_stall_lasts_s(3, s, 18, 100), 0);
    s[2].pulse = TUTTI_PULSE_STOPPED; /* and its process runs */
    ck_assert_double_eq(tutti_stall_lasts_s(3, s, 18, 100), 30);
    s[2] = (tutti_stall_state){.waits = -1}; /* never heard from */
    ck_assert_double_eq(tutti_stall_lasts_s(3, s, 18, unheard_s), unheard_s);
}
END_TEST

START_TEST(a_process_is_seen)
{
    const tutti_pulse_id self = tutti_pulse_self();
    tutti_pulse_id other = self;
    ck_assert_int_eq((int)self.pid, (int)getpid());
    ck_assert_int_eq(tutti_pulse_of(&self, &self), TUTTI_PULSE_RUNS);
    other.started--; /* its pid belongs to another process now */
    ck_assert_int_eq(tutti_pulse_of(&self, &other), TUTTI_PULSE_GONE);
    strcpy(other.host, "elsewhere");
    ck_assert_int_eq(tutti_pulse_of(&self, &other), TUTTI_PULSE_UNKNOWN);
    other.pid = 0;
    ck_assert_int_eq(tutti_pulse_of(&self, &other), TUTTI_PULSE_UNKNOWN);
}
END_TEST

START_TEST(a_late_answer_is_no_accusation)
{
    tutti_stall_state s[3] = {
        arrived(18, 5), computing(18, TUTTI_STALL_NOT_SUBMITTED, 1), arrived(18, 5)};
    char text[256];
    int missing[3];
    s[1].answers = s[2].answers = 0;
    s[1].last_report_s = 4.5;
    s[2].last_report_s = 0.7; /* it has reported its start */
    ck_assert_int_eq(tutti_stall_missing(3, s, 18, missing), 1);
    ck_assert_int_eq(missing[1], 1);
    ck_assert_str_eq(tutti_stall_line(3, s, 2, 18, text, sizeof text),
        "rank 2 waits in #18, where nothing has moved for 5.0 s (reported 0.7 s ago)");
    s[2] = computing(17, TUTTI_STALL_ENDED, 0.7); /* it has not reported this one */
    s[2].answers = 0;
    s[2].last_report_s = 0.7;
    ck_assert_int_eq(tutti_stall_missing(3, s, 18, missing), 1);
    ck_assert_int_eq(missing[1], 1);
    s[2].last_report_s = 4.2; /* both were stopped */
    ck_assert_int_eq(tutti_stall_missing(3, s, 18, missing), 2);
    s[1] = arrived(18, 5); /* stopped after it started */
    s[2] = arrived(18, 5);
    s[1].answers = s[2].answers = 0;
    s[1].last_report_s = 4.5;
    s[2].last_report_s = 0.7;
    ck_assert_int_eq(tutti_stall_missing(3, s, 18, missing), 1);
    ck_assert_int_eq(missing[1], 1);
    ck_assert_int_eq(missing[0] + missing[2], 0);
}
END_TEST

/* Rank 1 has not come to #18 because it waits for #7 of an edge, where rank 2 has not come. */
START_TEST(the_cause_is_behind)
{
    enum { EDGE = 7 };
    tutti_stall_state s[3] = {
        arrived(18, 5), computing(18, TUTTI_STALL_SUBMITTED, 5), arrived(18, 5)};
    s[1].behind = EDGE;
    ck_assert_int_eq((int)tutti_stall_behind(3, s, 18), EDGE);
    ck_assert_int_eq((int)tutti_stall_behind(3, s, -1), -1);
    s[1].can_move = 1; /* it is late */
    ck_assert_int_eq((int)tutti_stall_behind(3, s, 18), -1);
    s[1].can_move = 0;
    s[1].answers = 0; /* it is silent: that is the cause */
    ck_assert_int_eq((int)tutti_stall_behind(3, s, 18), -1);
    s[1].answers = 1;
    s[1].about = 17; /* it has not answered yet */
    ck_assert_int_eq((int)tutti_stall_behind(3, s, 18), -1);
    s[1].about = 18;
    s[2] = computing(18, TUTTI_STALL_SUBMITTED, 5); /* a second rank, which waits for none */
    s[2].behind = -1;
    ck_assert_int_eq((int)tutti_stall_behind(3, s, 18), -1);
    s[2] = arrived(18, 5);
    s[1] = arrived(18, 5); /* none is missing */
    ck_assert_int_eq((int)tutti_stall_behind(3, s, 18), -1);
}
END_TEST

START_TEST(a_sentence_fits_its_text)
{
    tutti_stall_state s[40] = {arrived(18, 5)};
    char text[64], number[32];
    for (int r = 1; r < 40; r++) s[r] = computing(18, TUTTI_STALL_SUBMITTED, 9);
    for (size_t size = 1; size <= sizeof text; size++) {
        tutti_stall_sentence(40, s, 18, text, size);
        ck_assert_uint_eq(strlen(text), size - 1);
    }
    const char *whole = sentence(40, s, 18);
    for (int r = 1; r < 40; r++) {
        snprintf(number, sizeof number, "%s%d", r == 1 ? "ranks " : r == 39 ? " and " : ", ", r);
        ck_assert_msg(strstr(whole, number) != NULL, "%s: no word of rank %d", whole, r);
    }
}
END_TEST

START_TEST(the_lowest_collective_and_rank_speak)
{
    tutti_stall_state s[3] = {{.waits = 3}, arrived(20, 1), arrived(18, 1)};
    char text[256];
    ck_assert_int_eq((int)tutti_stall_lowest(3, s), 18); /* rank 0 does not answer */
    ck_assert_int_eq(tutti_stall_spokesman(3, s), 1);
    s[1].answers = s[2].answers = 0;
    ck_assert_int_eq((int)tutti_stall_lowest(3, s), -1);
    ck_assert_int_eq(tutti_stall_spokesman(3, s), -1);
    s[2].answers = 1;
    ck_assert_str_eq(tutti_stall_line(3, s, 2, 18, text, sizeof text),
        "rank 2 waits in #18, where nothing has moved for 1.0 s (22 submitted, 18 ended; 100 tasks "
        "ended)");
    ck_assert_str_eq(
        tutti_stall_title(3, s, 18, text, sizeof text), "collective #18 \"fc.weight\"");
}
END_TEST

int main(void)
{
    tutti_log_set_level(TUTTI_LOG_INFO);
    Suite *suite = suite_create("stall");
    TCase *tcase = testing_case(suite, "stall");
    tcase_add_test(tcase, a_sentence_names_who_is_missing);
    tcase_add_test(tcase, a_title_says_what_it_is_of);
    tcase_add_test(tcase, a_stall_is_what_no_rank_can_end);
    tcase_add_test(tcase, a_process_is_seen);
    tcase_add_test(tcase, a_late_answer_is_no_accusation);
    tcase_add_test(tcase, the_cause_is_behind);
    tcase_add_test(tcase, a_sentence_fits_its_text);
    tcase_add_test(tcase, the_lowest_collective_and_rank_speak);
    return testing_run(suite);
}
