/* A hash table from 64-bit keys to pointers; entries may share a key. The caller locks. */
#ifndef TUTTI_MPICHECK_TABLE_H
#define TUTTI_MPICHECK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct mpicheck_entry {
    struct mpicheck_entry *next;
    uint64_t key;
    void *value;
} mpicheck_entry;

/* All zero bytes is an empty table. */
typedef struct mpicheck_table {
    mpicheck_entry **buckets;
    size_t size, entries;
} mpicheck_table;

/* The value last added under the key, or NULL. */
void *mpicheck_table_find(const mpicheck_table *table, uint64_t key);
void mpicheck_table_add(mpicheck_table *table, uint64_t key, void *value);
/* Removes and returns the value last added under the key, or NULL. */
void *mpicheck_table_remove(mpicheck_table *table, uint64_t key);
/* Removes this very value, whatever was added under its key since; false: not in the table. */
bool mpicheck_table_take(mpicheck_table *table, uint64_t key, const void *value);
/* The entry last added under the key, for walks along `next`, where keys may differ. NULL: none. */
const mpicheck_entry *mpicheck_table_bucket(const mpicheck_table *table, uint64_t key);
/* Calls visit for every value, in no particular order; visit must not change the table. */
void mpicheck_table_each(
    const mpicheck_table *table, void (*visit)(void *value, void *with), void *with);
/* Frees the table, not the values. */
void mpicheck_table_clear(mpicheck_table *table);

/* An MPI handle (a pointer in one library, an int in another) as a key. */
static inline uint64_t mpicheck_table_key(const void *handle, size_t bytes)
{
    uint64_t key = 0;
    memcpy(&key, handle, bytes < sizeof(key) ? bytes : sizeof(key));
    return key;
}
#define MPICHECK_KEY(handle) mpicheck_table_key(&(handle), sizeof(handle))

#endif
