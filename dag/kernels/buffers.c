/* Reading the text of an op's buffers. */
#include "dag/kernels/kernel.h"

#include <string.h>

enum { MOST = 16 };

typedef struct item {
    tutti_op_buffer buffer;
    int optional;
} item;

typedef struct list {
    int items, optional;
    int repeated; /* the item that "..." repeats, or -1 */
    item item[MOST];
} list;

static void copy(char *to, size_t size, const char *from, size_t length)
{
    if (length >= size) length = size - 1;
    memcpy(to, from, length);
    to[length] = '\0';
}

/* TUTTI_DTYPE_COUNT for an unknown name, which is no tensor's type. */
static tutti_dtype find_dtype(const char *name)
{
    int d = 0;
    while (d < TUTTI_DTYPE_COUNT && strcmp(tutti_dtype_name((tutti_dtype)d), name) != 0) d++;
    return (tutti_dtype)d;
}

/* Reads "name", "[name]" or "name:TYPE", and "(rw)" behind it; returns where it ends. */
static const char *read_item(const char *text, tutti_dtype dtype, item *to)
{
    char type[16];
    to->optional = *text == '[';
    text += to->optional;
    size_t length = strcspn(text, ":](,-");
    copy(to->buffer.name, sizeof to->buffer.name, text, length);
    to->buffer.dtype = dtype;
    text += length;
    if (*text == ':') {
        length = strcspn(++text, "](,-");
        copy(type, sizeof type, text, length);
        to->buffer.dtype = find_dtype(type);
        text += length;
    }
    return text + strcspn(text, ",-");
}

static list read_list(const char *text, tutti_dtype dtype)
{
    list l = {.repeated = -1};
    while (*(text += strspn(text, ",->")) && l.items < MOST) {
        item *next = &l.item[l.items];
        text = read_item(text, dtype, next);
        if (strcmp(next->buffer.name, "...") == 0) {
            l.repeated = l.items - 1;
        } else {
            l.optional += next->optional;
            l.items++;
        }
    }
    return l;
}

int tutti_op_buffer_get(
    const tutti_op *op, tutti_dtype dtype, int count, int i, tutti_op_buffer *buffer)
{
    const list l = read_list(op->buffers, dtype);
    int more = count - l.items, repeats = l.repeated >= 0 && more >= 0;
    int without = l.optional && more == -l.optional;
    if (i < 0 || i >= count || (more && !without && !repeats)) return 0;
    int at = i;
    if (without)
        for (at = -1; i >= 0; i -= !l.item[at].optional) at++;
    else if (repeats && i > l.repeated)
        at = i - more > l.repeated ? i - more : l.repeated;
    *buffer = l.item[at].buffer;
    return 1;
}
