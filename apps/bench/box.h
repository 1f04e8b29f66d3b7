/* Other programs of Tutti, run to their end: in boxes (tutti-box), or on this machine. [M] */
#ifndef TUTTI_BENCH_BOX_H
#define TUTTI_BENCH_BOX_H

#include "dag/base/status.h"

enum { TUTTI_BOX_PATH = 1024, TUTTI_BOX_TEXT = TUTTI_BOX_PATH + 32 };

/* This program's path. IO (logged). */
tutti_status tutti_box_self(char self[TUTTI_BOX_PATH]);
/* A program of ours, by its place in the build tree ("box/tutti-box"): there, beside this program, or, where
 * it is neither, its name alone, for PATH. Returns text. */
const char *tutti_box_find(const char *self, const char *place, char text[TUTTI_BOX_TEXT]);
/* Runs a program to its end. After the deadline, asks it to terminate and waits, because tutti-box must take
 * its box down. So does a SIGHUP, SIGINT or SIGTERM that this process does not ignore, which tutti_box_obey
 * then obeys. what: "a cell". IO, TIMEOUT (logged). */
tutti_status tutti_box_run(char *const argv[], const char *what, double timeout_s);
/* Behind tutti_box_run, once there is nothing left to tidy up: a signal that came meanwhile does what it does, which is
 * to end this process unless it is ignored. */
void tutti_box_obey(void);

#endif
