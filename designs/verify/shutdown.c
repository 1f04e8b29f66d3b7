#include "designs/verify/shutdown.h"

#include "dag/base/log.h"

#include <stdio.h>
#include <stdlib.h>

enum { WORDS = TUTTI_CONTROL_TEXT / 8, FAILED = -1 };

struct tutti_shutdown {
    tutti_control *control;
    int rank, size, lanes;
    int left;            /* ranks that have sent BYE */
    int *lanes_received; /* [size] per rank; a BYE of many lanes is several messages */
    int *failed;         /* [size] */
    int64_t *started;    /* [size][lanes] */
};

static void receive_bye(void *ctx, const tutti_control_message *message)
{
    tutti_shutdown *f = ctx;
    int64_t first = message->value[0], count = message->value[1];
    int from = message->from;
    if (count == FAILED) {
        f->failed[from] = 1;
        count = f->lanes;
    } else {
        if (first < 0 || count < 0 || count > WORDS || first + count > f->lanes) return;
        for (int64_t i = 0; i < count; i++)
            f->started[from * f->lanes + first + i] = (int64_t)message->word[i];
    }
    f->lanes_received[from] += (int)count;
    f->left += f->lanes_received[from] == f->lanes;
}

tutti_status tutti_shutdown_open(tutti_control *control, int lanes, tutti_shutdown **shutdown)
{
    int size = tutti_control_size(control);
    tutti_shutdown *f = calloc(1, sizeof *f);
    if (f) {
        *f = (tutti_shutdown){.control = control, .size = size, .lanes = lanes};
        f->rank = tutti_control_rank(control);
        f->lanes_received = calloc((size_t)size, sizeof *f->lanes_received);
        f->failed = calloc((size_t)size, sizeof *f->failed);
        f->started = calloc((size_t)size * (size_t)lanes, sizeof *f->started);
    }
    if (!f || !f->lanes_received || !f->failed || !f->started) {
        tutti_shutdown_close(f);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the shutdown of %d ranks", size);
    }
    tutti_control_handle(control, TUTTI_CONTROL_BYE, receive_bye, f);
    *shutdown = f;
    return TUTTI_OK;
}

void tutti_shutdown_close(tutti_shutdown *shutdown)
{
    if (!shutdown) return;
    free(shutdown->lanes_received);
    free(shutdown->failed);
    free(shutdown->started);
    free(shutdown);
}

tutti_status tutti_shutdown_send(tutti_shutdown *shutdown, const int64_t started[])
{
    tutti_control_message bye = {.kind = TUTTI_CONTROL_BYE, .value = {0, FAILED}};
    if (!started) return tutti_control_broadcast(shutdown->control, &bye);
    tutti_status status = TUTTI_OK;
    for (int first = 0; first < shutdown->lanes && !status; first += WORDS) {
        int count = shutdown->lanes - first < WORDS ? shutdown->lanes - first : WORDS;
        bye.value[0] = first;
        bye.value[1] = count;
        for (int i = 0; i < count; i++) bye.word[i] = (uint64_t)started[first + i];
        status = tutti_control_broadcast(shutdown->control, &bye);
    }
    return status;
}

int tutti_shutdown_has_from(const tutti_shutdown *shutdown, int rank)
{
    return shutdown->lanes_received[rank] == shutdown->lanes;
}

int tutti_shutdown_left_in_order(const tutti_shutdown *shutdown, int rank)
{
    return tutti_shutdown_has_from(shutdown, rank) && !shutdown->failed[rank];
}

void tutti_shutdown_absent(tutti_shutdown *shutdown, int rank)
{
    shutdown->left += !tutti_shutdown_has_from(shutdown, rank);
    shutdown->lanes_received[rank] = shutdown->lanes;
}

int tutti_shutdown_has_all(const tutti_shutdown *shutdown, const int64_t started[])
{
    const tutti_shutdown *f = shutdown;
    if (f->left < f->size - 1) return 0;
    for (int r = 0; started && r < f->size; r++)
        for (int i = 0; i < f->lanes && r != f->rank && !f->failed[r]; i++)
            if (f->started[r * f->lanes + i] != started[i]) return 0;
    return 1;
}

int tutti_shutdown_count(const tutti_shutdown *shutdown)
{
    return shutdown->left;
}

char *tutti_shutdown_missing(const tutti_shutdown *shutdown, char *text, size_t size)
{
    const tutti_shutdown *f = shutdown;
    size_t used = 0;
    text[0] = '\0';
    for (int r = 0; r < f->size && used < size; r++)
        if (r != f->rank && !tutti_shutdown_has_from(f, r))
            used += (size_t)snprintf(text + used, size - used, "%s%d", used ? ", " : "", r);
    return text;
}

int tutti_shutdown_finds_gap(
    const tutti_shutdown *shutdown, const int64_t started[], tutti_shutdown_gap *gap)
{
    const tutti_shutdown *f = shutdown;
    for (int r = 0; r < f->size && f->left; r++) {
        if (r == f->rank || !tutti_shutdown_has_from(f, r) || f->failed[r]) continue;
        for (int i = 0; i < f->lanes; i++) {
            int64_t theirs = f->started[r * f->lanes + i];
            if (theirs >= started[i]) continue;
            *gap = (tutti_shutdown_gap){.rank = r, .lane = i, .theirs = theirs};
            return 1;
        }
    }
    return 0;
}
