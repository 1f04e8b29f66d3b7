/* A build without devices. */
#include "dag/device/device.h"

#include "dag/base/log.h"

static int nothing(void)
{
    return 0;
}

static tutti_status none_info(int index, tutti_device_info *info)
{
    (void)info;
    return tutti_fail(TUTTI_ERR_INVAL, "device %d: this build has no devices", index);
}

static tutti_status none_select(int index)
{
    return none_info(index, NULL);
}

static tutti_status none_room(int index, size_t *bytes)
{
    (void)bytes;
    return none_info(index, NULL);
}

static tutti_status none_alloc(int index, size_t bytes, void **memory)
{
    (void)bytes, (void)memory;
    return none_info(index, NULL);
}

static tutti_status none_open(int index, void **opened)
{
    (void)opened;
    return none_info(index, NULL);
}

static void none_close(int index, void *closed)
{
    (void)index, (void)closed;
}

static tutti_status none_copy(int index, void *to, const void *from, size_t bytes, void *queue)
{
    (void)to, (void)from, (void)bytes, (void)queue;
    return none_info(index, NULL);
}

static tutti_status none_mark(int index, void *event, void *queue)
{
    (void)event, (void)queue;
    return none_info(index, NULL);
}

static tutti_status none_passed(int index, void *event, int *passed)
{
    (void)event, (void)passed;
    return none_info(index, NULL);
}

static tutti_status none_elapsed(int index, void *from, void *to, double *seconds)
{
    (void)from, (void)to, (void)seconds;
    return none_info(index, NULL);
}

static tutti_status none_capture_begin(int index, void *queue)
{
    (void)queue;
    return none_info(index, NULL);
}

static tutti_status none_capture_end(
    int index, void *queue, void **recording, int *operations, const char **why)
{
    (void)queue, (void)recording, (void)operations, (void)why;
    return none_info(index, NULL);
}

static const char *none_lacks(void)
{
    return "this build is for processors alone: ./quickstart cuda makes one with CUDA";
}

const tutti_device_kind tutti_device_kind_built = {.name = "none",
    .count = nothing,
    .info = none_info,
    .compiled = nothing,
    .runtime = nothing,
    .driver = nothing,
    .lacks = none_lacks,
    .select = none_select,
    .room = none_room,
    .alloc = none_alloc,
    .release = none_close,
    .pin = none_alloc,
    .unpin = none_close,
    .queue_open = none_open,
    .queue_close = none_close,
    .copy = none_copy,
    .event_open = none_open,
    .event_open_timed = none_open,
    .event_elapsed = none_elapsed,
    .event_mark = none_mark,
    .event_passed = none_passed,
    .event_close = none_close,
    .capture_begin = none_capture_begin,
    .capture_end = none_capture_end,
    .replay = none_mark,
    .recording_close = none_close};
