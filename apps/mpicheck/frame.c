#include "apps/mpicheck/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>

enum { header = sizeof(uint64_t), chunk = 65536 };

/* Without memory for a few bytes, the tool can only stop. */
static void reserve(mpicheck_frame *frame, size_t more)
{
    if (frame->length + more <= frame->capacity) return;
    frame->capacity = 2 * (frame->length + more);
    frame->bytes = realloc(frame->bytes, frame->capacity);
    if (!frame->bytes) abort();
}

void mpicheck_frame_begin(mpicheck_frame *frame, mpicheck_frame_kind kind)
{
    frame->length = 0;
    mpicheck_frame_put(frame, 0);
    mpicheck_frame_put(frame, kind);
}

void mpicheck_frame_put(mpicheck_frame *frame, int64_t number)
{
    reserve(frame, sizeof(number));
    memcpy(frame->bytes + frame->length, &number, sizeof(number));
    frame->length += sizeof(number);
}

void mpicheck_frame_append(mpicheck_frame *frame, const void *bytes, size_t length)
{
    reserve(frame, length);
    memcpy(frame->bytes + frame->length, bytes, length);
    frame->length += length;
}

void mpicheck_frame_text(mpicheck_frame *frame, const char *text)
{
    size_t length = strlen(text) + 1;
    mpicheck_frame_put(frame, (int64_t)length);
    mpicheck_frame_append(frame, text, length);
}

void mpicheck_frame_end(mpicheck_frame *frame)
{
    uint64_t length = frame->length;
    memcpy(frame->bytes, &length, sizeof(length));
}

bool mpicheck_frame_send(mpicheck_frame *frame, int socket)
{
    mpicheck_frame_end(frame);
    for (size_t at = 0; at < frame->length;) {
        ssize_t sent = send(socket, frame->bytes + at, frame->length - at, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        at += (size_t)sent;
    }
    return true;
}

mpicheck_frame_kind mpicheck_frame_kind_of(mpicheck_frame *frame)
{
    frame->at = header;
    return (mpicheck_frame_kind)mpicheck_frame_get(frame);
}

int64_t mpicheck_frame_get(mpicheck_frame *frame)
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

const char *mpicheck_frame_get_text(mpicheck_frame *frame)
{
    size_t length = (size_t)mpicheck_frame_get(frame);
    if (frame->bad || length == 0 || length > frame->length - frame->at ||
        frame->bytes[frame->at + length - 1] != '\0') {
        frame->bad = true;
        return "";
    }
    const char *text = (const char *)frame->bytes + frame->at;
    frame->at += length;
    return text;
}

bool mpicheck_frame_receive(mpicheck_frame *input, int socket)
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

bool mpicheck_frame_take(mpicheck_frame *input, mpicheck_frame *frame)
{
    uint64_t length;
    if (input->length - input->at < 2 * header) return false;
    memcpy(&length, input->bytes + input->at, sizeof(length));
    input->bad = length < 2 * header || length > MPICHECK_FRAME_MOST_BYTES;
    if (input->bad || input->length - input->at < length) return false;
    *frame = (mpicheck_frame){.bytes = input->bytes + input->at, .length = length};
    input->at += length;
    return true;
}

void mpicheck_frame_drop(mpicheck_frame *input)
{
    input->length -= input->at;
    if (input->length > 0) memmove(input->bytes, input->bytes + input->at, input->length);
    input->at = 0;
}

void mpicheck_frame_free(mpicheck_frame *frame)
{
    free(frame->bytes);
    *frame = (mpicheck_frame){0};
}
