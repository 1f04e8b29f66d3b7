/* Notes: a few numbers from one rank to another, outside of all collectives: nothing waits for a note,
 * and a note waits for nothing. Servers are asked by notes (designs/kv).
 *
 * Notes from one rank to another arrive in the order in which they were sent. A rank that listens
 * gets those that came before, too. Those that come to a rank that never listens are dropped when it
 * closes.
 *
 *   open -> { send, listen, pass }* -> close
 *
 * Threads: send and listen are [M]; pass belongs to the passing thread (designs/drive/driver.h), and
 * so do calls of `heard`. */
#ifndef TUTTI_NOTES_H
#define TUTTI_NOTES_H

#include "collectives/control.h"

enum { TUTTI_NOTE_VALUES = 8 };

typedef struct tutti_note {
    int rank; /* whom it goes to, or comes from; maybe the rank itself */
    int64_t value[TUTTI_NOTE_VALUES];
} tutti_note;

typedef void tutti_note_heard(void *ctx, const tutti_note *note);

typedef struct tutti_notes tutti_notes;

/* Borrows the control; NULL: this rank is alone, and has only itself to write to. NOMEM. */
tutti_status tutti_notes_open(tutti_control *control, tutti_notes **notes);
void tutti_notes_close(tutti_notes *notes); /* accepts NULL */

/* Copies the note, which the next pass sends. NOMEM; the failure of an earlier one, if any. */
tutti_status tutti_notes_send(tutti_notes *notes, const tutti_note *note);
/* From now on every note goes to heard(ctx, note). NULL: notes are kept again; when this returns,
 * `heard` is not running, and is not called any more. */
void tutti_notes_listen(tutti_notes *notes, tutti_note_heard *heard, void *ctx);
/* In every pass: sends what was written, and hands over what has come; for who listens, from all ranks. */
void tutti_notes_pass(tutti_notes *notes);
/* Whether passes are wanted: notes are to be sent, or somebody listens (0 for NULL). [A] */
int tutti_notes_busy(tutti_notes *notes);

#endif
