/* Servers and clients as jobs of their own: this job's role, from the program's options and the variables that
 * tutti-run sets, and the servers' addresses. */
#ifndef TUTTI_KV_JOBS_H
#define TUTTI_KV_JOBS_H

#include "dag/run/datum.h"
#include "designs/kv/kv.h"

/* A task has the whole of a key, and each server's part. */
enum { TUTTI_KV_SERVERS_MOST = TUTTI_DATUM_MOST - 1 };
enum { TUTTI_JOBS_TEXT = 256, TUTTI_JOBS_TOKEN = 64 };

typedef struct tutti_jobs {
    int on; /* 0: all in one mpirun */
    int serves, any;
    int number; /* of this job's first server, or of its client unless `any` */
    int servers, clients;
    int copies;                   /* of a key: 1 or 2 */
    char meet[TUTTI_JOBS_TEXT];   /* "HOST:PORT,HOST:PORT" or the path of files */
    char listen[TUTTI_JOBS_TEXT]; /* an address */
    int port;                     /* 0: any */
    char
        token[TUTTI_JOBS_TOKEN + 1]; /* "": a server makes one, and clients read it from its file */
    double timeout_s;
} tutti_jobs;

/* USAGE (logged). */
tutti_status tutti_jobs_read(const tutti_kv_options *options, tutti_jobs *jobs);

/* ---- the servers' addresses ----
 *
 * `meet` is a list of addresses, one for each server; or PATH, which has a "/". Server K then writes PATH.K, atomically
 * and readable by its owner alone, when it listens, and removes it when it closes. A file is trusted if only its owner
 * can have written it: the file and its folder belong to this user or root, and others cannot write to them. A file
 * that a dead server has left may name another program's port: readers retry until their deadline. */

typedef struct tutti_server_address {
    char address[TUTTI_JOBS_TEXT];
    int port;
    char token[TUTTI_JOBS_TOKEN + 1];
    int64_t number; /* drawn by the server; 0: unknown */
    int in_file;    /* read from a file, which may be out of date */
} tutti_server_address;

/* Writes a server's address file; does nothing if `meet` is a list. IO, USAGE: others can write there (logged). */
tutti_status tutti_jobs_write_address(
    const tutti_jobs *jobs, int server, const tutti_server_address *address);
/* Removes it if it still is that of the server that drew this number. */
void tutti_jobs_forget(const tutti_jobs *jobs, int server, int64_t number);
/* A server's address: 1. 0, with why[]: not written yet. -1: the file cannot be trusted (logged). */
int tutti_jobs_find(
    const tutti_jobs *jobs, int server, tutti_server_address *address, char *why, size_t why_bytes);
/* Whether it is the wildcard address: 0.0.0.0, ::. */
int tutti_jobs_is_any(const char *address);
/* A random number, 1 or more. */
int64_t tutti_jobs_draw(void);
/* Makes a random token. IO (logged). */
tutti_status tutti_jobs_make_token(char token[TUTTI_JOBS_TOKEN + 1]);

#endif
