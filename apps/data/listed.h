/* What folders hold, as bytes: what one rank tells the others, and what an index keeps.
 *
 * All is text, and each piece of it ends in a zero byte. An entry is a folder's name, the state that
 * the folder was in, and the names of its files:
 *
 *   name | inode modified_s modified_ns changed_s changed_ns files | others | other | ... | file ...
 *
 * with a number of others and the name of one, or nothing, for each kind (folder.h).
 *
 * Bytes may come from a damaged file. What is read is checked: names are those of files in a folder
 * (not hidden, without a slash) and ascend. Threads: [A], one thread per object. */
#ifndef TUTTI_DATA_LISTED_H
#define TUTTI_DATA_LISTED_H

#include "apps/data/bytes.h"
#include "apps/data/folder.h"

/* The state of a folder. What adds or removes an entry changes it: the time of the modification
 * can be set back, that of the last change cannot. */
typedef struct tutti_folder_stamp {
    uint64_t inode;
    int64_t modified_s, modified_ns, changed_s, changed_ns;
} tutti_folder_stamp;

/* What is left to be read. */
typedef struct tutti_listed {
    const char *at, *end;
} tutti_listed;

/* NOMEM (logged). */
tutti_status tutti_listed_put_text(tutti_bytes *to, const char *text);
tutti_status tutti_listed_put(
    tutti_bytes *to, const char *folder, const tutti_folder_stamp *stamp, const tutti_names *files);

/* The next piece; NULL: there is none, or it has no end. */
const char *tutti_listed_text(tutti_listed *from);
/* The next entry; *folder points into the bytes. `files` NULL: its names are checked, but not kept.
 * Returns 0; EBADMSG: this is no entry; or ENOMEM. Logs nothing. */
int tutti_listed_take(
    tutti_listed *from, const char **folder, tutti_folder_stamp *stamp, tutti_names *files);

#endif
