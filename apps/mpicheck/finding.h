/* What is wrong with a call, as the rank that makes it sees it. [A] */
#ifndef TUTTI_MPICHECK_FINDING_H
#define TUTTI_MPICHECK_FINDING_H

/* Says to the judge that something is wrong in the current call. `severity`: 'E' ends the program, 'W'
 * is printed. */
void mpicheck_finding(char severity, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* As above, for a call made earlier at `site` (of MPI function `call`). */
void mpicheck_finding_at(char severity, const char *call, int site, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
