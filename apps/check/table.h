/* A hash table from 64-bit keys to pointers; several entries may share a key. The caller locks. */
#ifndef TUTTI_CHECK_TABLE_H
#define TUTTI_CHECK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct tutti_entry {
    struct tutti_entry *next;
    uint64_t key;
    void *value;
} tutti_entry;

/* All zero bytes is an empty table. */
typedef struct tutti_table {
    tutti_entry **buckets;
    size_t size, entries;
} tutti_table;

/* The value last added under the key, or NULL. */
void *tutti_table_find(const tutti_table *table, uint64_t key);
void tutti_table_add(tutti_table *table, uint64_t key, void *value);
/* Takes the value last added under the key out of the table and returns it, or NULL. */
void *tutti_table_remove(tutti_table *table, uint64_t key);
/* Takes this very value out of the table, whatever was added under its key since; false: it is not there. */
bool tutti_table_take(tutti_table *table, uint64_t key, const void *value);
/* The entry last added under the key, for walks along `next`: others may have another key. NULL: none. */
const tutti_entry *tutti_table_bucket(const tutti_table *table, uint64_t key);
/* Calls visit for every value, in no order; visit leaves the table alone. */
void tutti_table_each(const tutti_table *table, void (*visit)(void *value, void *with), void *with);
/* Frees the table, not the values. */
void tutti_table_clear(tutti_table *table);

/* An MPI handle (a pointer in one library, an int in another) as a key. */
static inline uint64_t tutti_table_key(const void *handle, size_t bytes)
{
    uint64_t key = 0;
    memcpy(&key, handle, bytes < sizeof(key) ? bytes : sizeof(key));
    return key;
}
#define TUTTI_KEY(handle) tutti_table_key(&(handle), sizeof(handle))

#endif
