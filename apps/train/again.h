/* The command that continues a run from its checkpoint. [M] */
#ifndef TUTTI_TRAIN_AGAIN_H
#define TUTTI_TRAIN_AGAIN_H

/* The words quoted for a shell, but for an earlier --resume, with --resume CHECKPOINT behind them. The
 * caller frees it; NULL: no memory. [P] */
char *tutti_again_text(int words, char *const word[], const char *checkpoint);

/* The command line of the launcher that runs this program, when an ancestor on this host has the
 * program's words (`argv`, NULL-terminated) at the end of its own (the oldest of them counts);
 * otherwise those after "mpirun -np RANKS". The caller frees it; NULL: no memory. */
char *tutti_again_command(char *const argv[], int ranks, const char *checkpoint);

#endif
