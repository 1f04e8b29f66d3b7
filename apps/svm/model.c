#include "apps/svm/model.h"

#include "apps/svm/memory.h"
#include "apps/svm/read.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const char *const tutti_svm_kernel_names[TUTTI_SVM_KERNELS + 1] = {
    "linear", "polynomial", "rbf", "sigmoid", NULL};

/* ---- writing ---- */

static void print_reals(FILE *out, const char *name, int count, const double x[])
{
    fprintf(out, "%s", name);
    for (int p = 0; p < count; p++) fprintf(out, " %.17g", x[p]);
    fprintf(out, "\n");
}

static void print_integers(FILE *out, const char *name, int count, const int64_t x[])
{
    fprintf(out, "%s", name);
    for (int c = 0; c < count; c++) fprintf(out, " %" PRId64, x[c]);
    fprintf(out, "\n");
}

void tutti_svm_model_print_head(const tutti_svm_model *m, FILE *out)
{
    const tutti_svm_kernel *k = &m->kernel;
    const int pairs = tutti_svm_pairs(m->classes);
    int64_t support = 0;
    for (int c = 0; c < m->classes; c++) support += m->support[c];
    fprintf(out, "svm_type c_svc\nkernel_type %s\n", tutti_svm_kernel_names[k->kind]);
    if (k->kind == TUTTI_SVM_POLYNOMIAL) fprintf(out, "degree %d\n", k->degree);
    if (k->kind != TUTTI_SVM_LINEAR) fprintf(out, "gamma %.17g\n", k->gamma);
    if (k->kind == TUTTI_SVM_POLYNOMIAL || k->kind == TUTTI_SVM_SIGMOID)
        fprintf(out, "coef0 %.17g\n", k->coef0);
    fprintf(out, "nr_class %d\ntotal_sv %" PRId64 "\n", m->classes, support);
    print_reals(out, "rho", pairs, m->rho);
    print_integers(out, "label", m->classes, m->label);
    if (m->a) {
        print_reals(out, "probA", pairs, m->a);
        print_reals(out, "probB", pairs, m->b);
    }
    print_integers(out, "nr_sv", m->classes, m->support);
    fprintf(out, "SV\n");
}

void tutti_svm_model_print_vector(const tutti_rows *rows, int64_t r, int classes,
    const double coefficient[], int64_t stride, FILE *out)
{
    for (int c = 0; c + 1 < classes; c++) fprintf(out, "%.17g ", coefficient[c * stride]);
    for (int64_t k = rows->first[r]; k < rows->first[r + 1]; k++) {
        const double x = tutti_rows_value(rows, k);
        char text[40];
        snprintf(text, sizeof text, "%.8g", x);
        if (strtod(text, NULL) != x) snprintf(text, sizeof text, "%.17g", x);
        fprintf(out, "%" PRIu32 ":%s ", rows->index[k], text);
    }
    fprintf(out, "\n");
}

/* ---- reading ---- */

typedef struct reader {
    tutti_lines *lines;
    tutti_svm_model *m;
    int64_t total;
    int has_type, has_kernel;
} reader;

/* Exactly `count` numbers. */
static tutti_status read_reals(const reader *r, const char *text, int64_t count, double x[])
{
    for (int64_t i = 0; i < count; i++) {
        char *stopped;
        x[i] = strtod(text, &stopped);
        if (stopped == text || !isfinite(x[i]))
            return tutti_lines_fail(r->lines, "a number is missing");
        text = stopped;
    }
    return *text ? tutti_lines_fail(r->lines, "it has too many numbers") : TUTTI_OK;
}

static tutti_status new_reals(const reader *r, const char *text, int64_t count, double **x)
{
    free(*x);
    *x = tutti_svm_new(count, sizeof **x);
    return *x ? read_reals(r, text, count, *x) : TUTTI_ERR_NOMEM;
}

static tutti_status to_integer(const reader *r, double real, double low, double high, int64_t *x)
{
    if (real < low || real > high || real != floor(real))
        return tutti_lines_fail(r->lines, "a number is not an integer in range");
    *x = (int64_t)real;
    return TUTTI_OK;
}

static tutti_status read_integer(
    const reader *r, const char *text, double low, double high, int64_t *x)
{
    double real;
    tutti_status status = read_reals(r, text, 1, &real);
    return status ? status : to_integer(r, real, low, high, x);
}

static tutti_status new_integers(
    const reader *r, const char *text, int64_t count, double low, double high, int64_t **x)
{
    double *real = NULL;
    tutti_status status = new_reals(r, text, count, &real);
    free(*x);
    *x = tutti_svm_new(count, sizeof **x);
    if (!*x) status = TUTTI_ERR_NOMEM;
    for (int64_t i = 0; i < count && !status; i++)
        status = to_integer(r, real[i], low, high, *x + i);
    free(real);
    return status;
}

static tutti_status read_kernel(reader *r, const char *text)
{
    for (int k = 0; tutti_svm_kernel_names[k]; k++)
        if (!strcmp(tutti_svm_kernel_names[k], text)) {
            r->m->kernel.kind = (tutti_svm_kernel_kind)k;
            r->has_kernel = 1;
            return TUTTI_OK;
        }
    return tutti_lines_fail(r->lines, "the kernel is not linear, polynomial, rbf or sigmoid");
}

/* One line of the head. */
static tutti_status read_head_line(reader *r, char *line)
{
    tutti_svm_model *m = r->m;
    char *text = line + strcspn(line, " ");
    int64_t number = 0;
    tutti_status status;
    if (*text) *text++ = '\0';
    const int pairs = tutti_svm_pairs(m->classes);
    if (!strcmp(line, "svm_type")) {
        r->has_type = 1;
        return strcmp(text, "c_svc") ? tutti_lines_fail(r->lines, "only c_svc is supported")
                                     : TUTTI_OK;
    }
    if (!strcmp(line, "kernel_type")) return read_kernel(r, text);
    if (!strcmp(line, "gamma")) return read_reals(r, text, 1, &m->kernel.gamma);
    if (!strcmp(line, "coef0")) return read_reals(r, text, 1, &m->kernel.coef0);
    if (!strcmp(line, "total_sv")) return read_integer(r, text, 0, 1e15, &r->total);
    if (!strcmp(line, "degree")) {
        status = read_integer(r, text, 0, 1000, &number);
        m->kernel.degree = (int)number;
        return status;
    }
    if (!strcmp(line, "nr_class")) {
        if (m->classes) return tutti_lines_fail(r->lines, "nr_class is there twice");
        status = read_integer(r, text, 2, TUTTI_SVM_CLASSES, &number);
        m->classes = (int)number;
        return status;
    }
    if (!m->classes) return tutti_lines_fail(r->lines, "it does not belong before nr_class");
    if (!strcmp(line, "rho")) return new_reals(r, text, pairs, &m->rho);
    if (!strcmp(line, "probA")) return new_reals(r, text, pairs, &m->a);
    if (!strcmp(line, "probB")) return new_reals(r, text, pairs, &m->b);
    if (!strcmp(line, "label"))
        return new_integers(r, text, m->classes, INT32_MIN, INT32_MAX, &m->label);
    if (!strcmp(line, "nr_sv")) return new_integers(r, text, m->classes, 0, 1e11, &m->support);
    return tutti_lines_fail(r->lines, "it is not a line of a model");
}

/* Has the kernel what it needs? What it does not need becomes 0. */
static tutti_status check_kernel(const reader *r)
{
    tutti_svm_kernel *k = &r->m->kernel;
    const int power = k->kind == TUTTI_SVM_POLYNOMIAL, bends = k->kind != TUTTI_SVM_LINEAR;
    const int shifts = power || k->kind == TUTTI_SVM_SIGMOID;
    if ((bends && isnan(k->gamma)) || (shifts && isnan(k->coef0)) || (power && k->degree < 0))
        return tutti_lines_fail(
            r->lines, "degree, gamma or coef0 of the kernel is missing before SV");
    if (isnan(k->gamma)) k->gamma = 0;
    if (isnan(k->coef0)) k->coef0 = 0;
    if (k->degree < 0) k->degree = 0;
    return TUTTI_OK;
}

static tutti_status check_head(const reader *r)
{
    const tutti_svm_model *m = r->m;
    int64_t sum = 0;
    if (!r->has_type || !r->has_kernel || !m->classes || !m->rho || !m->label || !m->support)
        return tutti_lines_fail(
            r->lines, "svm_type, kernel_type, nr_class, rho, label or nr_sv is missing before SV");
    if (!m->a != !m->b) return tutti_lines_fail(r->lines, "of probA and probB one is missing");
    for (int c = 0; c < m->classes; c++) sum += m->support[c];
    return sum == r->total ? TUTTI_OK : tutti_lines_fail(r->lines, "nr_sv does not fit total_sv");
}

/* "COEFFICIENT... INDEX:VALUE..." */
static tutti_status read_vector(reader *r, char *line, int64_t *room)
{
    tutti_svm_model *m = r->m;
    const int n = m->classes - 1;
    const int64_t v = m->rows.count;
    char reason[TUTTI_SVM_REASON], *at = line;
    if (v == *room) {
        *room = *room * 2 + 64;
        tutti_status status = tutti_svm_widen(&m->coefficient, *room * n, sizeof(double));
        if (status) return status;
    }
    for (int c = 0; c < n; c++) { /* by vector, until all are read */
        char *stopped;
        const double x = m->coefficient[v * n + c] = strtod(at, &stopped);
        if (stopped == at || !isfinite(x) || (!tutti_lines_is_blank(*stopped) && *stopped))
            return tutti_lines_fail(r->lines, "a coefficient is missing");
        at = stopped;
    }
    *--at = '0'; /* a label, which rows have */
    const int good = tutti_svm_parse_line(at, strlen(at), &m->rows, reason);
    return good < 0 ? TUTTI_ERR_NOMEM : good ? TUTTI_OK : tutti_lines_fail(r->lines, "%s", reason);
}

/* From [vector][class] to [class][vector]. */
static tutti_status transpose_coefficients(tutti_svm_model *m)
{
    const int64_t n = m->rows.count, k = m->classes - 1;
    double *to = tutti_svm_new(n * k, sizeof *to);
    if (!to) return TUTTI_ERR_NOMEM;
    for (int64_t i = 0; i < n * k; i++) to[i % k * n + i / k] = m->coefficient[i];
    free(m->coefficient);
    m->coefficient = to;
    return TUTTI_OK;
}

tutti_status tutti_svm_model_parse(tutti_lines *lines, tutti_svm_model *m)
{
    reader r = {.lines = lines, .m = m, .total = -1};
    char *line = NULL;
    int64_t room = 0;
    *m = (tutti_svm_model){.kernel = {.degree = -1, .gamma = NAN, .coef0 = NAN}};
    tutti_status status = tutti_lines_next(lines, &line);
    while (!status && line && strcmp(line, "SV") != 0) {
        status = read_head_line(&r, line);
        if (!status) status = tutti_lines_next(lines, &line);
    }
    if (!status && !line) status = tutti_lines_fail(lines, "the text ends before the line SV");
    if (!status) status = check_head(&r);
    if (!status) status = check_kernel(&r);
    while (m->rows.count < r.total && !status) {
        status = tutti_lines_next(lines, &line);
        if (!status)
            status = line ? read_vector(&r, line, &room)
                          : tutti_lines_fail(lines, "support vectors are missing");
    }
    if (!status) status = transpose_coefficients(m);
    if (!status) status = tutti_svm_scaling_parse(lines, &m->scaling);
    if (status) tutti_svm_model_free(m);
    return status;
}

tutti_status tutti_svm_model_read(const char *path, tutti_svm_model *m)
{
    tutti_lines lines;
    tutti_status status = tutti_lines_open(path, &lines);
    if (status) return status;
    status = tutti_svm_model_parse(&lines, m);
    tutti_lines_close(&lines);
    return status;
}

void tutti_svm_model_free(tutti_svm_model *m)
{
    free(m->label);
    free(m->support);
    free(m->rho);
    free(m->a);
    free(m->b);
    free(m->coefficient);
    tutti_rows_free(&m->rows);
    tutti_svm_scaling_free(&m->scaling);
    *m = (tutti_svm_model){0};
}
