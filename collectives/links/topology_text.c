#include "collectives/links/topology_text.h"

#include "collectives/links/quantity.h"
#include "dag/base/lines.h"
#include "dag/base/log.h"
#include "dag/base/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 1 << 12, MOST_WORD = 256, MOST_NAMES = TUTTI_TOPOLOGY_MOST };

/* The names of points, to find them: an open hash table of numbers + 1. */
typedef struct names {
    int *slot;
    size_t room; /* a power of two */
} names;

typedef struct reader {
    tutti_topology *t;
    tutti_lines lines;
    names names;
    char *word[MOST_WORDS];
    int words, at; /* at: the next one to read */
    int *list[2];  /* points that a statement names */
    int listed[2];
} reader;

static tutti_status say_long(const reader *r, const char *name)
{
    return tutti_lines_fail(
        &r->lines, "'%s': a name has %d characters at most", name, TUTTI_TOPOLOGY_NAME - 1);
}

/* The statements, as bits: which of them takes a word. */
enum { KIND = 1, HOST = 2, DEVICE = 4, SWITCH = 8, LINK = 16, BUS = 32 };

/* What the words after a statement's names say; 0: nothing. */
typedef struct values {
    double cores, flops, memory, reduce, copy, send, recv, eager, socket, rate, latency, count;
} values;

/* Which numbers a quantity may be, all of them more than 0 but the last. */
enum { ANY, WHOLE, WHOLE_OR_0 };

/* Such a word, which a quantity follows: "rate 25Gbit/s". */
typedef struct attribute {
    const char *key, *example;
    const tutti_quantity_unit *units;
    size_t offset;
    double most;
    int whole, of;
} attribute;

#define AT(member) offsetof(values, member)
static const attribute attributes[] = {
    {"cores", "16", tutti_number_units, AT(cores), 1e6, WHOLE, KIND},
    {"flops", "1e12", tutti_number_units, AT(flops), 1e30, ANY, KIND},
    {"memory", "80GB/s", tutti_rate_units, AT(memory), 1e30, ANY, KIND},
    {"reduce", "9GB/s", tutti_rate_units, AT(reduce), 1e30, ANY, KIND},
    {"copy", "11GB/s", tutti_rate_units, AT(copy), 1e30, ANY, KIND},
    {"send", "3us", tutti_time_units, AT(send), 1, ANY, KIND},
    {"recv", "3us", tutti_time_units, AT(recv), 1, ANY, KIND},
    {"eager", "64KiB", tutti_size_units, AT(eager), 1e30, ANY, KIND},
    {"socket", "1", tutti_number_units, AT(socket), 1e6, WHOLE_OR_0, DEVICE},
    {"rate", "25Gbit/s", tutti_rate_units, AT(rate), 1e30, ANY, SWITCH | LINK | BUS},
    {"latency", "2us", tutti_time_units, AT(latency), 1, ANY, LINK | BUS},
    {"count", "2", tutti_number_units, AT(count), 1e6, WHOLE, LINK},
};
enum { ATTRIBUTES = sizeof attributes / sizeof *attributes };

static tutti_status read_attribute(reader *r, const attribute *a, values *v)
{
    double value;
    if (r->at + 1 >= r->words) return tutti_lines_fail(&r->lines, "no value after '%s'", a->key);
    const char *text = r->word[r->at + 1];
    int zero = a->whole == WHOLE_OR_0 && !strcmp(text, "0");
    int right = zero || (tutti_quantity_read(text, a->units, &value) &&
                            !(a->whole && value != floor(value)));
    if (!right)
        return tutti_lines_fail(&r->lines, "%s '%s': must be more than 0, %s, as in '%s %s'",
            a->key, text,
            a->units != tutti_number_units ? "a number and its unit"
            : a->whole                     ? "a whole number"
                                           : "a number",
            a->key, a->example);
    if (!zero && value > a->most)
        return tutti_lines_fail(&r->lines, "%s '%s': too large", a->key, text);
    *(double *)((char *)v + a->offset) = zero ? 0 : value;
    r->at += 2;
    return TUTTI_OK;
}

/* "kind node": one that there is. */
static tutti_status read_kind_name(reader *r, int *kind)
{
    const char *name = r->at + 1 < r->words ? r->word[r->at + 1] : "";
    *kind = -1; /* the statement may have named another before */
    for (int i = 0; i < r->t->kinds; i++)
        if (!strcmp(r->t->kind[i].name, name)) *kind = i;
    if (*kind < 0)
        return tutti_lines_fail(&r->lines, "kind '%s' has not been declared before", name);
    r->at += 2;
    return TUTTI_OK;
}

/* Reads the rest of a statement, up to a colon. *kind: -1 if there is none. */
static tutti_status read_attributes(reader *r, int statement, values *v, int *kind)
{
    tutti_status status = TUTTI_OK;
    *v = (values){.cores = 0};
    *kind = -1;
    while (!status && r->at < r->words && strcmp(r->word[r->at], ":") != 0) {
        const char *word = r->word[r->at];
        const attribute *a = attributes;
        while (a < attributes + ATTRIBUTES && !(a->of & statement && !strcmp(a->key, word))) a++;
        if (a < attributes + ATTRIBUTES)
            status = read_attribute(r, a, v);
        else if (statement & (HOST | DEVICE) && !strcmp(word, "kind"))
            status = read_kind_name(r, kind);
        else
            return tutti_lines_fail(&r->lines, "'%s' is unexpected here", word);
    }
    return status;
}

/* ---- names ---- */

static size_t hash_name(const char *name)
{
    uint64_t h = 14695981039346656037u;
    for (; *name; name++) h = (h ^ (unsigned char)*name) * 1099511628211u;
    return (size_t)(h ^ h >> 32);
}

static int find_point(const reader *r, const char *name)
{
    const names *n = &r->names;
    for (size_t i = hash_name(name) & (n->room - 1); n->room && n->slot[i];
         i = (i + 1) & (n->room - 1))
        if (!strcmp(r->t->point[n->slot[i] - 1].name, name)) return n->slot[i] - 1;
    return -1;
}

static void remember_point(names *n, const tutti_topology *t, int point)
{
    size_t i = hash_name(t->point[point].name) & (n->room - 1);
    while (n->slot[i]) i = (i + 1) & (n->room - 1);
    n->slot[i] = point + 1;
}

static tutti_status make_room(reader *r)
{
    names *n = &r->names;
    if (2 * ((size_t)r->t->points + 1) < n->room) return TUTTI_OK;
    names larger = {.room = n->room ? 2 * n->room : 64};
    larger.slot = calloc(larger.room, sizeof *larger.slot);
    if (!larger.slot) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a topology");
    for (int p = 0; p < r->t->points; p++) remember_point(&larger, r->t, p);
    free(n->slot);
    *n = larger;
    return TUTTI_OK;
}

static tutti_status check_name(const reader *r, const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    if (!name[0] || name[strspn(name, allowed)])
        return tutti_lines_fail(
            &r->lines, "'%s' is not a name: letters, digits, '_', '-' and '.'", name);
    return TUTTI_OK;
}

typedef tutti_status (*visit_name)(reader *r, const char *name, void *ctx);

/* Visits the names that a text with ranges stands for, in order: "h[0-1].g[0-3]". `done` has been expanded. */
static tutti_status expand_name(
    reader *r, const char *done, const char *text, visit_name visit, void *ctx)
{
    char name[2 * TUTTI_TOPOLOGY_NAME], from_text[16], to_text[16];
    int64_t from, to;
    size_t before = strcspn(text, "["), used = strlen(done);
    if (used + before >= TUTTI_TOPOLOGY_NAME) return say_long(r, text);
    memcpy(name, done, used);
    memcpy(name + used, text, before);
    name[used + before] = '\0';
    if (!text[before]) {
        tutti_status status = check_name(r, name);
        return status ? status : visit(r, name, ctx);
    }
    const char *rest = text + before + 1;
    size_t a = strcspn(rest, "-]"), b = rest[a] == '-' ? strcspn(rest + a + 1, "]") : 0;
    if (rest[a] != '-' || rest[a + 1 + b] != ']' || a >= sizeof from_text || b >= sizeof to_text)
        return tutti_lines_fail(&r->lines, "'%s': a range is written [0-7]", text);
    snprintf(from_text, sizeof from_text, "%.*s", (int)a, rest);
    snprintf(to_text, sizeof to_text, "%.*s", (int)b, rest + a + 1);
    if (!tutti_number_int(from_text, &from) || !tutti_number_int(to_text, &to) || from < 0 ||
        to < from || to > MOST_NAMES)
        return tutti_lines_fail(&r->lines, "'%s': a range is written [0-7]", text);
    tutti_status status = TUTTI_OK;
    for (int64_t i = from; !status && i <= to; i++) {
        char next[3 * TUTTI_TOPOLOGY_NAME];
        snprintf(next, sizeof next, "%s%lld", name, (long long)i);
        if (strlen(next) >= TUTTI_TOPOLOGY_NAME) return say_long(r, next);
        status = expand_name(r, next, rest + a + b + 2, visit, ctx);
    }
    return status;
}

/* Expands the next word. ".g0" is on the host of `first`, the statement's first name. */
static tutti_status expand_word(reader *r, const char *first, visit_name visit, void *ctx)
{
    char name[MOST_WORD];
    if (r->at >= r->words) return tutti_lines_fail(&r->lines, "a name is missing");
    const char *text = r->word[r->at++], *dot = first ? strrchr(first, '.') : NULL;
    size_t host = dot ? (size_t)(dot - first) : first ? strlen(first) : 0;
    if (text[0] != '.' || !first) return expand_name(r, "", text, visit, ctx);
    if (host + strlen(text) >= sizeof name)
        return tutti_lines_fail(&r->lines, "'%s': the name is too long", text);
    snprintf(name, sizeof name, "%.*s%s", (int)host, first, text);
    return expand_name(r, "", name, visit, ctx);
}

/* Appends a point that there is to list `ctx`. */
static tutti_status list_point(reader *r, const char *name, void *ctx)
{
    const int which = *(const int *)ctx, n = r->listed[which];
    int point = find_point(r, name);
    if (point < 0) return tutti_lines_fail(&r->lines, "'%s' has not been declared before", name);
    if (n >= MOST_NAMES) return tutti_lines_fail(&r->lines, "more than %d names", MOST_NAMES);
    if (!(n & (n - 1))) { /* room for twice as many at each power of two */
        int *larger = realloc(r->list[which], (size_t)(n ? 2 * n : 1) * sizeof *larger);
        if (!larger) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a topology");
        r->list[which] = larger;
    }
    r->list[which][r->listed[which]++] = point;
    return TUTTI_OK;
}

static tutti_status list_word(reader *r, const char *first, int which)
{
    return expand_word(r, first, list_point, &which);
}

/* ---- statements ---- */

static tutti_status read_kind(reader *r, int statement)
{
    values v;
    int number;
    const char *name = r->at < r->words ? r->word[r->at++] : "";
    tutti_status status = check_name(r, name);
    if (!status && strlen(name) >= TUTTI_TOPOLOGY_NAME) status = say_long(r, name);
    for (int i = 0; !status && i < r->t->kinds; i++)
        if (!strcmp(r->t->kind[i].name, name))
            status = tutti_lines_fail(&r->lines, "kind '%s' is declared twice", name);
    if (!status) status = read_attributes(r, statement, &v, &number);
    if (status) return status;
    tutti_point_kind k = {.cores = (int)v.cores,
        .flops = v.flops,
        .memory = v.memory,
        .reduce = v.reduce,
        .copy = v.copy,
        .send_s = v.send,
        .recv_s = v.recv,
        .eager = v.eager};
    strcpy(k.name, name);
    return tutti_topology_add_kind(r->t, &k, &number);
}

/* A point like `like`, which may have a capacity of its own. */
typedef struct new_point {
    tutti_point like;
    double rate;
} new_point;

static tutti_status check_host(reader *r, const char *name, tutti_point *p)
{
    const char *dot = strchr(name, '.');
    char host[TUTTI_TOPOLOGY_NAME];
    snprintf(host, sizeof host, "%.*s", dot ? (int)(dot - name) : 0, name);
    p->host = dot ? find_point(r, host) : -1;
    if (p->host >= 0 && r->t->point[p->host].is != TUTTI_POINT_HOST) p->host = -1;
    if (p->is == TUTTI_POINT_DEVICE && p->host < 0)
        return tutti_lines_fail(&r->lines,
            "'%s' has no host: a device is named after one that was declared, as in h0.g0", name);
    if (p->is == TUTTI_POINT_HOST && dot)
        return tutti_lines_fail(&r->lines, "'%s': a host has no '.' in its name", name);
    return TUTTI_OK;
}

static tutti_status add_point(reader *r, const char *name, void *ctx)
{
    const new_point *new = ctx;
    tutti_point p = new->like;
    int number;
    if (find_point(r, name) >= 0)
        return tutti_lines_fail(&r->lines, "'%s' is declared twice", name);
    if (r->t->points == TUTTI_TOPOLOGY_MOST)
        return tutti_lines_fail(&r->lines, "more than %d points", TUTTI_TOPOLOGY_MOST);
    tutti_status status = check_host(r, name, &p);
    if (!status && new->rate > 0)
        status = tutti_topology_add_capacity(r->t, new->rate, &p.capacity);
    if (!status) status = make_room(r);
    if (status) return status;
    strcpy(p.name, name);
    status = tutti_topology_add_point(r->t, &p, &number);
    if (!status) remember_point(&r->names, r->t, number);
    return status;
}

static tutti_status read_point(reader *r, int statement)
{
    values v;
    new_point new = {.like = {.host = -1, .capacity = -1}};
    new.like.is = statement == HOST     ? TUTTI_POINT_HOST
                  : statement == DEVICE ? TUTTI_POINT_DEVICE
                                        : TUTTI_POINT_SWITCH;
    int name_at = r->at++;
    tutti_status status = read_attributes(r, statement, &v, &new.like.kind);
    int end = r->at;
    new.like.socket = (int)v.socket;
    new.rate = v.rate;
    r->at = name_at;
    if (!status) status = expand_word(r, NULL, add_point, &new);
    r->at = end;
    return status;
}

/* Point i of a list, or its only one. */
static int pick(const reader *r, int which, int i)
{
    return r->list[which][r->listed[which] == 1 ? 0 : i];
}

static tutti_status check_pair(const reader *r, int a, int b)
{
    if (a == b) return tutti_lines_fail(&r->lines, "'%s' is linked to itself", r->t->point[a].name);
    if (r->t->links + 2 > TUTTI_TOPOLOGY_MOST)
        return tutti_lines_fail(&r->lines, "more than %d links, two a cable", TUTTI_TOPOLOGY_MOST);
    return TUTTI_OK;
}

static int64_t picoseconds(double seconds)
{
    return (int64_t)llround(seconds * 1e12);
}

static tutti_status read_link(reader *r, int statement)
{
    values v;
    int kind;
    const char *first = r->at < r->words ? r->word[r->at] : NULL;
    tutti_status status = list_word(r, NULL, 0);
    if (!status) status = list_word(r, first, 1);
    if (!status) status = read_attributes(r, statement, &v, &kind);
    if (!status && v.rate <= 0)
        status = tutti_lines_fail(&r->lines, "a link needs a rate, as in 'rate 25Gbit/s'");
    int a = r->listed[0], b = r->listed[1], n = a > b ? a : b;
    if (!status && a != b && a != 1 && b != 1)
        status = tutti_lines_fail(
            &r->lines, "%d points here and %d there: must be as many, or one", a, b);
    for (int i = 0; !status && i < n; i++) {
        status = check_pair(r, pick(r, 0, i), pick(r, 1, i));
        if (!status)
            status = tutti_topology_add_cable(r->t, pick(r, 0, i), pick(r, 1, i), v.rate,
                picoseconds(v.latency), v.count > 0 ? (int)v.count : 1);
    }
    return status;
}

/* Links the points that a word names with the buses: each bus with as many, in order. */
static tutti_status link_members(reader *r, int first, int buses, int capacity, const values *v)
{
    int members = r->listed[0];
    tutti_status status = TUTTI_OK;
    if (members % buses)
        return tutti_lines_fail(
            &r->lines, "%d members of %d buses: must be as many of each", members, buses);
    for (int i = 0; !status && i < members; i++) {
        int bus = i / (members / buses);
        status = check_pair(r, first + bus, r->list[0][i]);
        if (!status)
            status = tutti_topology_add_shared(
                r->t, first + bus, r->list[0][i], capacity + bus, picoseconds(v->latency));
    }
    r->listed[0] = 0;
    return status;
}

static tutti_status read_bus(reader *r, int statement)
{
    values v;
    new_point new = {.like = {.is = TUTTI_POINT_SWITCH, .host = -1, .kind = -1, .capacity = -1}};
    int first = r->t->points, kind;
    const char *name = r->at < r->words ? r->word[r->at] : NULL;
    tutti_status status = expand_word(r, NULL, add_point, &new);
    if (!status) status = read_attributes(r, statement, &v, &kind);
    if (!status && v.rate <= 0)
        status = tutti_lines_fail(&r->lines, "a bus needs a rate, as in 'rate 12GB/s'");
    if (!status && r->at + 1 >= r->words)
        status = tutti_lines_fail(&r->lines, "the members of a bus come after ' : '");
    r->at++;
    int buses = r->t->points - first, capacity = r->t->capacities, ignored;
    for (int i = 0; !status && i < buses; i++)
        status = tutti_topology_add_capacity(r->t, v.rate, &ignored);
    while (!status && r->at < r->words) {
        status = list_word(r, name, 0);
        if (!status) status = link_members(r, first, buses, capacity, &v);
    }
    return status;
}

static tutti_status add_rank(reader *r, int point)
{
    if (r->t->point[point].is == TUTTI_POINT_SWITCH)
        return tutti_lines_fail(
            &r->lines, "'%s' is a switch, where no rank can be", r->t->point[point].name);
    if (r->t->ranks == TUTTI_TOPOLOGY_MOST)
        return tutti_lines_fail(&r->lines, "more than %d ranks", TUTTI_TOPOLOGY_MOST);
    return tutti_topology_add_rank(r->t, point);
}

/* "ranks h[0-3]", or "ranks 4 per host". */
static tutti_status read_ranks(reader *r, int statement)
{
    int64_t each;
    tutti_status status = TUTTI_OK;
    (void)statement;
    if (r->words == 4 && !strcmp(r->word[2], "per") && !strcmp(r->word[3], "host")) {
        if (!tutti_number_int(r->word[1], &each) || each < 1 || each > TUTTI_TOPOLOGY_MOST)
            return tutti_lines_fail(
                &r->lines, "'%s' ranks per host: must be 1 or more", r->word[1]);
        for (int p = 0; p < r->t->points; p++)
            for (int64_t i = 0; !status && r->t->point[p].is == TUTTI_POINT_HOST && i < each; i++)
                status = add_rank(r, p);
        r->at = r->words;
        return status;
    }
    while (!status && (!r->listed[0] || r->at < r->words)) status = list_word(r, NULL, 0);
    for (int i = 0; !status && i < r->listed[0]; i++) status = add_rank(r, r->list[0][i]);
    return status;
}

static const struct statement {
    const char *name;
    tutti_status (*read)(reader *r, int statement);
    int is;
} statements[] = {
    {"kind", read_kind, KIND},
    {"host", read_point, HOST},
    {"device", read_point, DEVICE},
    {"switch", read_point, SWITCH},
    {"link", read_link, LINK},
    {"bus", read_bus, BUS},
    {"ranks", read_ranks, 0},
};
enum { STATEMENTS = sizeof statements / sizeof *statements };

static tutti_status read_statement(reader *r)
{
    r->at = 1;
    r->listed[0] = r->listed[1] = 0;
    for (int i = 0; i < STATEMENTS; i++) {
        if (strcmp(statements[i].name, r->word[0]) != 0) continue;
        tutti_status status = statements[i].read(r, statements[i].is);
        if (!status && r->at < r->words)
            status = tutti_lines_fail(&r->lines, "'%s' is unexpected here", r->word[r->at]);
        return status;
    }
    return tutti_lines_fail(&r->lines,
        "'%s': a line begins with kind, host, device, switch, link, bus or ranks", r->word[0]);
}

static tutti_status read_lines(reader *r)
{
    tutti_status status = TUTTI_OK;
    int begun = 0;
    while (!status && !(status = tutti_lines_words(&r->lines, r->word, MOST_WORDS, &r->words)) &&
           r->words) {
        if (begun++)
            status = read_statement(r);
        else if (r->words != 2 || strcmp(r->word[0], "topology") != 0 ||
                 strcmp(r->word[1], "1") != 0)
            status = tutti_lines_fail(&r->lines, "the first line must be 'topology 1'");
    }
    if (!status && !begun)
        status = tutti_lines_fail(&r->lines, "the first line must be 'topology 1'");
    if (!status && !r->t->ranks)
        status = tutti_lines_fail(&r->lines, "no rank has a place: 'ranks NAME...' is missing");
    return status;
}

/* Takes the lines over. */
static tutti_status read_topology(tutti_lines lines, tutti_topology **topology)
{
    reader *r = calloc(1, sizeof *r);
    tutti_status status = r ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for a topology");
    if (!status) status = tutti_topology_new(&r->t);
    if (!status) {
        r->lines = lines;
        r->lines.comment = '#';
        status = make_room(r);
    }
    if (!status) status = read_lines(r);
    if (!status) status = tutti_topology_finish(r->t, r->lines.path);
    if (!status) {
        *topology = r->t;
        r->t = NULL;
    }
    if (r) {
        tutti_topology_free(r->t);
        free(r->names.slot);
        free(r->list[0]);
        free(r->list[1]);
    }
    free(r);
    tutti_lines_close(&lines);
    return status;
}

tutti_status tutti_topology_read(const char *text, const char *name, tutti_topology **topology)
{
    tutti_lines lines;
    tutti_status status = tutti_lines_copy(name, text, &lines);
    return status ? status : read_topology(lines, topology);
}

tutti_status tutti_topology_read_file(const char *path, tutti_topology **topology)
{
    tutti_lines lines;
    tutti_status status = tutti_lines_open(path, &lines);
    return status ? status : read_topology(lines, topology);
}
