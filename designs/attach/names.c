#include "designs/attach/names.h"

#include "dag/base/log.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 512, FIRST_ROOM = 64 };

typedef struct name {
    struct name *next;
    const void *data;
    const char *text; /* one of the table's */
} name;

struct tutti_names {
    name *bucket[BUCKETS];
    char **text;        /* [room] each text once; open addressing; a free one is NULL */
    size_t room, texts; /* room: a power of two, or 0 */
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
    if (!names) return;
    for (int b = 0; b < BUCKETS; b++)
        for (name *n = names->bucket[b], *next; n; n = next) {
            next = n->next;
            free(n);
        }
    for (size_t i = 0; i < names->room; i++) free(names->text[i]);
    free(names->text);
    free(names);
}

/* ---- texts ---- */

/* Where this text is, or a free place for it. */
static char **place_of(char **texts, size_t room, const char *text)
{
    uint64_t hash = 14695981039346656037u;
    for (const char *at = text; *at; at++) hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    size_t at = (size_t)(hash ^ hash >> 32) & (room - 1);
    while (texts[at] && strcmp(texts[at], text) != 0) at = (at + 1) & (room - 1);
    return &texts[at];
}

/* Keeps at least half of the places free. Returns 0 without memory. */
static int widen_table(tutti_names *n)
{
    const size_t room = n->room ? 2 * n->room : FIRST_ROOM;
    if (2 * (n->texts + 1) <= n->room) return 1;
    char **wider = calloc(room, sizeof *wider);
    if (!wider) return 0;
    for (size_t i = 0; i < n->room; i++)
        if (n->text[i]) *place_of(wider, room, n->text[i]) = n->text[i];
    free(n->text);
    n->text = wider;
    n->room = room;
    return 1;
}

/* The table's copy of a text. NULL: no memory. */
static const char *keep_text(tutti_names *n, const char *text)
{
    if (!widen_table(n)) return NULL;
    char **place = place_of(n->text, n->room, text);
    if (*place) return *place;
    *place = strdup(text);
    n->texts += *place != NULL;
    return *place;
}

/* ---- names ---- */

/* What points to the name of these data; to NULL: they have none. */
static name **find(tutti_names *names, const void *data)
{
    name **n = &names->bucket[bucket_of(data)];
    while (*n && (*n)->data != data) n = &(*n)->next;
    return n;
}

static void remove_name(name **at)
{
    name *old = *at;
    if (!old) return;
    *at = old->next;
    free(old);
}

tutti_status tutti_names_give(tutti_names *names, const void *data, const char *text)
{
    name **at = find(names, data);
    if (!text) {
        remove_name(at);
        return TUTTI_OK;
    }
    const char *kept = keep_text(names, text);
    name *n = *at || !kept ? *at : calloc(1, sizeof *n);
    if (!kept || !n) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the name '%s'", text);
    n->data = data;
    n->text = kept;
    *at = n;
    return TUTTI_OK;
}

const char *tutti_names_find(tutti_names *names, const void *data)
{
    const name *n = *find(names, data);
    return n ? n->text : NULL;
}
