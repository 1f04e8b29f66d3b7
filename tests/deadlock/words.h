/* Lines of a case file as words, for the parser in tests/deadlock/case.c. [P] */
#ifndef TUTTI_DEADLOCK_WORDS_H
#define TUTTI_DEADLOCK_WORDS_H

#include "dag/base/status.h"

#include <stddef.h>

typedef struct case_words {
    const char *path; /* of the file, for messages */
    int line;         /* from 1 */
    char *rest;       /* the unread part of the line; words are terminated in place */
} case_words;

/* FORMAT, logged as "path:line: sentence". */
tutti_status case_refuse(const case_words *words, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The next word; NULL at the end of the line. */
char *case_next_word(case_words *words);

/* A word (NULL: missing) as a whole number from low to high; `what` is for the message. */
tutti_status case_read_number(
    const case_words *words, const char *what, const char *word, long low, long high, long *number);
/* The next word as such a number. */
tutti_status case_read_int(case_words *words, const char *what, long low, long high, int *value);
/* The next word as a name: letters, digits, '_', at most `longest` of them. */
tutti_status case_read_name(case_words *words, const char *what, size_t longest, const char **name);

/* The row of a NULL-terminated table that holds the word, or -1. */
int case_find_name(const char *const names[], const char *word);
/* The same, but refuses an unknown word and lists the known ones. word NULL: missing. */
tutti_status case_read_choice(const case_words *words, const char *what, const char *word,
    const char *const names[], int *choice);

#endif
