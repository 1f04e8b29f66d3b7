/* dag/base: status, log-free helpers, clock, rng, mem, median, dtype, number, text, process; and that messages
 * pass through text's filter. */
#include "dag/base/clock.h"
#include "dag/base/clones.h"
#include "dag/base/dtype.h"
#include "dag/base/log.h"
#include "dag/base/mem.h"
#include "dag/base/median.h"
#include "dag/base/normal.h"
#include "dag/base/number.h"
#include "dag/base/process.h"
#include "dag/base/rng.h"
#include "dag/base/text.h"
#include "tests/support/testing.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

START_TEST(every_status_has_words)
{
    for (int s = 0; s < TUTTI_STATUS_COUNT; s++) {
        ck_assert_str_ne(tutti_status_name((tutti_status)s), "unknown");
        ck_assert_uint_gt(strlen(tutti_status_text((tutti_status)s)), 5);
    }
    ck_assert_str_eq(tutti_status_name((tutti_status)-1), "unknown");
    ck_assert_str_eq(tutti_status_text((tutti_status)TUTTI_STATUS_COUNT), "unknown status");
}
END_TEST

START_TEST(a_number_that_is_no_type_is_unknown)
{
    static const int none[] = {-1, TUTTI_DTYPE_COUNT, 17, INT_MAX, INT_MIN};
    for (int d = 0; d < TUTTI_DTYPE_COUNT; d++) {
        ck_assert_str_ne(tutti_dtype_name((tutti_dtype)d), "unknown");
        ck_assert_uint_gt(tutti_dtype_bytes((tutti_dtype)d), 0);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        ck_assert_str_eq(tutti_dtype_name((tutti_dtype)none[i]), "unknown");
        ck_assert_uint_eq(tutti_dtype_bytes((tutti_dtype)none[i]), 0);
    }
}
END_TEST

START_TEST(philox_known_answers)
{
    /* Random123's kat_vectors, philox4x32 10 rounds. */
    static const struct {
        uint64_t key, hi, lo;
        uint32_t out[4];
    } rows[] = {
        {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88,
            {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t out[4];
        tutti_rng_philox(rows[i].key, rows[i].hi, rows[i].lo, out);
        ck_assert_mem_eq(out, rows[i].out, sizeof out);
    }
}
END_TEST

/* However many, and however far apart. */
START_TEST(philox_of_many)
{
    enum { N = 40 };
    const uint64_t key = 0x299f31d0a4093822, hi = 0x0370734413198a2e;
    const uint64_t los[] = {0, ((uint64_t)1 << 32) - 50, UINT64_MAX - 50},
                   steps[] = {1, 16, 1u << 31};
    for (size_t a = 0; a < 3; a++)
        for (size_t s = 0; s < 3; s++)
            for (size_t count = 0; count < N; count++) {
                uint32_t many[N][4] = {{0}}, one[4];
                tutti_rng_philoxes(key, hi, los[a], steps[s], count, many);
                for (size_t i = 0; i < count; i++) {
                    tutti_rng_philox(key, hi, los[a] + steps[s] * i, one);
                    ck_assert_mem_eq(many[i], one, sizeof one);
                }
                memset(one, 0, sizeof one);
                ck_assert_mem_eq(many[count], one, sizeof one);
            }
}
END_TEST

START_TEST(rng_moments)
{
    enum { N = 100000 };
    double sum = 0, square = 0, uniform = 0;
    for (uint64_t i = 0; i < N; i++) {
        double g = tutti_rng_normal(7, tutti_rng_stream("conv1.weight"), i);
        sum += g;
        square += g * g;
        double u = tutti_rng_uniform(7, 1, i);
        ck_assert(u >= 0 && u < 1);
        uniform += u;
        ck_assert_uint_lt(tutti_rng_below(7, 2, i, 10), 10);
    }
    ck_assert_double_eq_tol(sum / N, 0, 0.02);
    ck_assert_double_eq_tol(square / N, 1, 0.02);
    ck_assert_double_eq_tol(uniform / N, 0.5, 0.005);
}
END_TEST

/* Vectors draw what is drawn one by one, wherever they begin and however many; both are what the C
 * library's logarithm and cosine make of the two words. */
START_TEST(normal_numbers)
{
    enum { N = 1000 };
    double x[N];
    const uint64_t firsts[] = {0, 1, 63, ((uint64_t)1 << 32) - 500, UINT64_MAX - 500};
    for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++)
        for (size_t count = 0; count <= N; count += count < 130 ? 1 : 290) {
            x[count < N ? count : 0] = -99;
            tutti_rng_normals(7, 3, firsts[f], count, x);
            ck_assert(count == N || x[count] == -99);
            for (size_t i = 0; i < count; i++)
                ck_assert_double_eq(x[i], tutti_rng_normal(7, 3, firsts[f] + i));
        }
    for (size_t i = 0; i < N; i++) {
        uint32_t w[4];
        tutti_rng_philox(7, 3, firsts[4] + i, w);
        const double square = -2 * log((w[0] + 1.0) * 0x1p-32);
        const double expected = sqrt(square) * cos(6.283185307179586 * 0x1p-32 * w[1]);
        ck_assert_double_eq_tol(x[i], expected, 1e-14);
    }
}
END_TEST

/* The ends of both ranges of words, and where the series meet. */
START_TEST(normal_words)
{
    static const uint32_t words[] = {0, 1, 0x1FFFFFFF, 0x20000000, 0x3FFFFFFF, 0x40000000,
        0x5FFFFFFF, 0x60000000, 0x7FFFFFFF, 0x80000000, 0x9FFFFFFF, 0xA0000000, 0xB504F332,
        0xB504F333, 0xB504F334, 0xC0000000, 0xDFFFFFFF, 0xE0000000, 0xFFFFFFFD, 0xFFFFFFFE,
        0xFFFFFFFF};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const double square = -2 * log((words[i] + 1.0) * 0x1p-32);
        ck_assert_double_le(fabs(tutti_normal_square(words[i]) - square), 1e-15 * square);
        ck_assert_double_eq_tol(
            tutti_normal_cosine(words[i]), cos(6.283185307179586 * 0x1p-32 * words[i]), 1e-15);
    }
}
END_TEST

START_TEST(memory_notices_overflow)
{
    ck_assert_uint_eq(tutti_mem_product(1u << 20, 1u << 20), (size_t)1 << 40);
    ck_assert_uint_eq(tutti_mem_product(SIZE_MAX / 2, 3), SIZE_MAX);
    ck_assert_ptr_null(tutti_mem_aligned(SIZE_MAX));
    char *block = tutti_mem_aligned(100);
    ck_assert_uint_eq((uintptr_t)block % 64, 0);
    for (int i = 0; i < 100; i++) ck_assert_int_eq(block[i], 0);
    free(block);
    enum { LARGE = (5 << 20) + 100 }; /* no multiple of a huge page */
    block = tutti_mem_aligned(LARGE);
    ck_assert_uint_eq((uintptr_t)block % 64, 0);
    for (int i = 0; i < LARGE; i++)
        if (block[i]) ck_abort_msg("element %d is %d", i, block[i]);
    free(block);
}
END_TEST

START_TEST(clock_moves_forward)
{
    double start = tutti_clock_s();
    tutti_clock_sleep(0.002);
    ck_assert_double_ge(tutti_clock_s() - start, 0.002);
    struct timespec now, later = tutti_clock_after(1.5);
    clock_gettime(CLOCK_MONOTONIC, &now);
    double delta =
        (double)(later.tv_sec - now.tv_sec) + 1e-9 * (double)(later.tv_nsec - now.tv_nsec);
    ck_assert(delta > 1.0 && delta <= 1.5);
}
END_TEST

START_TEST(medians)
{
    double odd[] = {3, -1, 7}, even[] = {4, 10, 1, 2}, one[] = {5};
    ck_assert_double_eq(tutti_median(3, odd), 3);
    ck_assert_double_eq(odd[0], -1);
    ck_assert_double_eq(odd[2], 7);
    ck_assert_double_eq(tutti_median(4, even), 3);
    ck_assert_double_eq(tutti_median(1, one), 5);
    ck_assert_double_eq(tutti_median(0, NULL), 0);
}
END_TEST

START_TEST(dtypes_have_sizes)
{
    ck_assert_uint_eq(tutti_dtype_bytes(TUTTI_F32), 4);
    ck_assert_uint_eq(tutti_dtype_bytes(TUTTI_I64), 8);
    ck_assert_str_eq(tutti_dtype_name(TUTTI_U8), "U8");
}
END_TEST

START_TEST(numbers)
{
    static const struct {
        const char *text;
        int is_int, is_real;
    } rows[] = {{"0", 1, 1}, {"-7", 1, 1}, {"+7", 1, 1}, {"007", 1, 1},
        {"9223372036854775807", 1, 1}, {"9223372036854775808", 0, 1}, {"0.5", 0, 1}, {".5", 0, 1},
        {"1e-3", 0, 1}, {"1e308", 0, 1}, {"1e309", 0, 0}, {"1e-400", 0, 0}, {"", 0, 0},
        {" 1", 0, 0}, {"1 ", 0, 0}, {"1x", 0, 0}, {"0x10", 0, 0}, {"nan", 0, 0}, {"inf", 0, 0},
        {"-", 0, 0}, {"--1", 0, 0}, {"1-1", 0, 0}, {"e5", 0, 0}, {"auto", 0, 0}, {"1,5", 0, 0},
        {"1\n", 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t integer = 42;
        double real = 42;
        ck_assert_msg(
            tutti_number_int(rows[i].text, &integer) == rows[i].is_int, "int \"%s\"", rows[i].text);
        ck_assert_msg(
            tutti_number_real(rows[i].text, &real) == rows[i].is_real, "real \"%s\"", rows[i].text);
        if (!rows[i].is_int) ck_assert_int_eq(integer, 42);
        if (!rows[i].is_real) ck_assert_double_eq(real, 42);
    }
    int64_t number;
    ck_assert(tutti_number_int("010", &number));
    ck_assert_int_eq(number, 10);
}
END_TEST

/* What a terminal obeys is shown; names in any language stay. */
static const struct {
    const char *text, *shown;
} odd_texts[] = {
    {"plain, \\ and caf\u00e9 \u732b \U0001f431", "plain, \\ and caf\u00e9 \u732b \U0001f431"},
    {"\x1b[2J\x1b]0;title\a", "\\x1b[2J\\x1b]0;title\\x07"},
    {"two\nlines\r\t\x7f\b", "two\\nlines\\r\\t\\x7f\\x08"},
    {"C1 \xc2\x9b"
     "2J, raw \x9b"
     "2J",
        "C1 \\u009b2J, raw \\x9b2J"},
    {"\u202etxt.exe\u202c \u2066x\u2069 \u200f \u061c \u2028 \ufeff",
        "\\u202etxt.exe\\u202c \\u2066x\\u2069 \\u200f \\u061c \\u2028 \\ufeff"},
    {"\xc0\x9b \xe0\x82\x9b \xed\xa0\x80 \xf5\x80\x80\x80 \xe7\x8c \xff",
        "\\xc0\\x9b \\xe0\\x82\\x9b \\xed\\xa0\\x80 \\xf5\\x80\\x80\\x80 \\xe7\\x8c \\xff"},
    {"\U000e0041", "\\ue0041"},
};
enum { ODD_TEXTS = sizeof odd_texts / sizeof *odd_texts };

static void keep_sentence(void *ctx, tutti_log_level level, const char *sentence)
{
    (void)level;
    snprintf(ctx, 256, "%s", sentence);
}

static void add_message(void *ctx, tutti_log_level level, const char *sentence)
{
    char *text = ctx;
    const size_t used = strlen(text);
    snprintf(text + used, 256 - used, "%d %s;", (int)level, sentence);
}

/* Of communication, and no others; in their order; what has no room is shown at once. */
START_TEST(errors_are_put_off)
{
    char shown[256] = "";
    tutti_log_to(add_message, shown);
    tutti_log_put_off();
    tutti_fail(TUTTI_ERR_COMM, "a");
    ck_assert_str_eq(tutti_last_error(), "a");
    tutti_log(TUTTI_LOG_WARN, "b");
    tutti_fail(TUTTI_ERR_IO, "c");
    tutti_log(TUTTI_LOG_ERROR, "d");
    tutti_fail(TUTTI_ERR_TIMEOUT, "e");
    ck_assert_str_eq(shown, "1 b;0 c;");
    tutti_log_resolve(TUTTI_LOG_ERROR);
    ck_assert_str_eq(shown, "1 b;0 c;0 a;0 d;0 e;");
    tutti_fail(TUTTI_ERR_COMM, "f");
    tutti_log_put_off();
    for (int i = 0; i < 17; i++) tutti_fail(TUTTI_ERR_COMM, "%d", i);
    tutti_log_resolve(TUTTI_LOG_DEBUG); /* which is hidden */
    tutti_log_resolve(TUTTI_LOG_ERROR);
    ck_assert_str_eq(shown, "1 b;0 c;0 a;0 d;0 e;0 f;0 16;");
    tutti_log_to(NULL, NULL);
}
END_TEST

START_TEST(control_characters_are_shown)
{
    char to[256], logged[256], *page;
    size_t size;
    tutti_log_to(keep_sentence, logged);
    for (int i = 0; i < ODD_TEXTS; i++) {
        const char *text = odd_texts[i].text, *shown = odd_texts[i].shown;
        char *own = tutti_text_shown(text);
        ck_assert_str_eq(tutti_text_show(text, to, sizeof to), shown);
        ck_assert_str_eq(own, shown);
        ck_assert_str_eq(tutti_text_show(own, to, sizeof to), shown); /* twice is as once */
        free(own);
        tutti_log(TUTTI_LOG_WARN, "%s", text);
        ck_assert_str_eq(logged, shown);
        tutti_fail(TUTTI_ERR_FORMAT, "%s", text);
        ck_assert_str_eq(logged, shown);
        ck_assert_str_eq(tutti_last_error(), shown);
        for (size_t room = 1; room < strlen(shown); room++)
            ck_assert_uint_lt(strlen(tutti_text_show(text, to, room)), room);
    }
    tutti_log_to(NULL, NULL);
    FILE *out = open_memstream(&page, &size);
    tutti_text_print(out, "\n\n%s|%s|%d\n", "a\nb\n", "", 7);
    tutti_text_print(out, "%s", "\n");
    tutti_text_markup(out, "<b a='\x1b'>&\"\u202e", 100);
    tutti_text_markup(out, "\u00e9\u00e9\u00e9", 2);
    fclose(out);
    ck_assert_str_eq(
        page, "\n\na\\nb\\n||7\n\\n&lt;b a=&#39;\\x1b&#39;&gt;&amp;&quot;\\u202e\u00e9\u00e9");
    free(page);
}
END_TEST

START_TEST(clones_by_default)
{
    static const char *const wrong[] = {"", "avx3", "avx2,avx512", " avx2"};
    ck_assert_int_eq(unsetenv("TUTTI_MAX_ISA"), 0);
    ck_assert_ok(tutti_isa_check());
    const tutti_isa widest = tutti_isa_chosen();
    ck_assert_int_lt(widest, TUTTI_ISAS);
    for (int isa = 0; isa < TUTTI_ISAS; isa++) {
        ck_assert_int_eq(setenv("TUTTI_MAX_ISA", tutti_isa_name((tutti_isa)isa), 1), 0);
        ck_assert_ok(tutti_isa_check());
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_int_eq(setenv("TUTTI_MAX_ISA", wrong[i], 1), 0);
        ck_assert_int_eq(tutti_isa_check(), TUTTI_ERR_USAGE);
    }
    ck_assert_int_eq(tutti_isa_chosen(), widest);
}
END_TEST

/* In another process, as the choice is made once. */
START_TEST(clones_below_a_limit)
{
    int status;
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (!child)
        _exit(setenv("TUTTI_MAX_ISA", "Default", 1) || tutti_isa_check() || tutti_isa_chosen());
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
END_TEST

static void *spin(void *unused)
{
    for (volatile unsigned i = 0;; i++) continue;
    return unused;
}

static pid_t start_child(int spins)
{
    pthread_t thread;
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child) return child;
    if (spins) pthread_create(&thread, NULL, spin, NULL);
    for (;;) pause();
}

/* In ten looks, at moments that a busy machine cannot choose: a thread that computes always wants a core. */
START_TEST(a_process_sleeps_if_all_its_threads_do)
{
    const pid_t idle = start_child(0), busy = start_child(1);
    tutti_clock_sleep(0.2);
    int sleeps = 0, spins = 0;
    for (int i = 0; i < 10; i++, tutti_clock_sleep(0.02)) {
        sleeps += tutti_process_sleeps(idle);
        spins += !tutti_process_sleeps(busy);
    }
    kill(idle, SIGKILL);
    kill(busy, SIGKILL);
    ck_assert_int_eq(waitpid(idle, NULL, 0), idle);
    ck_assert_int_eq(waitpid(busy, NULL, 0), busy);
    ck_assert_int_gt(sleeps, 0);
    ck_assert_int_eq(spins, 10);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base");
    TCase *tcase = testing_case(suite, "base");
    tcase_add_test(tcase, clones_below_a_limit); /* first: the choice has not been made here */
    tcase_add_test(tcase, every_status_has_words);
    tcase_add_test(tcase, a_number_that_is_no_type_is_unknown);
    tcase_add_test(tcase, philox_known_answers);
    tcase_add_test(tcase, philox_of_many);
    tcase_add_test(tcase, rng_moments);
    tcase_add_test(tcase, normal_numbers);
    tcase_add_test(tcase, normal_words);
    tcase_add_test(tcase, memory_notices_overflow);
    tcase_add_test(tcase, clock_moves_forward);
    tcase_add_test(tcase, medians);
    tcase_add_test(tcase, dtypes_have_sizes);
    tcase_add_test(tcase, numbers);
    tcase_add_test(tcase, control_characters_are_shown);
    tcase_add_test(tcase, errors_are_put_off);
    tcase_add_test(tcase, clones_by_default);
    tcase_add_test(tcase, a_process_sleeps_if_all_its_threads_do);
    return testing_run(suite);
}
