#include "tests/deadlock/case_op.h"

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

/* "3,0,5": a length for each rank of the group; count is their sum. */
static tutti_status read_parts(const case_words *words, char *value, case_op *op)
{
    enum { MOST = 4096 };
    long number;
    int64_t sum = 0;
    int parts = 0;
    tutti_status status = TUTTI_OK;
    if (op->args.kind != TUTTI_GATHER && op->args.kind != TUTTI_SCATTER)
        return case_refuse(words, "parts=: of a gather and a scatter");
    for (char *rest = value, *one; !status && (one = strsep(&rest, ","));) {
        if (parts == CASE_MOST_RANKS) return case_refuse(words, "parts=: too many");
        status = case_read_number(words, "parts", one, 0, MOST, &number);
        if (!status) sum += op->part[parts++] = number;
    }
    if (status) return status;
    if (sum != op->args.count)
        return case_refuse(words, "parts=: their sum is %ld, not the count", (long)sum);
    op->has_parts = parts;
    return TUTTI_OK;
}

/* One "key=value" of a collective. */
static tutti_status read_key(const case_words *words, char *word, case_op *op)
{
    int choice;
    long number;
    char *value = strchr(word, '=');
    *value++ = '\0';
    tutti_status status;
    if (!strcmp(word, "op")) {
        status = case_read_choice(words, "op", value, op_words, &choice);
        if (!status) op->args.op = (tutti_reduce_op)choice;
    } else if (!strcmp(word, "dtype")) {
        status = case_read_choice(words, "dtype", value, dtype_words, &choice);
        if (!status) op->args.dtype = (tutti_dtype)choice;
    } else if (!strcmp(word, "root")) {
        status = case_read_number(words, "root", value, 0, CASE_MOST_RANKS - 1, &number);
        if (!status) op->args.root = (int)number;
    } else if (!strcmp(word, "parts")) {
        status = read_parts(words, value, op);
    } else {
        status = case_refuse(words, "'%.40s=': known are op=, dtype=, root=, parts=", word);
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
static tutti_status read_details(case_words *words, const deadlock_case *c, case_op *op)
{
    tutti_status status = TUTTI_OK;
    for (char *word; !status && (word = case_next_word(words));) {
        if (strchr(word, '='))
            status = read_key(words, word, op);
        else if (!strcmp(word, "on"))
            status = read_group(words, c, &op->group);
        else if (!strcmp(word, "after"))
            status = read_after(words, c, op);
        else if (!strcmp(word, "lost"))
            op->lost = 1;
        else
            status = case_refuse(words,
                "'%.40s': after tensor and count come op=, dtype=, root=, parts=, 'on GROUP', "
                "'after TENSOR', 'lost'",
                word);
    }
    return status;
}

tutti_status case_read_op(case_words *words, deadlock_case *c, tutti_coll_kind kind, case_op *read)
{
    long count = 1;
    case_op op = {.line = words->line, .args = {.kind = kind}};
    tutti_status status = read_new_tensor(words, c, &op.tensor);
    if (!status && kind != TUTTI_BARRIER)
        status =
            case_read_number(words, "count", case_next_word(words), 1, CASE_MOST_COUNT, &count);
    op.args.count = count;
    if (!status) status = read_details(words, c, &op);
    if (status) return status;
    const case_group *group = &c->group[op.group];
    if (tutti_coll_trait_of(kind)->reduces && !tutti_reduce_op_takes(op.args.op, op.args.dtype))
        return case_refuse(words, "op=%s does not go with dtype=%s", op_words[op.args.op],
            dtype_words[op.args.dtype]);
    if (op.has_parts && op.has_parts != group->ranks)
        return case_refuse(words, "parts=: %d lengths, group '%s' has %d ranks", op.has_parts,
            group->name, group->ranks);
    if (op.args.root >= group->ranks)
        return case_refuse(
            words, "root=%d: group '%s' has %d ranks", op.args.root, group->name, group->ranks);
    *read = op;
    return TUTTI_OK;
}
