/* The first judge of the deadlock suite: oracle_check CASE...
 *
 * Passes each case to the static checker (designs/check/check.h) and prints one line, separated by tabs:
 * name, verdict, "check", the checker's message. Exits with 1 if a verdict or the broken clause is not
 * the one that the case expects, and with 2 if a case cannot be read. */
#include "dag/base/log.h"
#include "tests/deadlock/kv_check.h"
#include "tests/deadlock/rank.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of keys: who waits for whom. */
static tutti_status check_case(const deadlock_case *c, tutti_verdict *verdict)
{
    tutti_check *check = NULL;
    if (c->kv.servers) {
        kv_check(&c->kv, verdict);
        return TUTTI_OK;
    }
    tutti_status status = deadlock_check_new(c, &check);
    if (!status) status = tutti_check_judge(check, c->design, verdict);
    tutti_check_free(check);
    return status;
}

/* Returns whether the checker agrees with the case; -1 if it cannot be judged. */
static int judge(const char *path)
{
    deadlock_case *c = NULL;
    tutti_verdict verdict;
    tutti_status status = deadlock_case_load(path, &c);
    if (!status) status = check_case(c, &verdict);
    int agrees = -1;
    if (!status) {
        const char *clause = tutti_clause_names[verdict.clause];
        agrees = c->nok ? !strcmp(clause, c->clause) : !verdict.clause;
        printf("%s\t%s\tcheck\t%s\n", c->name, verdict.clause ? "nok" : "ok", verdict.text);
        if (!agrees)
            fprintf(stderr, "oracle_check: %s: wanted: %s %s\n", path, c->nok ? "nok" : "ok",
                c->clause);
    }
    free(c);
    return agrees;
}

int main(int argc, char **argv)
{
    int worst = EXIT_SUCCESS;
    for (int i = 1; i < argc; i++) {
        int agrees = judge(argv[i]);
        if (agrees < 0) worst = 2;
        if (!agrees && !worst) worst = EXIT_FAILURE;
    }
    return worst;
}
