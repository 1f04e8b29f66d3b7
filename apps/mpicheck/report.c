#include "apps/mpicheck/tracker.h"
#include "apps/mpicheck/process.h"
#include "apps/mpicheck/site.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void mpicheck_report_add(mpicheck_report *report, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = vsnprintf(NULL, 0, format, list);
    va_end(list);
    if (length < 0) return;
    if (report->length + (size_t)length + 1 > report->capacity) {
        report->capacity = 2 * (report->length + (size_t)length + 1);
        report->text = realloc(report->text, report->capacity);
        if (!report->text) abort();
    }
    va_start(list, format);
    vsnprintf(report->text + report->length, (size_t)length + 1, format, list);
    va_end(list);
    report->length += (size_t)length;
}

/* NULL: not known. */
static const mpicheck_place *place_of(const mpicheck_judge *judge, int rank, int site)
{
    const mpicheck_rank *r = &judge->ranks[rank];
    return site < 1 || site > r->nplaces || !r->places[site - 1].module ? NULL
                                                                        : &r->places[site - 1];
}

bool mpicheck_report_same_site(
    const mpicheck_judge *judge, int rank_a, int site_a, int rank_b, int site_b)
{
    const mpicheck_place *a = place_of(judge, rank_a, site_a), *b = place_of(judge, rank_b, site_b);
    if (!a || !b) return a == b;
    return a->offset == b->offset && !strcmp(a->module, b->module);
}

void mpicheck_report_site(mpicheck_report *report, mpicheck_judge *judge, int rank, int site)
{
    char text[512];
    const mpicheck_place *place = place_of(judge, rank, site);
    if (!place) {
        mpicheck_report_add(report, "an unknown place");
        return;
    }
    mpicheck_site_print(text, sizeof(text), place->module, place->offset, place->symbol);
    mpicheck_report_add(report, "%s", text);
}

void mpicheck_report_comm(mpicheck_report *report, mpicheck_judge *judge, uint64_t id)
{
    const mpicheck_tracker_comm *comm = mpicheck_tracker_comm_find(judge, id);
    if (!comm) {
        mpicheck_report_add(report, "a communicator");
    } else if (comm->site == 0) {
        mpicheck_report_add(report, "%s", comm->maker);
    } else {
        mpicheck_report_add(report, "the communicator of %s at ", comm->maker);
        mpicheck_report_site(report, judge, comm->maker_rank, comm->site);
    }
}

void mpicheck_report_ranks(mpicheck_report *report, const int *ranks, int count)
{
    mpicheck_report_add(report, count == 1 ? "rank" : "ranks");
    for (int i = 0; i < count;) {
        int last = i;
        while (last + 1 < count && ranks[last + 1] == ranks[last] + 1) last++;
        mpicheck_report_add(report, "%s%d", i == 0 ? " " : ", ", ranks[i]);
        if (last > i) mpicheck_report_add(report, last == i + 1 ? ", %d" : "-%d", ranks[last]);
        i = last + 1;
    }
}

void mpicheck_report_write(mpicheck_report *report)
{
    for (size_t at = 0; at < report->length;) {
        ssize_t written = write(STDERR_FILENO, report->text + at, report->length - at);
        if (written <= 0) break;
        at += (size_t)written;
    }
    free(report->text);
    *report = (mpicheck_report){0};
}

void mpicheck_report_error(mpicheck_judge *judge, mpicheck_report *report)
{
    mpicheck_frame frame = {0};
    mpicheck_report_write(report);
    judge->reported = judge->ended = true;
    mpicheck_frame_begin(&frame, MPICHECK_FRAME_ABORT);
    mpicheck_frame_put(&frame, MPICHECK_STATUS);
    mpicheck_tracker_send_all(judge, &frame);
    mpicheck_frame_free(&frame);
}
