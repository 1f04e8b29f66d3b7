#include "designs/thread/notes.h"

#include "dag/base/log.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct kept {
    tutti_note note;
    struct kept *next;
} kept;

/* First in, first out. */
typedef struct line {
    kept *first, **end;
} line;

struct tutti_notes {
    tutti_control *control;
    int rank;
    pthread_mutex_t
        lock; /* protects what follows; no other lock is taken under it but by `heard` */
    line out, in;
    tutti_note_heard *heard;
    void *ctx;
    tutti_status status;
};

static void open_line(line *l)
{
    l->first = NULL;
    l->end = &l->first;
}

static tutti_status append(line *l, const tutti_note *note)
{
    kept *k = malloc(sizeof *k);
    if (!k) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a note");
    *k = (kept){.note = *note};
    *l->end = k;
    l->end = &k->next;
    return TUTTI_OK;
}

/* Takes all that is in the line. */
static kept *empty(line *l)
{
    kept *all = l->first;
    open_line(l);
    return all;
}

static void free_all(kept *all)
{
    for (kept *next; all; all = next) {
        next = all->next;
        free(all);
    }
}

/* Lock held. */
static void fail(tutti_notes *n, tutti_status status)
{
    if (!n->status) n->status = status;
}

static void hear(void *ctx, const tutti_control_message *message)
{
    tutti_notes *n = ctx;
    tutti_note note = {.rank = message->from};
    memcpy(note.value, message->value, sizeof note.value);
    pthread_mutex_lock(&n->lock);
    fail(n, append(&n->in, &note));
    pthread_mutex_unlock(&n->lock);
}

tutti_status tutti_notes_open(tutti_control *control, tutti_notes **notes)
{
    tutti_notes *n = calloc(1, sizeof *n);
    if (!n) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for notes between ranks");
    n->control = control;
    n->rank = control ? tutti_control_rank(control) : 0;
    open_line(&n->out);
    open_line(&n->in);
    pthread_mutex_init(&n->lock, NULL);
    if (control) tutti_control_handle(control, TUTTI_CONTROL_NOTE, hear, n);
    *notes = n;
    return TUTTI_OK;
}

void tutti_notes_close(tutti_notes *notes)
{
    if (!notes) return;
    free_all(notes->out.first);
    free_all(notes->in.first);
    pthread_mutex_destroy(&notes->lock);
    free(notes);
}

tutti_status tutti_notes_send(tutti_notes *notes, const tutti_note *note)
{
    pthread_mutex_lock(&notes->lock);
    tutti_status status = notes->status;
    if (!status) status = append(&notes->out, note);
    pthread_mutex_unlock(&notes->lock);
    return status;
}

void tutti_notes_listen(tutti_notes *notes, tutti_note_heard *heard, void *ctx)
{
    pthread_mutex_lock(&notes->lock);
    notes->heard = heard;
    notes->ctx = ctx;
    pthread_mutex_unlock(&notes->lock);
}

/* Lock held. */
static tutti_status send(tutti_notes *n, const tutti_note *note)
{
    tutti_control_message message = {.kind = TUTTI_CONTROL_NOTE};
    if (note->rank == n->rank) return append(&n->in, note);
    memcpy(message.value, note->value, sizeof note->value);
    return tutti_control_send(n->control, note->rank, &message);
}

static int is_listening(tutti_notes *n)
{
    pthread_mutex_lock(&n->lock);
    int listening = n->heard != NULL;
    pthread_mutex_unlock(&n->lock);
    return listening;
}

/* A driver hears one rank a pass while something is in flight. Who listens does not make the others wait for their
 * turn. */
void tutti_notes_pass(tutti_notes *notes)
{
    int moved;
    tutti_status status = notes->control && is_listening(notes)
                              ? tutti_control_poll(notes->control, 1, &moved)
                              : TUTTI_OK;
    pthread_mutex_lock(&notes->lock);
    fail(notes, status);
    kept *out = empty(&notes->out);
    for (kept *k = out; k; k = k->next) fail(notes, send(notes, &k->note));
    kept *in = notes->heard ? empty(&notes->in) : NULL;
    for (kept *k = in; k; k = k->next) notes->heard(notes->ctx, &k->note);
    pthread_mutex_unlock(&notes->lock);
    free_all(out);
    free_all(in);
}

int tutti_notes_busy(tutti_notes *notes)
{
    if (!notes) return 0;
    pthread_mutex_lock(&notes->lock);
    int busy = notes->out.first || notes->heard;
    pthread_mutex_unlock(&notes->lock);
    return busy;
}
