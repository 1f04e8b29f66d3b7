/* Data of our own in a program that has StarPU running, and tasks on them and on the program's: what a
 * store of keys is made of (designs/kv). StarPU's rule holds: a task waits for those submitted before
 * it on the same data, unless both only read. [M] */
#ifndef TUTTI_DATUM_H
#define TUTTI_DATUM_H

#include "dag/base/buffer.h"
#include "dag/graph/graph.h"
#include "dag/run/handle.h"

/* A vector of `count` elements, in memory that StarPU takes when something first writes it. UNSUPPORTED:
 * StarPU is not running. */
tutti_status tutti_datum_open(int64_t count, tutti_dtype dtype, tutti_insert_handle *data);
/* The same in the program's memory. */
tutti_status tutti_datum_open_in(
    void *memory, int64_t count, tutti_dtype dtype, tutti_insert_handle *data);
/* Gives data of tutti_datum_open back when all that was submitted on them has ended; does not wait. Accepts
 * NULL. */
void tutti_datum_drop(tutti_insert_handle data);
/* Waits for all that was submitted on the data; the program's memory has their value. Accepts NULL. */
void tutti_datum_close(tutti_insert_handle data);
/* Calls when(arg) once all that was submitted on the data so far has ended, which must write them: on any
 * thread, which it must not hold up. */
tutti_status tutti_datum_when(tutti_insert_handle data, void (*when)(void *arg), void *arg);

/* Data that are held from when they are here until tutti_datum_let_go, for a message that is no collective
 * (designs/kv/connections.h): as those of held.h, and counted among StarPU's tasks. */
typedef struct tutti_held tutti_held;
typedef struct tutti_datum_hold {
    const char *name; /* kept until the end */
    tutti_insert_handle data;
    tutti_mode mode; /* READ or WRITE */
    /* [A] brief, as in held.h. buf[0]: where the data are. tutti_datum_let_go may be called before it returns. */
    void (*start)(void *arg, const tutti_buffer buf[]);
    /* [A] instead of start: StarPU refuses the data; let go, too */
    void (*refused)(void *arg, tutti_status status);
    void *arg;
} tutti_datum_hold;
/* *held is set before start may be called. NOMEM, INTERNAL: nothing was submitted. */
tutti_status tutti_datum_hold_on(const tutti_datum_hold *hold, tutti_held **held);
void tutti_datum_let_go(tutti_held *held); /* [A] once */

enum { TUTTI_DATUM_MOST = 64 };

/* A task of a CPU worker; or, where it is brief, of whatever thread brings the last of its data, the one that submits
 * it or one that ends a message: a few kilobytes do not wait for a worker that is busy, or has lost its processor. */
typedef struct tutti_datum_task {
    const char *name; /* kept until it ends */
    int brief;
    /* buf: the contiguous elements, in the order of `data`. A failure is the task's alone: it must be kept
     * in arg. */
    void (*work)(void *arg, void *const buf[]);
    void *arg;
    void (*release)(void *arg); /* after the work; NULL: nothing */
    int count;
    tutti_insert_handle data[TUTTI_DATUM_MOST];
    tutti_mode mode[TUTTI_DATUM_MOST];
} tutti_datum_task;

/* Copies *task. NOMEM, INTERNAL (StarPU refuses it): arg was not released. What is brief may have ended when this
 * returns. */
tutti_status tutti_datum_submit(const tutti_datum_task *task);

#endif
