/* apps/train/finite and again: numbers that are not finite are found at any position; a command line is printed so
 * that a shell reads the same words. */
#include "apps/train/again.h"
#include "apps/train/finite.h"
#include "tests/support/testing.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

START_TEST(one_bad_number)
{
    enum { MOST = 3000 };
    static float data[MOST];
    static const float bad[] = {NAN, INFINITY, -INFINITY},
                       good[] = {FLT_MAX, -FLT_MAX, FLT_MIN / 4};
    for (int i = 0; i < MOST; i++) data[i] = good[i % 3];
    for (int64_t count = 0; count <= MOST; count += count < 3 ? 1 : 333)
        ck_assert(tutti_finite_block(data, count));
    for (int64_t at = 0; at < MOST; at += 37)
        for (int k = 0; k < 3; k++) {
            float kept = data[at];
            data[at] = bad[k];
            ck_assert(!tutti_finite_block(data, at + 1));
            ck_assert(tutti_finite_block(data, at));
            ck_assert(!tutti_finite_block(data, MOST));
            data[at] = kept;
        }
}
END_TEST

START_TEST(a_command_line)
{
    char *const words[] = {"mpirun", "-np", "2", "tutti-cifar", "--data", "my data", "--resume",
        "old", "--resume=older", "--json", "it's", "", "$HOME", "--lr=0.1"};
    char *text = tutti_again_text(sizeof words / sizeof *words, words, "a b");
    ck_assert_str_eq(text, "mpirun -np 2 tutti-cifar --data 'my data' --json 'it'\\''s' '' '$HOME' "
                           "--lr=0.1 --resume 'a b'");
    free(text);
    char *const odd[] = {"tutti-cifar", "--data", "\x1b[2J'\\\n"};
    text = tutti_again_text(sizeof odd / sizeof *odd, odd, "a");
    ck_assert_str_eq(text, "tutti-cifar --data $'\\033[2J\\'\\\\\\012' --resume a");
    free(text);
    char *const argv[] = {"no-such-program", "--data", "x", NULL};
    text = tutti_again_command(argv, 4, "file");
    ck_assert_str_eq(text, "mpirun -np 4 no-such-program --data x --resume file");
    free(text);
    text = tutti_again_command(argv, 0, "file");
    ck_assert_str_eq(text, "no-such-program --data x --resume file # under tutti-run --elastic, "
                           "with its options as before");
    free(text);
    text = tutti_again_command(argv, 1, "file");
    ck_assert_str_eq(text, "no-such-program --data x --resume file");
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("finite");
    TCase *tcase = testing_case(suite, "finite");
    tcase_add_test(tcase, one_bad_number);
    tcase_add_test(tcase, a_command_line);
    return testing_run(suite);
}
