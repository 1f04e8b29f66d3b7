#include "tests/deadlock/case_op.h"

#include <stdio.h>
#include <string.h>

static int find_tensor(const deadlock_case *c, const char *name)
{
    for (int t = 0; t < c->tensors; t++)
        if (!strcmp(c->tensor[t], name)) return t;
    return -1;
}

static tutti_status read_new_tensor(case_words *words, deadlock_case *c, int *tensor)
{
    const char *name;
    tutti_status status = case_read_name(words, "tensor", CASE_NAME - 1, &name);
    if (status) return status;
    *tensor = find_tensor(c, name);
    if (*tensor >= 0) return TUTTI_OK;
    if (c->tensors == CASE_MOST_TENSORS)
        return case_refuse(words, "more than %d tensors", CASE_MOST_TENSORS);
    *tensor = c->tensors++;
    strcpy(c->tensor[*tensor], name);
    return TUTTI_OK;
}

tutti_status case_read_tensor(
    case_words *words, const deadlock_case *c, const char *what, int *tensor)
{
    const char *name;
    tutti_status status = case_read_name(words, what, CASE_NAME - 1, &name);
    if (status) return status;
    *tensor = find_tensor(c, name);
    return *tensor < 0 ? case_refuse(words, "%s: no collective on '%s' stands above", what, name)
                       : TUTTI_OK;
}

static tutti_status read_group(case_words *words, const deadlock_case *c, int *group)
{
    const char *name;
    tutti_status status = case_read_name(words, "on", CASE_NAME - 1, &name);
    if (status) return status;
    for (int g = 0; g < c->groups; g++)
        if (!strcmp(c->group[g].name, name)) {
            *group = g;
            return TUTTI_OK;
        }
    return case_refuse(words, "on: no group '%s' stands above", name);
}

const char *const case_kind_words[] = {[TUTTI_ALLREDUCE] = "allreduce",
    [TUTTI_BROADCAST] = "broadcast",
    [TUTTI_REDUCE] = "reduce",
    [TUTTI_ALLGATHER] = "allgather",
    [TUTTI_REDUCE_SCATTER] = "reduce-scatter",
    [TUTTI_BARRIER] = "barrier",
    [TUTTI_GATHER] = "gather",
    [TUTTI_SCATTER] = "scatter",
    [TUTTI_ALLTOALL] = "alltoall",
    [TUTTI_SCAN] = "scan",
    NULL};
static const char *const op_words[] = {[TUTTI_SUM] = "sum",
    [TUTTI_PROD] = "prod",
    [TUTTI_MIN] = "min",
    [TUTTI_MAX] = "max",
    [TUTTI_LAND] = "land",
    [TUTTI_LOR] = "lor",
    [TUTTI_LXOR] = "lxor",
    [TUTTI_BAND] = "band",
    [TUTTI_BOR] = "bor",
    [TUTTI_BXOR] = "bxor",
    [TUTTI_MINLOC] = "minloc",
    [TUTTI_MAXLOC] = "maxloc",
    NULL};
static const char *const dtype_words[] = {[TUTTI_F32] = "f32",
    [TUTTI_F64] = "f64",
    [TUTTI_I32] = "i32",
    [TUTTI_I64] = "i64",
    [TUTTI_U8] = "u8",
    [TUTTI_I8] = "i8",
    [TUTTI_I16] = "i16",
    [TUTTI_U16] = "u16",
    [TUTTI_U32] = "u32",
    [TUTTI_U64] = "u64",
    [TUTTI_C64] = "c64",
    [TUTTI_C128] = "c128",
    [TUTTI_FLOAT_INT] = "float_int",
    [TUTTI_DOUBLE_INT] = "double_int",
    [TUTTI_INT_INT] = "int_int",
    [TUTTI_LONG_INT] = "long_int",
    [TUTTI_BF16] = "bf16",
    NULL};

/* "3,0,5": a length for each rank of the group, or "1,2/0,3": for each pair of ranks, row by row.
 * The count is their sum. */
static tutti_status read_parts(const case_words *words, char *value, case_statement *line)
{
    enum { MOST = 4096 };
    long number;
    int64_t sum = 0;
    tutti_status status = TUTTI_OK;
    line->lengths = 0;
    for (char *rest = value, *one; !status && (one = strsep(&rest, ",/")); line->lengths++) {
        if (line->lengths == CASE_MOST_RANKS * CASE_MOST_RANKS)
            return case_refuse(words, "parts=: too many");
        status = case_read_number(words, "parts", one, 0, MOST, &number);
        if (!status) sum += line->length[line->lengths] = number;
    }
    if (!status && sum != line->op.args.count)
        return case_refuse(words, "parts=: their sum is %ld, not the count", (long)sum);
    return status;
}

/* An operator of the list, or the name of one that the program makes. */
static void read_operator(const char *value, case_statement *line)
{
    int choice = case_find_name(op_words, value);
    line->operator_[0] = '\0';
    if (choice >= 0)
        line->op.args.op = (tutti_reduce_op)choice;
    else
        snprintf(line->operator_, sizeof line->operator_, "%s", *value ? value : "?");
}

/* One "key=value" of a collective. */
static tutti_status read_key(const case_words *words, char *word, case_statement *line)
{
    int choice;
    long number;
    char *value = strchr(word, '=');
    case_op *op = &line->op;
    *value++ = '\0';
    tutti_status status = TUTTI_OK;
    if (!strcmp(word, "op")) {
        read_operator(value, line);
    } else if (!strcmp(word, "dtype")) {
        status = case_read_choice(words, "dtype", value, dtype_words, &choice);
        if (!status) op->args.dtype = (tutti_dtype)choice;
    } else if (!strcmp(word, "root")) {
        status = case_read_number(words, "root", value, 0, CASE_MOST_RANKS - 1, &number);
        if (!status) op->args.root = (int)number;
    } else if (!strcmp(word, "priority")) {
        status = case_read_number(words, "priority", value, 0, 100, &number);
        if (!status) op->priority = (int)number;
    } else if (!strcmp(word, "vectors")) {
        status = case_read_number(words, "vectors", value, 1, CASE_MOST_VECTORS, &number);
        if (!status) op->vectors = (int)number;
    } else if (!strcmp(word, "parts")) {
        status = read_parts(words, value, line);
    } else {
        status = case_refuse(words, "'%.40s=': known: op=, dtype=, root=, parts=, priority=, vectors=", word);
    }
    return status;
}

static tutti_status read_after(case_words *words, const deadlock_case *c, case_op *op)
{
    if (op->afters == CASE_MOST_AFTER)
        return case_refuse(words, "after: more than %d", CASE_MOST_AFTER);
    tutti_status status = case_read_tensor(words, c, "after", &op->after[op->afters]);
    if (!status) op->afters++;
    return status;
}

/* Reads what may follow tensor and count. */
static tutti_status read_details(case_words *words, const deadlock_case *c, case_statement *line)
{
    case_op *op = &line->op;
    tutti_status status = TUTTI_OK;
    for (char *word; !status && (word = case_next_word(words));) {
        if (strchr(word, '='))
            status = read_key(words, word, line);
        else if (!strcmp(word, "on"))
            status = read_group(words, c, &op->group);
        else if (!strcmp(word, "after"))
            status = read_after(words, c, op);
        else if (!strcmp(word, "lost"))
            op->lost = 1;
        else if (!strcmp(word, "apart"))
            op->apart = 1;
        else if (!strcmp(word, "in-place"))
            op->apart = 0;
        else
            status = case_refuse(words,
                "'%.40s': after tensor and count come op=, dtype=, root=, parts=, priority=, vectors=, "
                "'on GROUP', 'after TENSOR', 'apart', 'in-place', 'lost'",
                word);
    }
    return status;
}

/* Whether the lengths fit the kind and the group. */
static tutti_status check_parts(
    const case_words *words, const case_group *group, const case_statement *line)
{
    tutti_coll_kind kind = line->op.args.kind;
    int pairs = kind == TUTTI_ALLTOALL, wanted = pairs ? group->ranks * group->ranks : group->ranks;
    if (!tutti_coll_trait_of(kind)->parts)
        return case_refuse(words, "parts=: %s has no parts", case_kind_words[kind]);
    if (line->lengths != wanted)
        return case_refuse(words, "parts=: %d lengths, group '%s' has %d ranks%s", line->lengths,
            group->name, group->ranks, pairs ? ", and an alltoall a length for each pair" : "");
    if (pairs && !line->op.apart)
        return case_refuse(words, "parts=: an alltoall with given lengths is never in place");
    return TUTTI_OK;
}

tutti_status case_read_statement(
    case_words *words, deadlock_case *c, tutti_coll_kind kind, case_statement *line)
{
    long count = 1;
    const tutti_coll_trait *trait = tutti_coll_trait_of(kind);
    case_op *op = &line->op;
    *line = (case_statement){
        .op = {.line = words->line, .args = {.kind = kind}, .apart = kind == TUTTI_ALLGATHER}};
    tutti_status status = read_new_tensor(words, c, &op->tensor);
    if (!status && kind != TUTTI_BARRIER)
        status =
            case_read_number(words, "count", case_next_word(words), 1, CASE_MOST_COUNT, &count);
    op->args.count = count;
    if (!status) status = read_details(words, c, line);
    if (status) return status;
    const case_group *group = &c->group[op->group];
    if (line->operator_[0] && !trait->reduces)
        return case_refuse(words, "op=%s: %s has no operator", line->operator_, trait->name);
    if (trait->reduces && !line->operator_[0] &&
        !tutti_reduce_op_takes(op->args.op, op->args.dtype))
        return case_refuse(words, "op=%s does not go with dtype=%s", op_words[op->args.op],
            dtype_words[op->args.dtype]);
    if (op->apart && !trait->sends)
        return case_refuse(words, "%s is never out of place", trait->name);
    if (op->vectors && (kind != TUTTI_ALLREDUCE || op->args.op != TUTTI_SUM ||
                           op->args.dtype != TUTTI_F32 || line->operator_[0]))
        return case_refuse(words, "vectors=: of an allreduce that sums f32, and no other");
    if (op->vectors) op->apart = 1;
    if (op->args.root >= group->ranks)
        return case_refuse(
            words, "root=%d: group '%s' has %d ranks", op->args.root, group->name, group->ranks);
    return line->lengths ? check_parts(words, group, line) : TUTTI_OK;
}

/* The edge's number among the case's groups. */
static tutti_status find_edge(
    const case_words *words, deadlock_case *c, int from, int to, int edge, int *group)
{
    for (int g = 1; g < c->groups; g++) {
        const case_group *e = &c->group[g];
        *group = g;
        if (e->is_edge && e->rank[0] == from && e->rank[1] == to && e->edge == edge)
            return TUTTI_OK;
    }
    if (c->groups == CASE_MOST_GROUPS)
        return case_refuse(words, "more than %d groups and edges", CASE_MOST_GROUPS);
    case_group fresh = {.ranks = 2, .rank = {from, to}, .is_edge = 1, .edge = edge};
    snprintf(fresh.name, sizeof fresh.name, "edge %d, %d to %d", edge, from, to);
    *group = c->groups++;
    c->group[*group] = fresh;
    return TUTTI_OK;
}

tutti_status case_read_message(
    case_words *words, deadlock_case *c, int rank, int sends, case_statement *line)
{
    const char *const peer_words[] = {sends ? "to" : "from", NULL};
    const char *const edge_words[] = {"edge", NULL};
    const char *const what = sends ? "send" : "recv";
    int peer, edge, ignored;
    long count;
    *line = (case_statement){.op = {.line = words->line, .args = {.kind = TUTTI_MESSAGE}}};
    case_op *op = &line->op;
    tutti_status status = read_new_tensor(words, c, &op->tensor);
    if (!status)
        status =
            case_read_number(words, "count", case_next_word(words), 1, CASE_MOST_COUNT, &count);
    if (!status)
        status = case_read_choice(words, what, case_next_word(words), peer_words, &ignored);
    if (!status) status = case_read_int(words, what, 0, c->ranks - 1, &peer);
    if (!status && peer == rank) return case_refuse(words, "%s: rank %d and itself", what, rank);
    if (!status)
        status = case_read_choice(words, what, case_next_word(words), edge_words, &ignored);
    if (!status) status = case_read_int(words, "edge", 0, 2047, &edge);
    if (!status)
        status = find_edge(words, c, sends ? rank : peer, sends ? peer : rank, edge, &op->group);
    if (status) return status;
    op->args.count = count;
    int group = op->group;
    status = read_details(words, c, line);
    if (!status && op->group != group) return case_refuse(words, "%s: not 'on' a group", what);
    if (!status && (op->apart || op->vectors || line->lengths || line->operator_[0]))
        return case_refuse(words, "%s: has no parts, no operator, and one tensor", what);
    return status;
}

/* The lengths that matter to member `me`: those of a gather; or what it sends, then what it
 * receives. */
static void take_lengths(const case_group *group, int me, const case_statement *line, case_op *op)
{
    int P = group->ranks, pairs = op->args.kind == TUTTI_ALLTOALL;
    op->parts = pairs ? 2 * P : P;
    for (int r = 0; r < P; r++) {
        op->part[r] = line->length[pairs ? me * P + r : r];
        if (pairs) op->part[P + r] = line->length[r * P + me];
    }
    if (pairs) op->args.count = 0;
}

static tutti_status take_operator(
    const case_words *words, const case_program *program, int rank, const char *name, case_op *op)
{
    for (int i = 0; i < program->operators; i++)
        if (!strcmp(program->operator_[i].name, name)) {
            op->args.op = (tutti_reduce_op)(TUTTI_USER_OP + i);
            op->args.user = &program->operator_[i].user;
            return TUTTI_OK;
        }
    return case_refuse(words,
        "op=%s: neither an operator of the list nor one that rank %d makes above ('operator %s "
        "compose')",
        name, rank, name);
}

tutti_status case_op_of(const case_words *words, const deadlock_case *c, int rank,
    const case_statement *line, case_op *op)
{
    const case_group *group = &c->group[line->op.group];
    *op = line->op;
    if (line->lengths) take_lengths(group, deadlock_case_member(group, rank), line, op);
    if (!line->operator_[0]) return TUTTI_OK;
    return take_operator(words, &c->program[rank], rank, line->operator_, op);
}
