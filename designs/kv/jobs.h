/* Where servers and clients are jobs of their own: which of them this one is, from the program's options and the
 * variables that tutti-run sets, and where they meet. */
#ifndef TUTTI_KV_JOBS_H
#define TUTTI_KV_JOBS_H

#include "designs/kv/kv.h"

enum { TUTTI_JOBS_TEXT = 256, TUTTI_JOBS_TOKEN = 64 };

typedef struct tutti_jobs {
    int on; /* 0: all in one mpirun */
    int serves, any;
    int number; /* the first server of this job, or its client; not if any */
    int servers, clients;
    int copies;                   /* of a key: 1 or 2 */
    char meet[TUTTI_JOBS_TEXT];   /* "HOST:PORT,HOST:PORT" or the path of files */
    char listen[TUTTI_JOBS_TEXT]; /* an address */
    int port;                     /* 0: any */
    char token[TUTTI_JOBS_TOKEN +
               1]; /* "": a server makes one, and clients read it where they meet */
    double timeout_s;
} tutti_jobs;

/* USAGE (logged). */
tutti_status tutti_jobs_read(const tutti_kv_options *options, tutti_jobs *jobs);

/* ---- where they meet ----
 *
 * A list of addresses, one for each server; or PATH, which has a "/": server K then writes PATH.K when it listens,
 * as a whole or not at all, for its owner alone, and removes it when it closes. */

typedef struct tutti_meeting {
    char address[TUTTI_JOBS_TEXT];
    int port;
    char token[TUTTI_JOBS_TOKEN + 1];
} tutti_meeting;

/* A server tells where it is; nothing where addresses were listed. IO (logged). */
tutti_status tutti_jobs_tell(const tutti_jobs *jobs, int server, const tutti_meeting *meeting);
void tutti_jobs_forget(const tutti_jobs *jobs, int server);
/* Where a server is. 0, with why[]: it has not told so far. */
int tutti_jobs_find(
    const tutti_jobs *jobs, int server, tutti_meeting *meeting, char *why, size_t why_bytes);
/* Fills a token that nobody can guess. IO (logged). */
tutti_status tutti_jobs_make_token(char token[TUTTI_JOBS_TOKEN + 1]);

#endif
