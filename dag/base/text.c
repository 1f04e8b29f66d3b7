#include "dag/base/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 16 /* room for one character, or for what stands for it */ };

/* The bytes of the UTF-8 character at `at`, and its number; 0: these bytes are not a character. */
static int decode(const unsigned char *at, uint32_t *number)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const int length = *at < 0x80   ? 1
                       : *at < 0xc0 ? 0
                       : *at < 0xe0 ? 2
                       : *at < 0xf0 ? 3
                       : *at < 0xf8 ? 4
                                    : 0;
    *number = length < 2 ? *at : *at & (0x7fU >> length);
    for (int i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) return 0;
        *number = *number << 6 | (at[i] & 0x3f);
    }
    if (length && (*number < least[length] || *number > 0x10ffff)) return 0;
    return *number >= 0xd800 && *number < 0xe000 ? 0 : length;
}

/* Whether a terminal obeys it, in place of showing it. */
static int is_control(uint32_t c)
{
    return c < ' ' || (c >= 0x7f && c < 0xa0)                  /* C0, DEL, C1 */
           || c == 0x61c || c == 0x200e || c == 0x200f         /* marks of direction */
           || (c >= 0x2028 && c <= 0x202e)                     /* separators, overrides */
           || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff      /* isolates, invisible characters */
           || (c >= 0xfff9 && c <= 0xfffb) || c >> 8 == 0xe00; /* annotations, tags */
}

/* Shows the character at `at`; returns how many bytes it has. */
static int show(const char *at, char shown[SHOWN])
{
    uint32_t c;
    int length = decode((const unsigned char *)at, &c);
    if (length == 0)
        snprintf(shown, SHOWN, "\\x%02x", (unsigned)(unsigned char)*at);
    else if (!is_control(c))
        snprintf(shown, SHOWN, "%.*s", length, at);
    else if (c == '\n' || c == '\r' || c == '\t')
        snprintf(shown, SHOWN, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
    else
        snprintf(shown, SHOWN, c < 0x80 ? "\\x%02x" : "\\u%04x", (unsigned)c);
    return length ? length : 1;
}

char *tutti_text_show(const char *text, char *to, size_t size)
{
    char shown[SHOWN];
    size_t used = 0;
    while (*text && size) {
        text += show(text, shown);
        const size_t more = strlen(shown);
        if (used + more >= size) break;
        memcpy(to + used, shown, more);
        used += more;
    }
    if (size) to[used] = '\0';
    return to;
}

char *tutti_text_shown(const char *text)
{
    const size_t size = 4 * strlen(text) + 1; /* a byte becomes at most four */
    char *to = malloc(size);
    return to ? tutti_text_show(text, to, size) : NULL;
}

static void put_lines(FILE *out, size_t count)
{
    while (count--) fputc('\n', out);
}

void tutti_text_print(FILE *out, const char *format, ...)
{
    const size_t before = strspn(format, "\n");
    size_t behind = 0, length = strlen(format);
    while (behind < length - before && format[length - 1 - behind] == '\n') behind++;
    va_list args, again;
    char shown[SHOWN];
    va_start(args, format);
    va_copy(again, args);
    const int bytes = vsnprintf(NULL, 0, format, args);
    char *text = bytes < 0 ? NULL : malloc((size_t)bytes + 1);
    if (text) vsnprintf(text, (size_t)bytes + 1, format, again);
    va_end(again);
    va_end(args);
    if (!text) return;
    put_lines(out, before);
    text[(size_t)bytes - behind] = '\0';
    for (const char *at = text + before; *at; fputs(shown, out)) at += show(at, shown);
    put_lines(out, behind);
    free(text);
}

void tutti_text_markup(FILE *out, const char *text, size_t most)
{
    char shown[SHOWN];
    for (; *text && most; most--) {
        text += show(text, shown);
        fputs(*shown == '&'    ? "&amp;"
              : *shown == '<'  ? "&lt;"
              : *shown == '>'  ? "&gt;"
              : *shown == '"'  ? "&quot;"
              : *shown == '\'' ? "&#39;"
                               : shown,
            out);
    }
}
