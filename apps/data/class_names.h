/* The names of a data set's classes, where its files tell them: the folders of train/ (jpeg,
 * imagenet), or what LOC_synset_mapping.txt (Kaggle's) or synset_words.txt (Caffe's) beside train/
 * says that these mean; classes.txt with a name in each line (webdataset, recordio; tutti-pack
 * writes it), batches.meta.txt (CIFAR-10), fine_label_names.txt (CIFAR-100). Threads: [A]. */
#ifndef TUTTI_CLASS_NAMES_H
#define TUTTI_CLASS_NAMES_H

#include "dag/base/status.h"

#define TUTTI_CLASS_NAMES_FILE "classes.txt"

/* *names: name i is that of label i; NULL-terminated, in UTF-8. NULL if no file tells. Where the files
 * tell of another number of names than `classes`, a warning says so: names beyond the classes are left
 * out, and too few become NULL. path: the data set's folder; format: its reader's name. FORMAT (logged):
 * a file that cannot be understood, with its line; NOMEM. */
tutti_status tutti_class_names_read(
    const char *path, const char *format, int classes, char ***names);
/* Accepts NULL. */
void tutti_class_names_free(char **names);

#endif
