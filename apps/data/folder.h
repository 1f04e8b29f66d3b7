/* What a folder holds: the names of its entries of one kind, in the order of their bytes, not of a
 * locale, so that an index means the same file on every rank. Hidden entries are not listed. [A] */
#ifndef TUTTI_DATA_FOLDER_H
#define TUTTI_DATA_FOLDER_H

#include "dag/base/status.h"

#include <dirent.h>
#include <stddef.h>

/* What an entry is that is not wanted. */
typedef enum tutti_other {
    TUTTI_OTHER_FOLDER,
    TUTTI_OTHER_PICTURE, /* named as pictures of a kind that is not wanted */
    TUTTI_OTHER_FILE,
    TUTTI_OTHER_ODD, /* a link to nothing, a pipe, ... */
    TUTTI_OTHERS
} tutti_other;

enum { TUTTI_OTHER_NAME = 256 };

typedef struct tutti_names {
    char **names; /* sorted */
    size_t count;
    size_t others[TUTTI_OTHERS];                /* unwanted entries, without hidden ones */
    char other[TUTTI_OTHERS][TUTTI_OTHER_NAME]; /* one of each kind */
    size_t links;                               /* entries that are links, without hidden ones */
} tutti_names;

typedef int (*tutti_names_wanted)(const char *folder, const struct dirent *entry);

/* A folder; a file named as JPEGs are; a file named as JPEGs or PNGs are, or WebPs where this
 * build reads them. Links are followed. */
int tutti_names_folder(const char *folder, const struct dirent *entry);
int tutti_names_jpeg(const char *folder, const struct dirent *entry);
int tutti_names_image(const char *folder, const struct dirent *entry);
/* How the last ones are named, for people: ".jpg, .jpeg or .png". */
const char *tutti_names_image_endings(void);

/* Lists the wanted entries. 0 or an errno value; logs nothing. */
int tutti_names_list(const char *folder, tutti_names_wanted wanted, tutti_names *list);
/* The same for all folders in it, too, as paths below it. ELOOP: folders lie in folders more than 16
 * deep, as a link to a folder above makes them. Folders do not count as others. */
int tutti_names_list_below(const char *folder, tutti_names_wanted wanted, tutti_names *list);
/* The place of a name, or -1. */
long tutti_names_index(const tutti_names *list, const char *name);
/* Accepts a zeroed list. */
void tutti_names_free(tutti_names *list);

#endif
