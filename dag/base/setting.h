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
 * dag/base/conf.h reads them. [P] */
#ifndef TUTTI_SETTING_H
#define TUTTI_SETTING_H

#include <stddef.h>
#include <stdint.h>

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
enum { TUTTI_CONF_WORDS = 3, TUTTI_CONF_AUTO = 1 /* where the first word is "auto" */ };

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
    const char
        *words[TUTTI_CONF_WORDS]; /* accepted in place of a number, see INT_OR; or the choices */
    /* name of choice `index`, called from 0 on; NULL after the last. NULL: the choices are `words` */
    const char *(*choice)(int index);
    int (*takes)(const char *text); /* CHOICE: whether it also takes this text; NULL: no other */
    const char *environment; /* NULL: none */
    const char *help;        /* without default and range, which --help adds */
    int flags;
    size_t offset; /* of the value in the struct given to parse */
} tutti_setting;

/* The i-th choice, from 0; NULL after the last. [P] */
static inline const char *tutti_setting_choice(const tutti_setting *setting, int i)
{
    if (setting->choice) return setting->choice(i);
    return i < TUTTI_CONF_WORDS ? setting->words[i] : NULL;
}

/* What --help says first, where a program has many settings: a line for each of those that most
 * runs need. */
typedef struct tutti_conf_brief {
    /* of a setting; help NULL: its own, up to the first semicolon or parenthesis; a row without a
     * name is the last */
    const char *name, *help;
} tutti_conf_brief;

typedef struct tutti_conf {
    const char *program; /* "tutti-cifar" */
    /* what follows the program's name: "--data DIR [OPTION]..."; NULL: the program has no options,
     * see tutti_conf_environment */
    const char *usage;
    const char *summary;  /* what the program does, for --help */
    const char *epilogue; /* after the options; may be NULL */
    const tutti_setting *settings;
    const tutti_conf_brief *brief; /* NULL: --help says all */
} tutti_conf;

#endif
