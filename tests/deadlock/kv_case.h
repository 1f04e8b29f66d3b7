/* What ranks do with keys on servers (tutti/kv.h): the part of a case that `serve`, `key`, `push`,
 * `pull`, `meet`, `leave`, `die` and `return` are about. [P]
 *
 * The last ranks serve, the others work, as in one mpirun. Each rank makes its calls without
 * waiting in between; at the end, or where it leaves, it waits for all of them, and closes.
 * README.md in this folder documents the words. */
#ifndef TUTTI_DEADLOCK_KV_CASE_H
#define TUTTI_DEADLOCK_KV_CASE_H

#include "designs/kv/push_ledger.h"
#include "tests/deadlock/words.h"

enum {
    KV_MOST_RANKS = 16,
    KV_MOST_KEYS = 8,
    KV_MOST_CALLS = 64,
    KV_MOST_CLIENTS = 6, /* so that float32 tells how often each has pushed */
    KV_MOST_PUSHES = 15, /* of a client to a key; likewise */
    KV_NAME = 32
};

typedef enum kv_call_kind { KV_PUSH, KV_PULL, KV_MEET, KV_LEAVE, KV_DIE, KV_RETURN } kv_call_kind;
extern const char *const kv_call_words[]; /* indexed by kv_call_kind; NULL-terminated */

typedef struct kv_call {
    kv_call_kind kind;
    int key;   /* of a push or a pull */
    int after; /* a push: the key whose last pull its data are computed from; -1: none */
} kv_call;

typedef struct kv_case {
    int servers; /* 0: no case of keys */
    int copies;  /* of each key: 1 or 2 */
    int workers, clients;
    int one_group; /* a client's pushes and pulls share a group */
    char type[KV_NAME];
    tutti_consistency rule; /* what the type means */
    int keys;
    char key[KV_MOST_KEYS][KV_NAME];
    int64_t count[KV_MOST_KEYS];
    int calls[KV_MOST_RANKS]; /* per rank, all steps; of a server: it dies, or there is none */
    kv_call call[KV_MOST_RANKS][KV_MOST_CALLS];
} kv_case;

/* What follows "serve": "1 sync clients 2 one-group". FORMAT. */
tutti_status kv_case_read_serve(case_words *words, int ranks, kv_case *kv);
/* What follows "key": "a 10". FORMAT. */
tutti_status kv_case_read_key(case_words *words, kv_case *kv);
/* What follows a call's word, for the ranks whose on[] is set. FORMAT. */
tutti_status kv_case_read_call(
    case_words *words, kv_case *kv, kv_call_kind kind, const int on[KV_MOST_RANKS]);
/* After the last line: repeats each rank's calls. FORMAT. */
tutti_status kv_case_finish(const case_words *words, const int steps[KV_MOST_RANKS], kv_case *kv);

int kv_case_client(const kv_case *kv, int rank); /* of a worker */
int kv_case_client_size(const kv_case *kv);
/* How often a rank makes such a call: of a push, of that key. */
int kv_case_calls(const kv_case *kv, int rank, kv_call_kind kind, int key);
/* Whether a client dies. */
int kv_case_is_mortal(const kv_case *kv);
/* Whether a server dies: it may, from when all clients have come. */
int kv_case_crashes(const kv_case *kv, int server);
/* A server that dies, without which the run ends, because no other that lives has its keys, and -1, or the other that
 * has them and dies. Returns 0 if there is none. */
int kv_case_loses_keys(const kv_case *kv, int *server, int *other);
/* Whether servers and clients are jobs of their own: somebody dies, or keys have two copies. */
int kv_case_has_jobs(const kv_case *kv);

/* ---- values ----
 *
 * All are whole numbers. Client c adds 16^((c + e) mod clients) to element e, so that the digits of
 * a value tell how often each client's push is in it. In sync the odd elements round: their sum
 * depends on the order of the clients. */

/* What a rank pushes: element e. */
float kv_case_pushes(const kv_case *kv, int rank, int64_t e);
/* Whether what a rank has pulled is wrong, after so many pushes of its own (pulled 0 ... total): a
 * sentence in `what`. whole: it is the value at the very end, which has all pushes of those who
 * have not died. */
int kv_case_differs(const kv_case *kv, int client, int key, int pushes, int whole,
    const float value[], int64_t count, char *what, size_t size);

#endif
