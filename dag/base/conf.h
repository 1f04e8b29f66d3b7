/* Settings of a program as a table: GNU long options, environment variables, defaults, ranges and
 * help in one place.
 *
 *     struct values { int64_t batch; const char *design; int augment; };
 *     static const tutti_setting settings[] = {
 *         {TUTTI_CONF_HEADING, .help = "Training"},
 *         {TUTTI_CONF_INT, "batch", "N", .fallback = "64", .low = 1, .high = 65536,
 *             .offset = offsetof(struct values, batch), .help = "images per rank and step"},
 *         {0}};
 *
 * A value comes from the command line (`--batch 8` or `--batch=8`; the last one counts), else from
 * the setting's environment variable, else from `fallback`. All three are checked in the same way,
 * and an empty value is an error. dag/base/number.h says what counts as a number. --help and
 * --version are built in. An error names the option or variable, the value, and what would be
 * accepted. Once a command line is parsed, every later error and warning of the process names the
 * origin of a setting, too (dag/base/origin.h).
 *
 * Threads: parse is [M] (getopt_long keeps its place in globals); the rest is [P]. Nothing here
 * exits. */
#ifndef TUTTI_CONF_H
#define TUTTI_CONF_H

#include "dag/base/status.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum tutti_conf_kind {
    TUTTI_CONF_END,     /* ends the table */
    TUTTI_CONF_HEADING, /* for --help only: the title of the rows below it */
    TUTTI_CONF_FLAG,    /* int: 1 when given; --NAME=0 turns it off (in the environment: 0 or 1) */
    TUTTI_CONF_INT,     /* int64_t in [low, high] */
    TUTTI_CONF_REAL,    /* double in [low, high] */
    TUTTI_CONF_INT_OR,  /* tutti_conf_int: the same, or one of `words` */
    TUTTI_CONF_REAL_OR, /* tutti_conf_real: the same, or one of `words` */
    TUTTI_CONF_TEXT,    /* const char *, NULL without a fallback; not empty */
    /* const char *: the string of choice() that equals it; NULL without a fallback */
    TUTTI_CONF_CHOICE,
} tutti_conf_kind;

enum {
    TUTTI_CONF_REQUIRED = 1, /* must be given */
    TUTTI_CONF_LOCAL = 2,    /* may differ between ranks: left out of tutti_conf_text */
    /* TEXT, at most one row: the argument that is not an option. With `high` N above 1 there may be
     * up to N of them: const char *[N + 1], NULL-terminated. */
    TUTTI_CONF_OPERAND = 4,
};

/* For settings that take a number or a word: `--lr 0.1` or `--lr auto`. No number stands for a
 * word. */
enum { TUTTI_CONF_WORDS = 2, TUTTI_CONF_AUTO = 1 /* where the first word is "auto" */ };

typedef struct tutti_conf_int {
    int word; /* 0: `value` counts; 1: the first of the setting's words, 2: the second */
    int64_t value;
} tutti_conf_int;

typedef struct tutti_conf_real {
    int word;
    double value;
} tutti_conf_real;

typedef struct tutti_setting {
    tutti_conf_kind kind;
    const char *name;     /* "batch" is --batch */
    const char *argument; /* "N", for --help */
    const char *fallback; /* the default as text; NULL: 0 or NULL */
    const char *source;   /* who says so, such as "recipe goyal"; NULL: the program */
    double low, high;
    const char *words[TUTTI_CONF_WORDS]; /* accepted in place of a number, see INT_OR */
    /* name of choice `index`, called from 0 on; NULL after the last */
    const char *(*choice)(int index);
    int (*takes)(const char *text); /* CHOICE: whether it also takes this text; NULL: no other */
    const char *environment; /* NULL: none */
    const char *help;        /* without default and range, which --help adds */
    int flags;
    size_t offset; /* of the value in the struct given to parse */
} tutti_setting;

typedef struct tutti_conf {
    const char *program; /* "tutti-cifar" */
    /* what follows the program's name: "--data DIR [OPTION]..."; NULL: the program has no options,
     * see tutti_conf_environment */
    const char *usage;
    const char *summary;  /* what the program does, for --help */
    const char *epilogue; /* after the options; may be NULL */
    const char *version;  /* "0.1.0" */
    const tutti_setting *settings;
} tutti_conf;

/* Where a value came from. */
typedef enum tutti_conf_origin {
    TUTTI_CONF_FROM_FALLBACK,
    TUTTI_CONF_FROM_ENVIRONMENT,
    TUTTI_CONF_FROM_OPTION,
} tutti_conf_origin;

/* What the command line asks for. */
typedef enum tutti_conf_wish {
    TUTTI_CONF_RUN,
    TUTTI_CONF_HELP,
    TUTTI_CONF_VERSION
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

/* As tutti_conf_parse, and answers --help and --version on stdout. *run: whether to go on. */
tutti_status tutti_conf_start(
    const tutti_conf *conf, int argc, char *const argv[], void *values, int *run);

/* What --help and --version print. */
void tutti_conf_print_help(const tutti_conf *conf, FILE *out);
void tutti_conf_print_version(const tutti_conf *conf, FILE *out);

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
