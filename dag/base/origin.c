#include "dag/base/origin.h"

#include <string.h>

enum { MOST = 256 };

static struct {
    const char *option, *text;
    tutti_origin origin;
} origins[MOST];
static int count;

void tutti_origin_clear(void)
{
    count = 0;
}

void tutti_origin_add(const char *option, tutti_origin origin, const char *text)
{
    if (count == MOST) return;
    origins[count].option = option;
    origins[count].origin = origin;
    origins[count++].text = text;
}

/* The entry of an option with a name of this length; -1: it came from the command line. */
static int find(const char *option, size_t length)
{
    int i = count - 1;
    while (i >= 0 && (strncmp(origins[i].option, option, length) || origins[i].option[length])) i--;
    return i;
}

static const char option_letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

/* The length of the option's name after the "--" at `at`; 0 if no option begins there. */
static size_t option_length(const char *sentence, const char *at)
{
    if (strncmp(at, "--", 2) != 0) return 0;
    if (at > sentence && (at[-1] == '/' || strchr(option_letters, at[-1]))) return 0;
    return strspn(at + 2, option_letters);
}

/* Advice names options, which count more than variables: "use --device cpu". */
static int advises(const char *sentence, const char *at)
{
    static const char *const before[] = {"use ", "add ", "or "};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        const size_t n = strlen(before[i]);
        if ((size_t)(at - sentence) >= n && !strncmp(at - n, before[i], n)) return 1;
    }
    return 0;
}

static void append(char *text, size_t size, size_t *used, const char *more)
{
    for (; *more && *used + 1 < size; more++) text[(*used)++] = *more;
    text[*used] = '\0';
}

/* " 8: must be" behind a variable's name as "='8': must be". Returns what follows the value. */
static const char *quote_value(const char *at, char *worded, size_t size, size_t *used)
{
    const size_t length = *at == ' ' ? strcspn(at + 1, " ") : 0;
    if (length < 1 || at[length] != ':') return at;
    append(worded, size, used, "='");
    for (const char *v = at + 1; v < at + length; v++)
        append(worded, size, used, (char[]){*v, '\0'});
    append(worded, size, used, "'");
    return at + length;
}

void tutti_origin_word(const char *sentence, char *worded, size_t size)
{
    size_t used = 0;
    worded[0] = '\0';
    for (const char *at = sentence; *at;) {
        const size_t length = option_length(sentence, at);
        const int i = length && !advises(sentence, at) ? find(at + 2, length) : -1;
        if (i >= 0 && origins[i].origin == TUTTI_ORIGIN_VARIABLE) {
            append(worded, size, &used, origins[i].text);
            at += 2 + length;
            if (at == sentence + 2 + length) at = quote_value(at, worded, size, &used);
            continue;
        }
        if (i >= 0 && at == sentence && origins[i].origin == TUTTI_ORIGIN_SOURCE) {
            append(worded, size, &used, origins[i].text);
            append(worded, size, &used, "'s ");
        } else if (i >= 0 && at == sentence) {
            append(worded, size, &used, "the default ");
        }
        append(worded, size, &used, (char[]){*at++, '\0'});
    }
}
