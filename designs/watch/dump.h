/* The file that a rank writes when it stalls, as JSON lines: first its own state and what it knows
 * about the others ("event":"rank"), then its flight recorder ("event":"collective"). [A] */
#ifndef TUTTI_DUMP_H
#define TUTTI_DUMP_H

#include "designs/drive/driver.h"
#include "designs/watch/stall.h"

/* Writes the file atomically, without waiting for the disk. IO, NOMEM (logged). */
tutti_status tutti_dump_write(const char *path, int rank, int ranks,
    const tutti_stall_state state[], tutti_driver *driver, double now_s);

#endif
