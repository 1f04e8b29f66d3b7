#include "tests/deadlock/case.h"

#include "collectives/choose.h"
#include "dag/base/log.h"
#include "designs/check/check.h"
#include "tests/deadlock/case_op.h"
#include "tests/support/values.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_FILE = 1 << 20 };

/* The state of the parser. */
typedef struct reader {
    case_words words;
    deadlock_case *c;
    int on[CASE_MOST_RANKS]; /* the ranks that the line applies to */
    int prefixed;            /* the line names them */
    int ready_line[CASE_MOST_RANKS];
    int ranks_set, judged;
} reader;

int deadlock_case_member(const case_group *group, int rank)
{
    for (int i = 0; i < group->ranks; i++)
        if (group->rank[i] == rank) return i;
    return -1;
}

const case_op *deadlock_case_op(const deadlock_case *c, int rank, int tensor)
{
    const case_program *p = &c->program[rank];
    for (int i = 0; i < p->ops; i++)
        if (p->op[i].tensor == tensor) return &p->op[i];
    return NULL;
}

/* ---- a collective ---- */

/* Adds the op to the program of a rank that the line applies to. */
static tutti_status add_op(const reader *r, int rank, const case_op *op)
{
    case_program *p = &r->c->program[rank];
    const char *name = r->c->tensor[op->tensor];
    if (p->left) return TUTTI_OK;
    if (deadlock_case_op(r->c, rank, op->tensor))
        return case_refuse(&r->words,
            "rank %d has a collective on '%s' already: give this one another name", rank, name);
    for (int a = 0; a < op->afters; a++)
        if (!deadlock_case_op(r->c, rank, op->after[a]))
            return case_refuse(&r->words, "after: rank %d has no collective on '%s' above", rank,
                r->c->tensor[op->after[a]]);
    p->op[p->ops++] = *op;
    r->c->priorities |= op->priority != 0;
    return TUTTI_OK;
}

static tutti_status read_collective(reader *r, tutti_coll_kind kind)
{
    case_statement line;
    tutti_status status = case_read_statement(&r->words, r->c, kind, &line);
    if (status) return status;
    const case_group *group = &r->c->group[line.op.group];
    for (int rank = 0; rank < r->c->ranks && !status; rank++) {
        case_op op;
        int member = deadlock_case_member(group, rank) >= 0;
        if (r->on[rank] && !member && r->prefixed)
            return case_refuse(&r->words, "rank %d is not in group '%s'", rank, group->name);
        if (!r->on[rank] || !member) continue;
        status = case_op_of(&r->words, r->c, rank, &line, &op);
        if (!status) status = add_op(r, rank, &op);
    }
    return status;
}

/* "rank 0: send x 10 to 2 edge 3" */
static tutti_status read_message(reader *r, int sends)
{
    char *rest = r->words.rest, text[CASE_LINE];
    tutti_status status = TUTTI_OK;
    if (!r->prefixed)
        return case_refuse(&r->words, "%s: which rank? 'rank 1: %s x 10 %s 0 edge 3'",
            sends ? "send" : "recv", sends ? "send" : "recv", sends ? "to" : "from");
    snprintf(text, sizeof text, "%s", rest);
    for (int rank = 0; rank < r->c->ranks && !status; rank++) {
        case_statement line;
        if (!r->on[rank]) continue;
        r->words.rest = strcpy(rest, text);
        status = case_read_message(&r->words, r->c, rank, sends, &line);
        if (!status) status = add_op(r, rank, &line.op);
    }
    return status;
}

static tutti_status read_send(reader *r)
{
    return read_message(r, 1);
}

static tutti_status read_recv(reader *r)
{
    return read_message(r, 0);
}

/* ---- the other directives ---- */

static tutti_status read_diagnosis(reader *r)
{
    const char *text = r->words.rest + strspn(r->words.rest, " \t");
    if (!*text) return case_refuse(&r->words, "diagnosis: a line of text is missing");
    snprintf(r->c->diagnosis, sizeof r->c->diagnosis, "%s", text);
    r->words.rest += strlen(r->words.rest);
    return TUTTI_OK;
}

static tutti_status read_design(reader *r)
{
    const char *word = case_next_word(&r->words);
    const tutti_design *design = tutti_design_find(word ? word : "");
    char known[256];
    if (!design)
        return case_refuse(&r->words, "design: '%.40s' is not known; known: %s", word ? word : "",
            tutti_design_names(known, sizeof known));
    r->c->design = design;
    return TUTTI_OK;
}

static tutti_status read_ranks(reader *r)
{
    if (r->ranks_set)
        return case_refuse(&r->words, "ranks: given twice, or after what depends on it");
    tutti_status status = case_read_int(&r->words, "ranks", 2, CASE_MOST_RANKS, &r->c->ranks);
    if (status) return status;
    case_group *all = &r->c->group[0];
    all->ranks = r->c->ranks;
    for (int i = 0; i < all->ranks; i++) {
        all->rank[i] = i;
        r->on[i] = 1;
    }
    r->ranks_set = 1;
    return TUTTI_OK;
}

static tutti_status read_workers(reader *r)
{
    return case_read_int(&r->words, "workers", 1, 64, &r->c->workers);
}

/* The trees of forest:FILE are beside the case. */
static tutti_status read_algorithm(reader *r)
{
    const char *word = case_next_word(&r->words), *path = r->words.path;
    const char *file = tutti_algorithm_file(word), *slash = strrchr(path, '/');
    if (!word || !tutti_algorithm_find(word))
        return case_refuse(&r->words, "algorithm: '%.40s' is not known", word ? word : "");
    int folder = file && slash ? (int)(slash + 1 - path) : 0;
    snprintf(r->c->algorithm, sizeof r->c->algorithm, "%s%.*s%s", file ? "forest:" : "", folder,
        path, file ? file : word);
    return TUTTI_OK;
}

static tutti_status read_hosts(reader *r)
{
    return case_read_int(&r->words, "hosts", 1, CASE_MOST_RANKS, &r->c->hosts);
}

static tutti_status read_slots(reader *r)
{
    return case_read_int(&r->words, "device_slots", 1, CASE_MOST_TENSORS, &r->c->device_slots);
}

static tutti_status read_edges(reader *r)
{
    static const char *const words[] = {"aside", NULL};
    int choice;
    tutti_status status =
        case_read_choice(&r->words, "edges", case_next_word(&r->words), words, &choice);
    if (!status) r->c->edges_aside = 1;
    return status;
}

static tutti_status read_regions(reader *r)
{
    r->c->regions = 1;
    return TUTTI_OK;
}

static tutti_status read_lanes(reader *r)
{
    return case_read_int(&r->words, "lanes", 1, CASE_MOST_TENSORS, &r->c->lanes);
}

static tutti_status read_verdict(reader *r)
{
    static const char *const words[] = {"ok", "nok", NULL};
    int clause;
    tutti_status status =
        case_read_choice(&r->words, "verdict", case_next_word(&r->words), words, &r->c->nok);
    if (status) return status;
    r->judged = 1;
    if (!r->c->nok) return TUTTI_OK;
    const char *word = case_next_word(&r->words);
    status = case_read_choice(&r->words, "clause", word, tutti_clause_names, &clause);
    if (!status) snprintf(r->c->clause, sizeof r->c->clause, "%s", word);
    return status;
}

static tutti_status read_says(reader *r)
{
    const char *text = r->words.rest + strspn(r->words.rest, " \t");
    if (!*text) return case_refuse(&r->words, "says: a line of text is missing");
    snprintf(r->c->says, sizeof r->c->says, "%s", text);
    r->words.rest += strlen(r->words.rest);
    return TUTTI_OK;
}

static tutti_status read_verify(reader *r)
{
    static const char *const words[] = {"off", "on", "full", NULL};
    int choice;
    tutti_status status =
        case_read_choice(&r->words, "verify", case_next_word(&r->words), words, &choice);
    if (!status) strcpy(r->c->verify, words[choice]);
    return status;
}

static tutti_status read_steps(reader *r)
{
    int steps;
    tutti_status status = case_read_int(&r->words, "steps", 0, CASE_MOST_STEPS, &steps);
    for (int rank = 0; rank < r->c->ranks && !status; rank++)
        if (r->on[rank]) r->c->program[rank].steps = steps;
    return status;
}

static tutti_status read_chunk(reader *r)
{
    int bytes;
    tutti_status status = case_read_int(&r->words, "chunk", 0, CASE_MOST_COUNT, &bytes);
    for (int rank = 0; rank < r->c->ranks && !status; rank++)
        if (r->on[rank]) r->c->program[rank].chunk = bytes;
    return status;
}

static tutti_status add_operator(reader *r, int rank, const case_operator *made)
{
    case_program *p = &r->c->program[rank];
    if (p->operators == CASE_MOST_OPERATORS)
        return case_refuse(
            &r->words, "operator: rank %d makes more than %d", rank, (int)CASE_MOST_OPERATORS);
    for (int i = 0; i < p->operators; i++)
        if (!strcmp(p->operator_[i].name, made->name))
            return case_refuse(&r->words, "operator: rank %d makes '%s' already", rank, made->name);
    case_operator *fresh = &p->operator_[p->operators++];
    *fresh = *made;
    fresh->user.name = fresh->name;
    return TUTTI_OK;
}

/* "operator NAME FUNCTION" */
static tutti_status read_new_operator(reader *r)
{
    const char *name;
    int choice;
    case_operator made;
    tutti_status status = case_read_name(&r->words, "operator", CASE_NAME - 1, &name);
    if (!status)
        status = case_read_choice(
            &r->words, "operator", case_next_word(&r->words), values_operator_names, &choice);
    if (status) return status;
    strcpy(made.name, name);
    made.user = values_operators[choice];
    for (int rank = 0; rank < r->c->ranks && !status; rank++)
        if (r->on[rank]) status = add_operator(r, rank, &made);
    return status;
}

static tutti_status read_new_group(reader *r)
{
    const char *name, *word;
    tutti_status status = case_read_name(&r->words, "group", CASE_NAME - 1, &name);
    if (status) return status;
    if (r->c->groups == CASE_MOST_GROUPS)
        return case_refuse(&r->words, "more than %d groups", CASE_MOST_GROUPS);
    case_group group = {0};
    strcpy(group.name, name);
    for (int g = 0; g < r->c->groups; g++)
        if (!strcmp(r->c->group[g].name, name))
            return case_refuse(&r->words, "group: '%s' again", name);
    while ((word = case_next_word(&r->words))) {
        long rank;
        status = case_read_number(&r->words, "group", word, 0, r->c->ranks - 1, &rank);
        if (status) return status;
        if (deadlock_case_member(&group, (int)rank) >= 0)
            return case_refuse(&r->words, "group '%s': rank %ld twice", name, rank);
        group.rank[group.ranks++] = (int)rank;
    }
    if (group.ranks < 2) return case_refuse(&r->words, "group '%s': at least two ranks", name);
    r->c->group[r->c->groups++] = group;
    return TUTTI_OK;
}

/* ---- keys on servers ---- */

_Static_assert((int)KV_MOST_RANKS == (int)CASE_MOST_RANKS, "a case has as many ranks with keys");

static tutti_status read_serve(reader *r)
{
    return kv_case_read_serve(&r->words, r->c->ranks, &r->c->kv);
}

static tutti_status read_key(reader *r)
{
    return kv_case_read_key(&r->words, &r->c->kv);
}

/* Of all workers, if the line names none. */
static tutti_status read_call(reader *r, kv_call_kind kind)
{
    for (int rank = 0; rank < CASE_MOST_RANKS && !r->prefixed; rank++)
        r->on[rank] = rank < r->c->kv.workers;
    return kv_case_read_call(&r->words, &r->c->kv, kind, r->on);
}

static tutti_status check_keys(reader *r)
{
    deadlock_case *c = r->c;
    int steps[CASE_MOST_RANKS];
    if (c->design->unsafe || c->design->start->main_drives)
        return case_refuse(&r->words,
            "serve: with design %s a server cannot wait for all clients at once", c->design->name);
    for (int rank = 0; rank < CASE_MOST_RANKS; rank++) steps[rank] = c->program[rank].steps;
    return kv_case_finish(&r->words, steps, &c->kv);
}

/* ---- ends ---- */

/* From here on these ranks do nothing, neither in this step nor in later ones. */
static tutti_status read_leave(reader *r)
{
    if (!r->prefixed) return case_refuse(&r->words, "leave: which rank? 'rank 1: leave'");
    for (int rank = 0; rank < r->c->ranks; rank++)
        if (r->on[rank]) r->c->program[rank].left = 1;
    return TUTTI_OK;
}

static tutti_status add_ready(reader *r, int rank, const int tensor[], int tensors)
{
    case_program *p = &r->c->program[rank];
    if (p->readies) return case_refuse(&r->words, "ready: rank %d has an order already", rank);
    memcpy(p->ready, tensor, (size_t)tensors * sizeof *tensor);
    p->readies = tensors;
    r->ready_line[rank] = r->words.line;
    return TUTTI_OK;
}

static tutti_status read_ready(reader *r)
{
    int tensor[CASE_MOST_TENSORS], tensors = 0;
    tutti_status status = TUTTI_OK;
    while (!status && *(r->words.rest += strspn(r->words.rest, " \t"))) {
        if (tensors == CASE_MOST_TENSORS) return case_refuse(&r->words, "ready: too many tensors");
        status = case_read_tensor(&r->words, r->c, "ready", &tensor[tensors]);
        for (int i = 0; i < tensors && !status; i++)
            if (tensor[i] == tensor[tensors])
                status = case_refuse(&r->words, "ready: '%s' twice", r->c->tensor[tensor[i]]);
        tensors++;
    }
    if (!status && !tensors) return case_refuse(&r->words, "ready: tensors are missing");
    for (int rank = 0; rank < r->c->ranks && !status; rank++)
        if (r->on[rank]) status = add_ready(r, rank, tensor, tensors);
    return status;
}

static const struct directive {
    const char *word;
    tutti_status (*read)(reader *r);
    int prefix;      /* may apply to some ranks only */
    int needs_ranks; /* the number of ranks must be known */
} directives[] = {
    {"diagnosis", read_diagnosis, 0, 0},
    {"design", read_design, 0, 0},
    {"ranks", read_ranks, 0, 0},
    {"workers", read_workers, 0, 0},
    {"lanes", read_lanes, 0, 0},
    {"algorithm", read_algorithm, 0, 0},
    {"hosts", read_hosts, 0, 0},
    {"device_slots", read_slots, 0, 0},
    {"edges", read_edges, 0, 0},
    {"regions", read_regions, 0, 0},
    {"verdict", read_verdict, 0, 0},
    {"verify", read_verify, 0, 0},
    {"says", read_says, 0, 0},
    {"group", read_new_group, 0, 1},
    {"operator", read_new_operator, 1, 1},
    {"send", read_send, 1, 1},
    {"recv", read_recv, 1, 1},
    {"steps", read_steps, 1, 1},
    {"chunk", read_chunk, 1, 1},
    {"leave", read_leave, 1, 1},
    {"ready", read_ready, 1, 1},
    {"serve", read_serve, 0, 1},
    {"key", read_key, 0, 1},
};

/* "0 2" of "rank 0 2: ..." */
static tutti_status read_prefix_ranks(reader *r, char *numbers)
{
    if (!r->ranks_set) return case_refuse(&r->words, "'ranks N' stands above the first prefix");
    case_words words = r->words;
    words.rest = numbers;
    memset(r->on, 0, sizeof r->on);
    int seen = 0;
    for (char *word; (word = case_next_word(&words)); seen++) {
        long rank;
        tutti_status status = case_read_number(&r->words, "rank", word, 0, r->c->ranks - 1, &rank);
        if (status) return status;
        r->on[rank] = 1;
    }
    r->prefixed = 1;
    return seen ? TUTTI_OK : case_refuse(&r->words, "a rank is missing before ':'");
}

/* "rank 0 2: DIRECTIVE", "ready 1: ..." or a directive for every rank; *word: the directive. */
static tutti_status read_prefix(reader *r, const char **word)
{
    for (int rank = 0; rank < CASE_MOST_RANKS; rank++) r->on[rank] = rank < r->c->ranks;
    r->prefixed = 0;
    *word = case_next_word(&r->words);
    int rank = !strcmp(*word, "rank"), ready = !strcmp(*word, "ready");
    char *colon = strchr(r->words.rest, ':');
    if (rank && !colon)
        return case_refuse(&r->words, "rank: ':' is missing, as in 'rank 1: allreduce a 10'");
    if (!rank && !(ready && colon)) return TUTTI_OK;
    char *numbers = r->words.rest;
    *colon = '\0';
    r->words.rest = colon + 1;
    tutti_status status = read_prefix_ranks(r, numbers);
    if (status || ready) return status;
    *word = case_next_word(&r->words);
    return *word ? TUTTI_OK : case_refuse(&r->words, "a directive is missing after ':'");
}

static tutti_status end_line(reader *r, const char *word, tutti_status status)
{
    const char *stray = status ? NULL : case_next_word(&r->words);
    return stray ? case_refuse(&r->words, "%s: '%.40s' is too much", word, stray) : status;
}

static tutti_status read_directive(reader *r)
{
    const char *word;
    tutti_status status = read_prefix(r, &word);
    if (status) return status;
    int call = case_find_name(kv_call_words, word), serves = r->c->kv.servers > 0;
    if (call >= 0 && (serves || call != KV_LEAVE))
        return end_line(r, word, read_call(r, (kv_call_kind)call));
    int kind = case_find_name(case_kind_words, word);
    if (kind >= 0 && !r->ranks_set)
        return case_refuse(&r->words, "%s: 'ranks N' stands above it", word);
    if (kind >= 0) return read_collective(r, (tutti_coll_kind)kind);
    for (size_t i = 0; i < sizeof directives / sizeof *directives; i++) {
        if (strcmp(word, directives[i].word)) continue;
        if (r->prefixed && !directives[i].prefix)
            return case_refuse(&r->words, "%s: not of some ranks only", word);
        if (directives[i].needs_ranks && !r->ranks_set)
            return case_refuse(&r->words, "%s: 'ranks N' stands above it", word);
        return end_line(r, word, directives[i].read(r));
    }
    return case_refuse(&r->words, "'%.40s' is no directive", word);
}

static tutti_status read_line(reader *r, char *text)
{
    text[strcspn(text, "#\r")] = '\0';
    r->words.rest = text;
    return text[strspn(text, " \t")] ? read_directive(r) : TUTTI_OK;
}

/* ---- the whole ---- */

/* The tensors in a rank's ready list must be computed there, and wait for no collective. */
static tutti_status check_ready(reader *r, int rank)
{
    const case_program *p = &r->c->program[rank];
    r->words.line = r->ready_line[rank];
    for (int i = 0; i < p->readies; i++) {
        const char *name = r->c->tensor[p->ready[i]];
        const case_op *op = deadlock_case_op(r->c, rank, p->ready[i]);
        if (!op && !p->left)
            return case_refuse(&r->words, "ready: rank %d has no collective on '%s'", rank, name);
        if (op && op->afters)
            return case_refuse(
                &r->words, "ready: '%s' waits for a collective ('after') on rank %d", name, rank);
    }
    return TUTTI_OK;
}

/* Kinds that leave scratch behind cannot have a second step: its inputs would be undefined. */
static tutti_status check_steps(reader *r, int rank)
{
    case_program *p = &r->c->program[rank];
    if (p->left && p->steps > 1) p->steps = 1;
    for (int i = 0; i < p->ops; i++) {
        r->words.line = p->op[i].line;
        tutti_coll_kind kind = p->op[i].args.kind;
        int scratch = kind == TUTTI_REDUCE || kind == TUTTI_REDUCE_SCATTER;
        if (p->steps > 1 && scratch && !p->op[i].apart)
            return case_refuse(&r->words,
                "%s in place leaves scratch behind: one step only, or 'apart'",
                tutti_coll_kind_name(kind));
    }
    return TUTTI_OK;
}

static int ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), ending = strlen(end);
    return length >= ending && !strcmp(text + length - ending, end);
}

static tutti_status check_case(reader *r)
{
    const deadlock_case *c = r->c;
    int collectives = 0;
    if (!r->judged)
        return case_refuse(
            &r->words, "the verdict is missing: 'verdict ok' or 'verdict nok CLAUSE'");
    if (!c->diagnosis[0]) return case_refuse(&r->words, "the diagnosis is missing");
    if (!r->ranks_set) return case_refuse(&r->words, "the number of ranks is missing");
    if (c->lanes > 1 && !c->design->many_lanes)
        return case_refuse(&r->words, "lanes %d: design %s has one", c->lanes, c->design->name);
    if (!ends_with(c->name, c->nok ? "_nok" : "_ok"))
        return case_refuse(
            &r->words, "the file's name does not end with the verdict, _%s", c->nok ? "nok" : "ok");
    if (c->says[0] && !c->nok) return case_refuse(&r->words, "says: of a case that goes wrong");
    tutti_status status = TUTTI_OK;
    for (int rank = 0; rank < c->ranks && !status; rank++) {
        collectives += c->program[rank].ops;
        status = check_ready(r, rank);
        if (!status) status = check_steps(r, rank);
    }
    if (status) return status;
    if (c->kv.servers && !collectives) return check_keys(r);
    if (c->kv.servers)
        return case_refuse(&r->words, "a case has collectives, or keys on servers, not both");
    return collectives ? TUTTI_OK : case_refuse(&r->words, "no rank has a collective");
}

static void name_case(const char *path, char name[], size_t size)
{
    const char *file = strrchr(path, '/');
    snprintf(name, size, "%s", file ? file + 1 : path);
    if (ends_with(name, ".case")) name[strlen(name) - strlen(".case")] = '\0';
}

tutti_status deadlock_case_parse(const char *path, const char *text, deadlock_case **parsed)
{
    deadlock_case *c = calloc(1, sizeof *c);
    if (!c) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for case %s", path);
    reader r = {.words = {.path = path}, .c = c};
    c->design = tutti_design_find("funneled");
    c->workers = c->lanes = c->groups = 1;
    strcpy(c->group[0].name, "all");
    for (int rank = 0; rank < CASE_MOST_RANKS; rank++) c->program[rank].steps = 1;
    name_case(path, c->name, sizeof c->name);
    tutti_status status = TUTTI_OK;
    while (*text && !status) {
        char line[CASE_LINE];
        size_t length = strcspn(text, "\n");
        r.words.line++;
        if (length >= sizeof line) {
            status = case_refuse(&r.words, "the line is longer than %d bytes", CASE_LINE - 1);
            break;
        }
        memcpy(line, text, length);
        line[length] = '\0';
        status = read_line(&r, line);
        text += length + (text[length] == '\n');
    }
    if (!status) status = check_case(&r);
    if (!c->verify[0]) strcpy(c->verify, c->design->unsafe ? "off" : "on");
    if (status)
        free(c);
    else
        *parsed = c;
    return status;
}

tutti_status deadlock_case_load(const char *path, deadlock_case **loaded)
{
    FILE *file = fopen(path, "r");
    if (!file) return tutti_fail(TUTTI_ERR_IO, "%s: %s", path, strerror(errno));
    char *text = calloc(1, LONGEST_FILE + 1);
    size_t length = text ? fread(text, 1, LONGEST_FILE, file) : 0;
    tutti_status status = TUTTI_OK;
    if (!text)
        status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for %s", path);
    else if (ferror(file))
        status = tutti_fail(TUTTI_ERR_IO, "%s: cannot be read", path);
    else if (length == LONGEST_FILE || strlen(text) != length)
        status = tutti_fail(TUTTI_ERR_FORMAT, "%s: no case (too long, or not text)", path);
    if (!status) status = deadlock_case_parse(path, text, loaded);
    free(text);
    fclose(file);
    return status;
}

tutti_coll_args deadlock_case_args(const case_op *op)
{
    tutti_coll_args args = op->args;
    args.out_of_place = op->apart;
    args.extras = op->vectors ? op->vectors - 1 : 0;
    args.counts = op->parts ? op->part : NULL;
    return args;
}

int64_t deadlock_case_count(const deadlock_case *c, int rank, const case_op *op)
{
    const case_group *group = &c->group[op->group];
    const tutti_coll_args args = deadlock_case_args(op);
    int me = deadlock_case_member(group, rank);
    if (!tutti_coll_has_recv(&args, me) && tutti_coll_has_send(&args, me))
        return tutti_coll_send_count(&args, me, group->ranks);
    return tutti_coll_recv_count(&args, me, group->ranks);
}

int64_t deadlock_case_input_count(const deadlock_case *c, int rank, const case_op *op)
{
    const case_group *group = &c->group[op->group];
    const tutti_coll_args args = deadlock_case_args(op);
    int me = deadlock_case_member(group, rank);
    if (!tutti_coll_has_recv(&args, me) || !tutti_coll_has_send(&args, me)) return -1;
    return tutti_coll_send_count(&args, me, group->ranks);
}
