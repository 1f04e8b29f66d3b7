/* The first judge of the deadlock suite: judge_check CASE...
 *
 * Gives each case to the static checker (designs/check/check.h) and prints a line of it, with tabs:
 * name, verdict, "check", what the checker says. Exits 1 when a verdict, or the clause that is
 * broken, is not the one that the case asks for, and 2 when a case cannot be read. */
#include "dag/base/log.h"
#include "tests/deadlock/rank.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns whether the checker agrees with the case; -1 when it cannot be judged. */
static int judge(const char *path)
{
    deadlock_case *c = NULL;
    tutti_check *check = NULL;
    tutti_verdict verdict;
    tutti_status status = deadlock_case_load(path, &c);
    if (!status) status = deadlock_check_new(c, &check);
    if (!status) status = tutti_check_judge(check, c->design, &verdict);
    int agrees = -1;
    if (!status) {
        const char *clause = tutti_clause_names[verdict.clause];
        agrees = c->nok ? !strcmp(clause, c->clause) : !verdict.clause;
        printf("%s\t%s\tcheck\t%s\n", c->name, verdict.clause ? "nok" : "ok", verdict.text);
        if (!agrees)
            fprintf(
                stderr, "judge_check: %s: wanted: %s %s\n", path, c->nok ? "nok" : "ok", c->clause);
    }
    tutti_check_free(check);
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
