#include "collectives/rules_text.h"

#include "collectives/choose.h"
#include "collectives/links/topology_text.h"
#include "dag/base/lines.h"
#include "dag/base/log.h"
#include "dag/base/number.h"
#include "dag/base/rng.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 64, MOST_RULES = 1 << 14, LEAST_SEGMENT = 64 };

/* ---- reading ---- */

typedef struct reader {
    tutti_rules *rules;
    tutti_rule *rule;
    int room;
    tutti_lines lines;
    char *word[MOST_WORDS];
    int words, at; /* at: the next one to read */
} reader;

static const struct {
    const char *name;
    int64_t is;
} sizes[] = {{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* "60KiB" */
static int read_size(const char *text, int64_t least, int64_t *bytes)
{
    char number[32];
    size_t digits = strspn(text, "0123456789");
    if (!digits || digits >= sizeof number) return 0;
    memcpy(number, text, digits);
    number[digits] = '\0';
    for (int i = 0; i < SIZES; i++)
        if (!strcmp(text + digits, sizes[i].name))
            return tutti_number_int(number, bytes) &&
                   !__builtin_mul_overflow(*bytes, sizes[i].is, bytes) && *bytes >= least;
    return 0;
}

/* "8", "3-", "5-7" */
static int read_range(const char *text, int *least, int *most)
{
    char from[16];
    size_t digits = strcspn(text, "-");
    int64_t low, high = 0;
    if (digits >= sizeof from) return 0;
    memcpy(from, text, digits);
    from[digits] = '\0';
    const char *to = text[digits] ? text + digits + 1 : from;
    if (!tutti_number_int(from, &low) || low < 1 || low > INT32_MAX) return 0;
    if (*to && (!tutti_number_int(to, &high) || high < low || high > INT32_MAX)) return 0;
    *least = (int)low;
    *most = (int)high;
    return 1;
}

/* Words that a value follows: conditions before the arrow, and what a rule says after it. */
typedef enum word { RANKS, ELEMENT, FROM, NEAR, WIDE, ORDERED, WHOLE, SEGMENT, CHUNK, WORDS } word;
static const struct {
    const char *name, *value;
    int after; /* the arrow */
} words[WORDS] = {
    [RANKS] = {"P", "ranks, such as 8, 3- or 5-7", 0},
    [ELEMENT] = {"element", "bytes of an element", 0},
    [FROM] = {"from", "a size and its unit, such as 64KiB", 0},
    [NEAR] = {"near", "0 or 1", 0},
    [WIDE] = {"wide", "0 or 1", 0},
    [ORDERED] = {"ordered", "0 or 1", 0},
    [WHOLE] = {"whole", "0 or 1", 0},
    [SEGMENT] = {"segment", "a size and its unit, such as 60KiB", 1},
    [CHUNK] = {"chunk", "a size and its unit, such as 4MiB", 1},
};

static int read_if(const char *text, tutti_rule_if *when)
{
    *when = *text == '1' ? TUTTI_IF_SO : TUTTI_IF_NOT;
    return !strcmp(text, "0") || !strcmp(text, "1");
}

static int read_value(word which, const char *text, tutti_rule *rule)
{
    int64_t number;
    switch (which) {
    case RANKS:
        return read_range(text, &rule->least_P, &rule->most_P);
    case ELEMENT:
        if (!tutti_number_int(text, &number) || number < 1 || number > INT32_MAX) return 0;
        rule->element = (int)number;
        return 1;
    case FROM:
        return read_size(text, 0, &rule->from);
    case NEAR:
        return read_if(text, &rule->near);
    case WIDE:
        return read_if(text, &rule->wide);
    case ORDERED:
        return read_if(text, &rule->ordered);
    case WHOLE:
        return read_if(text, &rule->whole);
    case SEGMENT:
        return read_size(text, LEAST_SEGMENT, &rule->segment);
    case CHUNK:
        return read_size(text, LEAST_SEGMENT, &rule->chunk);
    default:
        return 0;
    }
}

/* Words and their values, each once; it stops at any other word. */
static tutti_status read_words(reader *r, int after, tutti_rule *rule)
{
    int seen[WORDS] = {0};
    for (; r->at < r->words; r->at += 2) {
        const char *name = r->word[r->at];
        int which = 0;
        while (which < WORDS && (words[which].after != after || strcmp(words[which].name, name)))
            which++;
        if (!after && !strcmp(name, "power-of-two")) {
            rule->power_of_two = 1;
            r->at--; /* it has no value */
            continue;
        }
        if (which == WORDS) return TUTTI_OK;
        if (seen[which]++) return tutti_lines_fail(&r->lines, "'%s' is given twice", name);
        const char *value = r->at + 1 < r->words ? r->word[r->at + 1] : "";
        if (!read_value((word)which, value, rule))
            return tutti_lines_fail(
                &r->lines, "%s '%s': must be %s", name, value, words[which].value);
    }
    return TUTTI_OK;
}

static int read_kind(const char *name, tutti_rule *rule)
{
    rule->each = !strcmp(name, "each");
    if (rule->each) return 1;
    for (int k = 0; k < TUTTI_COLL_KINDS; k++) {
        rule->kind = (tutti_coll_kind)k;
        if (!strcmp(tutti_coll_kind_name(rule->kind), name)) return 1;
    }
    return 0;
}

static tutti_status read_algorithm(reader *r, tutti_rule *rule)
{
    const char *name = r->word[r->at];
    rule->algorithm = tutti_algorithm_find(name);
    rule->radix = tutti_algorithm_radix(name);
    int listed = 0; /* others need more than their name */
    for (int i = 0; tutti_algorithms[i]; i++) listed |= tutti_algorithms[i] == rule->algorithm;
    if (!listed || rule->algorithm->chooses || tutti_algorithm_is_library(name))
        return tutti_lines_fail(&r->lines,
            "'%s' is not an algorithm of rules (known: tutti-info --list algorithms)", name);
    r->at++;
    return TUTTI_OK;
}

static tutti_status add_rule(reader *r, const tutti_rule *rule)
{
    int n = r->rules->n;
    if (n == MOST_RULES) return tutti_lines_fail(&r->lines, "more than %d rules", MOST_RULES);
    if (n == r->room) {
        int room = n ? 2 * n : 16;
        tutti_rule *larger = realloc(r->rule, (size_t)room * sizeof *larger);
        if (!larger) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d rules", room);
        r->rules->rule = r->rule = larger;
        r->room = room;
    }
    r->rule[r->rules->n++] = *rule;
    return TUTTI_OK;
}

static tutti_status read_rule(reader *r)
{
    tutti_rule rule = {.each = 0};
    if (!read_kind(r->word[0], &rule))
        return tutti_lines_fail(&r->lines,
            "'%s' is not a kind of collective: allreduce, broadcast, ..., or each", r->word[0]);
    r->at = 1;
    tutti_status status = read_words(r, 0, &rule);
    if (status) return status;
    if (r->at == r->words || strcmp(r->word[r->at], "->") != 0)
        return tutti_lines_fail(&r->lines,
            "'%s' instead of ->, after which a rule says what to take",
            r->at < r->words ? r->word[r->at] : "the end of the line");
    int says = ++r->at;
    status = read_words(r, 1, &rule);
    if (!status && r->at == says && r->at < r->words) {
        status = read_algorithm(r, &rule);
        if (!status) status = read_words(r, 1, &rule);
    }
    if (status) return status;
    if (r->at < r->words)
        return tutti_lines_fail(&r->lines, "'%s' is unexpected here", r->word[r->at]);
    if (says == r->words) return tutti_lines_fail(&r->lines, "the rule says nothing after ->");
    return add_rule(r, &rule);
}

/* "mpi Open MPI v4.1.4": all words after the first. */
static tutti_status read_text(const reader *r, char *text, size_t size)
{
    size_t used = 0;
    if (text[0]) return tutti_lines_fail(&r->lines, "'%s' is given twice", r->word[0]);
    for (int i = 1; i < r->words && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i > 1 ? " " : "", r->word[i]);
    if (used && used < size) return TUTTI_OK;
    return tutti_lines_fail(
        &r->lines, "'%s' is followed by 1 to %zu characters", r->word[0], size - 1);
}

static tutti_status read_topology(reader *r)
{
    const char *text = r->words == 2 ? r->word[1] : "";
    if (r->rules->topology) return tutti_lines_fail(&r->lines, "'topology' is given twice");
    if (strlen(text) != 16 || text[strspn(text, "0123456789abcdef")] ||
        !(r->rules->topology = strtoull(text, NULL, 16)))
        return tutti_lines_fail(&r->lines, "topology '%s': must be 16 hexadecimal digits", text);
    return TUTTI_OK;
}

static tutti_status read_statement(reader *r, int first)
{
    const char *name = r->word[0];
    if (first) {
        if (r->words == 2 && !strcmp(name, "rules") && !strcmp(r->word[1], "1")) return TUTTI_OK;
        return tutti_lines_fail(&r->lines, "the first line must be 'rules 1'");
    }
    if (!strcmp(name, "topology")) return read_topology(r);
    if (!strcmp(name, "mpi")) return read_text(r, r->rules->mpi, sizeof r->rules->mpi);
    if (!strcmp(name, "version")) return read_text(r, r->rules->version, sizeof r->rules->version);
    return read_rule(r);
}

/* Takes the lines over. */
static tutti_status read_rules(tutti_lines lines, tutti_rules **rules)
{
    reader r = {.lines = lines, .rules = calloc(1, sizeof *r.rules)};
    tutti_status status = r.rules ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for rules");
    int statements = 0;
    r.lines.comment = '#';
    while (!status && !(status = tutti_lines_words(&r.lines, r.word, MOST_WORDS, &r.words)) &&
           r.words) {
        r.at = 0;
        status = read_statement(&r, !statements++);
    }
    if (!status && !statements)
        status = tutti_lines_fail(&r.lines, "the first line must be 'rules 1'");
    if (status)
        tutti_rules_free(r.rules);
    else
        *rules = r.rules;
    tutti_lines_close(&lines);
    return status;
}

tutti_status tutti_rules_read(const char *text, const char *name, tutti_rules **rules)
{
    tutti_lines lines;
    tutti_status status = tutti_lines_copy(name, text, &lines);
    return status ? status : read_rules(lines, rules);
}

tutti_status tutti_rules_open(const char *path, tutti_rules **rules)
{
    tutti_lines lines;
    tutti_status status = tutti_lines_open(path, &lines);
    if (status == TUTTI_ERR_IO)
        return tutti_fail(TUTTI_ERR_USAGE,
            "the rules '%s' cannot be read: give the name of a file that tutti-bench "
            "tune-collectives has written",
            path);
    return status ? status : read_rules(lines, rules);
}

void tutti_rules_free(tutti_rules *rules)
{
    if (rules) free((tutti_rule *)rules->rule);
    free(rules);
}

static tutti_status check_topology(
    const char *path, const tutti_rules *rules, const tutti_topology *topology)
{
    uint64_t hash;
    if (!topology || !rules->topology) return TUTTI_OK;
    tutti_status status = tutti_topology_hash(topology, &hash);
    if (status || hash == rules->topology) return status;
    return tutti_fail(TUTTI_ERR_USAGE,
        "--algorithm rules:%s: these rules are of topology %016" PRIx64 ", the run's is %016" PRIx64
        ": measure them anew (tutti-bench tune-collectives)",
        path, rules->topology, hash);
}

tutti_status tutti_rules_of_run(
    const char *algorithm, const tutti_topology *topology, int ranks, tutti_rules **rules)
{
    const char *path = tutti_algorithm_rules(algorithm);
    const tutti_algorithm *row = tutti_algorithm_find(algorithm);
    tutti_rules *read = NULL;
    *rules = NULL;
    if (row && row->prices && !topology)
        return tutti_fail(TUTTI_ERR_USAGE,
            "--algorithm priced needs to know the links: give --topology, or --link-mbit");
    if (!path) return TUTTI_OK;
    tutti_status status = tutti_rules_open(path, &read);
    if (!status && !tutti_rules_fit(read, ranks))
        status = tutti_fail(TUTTI_ERR_USAGE,
            "--algorithm rules:%s: no rule is for %d ranks: measure them (tutti-bench "
            "tune-collectives)",
            path, ranks);
    if (!status) status = check_topology(path, read, topology);
    if (status)
        tutti_rules_free(read);
    else
        *rules = read;
    return status == TUTTI_ERR_FORMAT ? TUTTI_ERR_USAGE : status;
}

/* ---- printing ---- */

static void print_size(FILE *out, const char *name, int64_t bytes)
{
    int i = 0;
    while (bytes % sizes[i].is || (!bytes && i + 1 < SIZES)) i++;
    fprintf(out, " %s %" PRId64 "%s", name, bytes / sizes[i].is, sizes[i].name);
}

static void print_if(FILE *out, const char *name, tutti_rule_if when)
{
    if (when) fprintf(out, " %s %d", name, when == TUTTI_IF_SO);
}

static void print_rule(const tutti_rule *r, FILE *out)
{
    fputs(r->each ? "each" : tutti_coll_kind_name(r->kind), out);
    if (r->least_P) fprintf(out, r->least_P == r->most_P ? " P %d" : " P %d-", r->least_P);
    if (r->most_P > r->least_P) fprintf(out, "%d", r->most_P);
    if (r->power_of_two) fputs(" power-of-two", out);
    if (r->element) fprintf(out, " element %d", r->element);
    print_if(out, "near", r->near);
    print_if(out, "wide", r->wide);
    print_if(out, "ordered", r->ordered);
    print_if(out, "whole", r->whole);
    if (r->from) print_size(out, "from", r->from);
    fputs(" ->", out);
    if (r->algorithm) fprintf(out, " %s", r->algorithm->name);
    if (r->radix) fprintf(out, ":%d", r->radix);
    if (r->segment) print_size(out, "segment", r->segment);
    if (r->chunk) print_size(out, "chunk", r->chunk);
    fputc('\n', out);
}

tutti_status tutti_rules_print(const tutti_rules *rules, FILE *out)
{
    fputs("rules 1\n", out);
    if (rules->topology) fprintf(out, "topology %016" PRIx64 "\n", rules->topology);
    if (rules->mpi[0]) fprintf(out, "mpi %s\n", rules->mpi);
    if (rules->version[0]) fprintf(out, "version %s\n", rules->version);
    for (int i = 0; i < rules->n; i++) print_rule(&rules->rule[i], out);
    return ferror(out) ? tutti_fail(TUTTI_ERR_IO, "rules could not be written") : TUTTI_OK;
}

tutti_status tutti_rules_hash(const tutti_rules *rules, uint64_t *hash)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for rules");
    tutti_status status = tutti_rules_print(rules, out);
    if (fclose(out) && !status) status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for rules");
    *hash = status ? 0 : tutti_rng_stream(text);
    free(text);
    return status;
}
