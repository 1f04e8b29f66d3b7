#include "apps/check/finding.h"

#include "apps/check/call.h"
#include "apps/check/process.h"

#include <stdarg.h>
#include <stdio.h>

static void finding(char severity, const char *call, int site, const char *format, va_list list)
{
    char text[512];
    vsnprintf(text, sizeof(text), format, list);
    tutti_frame *frame = tutti_process_open(TUTTI_FRAME_FINDING);
    tutti_frame_put(frame, severity);
    tutti_frame_text(frame, call);
    tutti_frame_put(frame, site);
    tutti_frame_text(frame, text);
    tutti_process_post();
}

void tutti_finding(char severity, const char *format, ...)
{
    va_list list;
    int site = tutti_call_site();
    va_start(list, format);
    finding(severity, tutti_call_name(), site, format, list);
    va_end(list);
}

void tutti_finding_at(char severity, const char *call, int site, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    finding(severity, call, site, format, list);
    va_end(list);
}
