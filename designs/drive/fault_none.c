/* Replaces fault.c in a build configured with --disable-faults. It refuses TUTTI_FAULT: otherwise the run could be
 * mistaken for one with the fault. The driver calls the other functions only with a fault. */
#include "designs/drive/fault.h"

#include "dag/base/log.h"

#include <stdlib.h>

int tutti_fault_built(void)
{
    return 0;
}

tutti_status tutti_fault_parse(const char *text, tutti_fault_wish *wish)
{
    (void)wish;
    return tutti_fail(TUTTI_ERR_USAGE,
        "TUTTI_FAULT=%s: this build was configured with --disable-faults; unset the variable, or "
        "use a build that has faults",
        text);
}

tutti_status tutti_fault_open(int rank, int size, tutti_fault **fault)
{
    const char *text = getenv("TUTTI_FAULT");
    (void)rank;
    (void)size;
    *fault = NULL;
    return text && *text ? tutti_fault_parse(text, NULL) : TUTTI_OK;
}

void tutti_fault_close(tutti_fault *fault)
{
    (void)fault;
}

int tutti_fault_adds(tutti_fault *fault, int64_t sequence)
{
    (void)fault;
    (void)sequence;
    return 0;
}

tutti_token *tutti_fault_extra(tutti_coll_args *args)
{
    (void)args;
    return NULL;
}

tutti_entry *tutti_fault_admit(tutti_fault *fault, tutti_queue *queue, tutti_entry *entry)
{
    (void)fault;
    (void)queue;
    return entry;
}

void tutti_fault_change(tutti_fault *fault, tutti_entry *entry)
{
    (void)fault;
    (void)entry;
}

int tutti_fault_start(tutti_fault *fault, const tutti_entry *entry)
{
    (void)fault;
    (void)entry;
    return 1;
}

void tutti_fault_end(tutti_fault *fault, const tutti_entry *entry)
{
    (void)fault;
    (void)entry;
}
