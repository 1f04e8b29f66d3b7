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
 * as a whole or not at all, for its owner alone, and removes it when it closes. A file is believed if nobody but its
 * owner can have written it: it and its folder are this user's, or root's, and others cannot write to them. One that
 * was left by a server that is gone may name a port that another program has by now: who reads it tries again until
 * its deadline. */

typedef struct tutti_server_address {
    char address[TUTTI_JOBS_TEXT];
    int port;
    char token[TUTTI_JOBS_TOKEN + 1];
    int64_t number; /* which the server has drawn; 0: none is known */
    int in_file;    /* read from a file, which may be an earlier server's */
} tutti_server_address;

/* A server tells where it is; nothing where addresses were listed. IO, USAGE: others can write there (logged). */
tutti_status tutti_jobs_write_address(
    const tutti_jobs *jobs, int server, const tutti_server_address *address);
void tutti_jobs_forget(const tutti_jobs *jobs, int server);
/* Where a server is: 1. 0, with why[]: it has not told so far. -1: what is there is not to be believed (logged). */
int tutti_jobs_find(
    const tutti_jobs *jobs, int server, tutti_server_address *address, char *why, size_t why_bytes);
/* Whether it stands for all addresses of a host: 0.0.0.0, ::. */
int tutti_jobs_is_any(const char *address);
/* A number, 1 or more, that two runs do not have in common. */
int64_t tutti_jobs_draw(void);
/* Fills a token that nobody can guess. IO (logged). */
tutti_status tutti_jobs_make_token(char token[TUTTI_JOBS_TOKEN + 1]);

#endif
