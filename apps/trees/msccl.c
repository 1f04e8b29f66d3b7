#include "apps/trees/msccl.h"

#include "dag/base/log.h"
#include "dag/base/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_GPUS = 64,
    MOST_BLOCKS = 1 << 12,
    MOST_STEPS = 1 << 16,
    MOST_CHUNKS = 1 << 16,
    MOST_SENT = 1 << 18,
    MOST_ATTRIBUTES = 32
};

/* What a type of step does, in this order. */
typedef struct step_type {
    const char *name;
    int receives, reduces, copies, sends;
} step_type;

static const step_type types[] = {{"s", 0, 0, 0, 1}, {"r", 1, 0, 1, 0}, {"rcs", 1, 0, 1, 1},
    {"rrc", 1, 1, 1, 0}, {"rrs", 1, 1, 0, 1}, {"rrcs", 1, 1, 1, 1}, {"cpy", 0, 0, 1, 0},
    {"re", 0, 1, 1, 0}, {"nop", 0, 0, 0, 0}};
enum { TYPES = sizeof types / sizeof *types };

typedef struct place {
    char buffer; /* i, o, s */
    int64_t offset;
} place;

typedef struct step {
    const step_type *type;
    place src, dst;
    int64_t count;
    int after_block, after_step; /* ids in the same GPU; -1: none */
    int line;
} step;

typedef struct block {
    int gpu, id, send, recv, channel;
    int first, steps; /* of all steps */
} block;

struct tutti_msccl {
    int gpus, in_place, chunks, blocks, steps;
    int64_t sent;               /* chunks */
    int64_t scratch[MOST_GPUS]; /* chunks */
    block block[MOST_BLOCKS];
    step step[MOST_STEPS];
    char name[256];
};

/* ---- reading ---- */

typedef struct attribute {
    char *key, *value;
} attribute;

/* A tag: <name key="value" ...>, or its end. */
typedef struct tag {
    char *name;
    attribute attribute[MOST_ATTRIBUTES];
    int attributes;
} tag;

typedef struct reader {
    tutti_msccl *m;
    tutti_lines *lines; /* where reading is, and its line */
    tag tag;
    int has_algo, gpu;
} reader;

static void skip_to(reader *r, char *end)
{
    for (; r->lines->at < end; r->lines->at++) r->lines->number += *r->lines->at == '\n';
}

static void skip_blanks(reader *r)
{
    skip_to(r, r->lines->at + strspn(r->lines->at, " \t\r\n"));
}

/* key="value" */
static tutti_status read_attribute(reader *r)
{
    char *key = r->lines->at, *equals = key + strcspn(key, "= \t\r\n/><\"");
    if (equals == key || equals[0] != '=' || equals[1] != '"')
        return tutti_lines_fail(r->lines, "an attribute is written KEY=\"VALUE\"");
    char *value = equals + 2, *end = strchr(value, '"');
    if (!end) return tutti_lines_fail(r->lines, "the value of an attribute does not end");
    if (r->tag.attributes == MOST_ATTRIBUTES)
        return tutti_lines_fail(r->lines, "more than %d attributes", MOST_ATTRIBUTES);
    *equals = '\0';
    skip_to(r, end);
    *end = '\0';
    r->lines->at = end + 1;
    r->tag.attribute[r->tag.attributes++] = (attribute){key, value};
    return TUTTI_OK;
}

/* Finds the next opening tag; *found 0: the text has no more. Closing tags, comments and text are skipped. */
static tutti_status next_tag(reader *r, int *found)
{
    for (*found = 0;;) {
        skip_to(r, r->lines->at + strcspn(r->lines->at, "<"));
        if (r->lines->at == r->lines->end) return TUTTI_OK;
        if (!*r->lines->at) return tutti_lines_fail(r->lines, "has a zero byte");
        int comments = !strncmp(r->lines->at, "<!--", 4);
        if (!comments && r->lines->at[1] != '/' && r->lines->at[1] != '?') break;
        char *end = strstr(r->lines->at, comments ? "-->" : ">");
        if (!end) return tutti_lines_fail(r->lines, "a tag or comment does not end");
        skip_to(r, end);
    }
    r->tag = (tag){.name = ++r->lines->at};
    size_t length = strcspn(r->lines->at, " \t\r\n/><");
    char *name_end = r->lines->at + length;
    int ended = *name_end == '>', closes = *name_end == '/';
    if (*name_end == '\0') return tutti_lines_fail(r->lines, "a tag does not end");
    r->lines->at = name_end;
    skip_blanks(r);
    while (!ended && !closes && *r->lines->at && *r->lines->at != '>' && *r->lines->at != '/') {
        tutti_status status = read_attribute(r);
        if (status) return status;
        skip_blanks(r);
    }
    if (!ended && !closes && !*r->lines->at)
        return tutti_lines_fail(r->lines, "a tag does not end");
    *name_end = '\0';
    r->lines->at = name_end == r->lines->at ? r->lines->at + 1 : r->lines->at;
    *found = 1;
    return TUTTI_OK;
}

static const char *find_text(const reader *r, const char *key)
{
    for (int i = 0; i < r->tag.attributes; i++)
        if (!strcmp(r->tag.attribute[i].key, key)) return r->tag.attribute[i].value;
    return NULL;
}

/* A whole number from low to high. */
static tutti_status read_number(
    const reader *r, const char *key, int64_t low, int64_t high, int64_t *value)
{
    const char *text = find_text(r, key);
    int64_t number = 0;
    if (!text) return tutti_lines_fail(r->lines, "<%s> has no %s", r->tag.name, key);
    if (!tutti_number_int(text, &number) || number < low || number > high)
        return tutti_lines_fail(r->lines, "%s=\"%s\": must be %lld to %lld", key, text,
            (long long)low, (long long)high);
    *value = number;
    return TUTTI_OK;
}

static tutti_status read_int(const reader *r, const char *key, int low, int high, int *value)
{
    int64_t number = 0;
    tutti_status status = read_number(r, key, low, high, &number);
    if (!status) *value = (int)number;
    return status;
}

static tutti_status read_algo(reader *r)
{
    tutti_msccl *m = r->m;
    const char *kind = find_text(r, "coll");
    if (r->has_algo++) return tutti_lines_fail(r->lines, "a second <algo>");
    if (!kind || strcmp(kind, "allreduce") != 0)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED, "%s:%d: coll=\"%s\": only allreduce is read",
            r->lines->path, (int)r->lines->number, kind ? kind : "");
    tutti_status status = read_int(r, "ngpus", 1, MOST_GPUS, &m->gpus);
    if (!status) status = read_int(r, "nchunksperloop", 1, MOST_CHUNKS, &m->chunks);
    if (!status) status = read_int(r, "inplace", 0, 1, &m->in_place);
    return status;
}

static tutti_status read_gpu(reader *r)
{
    tutti_status status = read_int(r, "id", 0, r->m->gpus - 1, &r->gpu);
    if (!status) status = read_number(r, "s_chunks", 0, MOST_CHUNKS, &r->m->scratch[r->gpu]);
    return status;
}

static tutti_status read_block(reader *r)
{
    tutti_msccl *m = r->m;
    if (r->gpu < 0) return tutti_lines_fail(r->lines, "<tb> outside of <gpu>");
    if (m->blocks == MOST_BLOCKS)
        return tutti_lines_fail(r->lines, "more than %d threadblocks", MOST_BLOCKS);
    block *b = &m->block[m->blocks];
    *b = (block){.gpu = r->gpu, .first = m->steps};
    tutti_status status = read_int(r, "id", 0, MOST_BLOCKS, &b->id);
    if (!status) status = read_int(r, "send", -1, m->gpus - 1, &b->send);
    if (!status) status = read_int(r, "recv", -1, m->gpus - 1, &b->recv);
    if (!status) status = read_int(r, "chan", 0, MOST_BLOCKS, &b->channel);
    for (int i = 0; !status && i < m->blocks; i++) {
        const block *o = &m->block[i];
        if (o->gpu != b->gpu) continue;
        if (o->id == b->id) status = tutti_lines_fail(r->lines, "threadblock %d twice", b->id);
        if (!status && o->channel == b->channel &&
            ((o->send >= 0 && o->send == b->send) || (o->recv >= 0 && o->recv == b->recv)))
            status = tutti_lines_fail(
                r->lines, "threadblocks %d and %d have the same peer and channel", o->id, b->id);
    }
    if (!status && (b->send == b->gpu || b->recv == b->gpu))
        status = tutti_lines_fail(r->lines, "a threadblock sends to its own GPU");
    if (!status) m->blocks++;
    return status;
}

static tutti_status read_place(
    const reader *r, const char *buffer_key, const char *offset_key, int64_t count, place *p)
{
    const char *buffer = find_text(r, buffer_key);
    if (!buffer || strlen(buffer) != 1 || !strchr("ios", buffer[0]))
        return tutti_lines_fail(
            r->lines, "%s=\"%s\": must be i, o or s", buffer_key, buffer ? buffer : "");
    int64_t chunks = buffer[0] == 's' ? r->m->scratch[r->gpu] : r->m->chunks;
    p->buffer = buffer[0];
    if (count > chunks)
        return tutti_lines_fail(
            r->lines, "%lld chunks in a buffer of %lld", (long long)count, (long long)chunks);
    return read_number(r, offset_key, 0, chunks - count, &p->offset);
}

static tutti_status read_step(reader *r)
{
    tutti_msccl *m = r->m;
    const char *type = find_text(r, "type");
    block *b = m->blocks ? &m->block[m->blocks - 1] : NULL;
    if (!b || b->gpu != r->gpu) return tutti_lines_fail(r->lines, "<step> outside of <tb>");
    if (m->steps == MOST_STEPS) return tutti_lines_fail(r->lines, "more than %d steps", MOST_STEPS);
    step *s = &m->step[m->steps];
    *s = (step){.line = (int)r->lines->number};
    for (int i = 0; type && i < TYPES; i++)
        if (!strcmp(types[i].name, type)) s->type = &types[i];
    if (!s->type)
        return tutti_lines_fail(r->lines,
            "type=\"%s\": must be s, r, rcs, rrc, rrs, rrcs, cpy, re or nop", type ? type : "");
    if (s->type->sends && b->send < 0)
        return tutti_lines_fail(r->lines, "a threadblock without a receiver sends");
    if (s->type->receives && b->recv < 0)
        return tutti_lines_fail(r->lines, "a threadblock without a sender receives");
    int moves = s->type != &types[TYPES - 1];
    tutti_status status = moves ? read_number(r, "cnt", 1, MOST_CHUNKS, &s->count) : TUTTI_OK;
    int reads = !s->type->receives || s->type->reduces;
    if (!status && moves && reads) status = read_place(r, "srcbuf", "srcoff", s->count, &s->src);
    if (!status && s->type->copies) status = read_place(r, "dstbuf", "dstoff", s->count, &s->dst);
    if (!status && s->type->copies && s->dst.buffer == 'i' && !m->in_place)
        status = tutti_lines_fail(r->lines, "a step writes into the input");
    if (!status) status = read_int(r, "depid", -1, MOST_BLOCKS, &s->after_block);
    if (!status) status = read_int(r, "deps", -1, MOST_STEPS, &s->after_step);
    if (status) return status;
    m->sent += s->type->sends ? s->count : 0;
    if (m->sent > MOST_SENT)
        return tutti_lines_fail(r->lines, "more than %d chunks are sent", MOST_SENT);
    b->steps++;
    m->steps++;
    return TUTTI_OK;
}

static tutti_status read_tags(reader *r)
{
    static const struct {
        const char *name;
        tutti_status (*read)(reader *r);
    } known[] = {{"algo", read_algo}, {"gpu", read_gpu}, {"tb", read_block}, {"step", read_step}};
    int found;
    tutti_status status = next_tag(r, &found);
    for (; !status && found; status = status ? status : next_tag(r, &found)) {
        size_t i = 0;
        while (i < 4 && strcmp(known[i].name, r->tag.name) != 0) i++;
        if (i == 4)
            return tutti_lines_fail(r->lines, "<%s>: must be algo, gpu, tb or step", r->tag.name);
        if (i && !r->has_algo) return tutti_lines_fail(r->lines, "<%s> before <algo>", r->tag.name);
        status = known[i].read(r);
    }
    if (!status && !r->has_algo) status = tutti_lines_fail(r->lines, "there is no <algo>");
    return status;
}

tutti_status tutti_msccl_read(tutti_lines *lines, tutti_msccl **algorithm)
{
    tutti_msccl *m = calloc(1, sizeof *m);
    if (!m) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for an algorithm");
    lines->number = 1;
    snprintf(m->name, sizeof m->name, "%s", lines->path);
    reader r = {.m = m, .lines = lines, .gpu = -1};
    tutti_status status = read_tags(&r);
    if (status)
        free(m);
    else
        *algorithm = m;
    return status;
}

void tutti_msccl_free(tutti_msccl *m)
{
    free(m);
}

int tutti_msccl_gpus(const tutti_msccl *m)
{
    return m->gpus;
}

int tutti_msccl_chunks(const tutti_msccl *m)
{
    return m->chunks;
}

/* ---- schedules ---- */

/* The steps of all GPUs run, without data, in an order that their waits allow. A message is appended to both schedules
 * when it is sent: so both have the same order, whatever the channels. It arrives in a place of its own. */
typedef struct run {
    const tutti_msccl *m;
    int64_t chunk;
    tutti_sched_draft **draft; /* [gpus] */
    int64_t used[MOST_GPUS];   /* elements of scratch */
    int *at;                   /* [blocks] the next step of each */
    int *taken;                /* [blocks] messages that it has received */
    int *sender;               /* [blocks] the block that sends to it; -1: none */
    int *sent;                 /* [blocks] messages that it has sent */
    int64_t *arrived; /* [steps] of the n-th message of a block: where it lies, at first + n */
    int64_t *count;   /* [steps] and how long it is, in chunks */
    int *sent_by;     /* [steps] and the step that has sent it */
    /* [steps][blocks] Of a step that has run: how many steps of each block are before it in every order; of its own
     * block it is the last of these. */
    int *before;
} run;

static int find_sender(const tutti_msccl *m, int receiver)
{
    const block *b = &m->block[receiver];
    for (int i = 0; b->recv >= 0 && i < m->blocks; i++)
        if (m->block[i].gpu == b->recv && m->block[i].send == b->gpu &&
            m->block[i].channel == b->channel)
            return i;
    return -1;
}

/* The block that a step waits for; -1: none. */
static int find_awaited(const tutti_msccl *m, const block *b, const step *s)
{
    for (int i = 0; s->after_block >= 0 && i < m->blocks; i++)
        if (m->block[i].gpu == b->gpu && m->block[i].id == s->after_block) return i;
    return -1;
}

/* Whether what a step waits for has run. */
static int is_free(const run *r, const block *b, const step *s)
{
    if (s->after_block < 0) return 1;
    const int awaited = find_awaited(r->m, b, s);
    return awaited >= 0 && r->at[awaited] > s->after_step;
}

static int *before_of(const run *r, int number)
{
    return r->before + (size_t)number * (size_t)r->m->blocks;
}

/* All that is before step `earlier` is before step `number`. */
static void put_after(run *r, int number, int earlier)
{
    int *mine = before_of(r, number);
    const int *its = before_of(r, earlier);
    for (int i = 0; i < r->m->blocks; i++)
        if (its[i] > mine[i]) mine[i] = its[i];
}

/* Finds what is before the next step of a block, whose message, if it receives one, step `sent_by` has sent. */
static void order_step(run *r, int number, int sent_by)
{
    const block *b = &r->m->block[number];
    const int at = b->first + r->at[number];
    const step *s = &r->m->step[at];
    const int awaited = find_awaited(r->m, b, s);
    if (r->at[number]) put_after(r, at, at - 1);
    if (awaited >= 0 && s->after_step >= 0)
        put_after(r, at, r->m->block[awaited].first + s->after_step);
    if (sent_by >= 0) put_after(r, at, sent_by);
    before_of(r, at)[number] = r->at[number] + 1;
}

static tutti_spot spot_of(const run *r, const place *p)
{
    int64_t offset = p->offset * r->chunk;
    return p->buffer == 's'                      ? tutti_scratch(offset)
           : p->buffer == 'i' && !r->m->in_place ? tutti_in(offset)
                                                 : tutti_out(offset);
}

static int is_same(const tutti_spot *a, const tutti_spot *b)
{
    return a->space == b->space && a->offset == b->offset;
}

static void send_message(run *r, int number, tutti_spot src, int64_t count)
{
    const block *b = &r->m->block[number];
    int n = b->first + r->sent[number]++;
    r->sent_by[n] = b->first + r->at[number];
    r->arrived[n] = r->used[b->send];
    r->count[n] = count;
    r->used[b->send] += count * r->chunk;
    tutti_sched_send(r->draft[b->gpu], b->send, src, count * r->chunk);
    tutti_sched_recv(r->draft[b->send], b->gpu, tutti_scratch(r->arrived[n]), count * r->chunk);
}

/* Runs a step whose message, if it receives one, lies at `got`. */
static void run_step(run *r, int number, const step *s, tutti_spot got)
{
    tutti_sched_draft *draft = r->draft[r->m->block[number].gpu];
    tutti_spot src = s->src.buffer ? spot_of(r, &s->src) : got,
               dst = s->dst.buffer ? spot_of(r, &s->dst) : got;
    int64_t n = s->count * r->chunk;
    if (s->type->receives && !s->type->reduces && s->type->copies)
        tutti_sched_copy(draft, dst, got, n);
    if (s->type->receives && s->type->reduces && s->type->copies) {
        if (!is_same(&src, &dst)) tutti_sched_copy(draft, dst, src, n);
        tutti_sched_reduce(draft, dst, got, n, 0);
    }
    if (s->type->receives && s->type->reduces && !s->type->copies)
        tutti_sched_reduce(draft, got, src, n, 0);
    if (!s->type->receives && s->type->copies && s->type->reduces)
        tutti_sched_reduce(draft, dst, src, n, 0);
    if (!s->type->receives && s->type->copies && !s->type->reduces && !is_same(&src, &dst))
        tutti_sched_copy(draft, dst, src, n);
    if (s->type->sends)
        send_message(r, number, !s->type->receives ? src : s->type->copies ? dst : got, s->count);
}

static tutti_status say_step(const tutti_msccl *m, const step *s, const char *text)
{
    return tutti_fail(TUTTI_ERR_FORMAT, "%s:%d: %s", m->name, s->line, text);
}

/* Runs the next steps of a block. *moved: whether any could. */
static tutti_status run_block(run *r, int number, int *moved)
{
    const tutti_msccl *m = r->m;
    const block *b = &m->block[number];
    while (r->at[number] < b->steps) {
        const step *s = &m->step[b->first + r->at[number]];
        tutti_spot got = tutti_scratch(0);
        int sent_by = -1;
        if (!is_free(r, b, s)) break;
        if (s->type->receives) {
            int from = r->sender[number];
            if (from < 0) return say_step(m, s, "no rank sends what this step receives");
            if (r->taken[number] == r->sent[from]) break;
            int message = m->block[from].first + r->taken[number]++;
            if (r->count[message] != s->count)
                return say_step(m, s, "this step receives another number of chunks than are sent");
            got.offset = r->arrived[message];
            sent_by = r->sent_by[message];
        }
        order_step(r, number, sent_by);
        run_step(r, number, s, got);
        r->at[number]++;
        *moved = 1;
    }
    return TUTTI_OK;
}

/* ---- races ---- */

static int is_shared(
    const tutti_msccl *m, const place *a, int64_t a_count, const place *b, int64_t b_count)
{
    if (!a->buffer || !b->buffer) return 0;
    const int same =
        a->buffer == b->buffer || (m->in_place && a->buffer != 's' && b->buffer != 's');
    return same && a->offset < b->offset + b_count && b->offset < a->offset + a_count;
}

/* Whether one step writes what the other reads or writes. */
static int has_conflict(const tutti_msccl *m, const step *a, const step *b)
{
    return is_shared(m, &a->dst, a->count, &b->dst, b->count) ||
           is_shared(m, &a->dst, a->count, &b->src, b->count) ||
           is_shared(m, &a->src, a->count, &b->dst, b->count);
}

/* Looks for steps of two blocks of a GPU that have no order and a conflict. What is before the steps of a block only
 * grows, so those without an order to a step follow each other. */
static tutti_status check_pair(const run *r, int one, int other)
{
    const tutti_msccl *m = r->m;
    const block *a = &m->block[one], *b = &m->block[other];
    for (int x = 0; x < a->steps; x++) {
        const step *s = &m->step[a->first + x];
        int y = before_of(r, a->first + x)[other];
        for (; y < b->steps && before_of(r, b->first + y)[one] <= x; y++) {
            const step *t = &m->step[b->first + y];
            if (has_conflict(m, s, t))
                return tutti_fail(TUTTI_ERR_MISMATCH,
                    "%s:%d: neither this step nor that of line %d waits for the other, and one "
                    "writes what the other uses",
                    m->name, s->line, t->line);
        }
    }
    return TUTTI_OK;
}

/* Steps without an order have run in one of several: the schedules are right in all of them if none of these steps
 * has a conflict. */
static tutti_status check_races(const run *r)
{
    const tutti_msccl *m = r->m;
    tutti_status status = TUTTI_OK;
    for (int i = 0; !status && i < m->blocks; i++)
        for (int j = i + 1; !status && j < m->blocks; j++)
            if (m->block[i].gpu == m->block[j].gpu) status = check_pair(r, i, j);
    return status;
}

static int all_received(const run *r, int number)
{
    int taken = 0;
    for (int i = 0; i < r->m->blocks; i++)
        if (r->sender[i] == number) taken += r->taken[i];
    return taken == r->sent[number];
}

static tutti_status run_all(run *r)
{
    const tutti_msccl *m = r->m;
    tutti_status status = TUTTI_OK;
    for (int moved = 1; !status && moved;) {
        moved = 0;
        for (int i = 0; !status && i < m->blocks; i++) status = run_block(r, i, &moved);
    }
    for (int i = 0; !status && i < m->blocks; i++)
        if (r->at[i] < m->block[i].steps)
            status = say_step(m, &m->step[m->block[i].first + r->at[i]],
                "this step never runs: it waits for a message or a step that waits for it, or is "
                "not there");
    for (int i = 0; !status && i < m->blocks; i++)
        if (!all_received(r, i))
            status = say_step(
                m, &m->step[m->block[i].first], "no rank receives all that this threadblock sends");
    return status ? status : check_races(r);
}

static tutti_status begin_drafts(run *r)
{
    tutti_status status = TUTTI_OK;
    for (int g = 0; !status && g < r->m->gpus; g++) {
        const tutti_sched_shape shape = {.kind = TUTTI_ALLREDUCE,
            .rank = g,
            .P = r->m->gpus,
            .count = r->m->chunks * r->chunk,
            .in_place = r->m->in_place};
        r->used[g] = r->m->scratch[g] * r->chunk;
        status = tutti_sched_begin(&shape, &r->draft[g]);
    }
    return status;
}

/* Ends all drafts; without a status, the schedules are the caller's. */
static tutti_status end_drafts(run *r, tutti_status status, tutti_sched *ranks[])
{
    for (int g = 0; g < r->m->gpus; g++) {
        if (!r->draft[g]) continue;
        tutti_status own = tutti_sched_end(r->draft[g], &ranks[g]);
        if (!status) status = own;
    }
    for (int g = 0; status && g < r->m->gpus; g++) {
        tutti_sched_free(ranks[g]);
        ranks[g] = NULL;
    }
    return status;
}

tutti_status tutti_msccl_build(const tutti_msccl *m, int64_t chunk, tutti_sched *ranks[])
{
    size_t blocks = (size_t)m->blocks + 1, steps = (size_t)m->steps + 1;
    tutti_sched_draft *draft[MOST_GPUS] = {NULL};
    int *numbers = calloc(4 * blocks + steps, sizeof *numbers);
    int *before = calloc(blocks * steps, sizeof *before);
    int64_t *messages = calloc(2 * steps, sizeof *messages);
    run r = {.m = m, .chunk = chunk, .draft = draft, .before = before};
    tutti_status status = numbers && before && messages
                              ? TUTTI_OK
                              : tutti_fail(TUTTI_ERR_NOMEM, "no memory for schedules");
    for (int g = 0; g < m->gpus; g++) ranks[g] = NULL;
    if (!status) {
        r.at = numbers;
        r.taken = numbers + blocks;
        r.sent = r.taken + blocks;
        r.sender = r.sent + blocks;
        r.sent_by = r.sender + blocks;
        r.arrived = messages;
        r.count = messages + steps;
        for (int i = 0; i < m->blocks; i++) r.sender[i] = find_sender(m, i);
        status = begin_drafts(&r);
    }
    if (!status) status = run_all(&r);
    status = end_drafts(&r, status, ranks);
    free(numbers);
    free(before);
    free(messages);
    return status;
}
