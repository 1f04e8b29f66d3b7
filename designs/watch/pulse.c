#include "designs/watch/pulse.h"

#include "dag/base/process.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Processes with the same host text can see each other. "": unknown. */
static void read_host(char host[TUTTI_PULSE_HOST])
{
    char boot[TUTTI_PROCESS_BOOT], space[32] = "";
    tutti_process_boot(boot);
    ssize_t length = readlink("/proc/self/ns/pid", space, sizeof space - 1);
    host[0] = '\0';
    if (*boot && length > 0) snprintf(host, TUTTI_PULSE_HOST, "%s %s", boot, space);
}

tutti_pulse_id tutti_pulse_self(void)
{
    tutti_pulse_id self = {.pid = getpid()};
    read_host(self.host);
    if (!*self.host || !tutti_process_look(self.pid, NULL, &self.started)) self.pid = 0;
    return self;
}

tutti_pulse tutti_pulse_of(const tutti_pulse_id *self, const tutti_pulse_id *other)
{
    char state = '?';
    int64_t started = 0;
    if (!self->pid || !other->pid || strncmp(self->host, other->host, TUTTI_PULSE_HOST) != 0)
        return TUTTI_PULSE_UNKNOWN;
    if (!tutti_process_look(other->pid, &state, &started) || started != other->started)
        return TUTTI_PULSE_GONE;
    if (state == 'Z' || state == 'X') return TUTTI_PULSE_GONE;
    return state == 'T' || state == 't' ? TUTTI_PULSE_STOPPED : TUTTI_PULSE_RUNS;
}
