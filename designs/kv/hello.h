/* The hello that a client's worker sends to a server when it connects, and the server's answer. [P] */
#ifndef TUTTI_KV_HELLO_H
#define TUTTI_KV_HELLO_H

#include "designs/kv/push_ledger.h"

enum { TUTTI_HELLO_BYTES = 256, TUTTI_HELLO_HOST = 64, TUTTI_HELLO_WORKERS = 4096 };

typedef struct tutti_hello {
    int server; /* the receiver */
    int servers, clients;
    int copies; /* of a key */
    tutti_consistency rule;
    int any;             /* the server chooses the client's number */
    int client;          /* in the answer: its number */
    int worker, workers; /* of the client */
    int64_t life;        /* drawn by each client when it starts */
    int process;
    char host[TUTTI_HELLO_HOST];
    int64_t address_number; /* the number in the server's address file; 0: no file, or no number */
} tutti_hello;

void tutti_hello_write(const tutti_hello *hello, unsigned char bytes[TUTTI_HELLO_BYTES]);
/* 0: a number is out of range. */
int tutti_hello_read(const unsigned char bytes[TUTTI_HELLO_BYTES], tutti_hello *hello);
/* Fills host and process. */
void tutti_hello_name(tutti_hello *hello);

#endif
