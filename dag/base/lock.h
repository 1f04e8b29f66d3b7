/* One writer per file: FILE.lock says who it is (host, process, since when).
 *
 * Two mechanisms, because neither suffices alone:
 *
 *   the file itself      appears complete in one step (a hard link to a complete file, which
 *                        exactly one of several processes creates; O_EXCL where there are no hard
 *                        links). Every file system can do that, NFS too, and all hosts see it. But
 *                        it outlives a process that is killed.
 *   flock on that file   ends with the process, however it ends. But on network file systems it may
 *                        hold on this host only, or not exist. (fcntl and OFD locks have the same
 *                        limits there; OFD locks only add ranges.)
 *
 * So the file decides between hosts, and flock decides on one host whether the writer is still
 * alive, which it can always do. Where there is no flock at all, the process is looked up by its
 * number and start time, as numbers are reused.
 *
 *   held by a living process               refused
 *   left by a dead process of this host    taken over, under its flock, by one of those who try
 *   left by this host before a reboot      taken over
 *   of another host                        refused, naming the file to delete: no process here can know
 *   of another host, same run              taken over: tutti-run starts one attempt after the other (TUTTI_RUN), and
 *                                          ranks of an elastic run follow each other
 *
 * The same host means the same boot (boot_id), or the same name and machine-id.
 *
 * Errors are IO, logged with `what` and the path; NOMEM. Threads: [A], one thread per lock. */
#ifndef TUTTI_LOCK_H
#define TUTTI_LOCK_H

#include "dag/base/status.h"

typedef struct tutti_lock tutti_lock;

/* This process is one of a run whose processes take files over from each other: its name, where TUTTI_RUN
 * has none. Borrowed for good; [M], before any lock. */
void tutti_lock_name_run(const char *run);
/* Makes this process the writer of a file (links followed) and removes the parts that earlier
 * writers have left. Does not wait, except up to a second for a process that is about to end. */
tutti_status tutti_lock_take(const char *what, const char *path, tutti_lock **lock);
/* Also removes FILE.lock. Accepts NULL. */
void tutti_lock_release(tutti_lock *lock);

#endif
