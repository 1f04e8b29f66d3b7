/* Whether all ranks start the same collectives in the same order, compared while the program runs. */
#ifndef TUTTI_VERIFY_H
#define TUTTI_VERIFY_H

#include <stddef.h>

typedef enum tutti_verify_mode {
    TUTTI_VERIFY_OFF,  /* no extra lane, no extra message */
    TUTTI_VERIFY_ON,   /* compared while they run */
    TUTTI_VERIFY_FULL, /* none starts before all ranks have come to the same one */
    TUTTI_VERIFY_MODES
} tutti_verify_mode;

/* "off", "on", "full"; NULL for a value that is none. [P] */
const char *tutti_verify_mode_name(int mode);
/* MODES when there is none of this name. [P] */
tutti_verify_mode tutti_verify_mode_find(const char *name);

#endif
