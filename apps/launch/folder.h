/* The folder in which servers tell where they are. It says which process made it, so that what a tutti-run that was
 * killed has left can be removed. [M] */
#ifndef TUTTI_LAUNCH_FOLDER_H
#define TUTTI_LAUNCH_FOLDER_H

enum { TUTTI_LAUNCH_FOLDER = 3072 };

/* Makes one in `parent`, after removing those that are left there. 0: it cannot (reported). */
int tutti_launch_folder_make(const char *parent, char folder[TUTTI_LAUNCH_FOLDER]);
/* Removes this one, and again those that are left in `parent`. */
void tutti_launch_folder_remove(const char *parent, const char *folder);
/* Removes a folder with all that is in it, as far as it can. */
void tutti_launch_folder_delete(const char *folder);

#endif
