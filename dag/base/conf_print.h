/* What a table of settings says of itself: --help, what a value must be, and what was meant. [P] */
#ifndef TUTTI_CONF_PRINT_H
#define TUTTI_CONF_PRINT_H

#include "dag/base/setting.h"

#include <stdio.h>

/* Whether a setting takes whole numbers, or numbers with fractions. */
int tutti_conf_is_int(const tutti_setting *setting);
int tutti_conf_is_real(const tutti_setting *setting);
/* "must be an integer from 1 to 64", of a value that reads otherwise. */
void tutti_conf_print_expected(const tutti_setting *setting, const char *text, FILE *out);
/* "; did you mean --batch?", of an option that does not exist ("--batch-size=8"); nothing if no option is like it. */
void tutti_conf_print_suggestion(const tutti_conf *conf, const char *option, FILE *out);

/* "; did you mean conv1 or conv2?", of a word that is not among these; nothing if none is like it. */
void tutti_conf_print_nearest(const char *written, int words, const char *const word[], FILE *out);

/* What `--help TOPIC` prints: NULL: the program in short; "all"; the first word of a heading: the
 * settings below it; a setting's name; "completion": a row for each word, for shells (below).
 * Returns 0, and prints nothing, if there is no such topic. */
int tutti_conf_print_help(const tutti_conf *conf, const char *topic, FILE *out);
/* A row that install/completion.bash and install/completion.zsh read, with tabs between its parts:
 * what may be written ("--batch"; "-": an argument that is not an option); "flag", "value", "file"
 * (its value may be one), or "command"; the words that the value may be, with blanks between them;
 * what it is for. */
void tutti_conf_print_completion(
    const char *word, const char *kind, const char *words, const char *help, FILE *out);
/* What --version prints. */
void tutti_conf_print_version(const tutti_conf *conf, FILE *out);

#endif
