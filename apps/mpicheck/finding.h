/* What is wrong with a call, as seen by the rank that makes it. [A] */
#ifndef TUTTI_MPICHECK_FINDING_H
#define TUTTI_MPICHECK_FINDING_H

/* Reports a fault of the current call to the judge. `severity`: 'E' ends the program, 'W' is
 * printed. */
void mpicheck_finding(char severity, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* As above, for an earlier call of the MPI function `call` at `site`. */
void mpicheck_finding_at(char severity, const char *call, int site, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* An error of the current call, together with another call that is not complete: the report ends
 * with "of", that call and where it is. */
void mpicheck_finding_with(const char *call, int other_site, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
