/* The state of a training as a file, from which it continues with the same bits, on any number of ranks. */
#ifndef TUTTI_SVM_CHECKPOINT_H
#define TUTTI_SVM_CHECKPOINT_H

#include "apps/svm/train.h"

/* The pairs of the machine that have ended, and the state of the next one. settings: the options that decide
 * about the result (tutti_conf_text); data: what describes the data file, on rank 0 (tutti_svm_describe_file). All
 * ranks; rank 0 writes, the others send it what they have. IO, NOMEM (logged). */
tutti_status tutti_svm_checkpoint_save(tutti_svm_world *world, const char *path,
    const char *settings, const char *data, const tutti_svm_machine *machine,
    const tutti_svm_state *state);
/* Fills what is not NULL: the machine is new, of the same data; the state is that of its next pair's solver.
 * IO; FORMAT: the file is damaged, or of other data or settings (logged). */
tutti_status tutti_svm_checkpoint_load(tutti_svm_world *world, const char *path,
    const char *settings, const char *data, tutti_svm_machine *machine,
    const tutti_svm_state *state);

#endif
