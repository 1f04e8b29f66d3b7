/* What folders held when they were last listed, in a file, so that a folder that is as it was then
 * need not be listed again: a data set of a million files has a thousand folders to look at.
 *
 * An entry counts only for the folder with its inode and both of its times: what adds, removes
 * or renames a file changes them. What cannot be distinguished in this way is listed each time:
 *
 *   a folder that had changed in the 2 s before it was listed, or while it was: times may be coarse
 *   a folder that holds links: what is behind them changes without it
 *   a folder on another file system than the one that it is in, and everything on FUSE, where times
 *   mean what each file system likes
 *
 * The file is DIR/.tutti-NAME.index, or, where DIR cannot be written to, a file in the user's folder
 * for caches (tutti_file_in_cache). It is replaced as a whole. Data sets of fewer than 1000 files
 * have none. It is a convenience: whatever is wrong with it, the folders are listed, and a sentence
 * says so. Threads: [M]. */
#ifndef TUTTI_DATA_FOLDER_INDEX_H
#define TUTTI_DATA_FOLDER_INDEX_H

#include "apps/data/folder.h"
#include "dag/base/status.h"

typedef struct tutti_folder_index tutti_folder_index;

/* For folders in DIR/NAME. kind: which files are wanted, in a word; an index of another kind is not
 * used. NOMEM (logged). */
tutti_status tutti_folder_index_open(
    const char *dir, const char *name, const char *kind, tutti_folder_index **index);
/* As tutti_names_list for the folder DIR/NAME/FOLDER ("": DIR/NAME itself), each once and in
 * ascending order. */
int tutti_folder_index_list(
    tutti_folder_index *index, const char *folder, tutti_names_wanted wanted, tutti_names *list);
/* keep: all folders were listed, so that the file may be replaced if it differs. Accepts NULL. */
void tutti_folder_index_close(tutti_folder_index *index, int keep);

#endif
