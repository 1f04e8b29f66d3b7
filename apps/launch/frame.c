#include "apps/launch/frame.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int tutti_launch_frame_write(int fd, tutti_launch_kind kind, const char *bytes, size_t length)
{
    char frame[TUTTI_LAUNCH_FRAME_ROOM];
    if (length > TUTTI_LAUNCH_FRAME_MOST) return 0;
    const size_t head = (size_t)snprintf(frame, sizeof frame, "%c %zu\n", (char)kind, length);
    if (length) memcpy(frame + head, bytes, length);
    frame[head + length] = '\n';
    for (size_t done = 0, all = head + length + 1; done < all;) {
        const ssize_t n = write(fd, frame + done, all - done);
        if (n < 0 && errno != EINTR) return 0;
        if (n > 0) done += (size_t)n;
    }
    return 1;
}

int tutti_launch_frames_fill(tutti_launch_frames *f, int fd)
{
    memmove(f->bytes, f->bytes + f->begin, f->end - f->begin);
    f->end -= f->begin;
    f->begin = 0;
    if (f->end == TUTTI_LAUNCH_FRAME_ROOM) return 1;
    const ssize_t n = read(fd, f->bytes + f->end, TUTTI_LAUNCH_FRAME_ROOM - f->end);
    if (n > 0) f->end += (size_t)n;
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static int is_kind(char c)
{
    return c && strchr("doefxsk", c) != NULL;
}

/* The length that a head says, which ends before *body; -1: it has not come as a whole; -2: it is not one. */
static long read_length(const char *head, const char *end, const char **body)
{
    long length = 0;
    const char *at = head + 2;
    if (head < end && !is_kind(*head)) return -2;
    if (head + 1 < end && head[1] != ' ') return -2;
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        length = 10 * length + (*at - '0');
        if (length > TUTTI_LAUNCH_FRAME_MOST || at - head > 6) return -2;
    }
    if (at >= end) return -1;
    *body = at + 1;
    return *at == '\n' && at > head + 2 ? length : -2;
}

int tutti_launch_frames_next(tutti_launch_frames *f, tutti_launch_frame *frame)
{
    char *head = f->bytes + f->begin, *end = f->bytes + f->end;
    const char *body = head;
    const long length = read_length(head, end, &body);
    if (length == -2) return -1;
    if (length == -1 || end - body <= length) return 0;
    if (body[length] != '\n') return -1;
    f->bytes[body - f->bytes + length] = '\0';
    f->begin = (size_t)(body - f->bytes + length + 1);
    *frame = (tutti_launch_frame){(tutti_launch_kind)*head, (size_t)length, body};
    return 1;
}
