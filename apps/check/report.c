#include "apps/check/court.h"
#include "apps/check/process.h"
#include "apps/check/site.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void tutti_report_add(tutti_report *report, const char *format, ...)
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

void tutti_report_site(tutti_report *report, tutti_judge *judge, int rank, int site)
{
    char text[512];
    const tutti_rank *r = &judge->ranks[rank];
    if (site < 1 || site > r->nplaces || !r->places[site - 1].module) {
        tutti_report_add(report, "an unknown place");
        return;
    }
    const tutti_place *place = &r->places[site - 1];
    tutti_site_print(text, sizeof(text), place->module, place->offset, place->symbol);
    tutti_report_add(report, "%s", text);
}

void tutti_report_comm(tutti_report *report, tutti_judge *judge, uint64_t id)
{
    const tutti_court_comm *comm = tutti_court_comm_find(judge, id);
    if (!comm) {
        tutti_report_add(report, "a communicator");
    } else if (comm->site == 0) {
        tutti_report_add(report, "%s", comm->maker);
    } else {
        tutti_report_add(report, "the communicator of %s at ", comm->maker);
        tutti_report_site(report, judge, comm->maker_rank, comm->site);
    }
}

void tutti_report_ranks(tutti_report *report, const int *ranks, int count)
{
    tutti_report_add(report, count == 1 ? "rank" : "ranks");
    for (int i = 0; i < count;) {
        int last = i;
        while (last + 1 < count && ranks[last + 1] == ranks[last] + 1) last++;
        tutti_report_add(report, "%s%d", i == 0 ? " " : ", ", ranks[i]);
        if (last > i) tutti_report_add(report, last == i + 1 ? ", %d" : "-%d", ranks[last]);
        i = last + 1;
    }
}

void tutti_report_write(tutti_report *report)
{
    for (size_t at = 0; at < report->length;) {
        ssize_t written = write(STDERR_FILENO, report->text + at, report->length - at);
        if (written <= 0) break;
        at += (size_t)written;
    }
    free(report->text);
    *report = (tutti_report){0};
}

void tutti_report_error(tutti_judge *judge, tutti_report *report)
{
    tutti_frame frame = {0};
    tutti_report_write(report);
    judge->reported = judge->ended = true;
    tutti_frame_begin(&frame, TUTTI_FRAME_ABORT);
    tutti_frame_put(&frame, TUTTI_CHECK_STATUS);
    tutti_court_send_all(judge, &frame);
    tutti_frame_free(&frame);
}
