/* One writer a file: FILE.lock says who it is (host, process, since when).
 *
 * Two mechanisms, as neither suffices alone:
 *
 *   the file itself      appears at once with all that is in it (a hard link to a complete one, which
 *                        exactly one of several makes; O_EXCL where there are no hard links). Every
 *                        file system can do that, NFS too, and all hosts see it. But it outlives a
 *                        process that is killed.
 *   flock on that file   ends with the process, whatever ends it. But on network file systems it may
 *                        hold on this host only, or not be there. (fcntl and OFD locks have the same
 *                        limits there; OFD locks only add ranges.)
 *
 * So the file decides between hosts, and flock decides on one host whether the writer still lives,
 * which is what it can always do. Where there is no flock at all, the process is looked up: its
 * number and when it began, as numbers are used again.
 *
 *   held by a living process                      refused
 *   left by a dead process of this host           taken over, under its flock, by one of those who try
 *   left by this host before it was started anew  taken over
 *   of another host                               refused, with the file to delete: nobody can know here
 *   of another host, with the same TUTTI_RUN      taken over: tutti-run starts one attempt after the other
 *
 * The same host is one that was started the same time (boot_id) or has the same name and machine-id.
 *
 * Errors are IO, logged with `what` and the path; NOMEM. Threads: [A], each lock on one. */
#ifndef TUTTI_LOCK_H
#define TUTTI_LOCK_H

#include "dag/base/status.h"

typedef struct tutti_lock tutti_lock;

/* Makes this process the writer of a file (links followed), and removes parts that writers before it
 * have left. Does not wait, but up to a second for a process that is just ending. */
tutti_status tutti_lock_take(const char *what, const char *path, tutti_lock **lock);
/* Also removes FILE.lock. Accepts NULL. */
void tutti_lock_release(tutti_lock *lock);

#endif
