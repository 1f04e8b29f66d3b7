#include "apps/check/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>

enum { header = sizeof(uint64_t), chunk = 65536 };

/* A tool that has no memory left for a few bytes can only stop. */
static void reserve(tutti_frame *frame, size_t more)
{
    if (frame->length + more <= frame->capacity) return;
    frame->capacity = 2 * (frame->length + more);
    frame->bytes = realloc(frame->bytes, frame->capacity);
    if (!frame->bytes) abort();
}

void tutti_frame_begin(tutti_frame *frame, tutti_frame_kind kind)
{
    frame->length = 0;
    tutti_frame_put(frame, 0);
    tutti_frame_put(frame, kind);
}

void tutti_frame_put(tutti_frame *frame, int64_t number)
{
    reserve(frame, sizeof(number));
    memcpy(frame->bytes + frame->length, &number, sizeof(number));
    frame->length += sizeof(number);
}

void tutti_frame_append(tutti_frame *frame, const void *bytes, size_t length)
{
    reserve(frame, length);
    memcpy(frame->bytes + frame->length, bytes, length);
    frame->length += length;
}

void tutti_frame_text(tutti_frame *frame, const char *text)
{
    size_t length = strlen(text) + 1;
    tutti_frame_put(frame, (int64_t)length);
    tutti_frame_append(frame, text, length);
}

void tutti_frame_end(tutti_frame *frame)
{
    uint64_t length = frame->length;
    memcpy(frame->bytes, &length, sizeof(length));
}

bool tutti_frame_send(tutti_frame *frame, int socket)
{
    tutti_frame_end(frame);
    for (size_t at = 0; at < frame->length;) {
        ssize_t sent = send(socket, frame->bytes + at, frame->length - at, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        at += (size_t)sent;
    }
    return true;
}

tutti_frame_kind tutti_frame_kind_of(tutti_frame *frame)
{
    frame->at = header;
    return (tutti_frame_kind)tutti_frame_get(frame);
}

int64_t tutti_frame_get(tutti_frame *frame)
{
    int64_t number = 0;
    if (frame->at + sizeof(number) > frame->length) {
        frame->bad = true;
        return 0;
    }
    memcpy(&number, frame->bytes + frame->at, sizeof(number));
    frame->at += sizeof(number);
    return number;
}

const char *tutti_frame_get_text(tutti_frame *frame)
{
    size_t length = (size_t)tutti_frame_get(frame);
    if (frame->bad || length == 0 || length > frame->length - frame->at ||
        frame->bytes[frame->at + length - 1] != '\0') {
        frame->bad = true;
        return "";
    }
    const char *text = (const char *)frame->bytes + frame->at;
    frame->at += length;
    return text;
}

bool tutti_frame_receive(tutti_frame *input, int socket)
{
    reserve(input, chunk);
    ssize_t got;
    do {
        got = recv(socket, input->bytes + input->length, chunk, 0);
    } while (got < 0 && errno == EINTR);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true; /* nothing yet */
    if (got <= 0) return false;
    input->length += (size_t)got;
    return true;
}

bool tutti_frame_take(tutti_frame *input, tutti_frame *frame)
{
    uint64_t length;
    if (input->length - input->at < 2 * header) return false;
    memcpy(&length, input->bytes + input->at, sizeof(length));
    input->bad = length < 2 * header || length > TUTTI_FRAME_MOST_BYTES;
    if (input->bad || input->length - input->at < length) return false;
    *frame = (tutti_frame){.bytes = input->bytes + input->at, .length = length};
    input->at += length;
    return true;
}

void tutti_frame_drop(tutti_frame *input)
{
    input->length -= input->at;
    if (input->length > 0) memmove(input->bytes, input->bytes + input->at, input->length);
    input->at = 0;
}

void tutti_frame_free(tutti_frame *frame)
{
    free(frame->bytes);
    *frame = (tutti_frame){0};
}
