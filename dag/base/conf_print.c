#include "dag/base/conf_print.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/version.h>

static int is_value(const tutti_setting *setting)
{
    return setting->kind > TUTTI_CONF_HEADING;
}

/* The accepted words, separated by commas. */
static void print_choices(const tutti_setting *setting, FILE *out)
{
    const char *name;
    for (int i = 0; (name = tutti_setting_choice(setting, i)); i++)
        fprintf(out, "%s%s", i ? ", " : "", name);
}

int tutti_conf_is_int(const tutti_setting *setting)
{
    return setting->kind == TUTTI_CONF_INT || setting->kind == TUTTI_CONF_INT_OR;
}

int tutti_conf_is_real(const tutti_setting *setting)
{
    return setting->kind == TUTTI_CONF_REAL || setting->kind == TUTTI_CONF_REAL_OR;
}

/* "1 to 64 or auto", "1 to 64, end or never" */
static void print_range(const tutti_setting *s, FILE *out)
{
    if (tutti_conf_is_int(s))
        fprintf(out, "%.0f to %.0f", s->low, s->high);
    else
        fprintf(out, "%.9g to %.9g", s->low, s->high);
    for (int i = 0; i < TUTTI_CONF_WORDS && s->words[i]; i++) {
        int last = i == TUTTI_CONF_WORDS - 1 || !s->words[i + 1];
        fprintf(out, "%s%s", last ? " or " : ", ", s->words[i]);
    }
}

/* ---- what was meant ---- */

enum { LONGEST = 64, SUGGESTIONS = 3 };

/* How many characters have to be changed, added, removed or swapped with the next to make one word of the
 * other (Damerau, "A technique for computer detection and correction of spelling errors", 1964). */
static int distance(const char *a, const char *b)
{
    const int n = (int)strlen(a), m = (int)strlen(b);
    int row[3][LONGEST + 1];
    if (n > LONGEST || m > LONGEST) return LONGEST;
    for (int j = 0; j <= m; j++) row[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *now = row[i % 3], *before = row[(i + 2) % 3], *twice = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= m; j++) {
            int least = before[j - 1] + (a[i - 1] != b[j - 1]);
            if (before[j] + 1 < least) least = before[j] + 1;
            if (now[j - 1] + 1 < least) least = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                twice[j - 2] + 1 < least)
                least = twice[j - 2] + 1;
            now[j] = least;
        }
    }
    return row[n % 3][m];
}

/* How far a word is from what was written, less than LONGEST if it may have been meant: one begins with the other, or a
 * third of it is wrong at most. */
static int farness(const char *written, const char *word)
{
    const size_t n = strlen(written), m = strlen(word), shorter = n < m ? n : m;
    if (shorter > 2 && !strncmp(written, word, shorter)) return 1;
    const int d = distance(written, word);
    return d <= (int)shorter / 3 ? d : LONGEST;
}

/* The words that are nearest, up to some. */
typedef struct nearest {
    const char *word[SUGGESTIONS];
    int words, far;
} nearest;

static void consider(nearest *n, const char *written, const char *word)
{
    const int far = farness(written, word);
    if (far >= LONGEST || (n->words && far > n->far)) return;
    if (far < n->far) n->words = 0;
    n->far = far;
    if (n->words < SUGGESTIONS) n->word[n->words++] = word;
}

static void print_nearest(const nearest *n, const char *before, FILE *out)
{
    for (int i = 0; i < n->words; i++)
        fprintf(out, "%s%s%s", i == 0 ? "; did you mean " : i == n->words - 1 ? " or " : ", ",
            before, n->word[i]);
    if (n->words) fputc('?', out);
}

void tutti_conf_print_suggestion(const tutti_conf *conf, const char *option, FILE *out)
{
    nearest n = {0};
    char name[LONGEST + 1];
    option += strspn(option, "-");
    snprintf(name, sizeof name, "%.*s", (int)strcspn(option, "="), option);
    for (const tutti_setting *s = conf->settings; *name && s->kind != TUTTI_CONF_END; s++)
        if (is_value(s) && !(s->flags & TUTTI_CONF_OPERAND)) consider(&n, name, s->name);
    print_nearest(&n, "--", out);
}

void tutti_conf_print_nearest(const char *written, int words, const char *const word[], FILE *out)
{
    nearest n = {0};
    for (int i = 0; i < words; i++) consider(&n, written, word[i]);
    print_nearest(&n, "", out);
}

static void suggest_choice(const tutti_setting *setting, const char *text, FILE *out)
{
    const char *name;
    nearest n = {0};
    for (int i = 0; (name = tutti_setting_choice(setting, i)); i++) consider(&n, text, name);
    print_nearest(&n, "", out);
}

void tutti_conf_print_expected(const tutti_setting *setting, const char *text, FILE *out)
{
    switch (setting->kind) {
    case TUTTI_CONF_FLAG:
        fputs("must be 0 or 1", out);
        break;
    case TUTTI_CONF_INT:
    case TUTTI_CONF_INT_OR:
    case TUTTI_CONF_REAL:
    case TUTTI_CONF_REAL_OR:
        fputs(tutti_conf_is_int(setting) ? "must be an integer from " : "must be a number from ", out);
        print_range(setting, out);
        break;
    case TUTTI_CONF_CHOICE:
        fprintf(out, "unknown %s; known: ", setting->name);
        print_choices(setting, out);
        suggest_choice(setting, text, out);
        break;
    default:
        fputs("must not be empty", out);
    }
}

/* ---- help ---- */

enum { HELP_WIDTH = 79, HELP_INDENT = 26 };

/* Writes `text`, wrapped between words, from `column` on; further lines begin at `indent`. */
static void print_wrapped(const char *text, int column, int indent, FILE *out)
{
    while (*text) {
        int length = (int)strcspn(text, " \n");
        int fits = column + (column > indent) + length <= HELP_WIDTH;
        if (column > indent && !fits) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", length, text);
        column += length;
        text += length;
        text += strspn(text, " \n");
    }
    fputc('\n', out);
}

/* "images per rank and step (1 to 64; default 8; TUTTI_BATCH)" */
static void print_full_help(const tutti_setting *s, FILE *out)
{
    const char *before = " (";
    fputs(s->help, out);
    if (s->flags & TUTTI_CONF_REQUIRED) fprintf(out, "%srequired", before), before = "; ";
    if (s->kind == TUTTI_CONF_CHOICE) {
        fputs(before, out);
        print_choices(s, out);
        before = "; ";
    } else if (tutti_conf_is_int(s) || tutti_conf_is_real(s)) {
        fputs(before, out);
        print_range(s, out);
        before = "; ";
    }
    if (s->fallback) fprintf(out, "%sdefault %s", before, s->fallback), before = "; ";
    if (s->environment) fprintf(out, "%senvironment %s", before, s->environment), before = "; ";
    if (*before == ';') fputc(')', out);
}

static void print_row(const char *option, const char *text, FILE *out)
{
    int column = fprintf(out, "  %s", option);
    if (column > HELP_INDENT - 2) {
        fputc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", HELP_INDENT - column, "");
    print_wrapped(text, HELP_INDENT, HELP_INDENT, out);
}

static void print_setting(const tutti_setting *s, FILE *out)
{
    if (!is_value(s)) {
        fprintf(out, "\n%s:\n", s->help);
        return;
    }
    char option[128], text[2048] = "";
    int operand = s->flags & TUTTI_CONF_OPERAND;
    snprintf(option, sizeof option, "%s%s%s%s", operand ? "" : "--", operand ? "" : s->name,
        s->argument && !operand ? " " : "", s->argument ? s->argument : "");
    FILE *buffer = fmemopen(text, sizeof text, "w");
    if (buffer) {
        print_full_help(s, buffer);
        fclose(buffer);
    }
    print_row(option, text, out);
}

/* "images per rank and step (default 8)" */
static void print_brief(const tutti_setting *s, const char *brief, FILE *out)
{
    char option[128], text[512];
    snprintf(option, sizeof option, "--%s%s%s", s->name, s->argument ? " " : "",
        s->argument ? s->argument : "");
    if (!brief) brief = s->help;
    snprintf(text, sizeof text, "%.*s%s%s%s", (int)strcspn(brief, ";("), brief,
        s->fallback ? " (" : "", s->fallback ? s->fallback : "", s->fallback ? ")" : "");
    print_row(option, text, out);
}

/* "data", the first word of "Data and labels". */
static int is_section(const tutti_setting *s, const char *topic)
{
    const size_t n = strcspn(s->help, " ");
    return s->kind == TUTTI_CONF_HEADING && strlen(topic) == n && !strncasecmp(s->help, topic, n);
}

static void print_topics(const tutti_conf *conf, FILE *out)
{
    char sections[512] = "the options of a section:", one[128];
    for (const tutti_setting *s = conf->settings; s->kind != TUTTI_CONF_END; s++) {
        const size_t at = strlen(sections);
        if (s->kind != TUTTI_CONF_HEADING) continue;
        snprintf(sections + at, sizeof sections - at, "%s %.*s", sections[at - 1] == ':' ? "" : ",",
            (int)strcspn(s->help, " "), s->help);
        for (char *c = sections + at; *c; c++) *c = (char)tolower((unsigned char)*c);
    }
    fputs("\nMore:\n", out);
    print_row("--help all", "every option, with range, default and variable", out);
    if (strchr(sections, ':')[1]) print_row("--help SECTION", sections, out);
    snprintf(one, sizeof one, "one option, such as --help %s", conf->brief->name);
    print_row("--help OPTION", one, out);
    print_row("--version", "print the version and exit", out);
}

static void print_short_help(const tutti_conf *conf, FILE *out)
{
    fprintf(out, "Usage: %s %s\n\n", conf->program, conf->usage);
    print_wrapped(conf->summary, 0, 0, out);
    fputs("\nWhat most runs need:\n", out);
    for (const tutti_conf_brief *b = conf->brief; b->name; b++) {
        const tutti_setting *s = conf->settings;
        while (s->kind != TUTTI_CONF_END && (!is_value(s) || strcmp(s->name, b->name))) s++;
        if (s->kind != TUTTI_CONF_END)
            print_brief(s, b->help, out);
        else
            fprintf(out, "  --%s is in no row of the table\n", b->name); /* a test looks for it */
    }
    print_topics(conf, out);
}

static void print_all_help(const tutti_conf *conf, FILE *out)
{
    fprintf(out, "Usage: %s %s\n\n", conf->program, conf->usage);
    print_wrapped(conf->summary, 0, 0, out);
    for (const tutti_setting *s = conf->settings; s->kind != TUTTI_CONF_END; s++)
        print_setting(s, out);
    fputs("\nHelp:\n", out);
    print_row("--help", "print this and exit", out);
    print_row("--version", "print the version and exit", out);
    if (!conf->epilogue) return;
    fputc('\n', out);
    print_wrapped(conf->epilogue, 0, 0, out);
}

/* Returns how many settings there are of it: a section, or an option. */
static int print_topic(const tutti_conf *conf, const char *topic, FILE *out)
{
    int printed = 0, inside = 0;
    topic += strspn(topic, "-");
    for (const tutti_setting *s = conf->settings; s->kind != TUTTI_CONF_END; s++) {
        if (!is_value(s)) inside = is_section(s, topic);
        if (!inside && (!is_value(s) || strcmp(s->name, topic) != 0)) continue;
        print_setting(s, out);
        printed++;
    }
    return printed;
}

/* ---- for shells ---- */

static int names_file(const tutti_setting *s)
{
    static const char *const words[] = {"FILE", "DIR", "FOLDER", "PATH", "IMAGE", "OUT", NULL};
    for (int i = 0; s->argument && words[i]; i++)
        if (strstr(s->argument, words[i])) return 1;
    return s->takes != NULL;
}

void tutti_conf_print_completion(
    const char *word, const char *kind, const char *words, const char *help, FILE *out)
{
    fprintf(out, "%s\t%s\t%s\t%.*s\n", word, kind, words, (int)strcspn(help, ";(\n"), help);
}

static void print_completion(const tutti_conf *conf, FILE *out)
{
    for (const tutti_setting *s = conf->settings; s->kind != TUTTI_CONF_END; s++) {
        char name[LONGEST + 3], words[2048] = "";
        FILE *buffer = fmemopen(words, sizeof words, "w");
        if (!is_value(s) || !buffer) {
            if (buffer) fclose(buffer);
            continue;
        }
        for (int i = 0; s->choice && s->choice(i); i++) fprintf(buffer, "%s ", s->choice(i));
        for (int i = 0; i < TUTTI_CONF_WORDS && s->words[i]; i++)
            fprintf(buffer, "%s ", s->words[i]);
        fclose(buffer);
        const int operand = s->flags & TUTTI_CONF_OPERAND;
        snprintf(name, sizeof name, "%s%s", operand ? "" : "--", operand ? "-" : s->name);
        tutti_conf_print_completion(name,
            s->kind == TUTTI_CONF_FLAG ? "flag"
            : names_file(s)            ? "file"
                                       : "value",
            words, s->help, out);
    }
    tutti_conf_print_completion("--help", "flag", "", "print help and exit", out);
    tutti_conf_print_completion("--version", "flag", "", "print the version and exit", out);
}

int tutti_conf_print_help(const tutti_conf *conf, const char *topic, FILE *out)
{
    if (!topic && conf->brief)
        print_short_help(conf, out);
    else if (!topic || !strcmp(topic, "all"))
        print_all_help(conf, out);
    else if (!strcmp(topic, "completion"))
        print_completion(conf, out);
    else
        return print_topic(conf, topic, out) > 0;
    return 1;
}

void tutti_conf_print_version(const tutti_conf *conf, FILE *out)
{
    fprintf(out, "%s (Tutti) %s\n", conf->program, TUTTI_VERSION);
}
