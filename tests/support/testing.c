#include "tests/support/testing.h"

#include "dag/kernels/kernel.h"

#include <stdio.h>
#include <stdlib.h>

int testing_run(Suite *suite)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

TCase *testing_case(Suite *suite, const char *name)
{
    TCase *tcase = tcase_create(name);
    tcase_set_timeout(tcase, 0);
    suite_add_tcase(suite, tcase);
    return tcase;
}

const char *testing_source(const char *path)
{
    static char full[4096];
    const char *root = getenv("TUTTI_SRCDIR");
    snprintf(full, sizeof full, "%s/%s", root ? root : ".", path);
    return full;
}

void testing_left_out(const char *what, const char *why)
{
    printf("left out: %s: %s\n", what, why);
}

int testing_computes_bf16(const char *what)
{
    const char *fault = tutti_kernel_fault(TUTTI_BF16);
    char named[128];
    snprintf(named, sizeof named, "%s in bf16", what);
    if (fault) testing_left_out(named, fault);
    return !fault;
}

int testing_fewer(void)
{
    return getenv("TUTTI_TEST_FEWER") != NULL;
}

unsigned long testing_seed(unsigned long fallback)
{
    const char *text = getenv("TUTTI_TEST_SEED");
    unsigned long seed = text ? strtoul(text, NULL, 0) : fallback;
    printf("seed %lu (replay with TUTTI_TEST_SEED=%lu)\n", seed, seed);
    return seed;
}
