#include "apps/mpicheck/table.h"

#include <stdlib.h>

static size_t place(const mpicheck_table *table, uint64_t key)
{
    key ^= key >> 33;
    key *= UINT64_C(0xff51afd7ed558ccd);
    key ^= key >> 33;
    return (size_t)(key & (table->size - 1));
}

const mpicheck_entry *mpicheck_table_bucket(const mpicheck_table *table, uint64_t key)
{
    return table->size == 0 ? NULL : table->buckets[place(table, key)];
}

void *mpicheck_table_find(const mpicheck_table *table, uint64_t key)
{
    for (const mpicheck_entry *e = mpicheck_table_bucket(table, key); e; e = e->next)
        if (e->key == key) return e->value;
    return NULL;
}

/* Entries of one key keep their order: they move in list order. */
static void grow(mpicheck_table *table)
{
    mpicheck_table larger = {.size = table->size ? 2 * table->size : 64, .entries = table->entries};
    larger.buckets = calloc(larger.size, sizeof(mpicheck_entry *));
    if (!larger.buckets) abort();
    for (size_t i = 0; i < table->size; i++) {
        for (mpicheck_entry *e = table->buckets[i], *next; e; e = next) {
            next = e->next;
            mpicheck_entry **end = &larger.buckets[place(&larger, e->key)];
            while (*end) end = &(*end)->next;
            e->next = NULL;
            *end = e;
        }
    }
    free(table->buckets);
    *table = larger;
}

void mpicheck_table_add(mpicheck_table *table, uint64_t key, void *value)
{
    if (table->entries >= table->size) grow(table);
    mpicheck_entry *entry = malloc(sizeof(*entry));
    if (!entry) abort();
    mpicheck_entry **bucket = &table->buckets[place(table, key)];
    *entry = (mpicheck_entry){.next = *bucket, .key = key, .value = value};
    *bucket = entry;
    table->entries++;
}

/* Removes the key's first entry with the wanted value; NULL: any value. */
static void *removed(mpicheck_table *table, uint64_t key, const void *wanted)
{
    if (table->size == 0) return NULL;
    for (mpicheck_entry **at = &table->buckets[place(table, key)]; *at; at = &(*at)->next) {
        mpicheck_entry *entry = *at;
        if (entry->key != key || (wanted && entry->value != wanted)) continue;
        void *value = entry->value;
        *at = entry->next;
        free(entry);
        table->entries--;
        return value;
    }
    return NULL;
}

void *mpicheck_table_remove(mpicheck_table *table, uint64_t key)
{
    return removed(table, key, NULL);
}

bool mpicheck_table_take(mpicheck_table *table, uint64_t key, const void *value)
{
    return removed(table, key, value) != NULL;
}

void mpicheck_table_each(
    const mpicheck_table *table, void (*visit)(void *value, void *with), void *with)
{
    for (size_t i = 0; i < table->size; i++)
        for (mpicheck_entry *e = table->buckets[i]; e; e = e->next) visit(e->value, with);
}

void mpicheck_table_clear(mpicheck_table *table)
{
    for (size_t i = 0; i < table->size; i++) {
        for (mpicheck_entry *e = table->buckets[i], *next; e; e = next) {
            next = e->next;
            free(e);
        }
    }
    free(table->buckets);
    *table = (mpicheck_table){0};
}
