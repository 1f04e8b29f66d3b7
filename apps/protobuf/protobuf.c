#include "apps/protobuf/protobuf.h"

#include <stdlib.h>
#include <string.h>

enum { VARINT = 0, I64 = 1, LEN = 2, I32 = 5 };

_Static_assert(
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are written as they lie in memory");

void tutti_protobuf_free(tutti_protobuf *message)
{
    free(message->data);
    *message = (tutti_protobuf){0};
}

static void append(tutti_protobuf *m, const void *data, size_t size)
{
    if (m->failed || size == 0) return;
    if (size > m->room - m->size) {
        size_t room = 2 * m->room + size + 64;
        unsigned char *more = realloc(m->data, room);
        if (!more) {
            m->failed = 1;
            return;
        }
        m->data = more;
        m->room = room;
    }
    memcpy(m->data + m->size, data, size);
    m->size += size;
}

static void varint(tutti_protobuf *m, uint64_t value)
{
    do {
        unsigned char byte = (unsigned char)((value & 127) | (value > 127 ? 128 : 0));
        append(m, &byte, 1);
        value >>= 7;
    } while (value);
}

static void tag(tutti_protobuf *m, int field, int type)
{
    varint(m, (uint64_t)field * 8 + (uint64_t)type);
}

void tutti_protobuf_number(tutti_protobuf *message, int field, int64_t value)
{
    tag(message, field, VARINT);
    varint(message, (uint64_t)value);
}

void tutti_protobuf_float(tutti_protobuf *message, int field, float value)
{
    tag(message, field, I32);
    append(message, &value, sizeof value);
}

void tutti_protobuf_double(tutti_protobuf *message, int field, double value)
{
    tag(message, field, I64);
    append(message, &value, sizeof value);
}

void tutti_protobuf_begin(tutti_protobuf *message, int field, size_t size)
{
    tag(message, field, LEN);
    varint(message, size);
}

void tutti_protobuf_bytes(tutti_protobuf *message, int field, const void *data, size_t size)
{
    tutti_protobuf_begin(message, field, size);
    append(message, data, size);
}

void tutti_protobuf_text(tutti_protobuf *message, int field, const char *text)
{
    tutti_protobuf_bytes(message, field, text, strlen(text));
}

void tutti_protobuf_message(tutti_protobuf *message, int field, tutti_protobuf *inner)
{
    message->failed |= inner->failed;
    tutti_protobuf_bytes(message, field, inner->data, inner->size);
    tutti_protobuf_free(inner);
}

void tutti_protobuf_append(tutti_protobuf *message, tutti_protobuf *more)
{
    message->failed |= more->failed;
    append(message, more->data, more->size);
    tutti_protobuf_free(more);
}
