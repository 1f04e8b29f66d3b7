/* tutti-trace: reads what --trace wrote, and reports it. See tutti-trace(1). */
#include "apps/trace/read.h"
#include "apps/trace/report.h"
#include "dag/base/conf.h"
#include "dag/base/file.h"
#include "dag/base/log.h"

#include <stdlib.h>

typedef struct options {
    const char *file, *svg;
    tutti_conf_int step;
    int json;
} options;

#define AT(member) .offset = offsetof(options, member)
static const tutti_setting settings[] = {
    {TUTTI_CONF_HEADING, .help = "Arguments"},
    {TUTTI_CONF_TEXT, "file", "FILE", .flags = TUTTI_CONF_REQUIRED | TUTTI_CONF_OPERAND, AT(file),
        .help = "the file that tutti-cifar --trace wrote"},
    {TUTTI_CONF_INT_OR, "step", "N", .fallback = "all", .low = 1, .high = 1e12, .words = {"all"},
        AT(step), .help = "analyse this step only; all: every complete step"},
    {TUTTI_CONF_TEXT, "svg", "OUT", AT(svg),
        .help = "draw the timeline of --step, or of the step of median length, to this file"},
    {TUTTI_CONF_FLAG, "json", AT(json), .help = "print one JSON object instead of text"},
    {0},
};
static const tutti_conf conf = {
    .program = "tutti-trace",
    .usage = "FILE [OPTION]...",
    .summary = "Analyses a trace: how much of the communication is hidden, which collectives are "
               "exposed, the critical path of a step, what the workers do, and what bounds a step.",
    .epilogue = "Exit status: 0 on success; 2 for a mistake in the options; 1 for everything else. "
                "See tutti-trace(1).",
    .settings = settings,
};

/* Draws in memory, which grows as needed, and writes the file at once. */
static tutti_status draw(const options *o, const tutti_study *study, const tutti_study_step *step,
    const tutti_path *path)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a picture");
    tutti_report_svg(study, step, path, out);
    const tutti_file_options file = {.what = "picture", .path = o->svg};
    tutti_status status = fclose(out) ? tutti_fail(TUTTI_ERR_NOMEM, "no memory for a picture")
                                      : tutti_file_put(&file, text, bytes);
    free(text);
    return status;
}

static tutti_status tell(const options *o, const tutti_study *study)
{
    const tutti_study_step *typical = tutti_study_typical(study);
    tutti_path path;
    tutti_bubble bubble = {0};
    tutti_status status = tutti_path_find(study->timeline, typical, &path);
    if (!status) status = tutti_bubble_open(study, &bubble);
    if (!status && o->json) status = tutti_report_json(study, typical, &path, &bubble, stdout);
    if (!status && !o->json) tutti_report_text(study, typical, &path, &bubble, stdout);
    if (!status && o->svg) status = draw(o, study, typical, &path);
    tutti_bubble_close(&bubble);
    tutti_path_free(&path);
    if (!status && (fflush(stdout) || ferror(stdout)))
        status = tutti_fail(TUTTI_ERR_IO, "%s: the analysis could not be written", o->file);
    return status;
}

static tutti_status run(const options *o)
{
    tutti_timeline timeline;
    tutti_study study;
    tutti_status status = tutti_timeline_read(o->file, &timeline);
    if (status) return status;
    status = tutti_study_open(&timeline, tutti_conf_int_or(o->step, 0), &study);
    if (!status) {
        status = tell(o, &study);
        tutti_study_close(&study);
    }
    tutti_timeline_free(&timeline);
    return status;
}

int main(int argc, char **argv)
{
    options o;
    int go;
    tutti_status status = tutti_conf_start(&conf, argc, argv, &o, &go);
    if (go && o.svg && tutti_file_same(o.file, o.svg))
        status = tutti_conf_refuse(&conf, "svg", o.svg, "it is the trace itself");
    else if (go)
        status = run(&o);
    return status == TUTTI_OK ? EXIT_SUCCESS : status == TUTTI_ERR_USAGE ? 2 : 1;
}
