/* Reads the settings of a program (dag/base/setting.h).
 *
 * A value comes from the command line (`--batch 8` or `--batch=8`; the last one counts), else from
 * the setting's environment variable, else from `fallback`. All three are checked in the same way,
 * and an empty value is an error. dag/base/number.h says what counts as a number. --help and
 * --version are built in. An error names the option or variable, the value, what would be
 * accepted, and what was probably meant. Once a command line is parsed, every later error and
 * warning of the process names the origin of a setting, too (dag/base/origin.h).
 *
 * Threads: parse is [M] (getopt_long keeps its place in globals); the rest is [P]. Nothing here
 * exits. */
#ifndef TUTTI_CONF_H
#define TUTTI_CONF_H

#include "dag/base/setting.h"
#include "dag/base/status.h"

#include <stdint.h>

/* Where a value came from. */
typedef enum tutti_conf_origin {
    TUTTI_CONF_FROM_FALLBACK,
    TUTTI_CONF_FROM_ENVIRONMENT,
    TUTTI_CONF_FROM_OPTION,
} tutti_conf_origin;

/* What the command line asks for. */
typedef struct tutti_conf_wish {
    enum { TUTTI_CONF_RUN, TUTTI_CONF_HELP, TUTTI_CONF_VERSION } what;
    const char *topic; /* of HELP, as in tutti_conf_print_help */
} tutti_conf_wish;

/* The number, or `otherwise` for a word. [P] */
static inline int64_t tutti_conf_int_or(tutti_conf_int setting, int64_t otherwise)
{
    return setting.word ? otherwise : setting.value;
}

static inline double tutti_conf_real_or(tutti_conf_real setting, double otherwise)
{
    return setting.word ? otherwise : setting.value;
}

/* Converts a setting in MB (10^6 bytes) to bytes; -1 for a word. [P] */
int64_t tutti_conf_bytes(tutti_conf_real megabytes);

/* Fills `values` (text is borrowed from argv, the environment and the table) and, unless NULL,
 * origin[row]. With --help or --version nothing else is checked. On failure every value is its
 * fallback. USAGE (logged): unknown option, bad or missing value, stray argument. NOMEM. */
tutti_status tutti_conf_parse(const tutti_conf *conf, int argc, char *const argv[], void *values,
    tutti_conf_origin origin[], tutti_conf_wish *wish);

/* For a function without a command line: stores the environment's values, else the fallbacks, in
 * `values`. Its caller gives the rows whose origin[row] is FROM_OPTION: they keep their fallbacks,
 * and their variables are not read. The other origins are set. origin NULL: no row is given. USAGE:
 * a bad value (logged, with the program's name and the variable); then every value is its fallback.
 * [A] */
tutti_status tutti_conf_environment(
    const tutti_conf *conf, void *values, tutti_conf_origin origin[]);

/* Answers --help and --version on stdout. *run: whether the command line asks for neither. USAGE
 * (logged): no such topic. */
tutti_status tutti_conf_answer(const tutti_conf *conf, const tutti_conf_wish *wish, int *run);
/* tutti_conf_parse, then tutti_conf_answer. */
tutti_status tutti_conf_start(
    const tutti_conf *conf, int argc, char *const argv[], void *values, int *run);

/* Logs "--NAME VALUE: REASON (see PROGRAM --help)", or "VARIABLE='VALUE': ...", and returns USAGE: for
 * checks that need more than one setting. value NULL: a flag. */
tutti_status tutti_conf_refuse(
    const tutti_conf *conf, const char *name, const char *value, const char *reason);

/* Every setting but the LOCAL ones as "name=value" lines in table order; equal settings give equal
 * text. The caller frees it. NULL when memory runs out. */
char *tutti_conf_text(const tutti_conf *conf, const void *values);

/* The first setting in which two such texts differ, truncated to fit. */
typedef struct tutti_conf_difference {
    char name[64], a[256], b[256];
} tutti_conf_difference;

/* 1 and the difference, or 0 when the texts are equal. */
int tutti_conf_compare(const char *a, const char *b, tutti_conf_difference *difference);

#endif
