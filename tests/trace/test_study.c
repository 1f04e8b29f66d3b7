/* apps/trace: made-up traces with known results are read and studied; files that are not traces, or are
 * incomplete, are refused; damaged ones do no harm. */
#include "apps/trace/advise.h"
#include "apps/trace/path.h"
#include "apps/trace/study.h"
#include "apps/trace/report.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "tests/support/testing.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];
static FILE *file;

static const char *cut_into = ""; /* of the head: stages and micro-batches */

static void begin_file(int ranks, int lanes, int first_step, int last_step, const char *design)
{
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file,
        "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"format\":1,\"ranks\":%d,\"lanes\":%d,"
        "\"first_step\":%d,\"last_step\":%d,\"spans_dropped\":0,\"design\":\"%s\",\"model\":\"m\","
        "%s\"workers\":[",
        ranks, lanes, first_step, last_step, design, cut_into);
    for (int r = 0; r < ranks; r++) fprintf(file, "%s1", r ? "," : "");
    fputs("]},\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":0,\"name\":\"process_name\"}", file);
}

/* A task on a rank's only worker; times in ms. */
static void task(int rank, const char *kind, const char *name, int step, double from, double to)
{
    fprintf(file,
        ",\n{\"ph\":\"X\",\"pid\":%d,\"tid\":1,\"cat\":\"%s\",\"name\":\"%s\",\"ts\":%.3f,\"dur\":"
        "%.3f,\"args\":{\"step\":%d}}",
        rank, kind, name, 1e3 * from, 1e3 * (to - from), step);
}

static void collective(
    int rank, int row, int sequence, const char *name, double ready, double from, double to)
{
    fprintf(file,
        ",\n{\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"cat\":\"collective\",\"name\":\"%s\",\"ts\":%.3f,"
        "\"dur\":%.3f,\"args\":{\"step\":2,\"sequence\":%d,\"lane\":0,\"bytes\":1000000,"
        "\"what\":\"allreduce\",\"ready\":%.3f,\"reserved\":0}}",
        rank, 1000 + row, name, 1e3 * from, 1e3 * (to - from), sequence, 1e3 * ready);
}

static void end_file(void)
{
    fputs("\n]}\n", file);
    fclose(file);
}

/* Two ranks, the second slower; two collectives, in flight together for a while. */
static void write_straggler(void)
{
    static const double begin[2][4] = {{10, 30, 50, 80}, {10, 40, 60, 80}},
                        end[2][4] = {{30, 50, 60, 90}, {40, 60, 70, 88}};
    static const char *const kind[] = {"forward", "backward", "backward", "update"},
                             *const name[] = {"f", "b1", "b2", "u"};
    begin_file(2, 1, 2, 2, "funneled");
    for (int r = 0; r < 2; r++) {
        task(r, "update", "before", 1, 0, 10);
        for (int i = 0; i < 4; i++) task(r, kind[i], name[i], 2, begin[r][i], end[r][i]);
    }
    collective(0, 0, 7, "c1", 50, 50, 65);
    collective(1, 0, 7, "c1", 60, 60, 66);
    collective(0, 1, 8, "c2", 60, 62, 80);
    collective(1, 0, 8, "c2", 70, 70, 80);
    end_file();
}

static void close_to(double is, double wanted)
{
    ck_assert_double_eq_tol(is, wanted, 1e-6);
}

START_TEST(what_is_hidden_and_exposed)
{
    tutti_timeline t;
    tutti_study s;
    write_straggler();
    ck_assert_ok(tutti_timeline_read(path, &t));
    ck_assert_ok(tutti_study_open(&t, 0, &s));
    ck_assert_int_eq(s.steps, 1);
    const tutti_study_step *step = tutti_study_typical(&s);
    ck_assert_int_eq(step->step, 2);
    close_to(step->begin_ms, 10); /* the end of the step before */
    close_to(step->end_ms, 90);
    close_to(step->compute_ms, (60 + 68) / 2.0);
    close_to(step->flight_ms, (30 + 16) / 2.0);
    close_to(step->exposed_ms, (20 + 10) / 2.0);
    close_to(step->moving_ms, (15 + 16) / 2.0);
    close_to(tutti_study_hidden_pct(step), 100 * (1 - 15.0 / 23));
    ck_assert_int_eq(step->bytes, 2000000);

    ck_assert_int_eq(s.buckets, 2);
    ck_assert_str_eq(s.bucket[0].name, "c2"); /* the most exposed */
    close_to(s.bucket[0].exposed_ms, (16.5 + 10) / 2);
    close_to(s.bucket[0].queued_ms, 1);
    close_to(s.bucket[0].late_ms, 4);
    close_to(s.bucket[1].exposed_ms, (2 + 1.5) / 2);
    close_to(s.bucket[1].flight_ms, (15 + 6) / 2.0);
    close_to(s.bucket[1].queued_ms, 0);
    close_to(s.bucket[1].late_ms, 5);

    ck_assert_int_eq(s.workers, 2);
    close_to(s.worker[0].busy[TUTTI_SPAN_BACKWARD], 30.0 / 80);
    close_to(s.worker[0].idle, 20.0 / 80);
    close_to(s.worker[1].busy[TUTTI_SPAN_UPDATE], 8.0 / 80);
    close_to(s.worker[1].idle, 12.0 / 80);
    close_to(s.rank[1].behind_ms, 9);
    close_to(s.rank[1].last, 1);
    close_to(s.rank[0].last, 0);
    tutti_study_close(&s);
    ck_assert_int_eq(tutti_study_open(&t, 3, &s), TUTTI_ERR_INVAL); /* not there */
    ck_assert_int_eq(tutti_study_open(&t, 1, &s), TUTTI_ERR_INVAL); /* incomplete */
    tutti_timeline_free(&t);
}
END_TEST

/* A sum in two chunks: amounts per step are added up, times per chunk are means. */
START_TEST(chunks_have_one_name)
{
    tutti_timeline t;
    tutti_study s;
    begin_file(2, 1, 2, 2, "funneled");
    for (int r = 0; r < 2; r++) {
        task(r, "backward", "b", 2, 0, 20);
        collective(r, 0, 1, "c", 10, 10 + 4 * r, 30);
        collective(r, 0, 2, "c", 10, 30 + 4 * r, 40);
    }
    end_file();
    ck_assert_ok(tutti_timeline_read(path, &t));
    ck_assert_ok(tutti_study_open(&t, 0, &s));
    ck_assert_int_eq(s.buckets, 1);
    close_to(s.bucket[0].count, 2);
    close_to(s.bucket[0].bytes, 2e6);
    close_to(s.bucket[0].exposed_ms, (20 + 16) / 2.0);
    close_to(s.bucket[0].flight_ms, (20 + 10 + 16 + 6) / 4.0);
    close_to(s.bucket[0].queued_ms, (0 + 20 + 4 + 24) / 4.0);
    close_to(s.bucket[0].late_ms, 2);
    close_to(s.rank[1].behind_ms, 4);
    tutti_study_close(&s);
    tutti_timeline_free(&t);
}
END_TEST

/* The path leads from the last update over the collective to the late rank and its tasks. */
START_TEST(the_critical_path)
{
    static const struct {
        const char *name;
        int rank;
        double from_ms, to_ms;
    } wanted[] = {{"f", 1, 10, 40}, {"b1", 1, 40, 60}, {"b2", 1, 60, 70}, {"c2", 0, 70, 80},
        {"u", 0, 80, 90}};
    tutti_timeline t;
    tutti_study s;
    tutti_path p;
    write_straggler();
    ck_assert_ok(tutti_timeline_read(path, &t));
    ck_assert_ok(tutti_study_open(&t, 2, &s));
    ck_assert_ok(tutti_path_find(&t, &s.step[0], &p));
    ck_assert_int_eq(p.parts, 5);
    for (int i = 0; i < 5; i++) {
        ck_assert_str_eq(p.part[i].event->name, wanted[i].name);
        ck_assert_int_eq(p.part[i].event->rank, wanted[i].rank);
        close_to(p.part[i].from_ms, wanted[i].from_ms);
        close_to(p.part[i].to_ms, wanted[i].to_ms);
    }
    close_to(p.compute_ms, 70);
    close_to(p.communicate_ms, 10);
    close_to(p.nobody_ms, 0);
    tutti_path_free(&p);
    tutti_study_close(&s);
    tutti_timeline_free(&t);
}
END_TEST

/* Between tasks nobody works; tasks of length zero do not make the path cyclic. */
START_TEST(a_path_with_gaps)
{
    tutti_timeline t;
    tutti_study s;
    tutti_path p;
    begin_file(1, 1, 2, 2, "funneled");
    task(0, "forward", "f", 2, 10, 20);
    for (int i = 0; i < 5; i++) task(0, "copy", "nothing", 2, 25, 25);
    task(0, "backward", "b", 2, 30, 40);
    end_file();
    ck_assert_ok(tutti_timeline_read(path, &t));
    ck_assert_ok(tutti_study_open(&t, 2, &s));
    close_to(tutti_study_hidden_pct(&s.step[0]), 100); /* nothing to hide */
    ck_assert_ok(tutti_path_find(&t, &s.step[0], &p));
    ck_assert_int_eq(p.parts, 7);
    close_to(p.compute_ms, 20);
    close_to(p.nobody_ms, 10);
    tutti_path_free(&p);
    tutti_study_close(&s);
    tutti_timeline_free(&t);
}
END_TEST

/* Events that ended on this rank before the step began (when another rank ended) are not on the path. */
START_TEST(a_path_ends_where_the_step_begins)
{
    tutti_timeline t;
    tutti_study s;
    tutti_path p;
    begin_file(2, 1, 2, 2, "funneled");
    task(0, "update", "before", 1, 0, 10);
    task(1, "update", "before", 1, 0, 5);
    task(0, "forward", "f", 2, 10, 15);
    task(1, "forward", "f", 2, 12, 20);
    end_file();
    ck_assert_ok(tutti_timeline_read(path, &t));
    ck_assert_ok(tutti_study_open(&t, 2, &s));
    ck_assert_ok(tutti_path_find(&t, &s.step[0], &p));
    ck_assert_int_eq(p.parts, 1);
    close_to(p.compute_ms, 8);
    close_to(p.nobody_ms, 2);
    tutti_path_free(&p);
    tutti_study_close(&s);
    tutti_timeline_free(&t);
}
END_TEST

/* Two equal ranks: a forward and a backward task, and one collective. */
static void write_even(const char *design, double backward_ends, double from, double to)
{
    begin_file(2, 1, 2, 2, design);
    for (int r = 0; r < 2; r++) {
        task(r, "forward", "f", 2, 0, 20);
        task(r, "backward", "b", 2, 20, backward_ends);
        collective(r, 0, 1, "c", from, from, to);
        task(r, "update", "u", 2, fmax(backward_ends, to), fmax(backward_ends, to) + 1);
    }
    end_file();
}

/* Two equal ranks whose collective c follows another one, o, on the same lane: computing ends at
 * `backward_ends`, c becomes ready at `ready`, and o ends at `o_ends`. */
static void write_behind(double backward_ends, double ready, double from, double to, double o_ends)
{
    begin_file(2, 1, 2, 2, "funneled");
    for (int r = 0; r < 2; r++) {
        task(r, "forward", "f", 2, 0, 20);
        task(r, "backward", "b", 2, 20, backward_ends);
        collective(r, 0, 1, "o", 30, 30, o_ends);
        collective(r, 0, 2, "c", ready, from, to);
        task(r, "update", "u", 2, fmax(backward_ends, to), fmax(backward_ends, to) + 1);
    }
    end_file();
}

/* c starts on rank 0 when it is ready, and on rank 1 only at `other`, although that rank computes no more. */
static void write_late_rank(double backward_ends, double from, double other, double to)
{
    begin_file(2, 1, 2, 2, "funneled");
    for (int r = 0; r < 2; r++) {
        task(r, "forward", "f", 2, 0, 20);
        task(r, "backward", "b", 2, 20, backward_ends);
        collective(r, 0, 1, "c", r ? other : from, r ? other : from, to);
        task(r, "update", "u", 2, fmax(backward_ends, to), fmax(backward_ends, to) + 1);
    }
    end_file();
}

static void advises(const char *words)
{
    char text[512];
    tutti_timeline t;
    tutti_study s;
    tutti_bubble p;
    ck_assert_ok(tutti_timeline_read(path, &t));
    ck_assert_ok(tutti_study_open(&t, 0, &s));
    ck_assert_ok(tutti_bubble_open(&s, &p));
    tutti_trace_advise(&s, &p, text, sizeof text);
    tutti_bubble_close(&p);
    ck_assert_msg(strstr(text, words) != NULL, "not '%s' but: %s", words, text);
    ck_assert_ptr_null(strchr(text, '\n'));
    tutti_study_close(&s);
    tutti_timeline_free(&t);
}

START_TEST(advice)
{
    write_straggler();
    advises("one straggling rank: rank 1");
    write_even("funneled", 100, 40, 90);
    advises("compute bound: 100 %");
    write_even("funneled", 50, 30, 200);
    advises("communication bound at this rate: 1.00 MB of sums are moving for 170.00 ms");
    write_even("funneled", 80, 70, 110);
    advises("bucket c is exposed by 30.00 ms");
    advises(
        "it is computed late: when it is ready, 11.00 ms of computing are left to hide its 40.00");
    write_behind(100, 40, 90, 120, 90);
    advises(
        "bucket c is exposed by 20.00 ms per step, out of 20.00 ms in all: it is queued: ready for "
        "50.00 ms "
        "before it starts, 50.00 of them while the link is busy");
    write_behind(100, 40, 90, 120, 32);
    advises(
        "it is held back: ready for 50.00 ms before it starts, 50.00 of them while nothing is in");
    write_late_rank(100, 60, 112, 120);
    advises("straggling rank: rank 1");
    write_even("sequential", 80, 80, 100);
    advises("--design funneled");
}
END_TEST

/* ---- the reader ---- */

static void write_text(const char *text, size_t size)
{
    FILE *out = fopen(path, "w");
    ck_assert_ptr_nonnull(out);
    ck_assert_uint_eq(fwrite(text, 1, size, out), size);
    fclose(out);
}

static char *read_text(size_t *size)
{
    FILE *in = fopen(path, "r");
    char *text = malloc(1 << 16);
    ck_assert(in && text);
    *size = fread(text, 1, 1 << 16, in);
    fclose(in);
    return text;
}

/* Two steps of two replicas of two stages, which pass two micro-batches forward in 10 ms each, and
 * backward in `backward_ms`; a message takes message_ms. The second replica does all of it 5 ms
 * later, and both have prepared an image of the second step in the midst of the first. A server behind them updates. */
static void write_pipeline(double backward_ms, double message_ms)
{
    enum { RANKS = 5, STAGED = 4 };
    static const char *const name[] = {"f@0", "f@1", "b@0", "b@1"};
    double b = backward_ms, m = message_ms;
    const double at[2][4] = {
        {0, 10, 30 + b + 2 * m, 30 + 2 * b + 2 * m}, {10 + m, 20 + m, 30 + m, 30 + b + m}};
    cut_into = "\"stages\":2,\"micro_batches\":2,\"servers\":1,";
    begin_file(RANKS, 1, 2, 3, "funneled");
    cut_into = "";
    for (int k = 0; k < 2; k++) {
        for (int r = 0; r < STAGED; r++) {
            double late = k * (30 + 3 * b + 2 * m) + (r < 2 ? 0 : 5);
            for (int i = 0; i < 4; i++)
                task(r, i < 2 ? "forward" : "backward", name[i], 2 + k, late + at[r % 2][i],
                    late + at[r % 2][i] + (i < 2 ? 10 : b));
            if (k == 0 && r % 2 == 0) task(r, "forward", "prepare@0", 3, late + 15, late + 15);
            task(r, "update", "u", 2 + k, 400 + 20 * k, 410 + 20 * k);
        }
        task(STAGED, "update", "u", 2 + k, 400 + 20 * k, 410 + 20 * k);
    }
    end_file();
}

START_TEST(what_a_pipeline_waits_for)
{
    tutti_timeline t;
    tutti_study s;
    tutti_bubble p;
    write_pipeline(20, 0);
    ck_assert_ok(tutti_timeline_read(path, &t));
    ck_assert_ok(tutti_study_open(&t, 0, &s));
    ck_assert_ok(tutti_bubble_open(&s, &p));
    ck_assert_int_eq(p.stages, 2);
    close_to(p.passes_ms, 90);
    close_to(p.least, 1.0 / 3);
    close_to(p.idle, 1.0 / 3); /* such a pipeline is the ideal one */
    for (int i = 0; i < 2; i++) {
        close_to(p.stage[i].forward_ms, 20);
        close_to(p.stage[i].backward_ms, 40);
        close_to(p.stage[i].idle, 1.0 / 3);
    }
    tutti_bubble_close(&p);
    tutti_study_close(&s);
    tutti_timeline_free(&t);
    advises("bound by filling and draining the pipeline: stages are idle for 33.3 %");
    write_pipeline(20, 10);
    advises("stages wait for messages: they are idle for 45.5 % of the passes, and equal stages "
            "would be for 33.3");
}
END_TEST

START_TEST(what_is_no_trace_is_refused)
{
    static const char head[] =
        "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"format\":1,\"ranks\":1,"
        "\"lanes\":1,\"first_step\":1,\"last_step\":1,\"spans_dropped\":0,"
        "\"design\":\"d\",\"model\":\"m\",\"workers\":[1]},\"traceEvents\":[\n";
    static const char *const rest[] = {"not JSON\n]}\n", "{}\n]}\n", "{\"ph\":\"X\"}\n]}\n",
        "{\"ph\":\"X\",\"cat\":\"forward\",\"pid\":1,\"tid\":1,\"name\":\"n\",\"ts\":1,\"dur\":1,"
        "\"args\":{\"step\":1}}\n]}\n",
        "{\"ph\":\"X\",\"cat\":\"forward\",\"pid\":0,\"tid\":2,\"name\":\"n\",\"ts\":1,\"dur\":1,"
        "\"args\":{\"step\":1}}\n]}\n",
        "{\"ph\":\"X\",\"cat\":\"forward\",\"pid\":0,\"tid\":1,\"name\":\"n\",\"ts\":1,\"dur\":-1,"
        "\"args\":{\"step\":1}}\n]}\n",
        "{\"ph\":\"X\",\"cat\":\"collective\",\"pid\":0,\"tid\":1000,\"name\":\"n\",\"ts\":1,"
        "\"dur\":1,"
        "\"args\":{\"step\":1}}\n]}\n",
        ""};
    static const char *const heads[] = {"", "[]\n", "{\"traceEvents\":[]}\n",
        "\x7f"
        "ELF\n",
        "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n]}\n",
        "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"format\":2},\"traceEvents\":[\n]}\n",
        "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"format\":1,\"ranks\":99},\"traceEvents\":[\n]"
        "}\n"};
    tutti_timeline t;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        write_text(heads[i], strlen(heads[i]));
        ck_assert_int_eq(tutti_timeline_read(path, &t), TUTTI_ERR_FORMAT);
    }
    static const char *const cuts[] = {"\"stages\":0,", "\"stages\":3,\"micro_batches\":2,",
        "\"stages\":2,", "\"stages\":2,\"micro_batches\":0,",
        "\"stages\":2,\"micro_batches\":2,\"servers\":1,",
        "\"stages\":2,\"micro_batches\":2,\"servers\":4,",
        "\"stages\":2,\"micro_batches\":2,\"servers\":-2,", "\"images\":0,\"blocks\":1,",
        "\"images\":4,", "\"images\":4,\"blocks\":0,"};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        cut_into = cuts[i];
        begin_file(4, 1, 2, 2, "d");
        end_file();
        ck_assert_int_eq(tutti_timeline_read(path, &t), TUTTI_ERR_FORMAT);
    }
    cut_into = "";
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        char text[2048];
        snprintf(text, sizeof text, "%s%s", head, rest[i]);
        write_text(text, strlen(text));
        ck_assert_int_eq(tutti_timeline_read(path, &t), TUTTI_ERR_FORMAT);
    }
    ck_assert_int_eq(tutti_timeline_read("/nonexistent/trace", &t), TUTTI_ERR_IO);
    ck_assert_int_eq(tutti_timeline_read("/tmp", &t), TUTTI_ERR_IO);
}
END_TEST

START_TEST(a_trace_cut_short_is_refused)
{
    size_t size;
    tutti_timeline t;
    write_straggler();
    char *text = read_text(&size);
    for (size_t cut = 0; cut + 2 < size;
         cut++) { /* complete even without "}" or the last newline */
        write_text(text, cut);
        ck_assert_int_eq(tutti_timeline_read(path, &t), TUTTI_ERR_FORMAT);
    }
    free(text);
}
END_TEST

/* Whatever a file holds, reading and reporting it terminates. */
static void report_all(void)
{
    tutti_timeline t;
    tutti_study s;
    tutti_path p;
    if (tutti_timeline_read(path, &t)) return;
    if (!tutti_study_open(&t, 0, &s)) {
        char *told = NULL;
        size_t size;
        FILE *out = open_memstream(&told, &size);
        tutti_bubble bubble;
        ck_assert_ok(tutti_path_find(&t, tutti_study_typical(&s), &p));
        ck_assert_ok(tutti_bubble_open(&s, &bubble));
        tutti_report_text(&s, tutti_study_typical(&s), &p, &bubble, out);
        tutti_report_json(&s, tutti_study_typical(&s), &p, &bubble, out);
        tutti_report_svg(&s, tutti_study_typical(&s), &p, out);
        fclose(out);
        ck_assert_ptr_nonnull(strstr(told, "</svg>"));
        free(told);
        tutti_bubble_close(&bubble);
        tutti_path_free(&p);
        tutti_study_close(&s);
    }
    tutti_timeline_free(&t);
}

START_TEST(damage_does_no_harm)
{
    enum { ROUNDS = 3000 };
    static const char digits[] = "0123456789-.e\"{}[],:\n";
    uint64_t seed = testing_seed(1), draw = 0;
    size_t size;
    write_pipeline(20, 10);
    report_all();
    char *text = read_text(&size), *copy = malloc(size);
    ck_assert_ptr_nonnull(copy);
    for (int i = 0; i < ROUNDS; i++) {
        memcpy(copy, text, size);
        int changes = 1 + (int)tutti_rng_below(seed, 0, draw++, 4);
        for (int k = 0; k < changes; k++) {
            size_t at = (size_t)tutti_rng_below(seed, 0, draw++, size);
            uint64_t what = tutti_rng_below(seed, 0, draw++, 256 + 8 * (sizeof digits - 1));
            copy[at] = what < 256 ? (char)what : digits[(what - 256) % (sizeof digits - 1)];
        }
        write_text(copy, size);
        report_all();
    }
    free(copy);
    free(text);
}
END_TEST

int main(void)
{
    tutti_log_set_level(TUTTI_LOG_NONE);
    snprintf(path, sizeof path, "/tmp/test_study.%ld", (long)getpid());
    Suite *suite = suite_create("study");
    TCase *tcase = testing_case(suite, "study");
    tcase_add_test(tcase, what_is_hidden_and_exposed);
    tcase_add_test(tcase, chunks_have_one_name);
    tcase_add_test(tcase, the_critical_path);
    tcase_add_test(tcase, a_path_with_gaps);
    tcase_add_test(tcase, a_path_ends_where_the_step_begins);
    tcase_add_test(tcase, advice);
    tcase_add_test(tcase, what_a_pipeline_waits_for);
    tcase_add_test(tcase, what_is_no_trace_is_refused);
    tcase_add_test(tcase, a_trace_cut_short_is_refused);
    tcase_add_test(tcase, damage_does_no_harm);
    int failed = testing_run(suite);
    unlink(path);
    return failed;
}
