#include "apps/mpicheck/finding.h"

#include "apps/mpicheck/call.h"
#include "apps/mpicheck/process.h"

#include <stdarg.h>
#include <stdio.h>

/* `other`: the call that is named after the text; "": none. */
static void finding(char severity, const char *call, int site, const char *other, int other_site,
    const char *format, va_list list)
{
    char text[512];
    vsnprintf(text, sizeof(text), format, list);
    mpicheck_frame *frame = mpicheck_process_open(MPICHECK_FRAME_FINDING);
    mpicheck_frame_put(frame, severity);
    mpicheck_frame_text(frame, call);
    mpicheck_frame_put(frame, site);
    mpicheck_frame_text(frame, text);
    mpicheck_frame_text(frame, other);
    mpicheck_frame_put(frame, other_site);
    mpicheck_process_post();
}

void mpicheck_finding(char severity, const char *format, ...)
{
    va_list list;
    int site = mpicheck_call_site();
    va_start(list, format);
    finding(severity, mpicheck_call_name(), site, "", 0, format, list);
    va_end(list);
}

void mpicheck_finding_at(char severity, const char *call, int site, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    finding(severity, call, site, "", 0, format, list);
    va_end(list);
}

void mpicheck_finding_with(const char *call, int other_site, const char *format, ...)
{
    va_list list;
    int site = mpicheck_call_site();
    va_start(list, format);
    finding('E', mpicheck_call_name(), site, call, other_site, format, list);
    va_end(list);
}
