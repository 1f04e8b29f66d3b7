#define _GNU_SOURCE /* dladdr */
#include "dag/run/loaded.h"

#include "dag/base/log.h"

#include <dlfcn.h>
#include <starpu.h>
#include <stdlib.h>
#include <string.h>

/* The library does not tell its limits, but each function that initialises a struct writes all of
 * it: how far it writes is the size that the struct has there. Room for structs that are larger
 * than ours; what no struct ends with after it was cleared. */
enum { ROOM = 1 << 20, UNWRITTEN = 0xa5 };

static void write_conf(void *conf)
{
    starpu_conf_init(conf);
}

static void write_codelet(void *codelet)
{
    starpu_codelet_init(codelet);
}

static void write_task(void *task)
{
    starpu_task_init(task);
}

static const struct {
    const char *name;
    size_t bytes; /* where this is compiled */
    void (*write)(void *);
} structs[] = {{"struct starpu_conf", sizeof(struct starpu_conf), write_conf},
    {"struct starpu_codelet", sizeof(struct starpu_codelet), write_codelet},
    {"struct starpu_task", sizeof(struct starpu_task), write_task}};

static size_t bytes_written(unsigned char *room, void (*write)(void *))
{
    size_t bytes = ROOM;
    memset(room, UNWRITTEN, ROOM);
    write(room);
    while (bytes && room[bytes - 1] == UNWRITTEN) bytes--;
    return bytes;
}

tutti_status tutti_run_check_loaded(void)
{
    Dl_info library = {0};
    tutti_status status = TUTTI_OK;
    unsigned char *room = malloc(ROOM);
    if (!room) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to start StarPU");
    for (size_t i = 0; !status && i < sizeof structs / sizeof *structs; i++) {
        const size_t bytes = bytes_written(room, structs[i].write);
        if (bytes == structs[i].bytes) continue;
        dladdr((void *)(uintptr_t)&starpu_is_initialized, &library);
        status = tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "the StarPU that was loaded, %s, is not the build that Tutti was compiled with (at "
            "most "
            "%d CPU workers and %d buffers of a task): its %s has %zu bytes instead of %zu; take "
            "other folders out of LD_LIBRARY_PATH, or configure and build Tutti with this StarPU",
            library.dli_fname ? library.dli_fname : "of an unknown file", STARPU_MAXCPUS,
            STARPU_NMAXBUFS, structs[i].name, bytes, structs[i].bytes);
    }
    free(room);
    return status;
}
