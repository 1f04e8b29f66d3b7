#include "apps/data/listed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tutti_status tutti_listed_put_text(tutti_bytes *to, const char *text)
{
    return tutti_bytes_append(to, text, strlen(text) + 1);
}

tutti_status tutti_listed_put(
    tutti_bytes *to, const char *folder, const tutti_folder_stamp *stamp, const tutti_names *files)
{
    char numbers[192];
    snprintf(numbers, sizeof numbers,
        "%" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %zu", stamp->inode,
        stamp->modified_s, stamp->modified_ns, stamp->changed_s, stamp->changed_ns, files->count);
    tutti_status status = tutti_listed_put_text(to, folder);
    if (!status) status = tutti_listed_put_text(to, numbers);
    for (int k = 0; k < TUTTI_OTHERS && !status; k++) {
        snprintf(numbers, sizeof numbers, "%zu", files->others[k]);
        status = tutti_listed_put_text(to, numbers);
        if (!status) status = tutti_listed_put_text(to, files->others[k] ? files->other[k] : "");
    }
    for (size_t i = 0; i < files->count && !status; i++)
        status = tutti_listed_put_text(to, files->names[i]);
    return status;
}

const char *tutti_listed_text(tutti_listed *from)
{
    const char *text = from->at;
    const char *zero = text < from->end ? memchr(text, '\0', (size_t)(from->end - text)) : NULL;
    if (!zero) return NULL;
    from->at = zero + 1;
    return text;
}

/* Whether this can be a file that a list of files names. */
static int is_name(const char *name)
{
    return *name && *name != '.' && !strchr(name, '/');
}

static int take_numbers(const char *text, tutti_folder_stamp *stamp, size_t *count)
{
    int used = 0;
    return sscanf(text, "%" SCNu64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %zu%n",
               &stamp->inode, &stamp->modified_s, &stamp->modified_ns, &stamp->changed_s,
               &stamp->changed_ns, count, &used) == 6 &&
           !text[used];
}

/* `files` NULL: they are checked, but not kept. */
static int take_others(tutti_listed *from, tutti_names *files)
{
    for (int k = 0; k < TUTTI_OTHERS; k++) {
        size_t count;
        int used = 0;
        const char *number = tutti_listed_text(from);
        const char *other = number ? tutti_listed_text(from) : NULL;
        if (!other || strlen(other) >= TUTTI_OTHER_NAME ||
            sscanf(number, "%zu%n", &count, &used) != 1 || number[used])
            return EBADMSG;
        if (!files) continue;
        files->others[k] = count;
        memcpy(files->other[k], other, strlen(other) + 1);
    }
    return 0;
}

static int take_names(tutti_listed *from, size_t count, tutti_names *files)
{
    const char *before = NULL;
    if (files && count && !(files->names = calloc(count, sizeof *files->names))) return ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const char *name = tutti_listed_text(from);
        if (!name || !is_name(name) || (before && strcmp(before, name) >= 0)) return EBADMSG;
        before = name;
        if (!files) continue;
        if (!(files->names[i] = strdup(name))) return ENOMEM;
        files->count++;
    }
    return 0;
}

int tutti_listed_take(
    tutti_listed *from, const char **folder, tutti_folder_stamp *stamp, tutti_names *files)
{
    enum { LEAST_BYTES = 2 }; /* of a name */
    size_t count;
    *folder = tutti_listed_text(from);
    const char *numbers = *folder ? tutti_listed_text(from) : NULL;
    if (files) *files = (tutti_names){0};
    if (!numbers || (**folder && !is_name(*folder)) || !take_numbers(numbers, stamp, &count) ||
        take_others(from, files) || count > (size_t)(from->end - from->at) / LEAST_BYTES)
        return EBADMSG;
    int error = take_names(from, count, files);
    if (error && files) tutti_names_free(files);
    return error;
}
