#include "designs/attach/names.h"

#include "dag/base/log.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 512 };

typedef struct name {
    struct name *next;
    const void *data; /* NULL: replaced */
    char text[];
} name;

struct tutti_names {
    name *bucket[BUCKETS];
};

static size_t bucket_of(const void *data)
{
    return (size_t)((uint64_t)(uintptr_t)data * 0x9e3779b97f4a7c15u >> 32) % BUCKETS;
}

tutti_status tutti_names_open(tutti_names **names)
{
    tutti_names *n = calloc(1, sizeof *n);
    if (!n) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the names of data");
    *names = n;
    return TUTTI_OK;
}

void tutti_names_close(tutti_names *names)
{
    for (int b = 0; names && b < BUCKETS; b++)
        for (name *n = names->bucket[b], *next; n; n = next) {
            next = n->next;
            free(n);
        }
    free(names);
}

static name *find(const tutti_names *names, const void *data)
{
    name *n = names->bucket[bucket_of(data)];
    while (n && n->data != data) n = n->next;
    return n;
}

tutti_status tutti_names_give(tutti_names *names, const void *data, const char *text)
{
    name *old = find(names, data);
    if (old && text && strcmp(old->text, text) == 0) return TUTTI_OK;
    if (text) {
        size_t bytes = strlen(text) + 1;
        name *n = malloc(sizeof *n + bytes);
        if (!n) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the name '%s'", text);
        memcpy(n->text, text, bytes);
        n->data = data;
        n->next = names->bucket[bucket_of(data)];
        names->bucket[bucket_of(data)] = n;
    }
    if (old) old->data = NULL;
    return TUTTI_OK;
}

const char *tutti_names_find(const tutti_names *names, const void *data)
{
    const name *n = find(names, data);
    return n ? n->text : NULL;
}
