#include "tests/deadlock/words.h"

#include "dag/base/log.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tutti_status case_refuse(const case_words *words, const char *format, ...)
{
    char sentence[512];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    return tutti_fail(TUTTI_ERR_FORMAT, "%s:%d: %s", words->path, words->line, sentence);
}

char *case_next_word(case_words *words)
{
    char *word = words->rest + strspn(words->rest, " \t");
    if (!*word) return NULL;
    words->rest = word + strcspn(word, " \t");
    if (*words->rest) *words->rest++ = '\0';
    return word;
}

tutti_status case_read_number(
    const case_words *words, const char *what, const char *word, long low, long high, long *number)
{
    if (!word)
        return case_refuse(words, "%s: a number from %ld to %ld is missing", what, low, high);
    char *end;
    errno = 0;
    long value = strtol(word, &end, 10);
    if (!isdigit((unsigned char)*word) || *end || errno || value < low || value > high)
        return case_refuse(
            words, "%s: '%.40s' is no number from %ld to %ld", what, word, low, high);
    *number = value;
    return TUTTI_OK;
}

tutti_status case_read_int(case_words *words, const char *what, long low, long high, int *value)
{
    long number;
    tutti_status status = case_read_number(words, what, case_next_word(words), low, high, &number);
    if (!status) *value = (int)number;
    return status;
}

tutti_status case_read_name(case_words *words, const char *what, size_t longest, const char **name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const char *word = case_next_word(words);
    if (!word) return case_refuse(words, "%s: a name is missing", what);
    size_t length = strspn(word, letters);
    if (word[length] || length > longest)
        return case_refuse(words, "%s: '%.40s' is no name (letters, digits and '_', at most %zu)",
            what, word, longest);
    *name = word;
    return TUTTI_OK;
}

int case_find_name(const char *const names[], const char *word)
{
    for (int i = 0; names[i]; i++)
        if (!strcmp(names[i], word)) return i;
    return -1;
}

tutti_status case_read_choice(const case_words *words, const char *what, const char *word,
    const char *const names[], int *choice)
{
    char known[256] = "";
    *choice = word ? case_find_name(names, word) : -1;
    if (*choice >= 0) return TUTTI_OK;
    for (int i = 0; names[i]; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", names[i]);
    }
    return case_refuse(words, "%s: '%.40s' is not known; known: %s", what, word ? word : "", known);
}
