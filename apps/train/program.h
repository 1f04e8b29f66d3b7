/* The programs that train: each is a row, which holds all that it does not share with the others,
 * and a main function that gives its row to tutti_train_main. Threads: [M]. */
#ifndef TUTTI_TRAIN_PROGRAM_H
#define TUTTI_TRAIN_PROGRAM_H

/* An option's value where the command line and the environment give none. */
typedef struct tutti_train_default {
    const char *option, *value;
} tutti_train_default;

typedef struct tutti_train_program {
    const char *name;     /* "tutti-cifar" */
    const char *summary;  /* for --help */
    const char *epilogue; /* the same */
    /* What --model and --format accept: name `i`, NULL after the last. Data of another format are
     * refused. */
    const char *(*model)(int i);
    const char *(*format)(int i);
    const char *(*recipe)(int i);        /* what --recipe accepts */
    const tutti_train_default *defaults; /* where they are not those of the table; ends with NULL */
} tutti_train_program;

extern const tutti_train_program tutti_train_cifar, tutti_train_imagenet;

/* Runs the program and returns its exit status. */
int tutti_train_main(const tutti_train_program *program, int argc, char *argv[]);

#endif
