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

/* Logs that a folder cannot be listed because of this errno value. absent: what to add where there is
 * none. Returns IO, or NOMEM. */
tutti_status tutti_names_fail(const char *folder, int error, const char *absent);
/* A rank may see another folder than the one that has listed it: OK if it has the first and the last
 * image of the list. NULL is a path without memory. IO, NOMEM (logged). */
tutti_status tutti_names_compare(const char *root, const char *first, const char *last);

/* What is left out of the folders of a root. Zeroed before its first use. */
typedef struct tutti_left_out {
    size_t count[TUTTI_OTHERS];
    char example[TUTTI_OTHERS][2 * TUTTI_OTHER_NAME]; /* one of each kind, with its folder */
} tutti_left_out;

/* Adds the unwanted entries of a folder of the root; "": of the root itself. */
void tutti_left_out_add(tutti_left_out *left, const char *folder, const tutti_names *found);
/* Warns of them, if there are any, by kind and with an example of each. wanted: how the files are
 * named that are read; where: which of them. */
void tutti_left_out_warn(
    const tutti_left_out *left, const char *root, const char *wanted, const char *where);

#endif
