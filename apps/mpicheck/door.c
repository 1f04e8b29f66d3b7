#include "apps/mpicheck/door.h"

#include "apps/mpicheck/now.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A rank sends HELLO as soon as it is connected. */
static const double patience_s = 10.0;

void mpicheck_door_open(mpicheck_door *door, int listener, int64_t token)
{
    *door = (mpicheck_door){.listener = listener, .token = token};
    fcntl(listener, F_SETFL, fcntl(listener, F_GETFL) | O_NONBLOCK);
}

static void reject(mpicheck_door *door, int index)
{
    close(door->strangers[index].socket);
    memmove(&door->strangers[index], &door->strangers[index + 1],
        sizeof(mpicheck_stranger) * (size_t)(--door->count - index));
}

void mpicheck_door_close(mpicheck_door *door)
{
    while (door->count > 0) reject(door, 0);
    if (door->listener >= 0) close(door->listener);
    door->listener = -1;
}

int mpicheck_door_poll(const mpicheck_door *door, struct pollfd *lines)
{
    lines[0] = (struct pollfd){.fd = door->listener, .events = POLLIN};
    for (int i = 0; i < door->count; i++)
        lines[1 + i] = (struct pollfd){.fd = door->strangers[i].socket, .events = POLLIN};
    return 1 + door->count;
}

/* Reads what has arrived; false: the stranger is gone. */
static bool read_more(mpicheck_stranger *stranger)
{
    while (stranger->length < sizeof(stranger->bytes)) {
        ssize_t got = recv(stranger->socket, stranger->bytes + stranger->length,
            sizeof(stranger->bytes) - stranger->length, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
        if (got == 0) return false;
        stranger->length += (size_t)got;
    }
    return true;
}

static bool shows_token(mpicheck_door *door, mpicheck_stranger *stranger, int64_t *rank)
{
    mpicheck_frame input = {.bytes = stranger->bytes, .length = stranger->length}, frame;
    if (!mpicheck_frame_take(&input, &frame)) return false;
    if (mpicheck_frame_kind_of(&frame) != MPICHECK_FRAME_HELLO) return false;
    if (mpicheck_frame_get(&frame) != door->token) return false;
    *rank = mpicheck_frame_get(&frame);
    return !frame.bad;
}

static void take_new(mpicheck_door *door)
{
    if (door->listener < 0) return;
    for (int i = 0; i < MPICHECK_DOOR_MOST; i++) {
        int fd = accept4(door->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) return;
        if (door->count == MPICHECK_DOOR_MOST) reject(door, 0);
        door->strangers[door->count++] = (mpicheck_stranger){.socket = fd, .since = mpicheck_now()};
    }
}

int mpicheck_door_receive(mpicheck_door *door, int64_t *rank)
{
    double now = mpicheck_now();
    take_new(door);
    for (int i = door->count - 1; i >= 0; i--) {
        mpicheck_stranger *stranger = &door->strangers[i];
        bool there = read_more(stranger);
        if (there && stranger->length == sizeof(stranger->bytes) &&
            shows_token(door, stranger, rank)) {
            int fd = stranger->socket;
            stranger->socket = -1;
            reject(door, i);
            return fd;
        }
        if (!there || stranger->length == sizeof(stranger->bytes) ||
            now - stranger->since > patience_s)
            reject(door, i);
    }
    return -1;
}
