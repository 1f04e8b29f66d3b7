#include "apps/check/door.h"

#include "apps/check/now.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A rank says HELLO as soon as it is connected. */
static const double patience_s = 10.0;

void tutti_door_open(tutti_door *door, int listener, int64_t token)
{
    *door = (tutti_door){.listener = listener, .token = token};
    fcntl(listener, F_SETFL, fcntl(listener, F_GETFL) | O_NONBLOCK);
}

static void turn_away(tutti_door *door, int index)
{
    close(door->strangers[index].socket);
    memmove(&door->strangers[index], &door->strangers[index + 1],
        sizeof(tutti_stranger) * (size_t)(--door->count - index));
}

void tutti_door_close(tutti_door *door)
{
    while (door->count > 0) turn_away(door, 0);
    if (door->listener >= 0) close(door->listener);
    door->listener = -1;
}

int tutti_door_poll(const tutti_door *door, struct pollfd *lines)
{
    lines[0] = (struct pollfd){.fd = door->listener, .events = POLLIN};
    for (int i = 0; i < door->count; i++)
        lines[1 + i] = (struct pollfd){.fd = door->strangers[i].socket, .events = POLLIN};
    return 1 + door->count;
}

/* Reads what there is; false: the stranger has gone. */
static bool read_more(tutti_stranger *stranger)
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

static bool shows_token(tutti_door *door, tutti_stranger *stranger, int64_t *rank)
{
    tutti_frame input = {.bytes = stranger->bytes, .length = stranger->length}, frame;
    if (!tutti_frame_take(&input, &frame)) return false;
    if (tutti_frame_kind_of(&frame) != TUTTI_FRAME_HELLO) return false;
    if (tutti_frame_get(&frame) != door->token) return false;
    *rank = tutti_frame_get(&frame);
    return !frame.bad;
}

static void take_new(tutti_door *door)
{
    if (door->listener < 0) return;
    for (int i = 0; i < TUTTI_DOOR_MOST; i++) {
        int fd = accept4(door->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) return;
        if (door->count == TUTTI_DOOR_MOST) turn_away(door, 0);
        door->strangers[door->count++] = (tutti_stranger){.socket = fd, .since = tutti_now()};
    }
}

int tutti_door_hear(tutti_door *door, int64_t *rank)
{
    double now = tutti_now();
    take_new(door);
    for (int i = door->count - 1; i >= 0; i--) {
        tutti_stranger *stranger = &door->strangers[i];
        bool there = read_more(stranger);
        if (there && stranger->length == sizeof(stranger->bytes) &&
            shows_token(door, stranger, rank)) {
            int fd = stranger->socket;
            stranger->socket = -1;
            turn_away(door, i);
            return fd;
        }
        if (!there || stranger->length == sizeof(stranger->bytes) ||
            now - stranger->since > patience_s)
            turn_away(door, i);
    }
    return -1;
}
