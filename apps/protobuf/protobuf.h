/* Messages in the wire format of Protocol Buffers, as far as writing them needs.
 *
 *   field    tag, then its value; tag: varint of field number * 8 + wire type
 *   varint   (type 0) groups of 7 bits, the lowest first; bit 7 of a byte: another one follows
 *   I32      (type 5) 4 bytes, little endian
 *   I64      (type 1) 8 bytes, little endian
 *   LEN      (type 2) varint of the length, then the bytes: text, bytes, a message within
 *
 * Source: https://protobuf.dev/programming-guides/encoding/. A repeated field is the field several
 * times. A failure to get memory is kept, and `failed` says so at the end. Threads: [A], one thread
 * per message. */
#ifndef TUTTI_PROTOBUF_H
#define TUTTI_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed: an empty message. */
typedef struct tutti_protobuf {
    unsigned char *data;
    size_t size, room;
    int failed;
} tutti_protobuf;

void tutti_protobuf_free(tutti_protobuf *message);

/* int32, int64 or an enum, from 0 on. */
void tutti_protobuf_number(tutti_protobuf *message, int field, int64_t value);
void tutti_protobuf_float(tutti_protobuf *message, int field, float value);
void tutti_protobuf_double(tutti_protobuf *message, int field, double value);
void tutti_protobuf_text(tutti_protobuf *message, int field, const char *text);
void tutti_protobuf_bytes(tutti_protobuf *message, int field, const void *data, size_t size);
/* A message within; takes and frees it. */
void tutti_protobuf_message(tutti_protobuf *message, int field, tutti_protobuf *inner);
/* The fields of another message, which is freed, behind those of this one. */
void tutti_protobuf_append(tutti_protobuf *message, tutti_protobuf *more);
/* The begin of a field of `size` bytes, which the caller writes behind it. */
void tutti_protobuf_begin(tutti_protobuf *message, int field, size_t size);

#endif
