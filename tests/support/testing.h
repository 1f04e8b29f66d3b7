/* Shared by every Check program of this tree: one process (StarPU and MPI do not survive a fork),
 * no output on success. */
#ifndef TUTTI_TESTING_H
#define TUTTI_TESTING_H

#include "dag/base/status.h"

#include <check.h>
#include <stdlib.h>

/* Check's own notes in a file where each assertion is that holds, for a test that a signal ends; in loops over
 * elements that takes more time than what is tested. This one writes nothing until it fails; where a process
 * ended, the guard shows. */
#undef ck_assert_msg
#define ck_assert_msg(expr, ...)                                                                   \
    ((expr) ? (void)0                                                                              \
            : (_ck_assert_failed(                                                                  \
                   __FILE__, __LINE__, "Assertion '" #expr "' failed", ##__VA_ARGS__),             \
                  abort())) /* it jumps back into Check, but is not declared so */

/* Runs the suite in this process and returns main's exit status. Frees the suite. */
int testing_run(Suite *suite);

/* A Check test case without its own time limit (the guard has one). */
TCase *testing_case(Suite *suite, const char *name);

/* Fails the test with the status's name. */
#define ck_assert_ok(expression)                                                                   \
    do {                                                                                           \
        tutti_status ck_status = (expression);                                                     \
        ck_assert_msg(ck_status == TUTTI_OK, "%s: %s", #expression, tutti_status_name(ck_status)); \
    } while (0)

/* A file of the source tree: "tests/golden/x" -> absolute path, in static storage. */
const char *testing_source(const char *path);

/* The seed of a random test: TUTTI_TEST_SEED, or `fallback`; printed, so that a failure can be
 * replayed. */
unsigned long testing_seed(unsigned long fallback);

/* Says that this machine cannot run a part of the test; tests/support/left_out.sh lists these lines. */
void testing_left_out(const char *what, const char *why);
/* Whether this processor computes in bf16. If not, `what` is left out in bf16. */
int testing_computes_bf16(const char *what);

/* Whether TUTTI_TEST_FEWER is set: where memory and threads are looked at, what repeats a computation or tries every
 * order of it is cut short. */
int testing_fewer(void);

#endif
