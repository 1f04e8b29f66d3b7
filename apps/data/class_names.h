/* The names of a data set's classes, where its files tell them: the folders of train/ (jpeg,
 * imagenet), or what LOC_synset_mapping.txt (Kaggle's) or synset_words.txt (Caffe's) beside train/
 * says that these mean; classes.txt with a name in each line (webdataset, recordio; tutti-pack
 * writes it), batches.meta.txt (CIFAR-10), fine_label_names.txt (CIFAR-100). Threads: [A]. */
#ifndef TUTTI_CLASS_NAMES_H
#define TUTTI_CLASS_NAMES_H

#define TUTTI_CLASS_NAMES_FILE "classes.txt"

/* Name i is that of label i; NULL-terminated. NULL if the files do not tell, or tell another number
 * of names than `classes`. path: the data set's folder; format: its reader's name. */
char **tutti_class_names_read(const char *path, const char *format, int classes);
/* Accepts NULL. */
void tutti_class_names_free(char **names);

#endif
