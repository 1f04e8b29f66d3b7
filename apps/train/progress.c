#include "apps/train/progress.h"

#include "apps/terminal/terminal.h"
#include "dag/base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void tutti_progress_on_step(tutti_progress *p, const tutti_report_step *step, double left_s)
{
    p->epoch = step->epoch;
    p->epochs = step->epochs;
    p->step = step->step;
    p->steps = step->steps;
    p->left_s = left_s;
}

void tutti_progress_on_interrupt(
    tutti_progress *p, const char *signal, int64_t step, const char *command)
{
    p->state = TUTTI_PROGRESS_INTERRUPTED;
    p->step = step;
    snprintf(p->signal, sizeof p->signal, "%s", signal);
    free(p->command);
    p->command = command ? strdup(command) : NULL;
}

void tutti_progress_free(tutti_progress *p)
{
    free(p->command);
    *p = (tutti_progress){0};
}

static void put_running(FILE *out, const tutti_progress *p, int every_s)
{
    char left[TUTTI_TERMINAL_TIME], now[40] = "?";
    const time_t seconds = time(NULL);
    struct tm local;
    fprintf(out, "<b>Under way</b>: step %" PRId64 " of %" PRId64, p->step, p->steps);
    if (p->epochs) fprintf(out, ", epoch %" PRId64 " of %" PRId64, p->epoch, p->epochs);
    if (p->epochs && isfinite(p->left_s))
        fprintf(out, ", %s left", tutti_terminal_time(p->left_s, left));
    if (localtime_r(&seconds, &local)) strftime(now, sizeof now, "%Y-%m-%d %H:%M:%S %z", &local);
    fprintf(out,
        ". Written %s; this page reloads itself every %d s. If it gets no newer, the run waits or "
        "was killed.",
        now, every_s);
}

void tutti_progress_put(FILE *out, const tutti_progress *p, int every_s)
{
    static const char *const words[] = {[TUTTI_PROGRESS_ENDED] = "The run has ended",
        [TUTTI_PROGRESS_INTERRUPTED] = "The run was interrupted by ",
        [TUTTI_PROGRESS_FAILED] = "The run has failed"};
    fputs("<p id='progress'>", out);
    if (p->state == TUTTI_PROGRESS_RUNNING)
        put_running(out, p, every_s);
    else
        fprintf(out, "<b>%s%s</b> after step %" PRId64 " of %" PRId64, words[p->state], p->signal,
            p->step, p->steps);
    if (p->state == TUTTI_PROGRESS_FAILED) fputs(": its output says why.", out);
    if (p->state == TUTTI_PROGRESS_ENDED) fputc('.', out);
    if (p->state == TUTTI_PROGRESS_INTERRUPTED && !p->command) fputs("; nothing is saved.", out);
    if (p->state == TUTTI_PROGRESS_INTERRUPTED && p->command) {
        fputs(". To continue: <code>", out);
        tutti_text_markup(out, p->command, SIZE_MAX);
        fputs("</code>", out);
    }
    fputs("</p>\n", out);
}
