/* Preloaded into a program: StarPU as another build of it, whose OTHER_STARPU (conf, codelet or
 * task) has OTHER_BYTES more bytes than here, or less. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <starpu.h>

static int bytes_of(const char *name)
{
    const char *other = getenv("OTHER_STARPU"), *bytes = getenv("OTHER_BYTES");
    return other && bytes && !strcmp(other, name) ? atoi(bytes) : 0;
}

/* Writes as much more as it has; leaves alone what it has not. */
static void write_other(const char *name, const char *function, void *object, size_t size)
{
    const int more = bytes_of(name);
    char *end = (char *)object + size;
    char kept[64];
    void (*initialise)(void *);
    *(void **)&initialise = dlsym(RTLD_NEXT, function);
    if (more < 0) memcpy(kept, end + more, (size_t)-more);
    initialise(object);
    if (more < 0) memcpy(end + more, kept, (size_t)-more);
    if (more > 0) memset(end, 0, (size_t)more);
}

int starpu_conf_init(struct starpu_conf *conf)
{
    write_other("conf", "starpu_conf_init", conf, sizeof *conf);
    return 0;
}

void starpu_codelet_init(struct starpu_codelet *codelet)
{
    write_other("codelet", "starpu_codelet_init", codelet, sizeof *codelet);
}

void starpu_task_init(struct starpu_task *task)
{
    write_other("task", "starpu_task_init", task, sizeof *task);
}
