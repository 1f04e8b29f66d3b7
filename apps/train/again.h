/* The command that continues a run from its checkpoint. [M] */
#ifndef TUTTI_TRAIN_AGAIN_H
#define TUTTI_TRAIN_AGAIN_H

/* The words, quoted for a shell, without any --resume, followed by --resume CHECKPOINT. The caller
 * frees it; NULL: no memory. [P] */
char *tutti_again_text(int words, char *const word[], const char *checkpoint);

/* The command line of the launcher of this program: the oldest ancestor on this host whose words
 * end with the program's (`argv`, NULL-terminated). Without one, "mpirun -np RANKS" and the
 * program's words; with ranks 0, in an elastic run, these words, and a comment that names its launcher. The caller
 * frees it; NULL: no memory. */
char *tutti_again_command(char *const argv[], int ranks, const char *checkpoint);

/* The same where servers and clients are jobs of their own; ranks: of each client. */
char *tutti_again_jobs(
    int servers, int clients, int ranks, char *const argv[], const char *checkpoint);

#endif
