/* What the command line of tutti-run says, and what it says to people. [M] */
#ifndef TUTTI_LAUNCH_OPTIONS_H
#define TUTTI_LAUNCH_OPTIONS_H

typedef struct tutti_launch_options {
    int ranks;            /* to start; 0: the command starts them itself */
    int servers, clients; /* jobs of their own (jobs.h); 0: there are none */
    int replicas;         /* servers that have a key */
    int least, most;      /* ranks that train (--elastic); 0: always the same */
    int srun, proceed;    /* proceed: --continue */
    int max_restarts;     /* -1 until options are complete */
    int pause_s, grace_s, linger_s;
    int ends_after_error; /* whether the command is ended linger_s after a rank has reported an error */
    const char *hosts, *rsh, *output, *elastic; /* NULL: none */
    char **command;             /* [words], and a NULL */
    int words;
} tutti_launch_options;

/* "tutti-run: ..." on stderr. */
void tutti_launch_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Reads them. -1: continue; else the status to end with: --help, --version, or a mistake, which was reported. */
int tutti_launch_parse(int argc, char **argv, tutti_launch_options *options);
/* Seconds before the next restart, after a pause of that many: twice as many, up to 60. */
int tutti_launch_next_pause(int pause_s);
/* The file of the command's last --checkpoint; NULL: it has none. */
const char *tutti_launch_checkpoint(const tutti_launch_options *options);
/* Whether a ":" separates programs of the command; how many ranks it starts behind the first ":", as far as it says. */
int tutti_launch_has_several(const tutti_launch_options *options);
int tutti_launch_count_others(const tutti_launch_options *options);

#endif
