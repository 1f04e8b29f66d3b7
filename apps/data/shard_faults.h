/* What is wrong with a shard without making it unreadable: images would be lost, or have wrong labels,
 * and no one would notice. A check refuses the first of these faults; training counts them, and warns of
 * each kind once. Threads: [A], one thread per object. */
#ifndef TUTTI_SHARD_FAULTS_H
#define TUTTI_SHARD_FAULTS_H

#include "dag/base/status.h"

#include <stdint.h>

typedef enum tutti_shard_fault {
    TUTTI_FAULT_TWO_IMAGES,    /* of one key */
    TUTTI_FAULT_TWO_LABELS,    /* of one key, which are equal */
    TUTTI_FAULT_LABELS_DIFFER, /* of one key */
    TUTTI_FAULT_FOLDER,        /* an image's label is not that of its folder */
    TUTTI_FAULT_DOTS,          /* a label behind a key with a dot */
    TUTTI_FAULT_NO_FILE,       /* a link, a sparse file, ... */
    TUTTI_FAULT_JOINED,        /* another archive after the mark of the end */
    TUTTI_FAULT_AFTER_END,     /* anything else there */
    TUTTI_FAULT_SHORT_END,     /* half of the mark */
    TUTTI_FAULT_NO_IMAGE,      /* a record without one */
    TUTTI_FAULT_NOT_LISTED,    /* a record that the index does not have */
    TUTTI_FAULT_LISTED_TWICE,
    TUTTI_FAULTS
} tutti_shard_fault;

enum { TUTTI_FAULT_EXAMPLE = 512 };

/* Zeroed before its first use. */
typedef struct tutti_shard_faults {
    int strict; /* the first one is an error */
    int64_t count[TUTTI_FAULTS];
    char example[TUTTI_FAULTS][TUTTI_FAULT_EXAMPLE]; /* the first */
} tutti_shard_faults;

/* at: the byte of the file where it is. what: which sample or entry it is. FORMAT (logged) if strict. */
tutti_status tutti_shard_faults_add(tutti_shard_faults *faults, tutti_shard_fault kind,
    const char *path, int64_t at, const char *what);
/* Logs a warning for each kind that was counted. set: what it was read from. */
void tutti_shard_faults_report(const tutti_shard_faults *faults, const char *set);

#endif
