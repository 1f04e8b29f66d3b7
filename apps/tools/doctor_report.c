/* Findings: collecting, comparing between ranks, printing. */
#include "apps/tools/doctor.h"
#include "dag/base/json.h"
#include "dag/base/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *tutti_doctor_status_name(tutti_doctor_status status)
{
    static const char *const names[] = {"ok", "note", "warn", "bad"};
    return (unsigned)status < TUTTI_DOCTOR_STATUSES ? names[status] : "unknown";
}

/* A place for a finding: a free one or, when the report is full, that of a less serious finding. NULL: neither. */
static tutti_doctor_finding *find_room(tutti_doctor_report *report, tutti_doctor_status status)
{
    if (report->count < TUTTI_DOCTOR_FINDINGS) return &report->finding[report->count++];
    for (int i = report->count - 1; i >= 0; i--)
        if (report->finding[i].status < (int)status) return &report->finding[i];
    return NULL;
}

void tutti_doctor_say(tutti_doctor_report *report, tutti_doctor_status status, const char *check,
    const char *advice, const char *format, ...)
{
    tutti_doctor_finding *f = find_room(report, status);
    if (!f) return;
    *f = (tutti_doctor_finding){.status = status};
    snprintf(f->check, sizeof f->check, "%s", check);
    snprintf(f->advice, sizeof f->advice, "%s", advice ? advice : "");
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(f->seen, sizeof f->seen, format, arguments);
    va_end(arguments);
}

tutti_doctor_status tutti_doctor_worst(const tutti_doctor_report *report)
{
    int worst = TUTTI_DOCTOR_OK;
    for (int i = 0; i < report->count; i++)
        if (report->finding[i].status > worst) worst = report->finding[i].status;
    return (tutti_doctor_status)worst;
}

/* ---- all ranks together ---- */

static int first_on_host(const tutti_doctor_letter *letters, int rank)
{
    int first = 0;
    while (strcmp(letters[first].host, letters[rank].host) != 0) first++;
    return first;
}

static void say_to_all(tutti_doctor_letter *letters, int ranks, const tutti_doctor_finding *finding)
{
    for (int r = 0; r < ranks; r++)
        tutti_doctor_say(&letters[r].report, (tutti_doctor_status)finding->status, finding->check,
            finding->advice, "%s", finding->seen);
}

void tutti_doctor_compare(tutti_doctor_letter *letters, int ranks)
{
    tutti_doctor_report found = {0}, *report = &found;
    for (int first = 0; first < ranks; first++) {
        if (first_on_host(letters, first) != first) continue;
        tutti_cpus together = {{0}};
        int here = 0, differ = 0;
        for (int r = first; r < ranks; r++) {
            if (first_on_host(letters, r) != first) continue;
            here++;
            for (int w = 0; w < TUTTI_CPUS / 64; w++) {
                differ |= letters[r].allowed.word[w] != letters[first].allowed.word[w];
                together.word[w] |= letters[r].allowed.word[w];
            }
        }
        int cores = tutti_cpus_count(&together);
        if (cores < here)
            tutti_doctor_say(report, TUTTI_DOCTOR_BAD, "sharing",
                "mpirun --bind-to none, or fewer ranks: every message waits for the other rank's "
                "turn",
                "%d ranks on host %s may run on %d core%s only", here, letters[first].host, cores,
                cores == 1 ? "" : "s");
        else
            tutti_doctor_say(report, TUTTI_DOCTOR_OK, "sharing", NULL,
                "%d rank%s on host %s, %s %d cores", here, here == 1 ? "" : "s",
                letters[first].host, differ ? "each with some of" : "all on the same", cores);
    }
    for (int i = 0; i < found.count; i++) say_to_all(letters, ranks, &found.finding[i]);
}

/* ---- printing ---- */

static int same(const tutti_doctor_finding *a, const tutti_doctor_finding *b)
{
    return a->status == b->status && strcmp(a->check, b->check) == 0 &&
           strcmp(a->seen, b->seen) == 0 && strcmp(a->advice, b->advice) == 0;
}

static int has(const tutti_doctor_report *report, const tutti_doctor_finding *finding)
{
    for (int i = 0; i < report->count; i++)
        if (same(&report->finding[i], finding)) return 1;
    return 0;
}

/* "0,2,3" for the ranks with this finding; returns how many. */
static int who(const tutti_doctor_letter *letters, int ranks, const tutti_doctor_finding *finding,
    char *text, size_t size)
{
    int count = 0;
    size_t used = 0;
    *text = '\0';
    for (int r = 0; r < ranks; r++) {
        if (!has(&letters[r].report, finding)) continue;
        count++;
        int more = snprintf(text + used, size - used, "%s%d", used ? "," : "", r);
        if (more < 0 || (size_t)more >= size - used) continue;
        used += (size_t)more;
    }
    text[used] = '\0';
    return count;
}

static void print_line(FILE *out, const tutti_doctor_finding *f, const char *who_has, int many)
{
    tutti_text_print(
        out, "%-5s %-12s ", tutti_doctor_status_name((tutti_doctor_status)f->status), f->check);
    if (*who_has) fprintf(out, "rank%s %s: ", many ? "s" : "", who_has);
    tutti_text_print(out, "%s", f->seen);
    if (*f->advice) tutti_text_print(out, ". To do: %s", f->advice);
    fputc('\n', out);
}

static void print_object(FILE *out, const tutti_doctor_finding *f, const char *who_has)
{
    fputs("{\"event\":\"finding\",\"status\":", out);
    tutti_json_string(out, tutti_doctor_status_name((tutti_doctor_status)f->status));
    fputs(",\"check\":", out);
    tutti_json_string(out, f->check);
    fprintf(out, ",\"ranks\":[%s],\"seen\":", who_has);
    tutti_json_string(out, f->seen);
    fputs(",\"advice\":", out);
    tutti_json_string(out, f->advice);
    fputs("}\n", out);
}

static int count_hosts(const tutti_doctor_letter *letters, int ranks)
{
    int hosts = 0;
    for (int r = 0; r < ranks; r++) hosts += first_on_host(letters, r) == r;
    return hosts;
}

static void print_summary(FILE *out, const int count[], int ranks, int hosts, int json)
{
    if (json)
        fprintf(out, "{\"event\":\"summary\",\"ranks\":%d,\"hosts\":%d", ranks, hosts);
    else
        fprintf(out, "%d rank%s on %d host%s: ", ranks, ranks == 1 ? "" : "s", hosts,
            hosts == 1 ? "" : "s");
    for (int s = 0; s < TUTTI_DOCTOR_STATUSES; s++) {
        const char *name = tutti_doctor_status_name((tutti_doctor_status)s);
        if (json)
            fprintf(out, ",\"%s\":%d", name, count[s]);
        else
            fprintf(out, "%s%d %s", s ? ", " : "", count[s], name);
    }
    fputs(json ? "}\n" : "\n", out);
}

/* Whether an earlier rank has the same finding, which is then printed already. */
static int printed_before(
    const tutti_doctor_letter *letters, int rank, const tutti_doctor_finding *finding)
{
    for (int r = 0; r < rank; r++)
        if (has(&letters[r].report, finding)) return 1;
    return 0;
}

tutti_doctor_status tutti_doctor_print(
    const tutti_doctor_letter *letters, int ranks, int json, FILE *out)
{
    int count[TUTTI_DOCTOR_STATUSES] = {0}, worst = TUTTI_DOCTOR_OK;
    const size_t size = 12 * (size_t)ranks + 1;
    char *text = malloc(size);
    if (!text) return TUTTI_DOCTOR_BAD;
    for (int i = 0; i < TUTTI_DOCTOR_FINDINGS; i++) {
        for (int r = 0; r < ranks; r++) {
            const tutti_doctor_finding *f = &letters[r].report.finding[i];
            if (i >= letters[r].report.count || printed_before(letters, r, f)) continue;
            int found_by = who(letters, ranks, f, text, size);
            count[f->status]++;
            if (f->status > worst) worst = f->status;
            if (json)
                print_object(out, f, text);
            else
                print_line(out, f, found_by == ranks ? "" : text, found_by > 1);
        }
    }
    free(text);
    print_summary(out, count, ranks, count_hosts(letters, ranks), json);
    return (tutti_doctor_status)worst;
}
