/* What has to be the same on all ranks. All ranks call these, and all get the same status. */
#ifndef TUTTI_SVM_SAME_H
#define TUTTI_SVM_SAME_H

#include "apps/svm/world.h"

/* The settings, as tutti_conf_text writes them. USAGE: a rank's differ from rank 0's; NOMEM. */
tutti_status tutti_svm_same_settings(tutti_svm_world *world, const char *settings);

/* A file that every rank reads ("the data file"): its size and its bytes; where it has more than 64 MiB, 1024 blocks
 * of 64 KiB, spread evenly. MISMATCH: a rank's differs from rank 0's; IO, NOMEM. */
tutti_status tutti_svm_same_file(tutti_svm_world *world, const char *what, const char *path);

enum { TUTTI_SVM_FILE_TEXT = 64 };
/* What is compared, as text for a later run. Rank 0 alone. IO, NOMEM (logged). */
tutti_status tutti_svm_describe_file(
    const char *what, const char *path, char text[TUTTI_SVM_FILE_TEXT]);

#endif
