#include "apps/svm/picture.h"

#include "apps/svm/memory.h"
#include "dag/base/file.h"
#include "dag/base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

enum { LEFT = 70, TOP = 40, CELL = 42, BELOW = 60, RIGHT = 120, LEVELS = 6 };

static double x_of(double i)
{
    return LEFT + CELL * (i + 0.5);
}

static double y_of(const tutti_svm_grid *g, double j)
{
    return TOP + CELL * (g->gammas - 0.5 - j);
}

static void draw_cells(const tutti_svm_grid *g, double low, double high, FILE *out)
{
    for (int i = 0; i < g->costs; i++)
        for (int j = 0; j < g->gammas; j++) {
            const double share = high > low ? (g->accuracy[i][j] - low) / (high - low) : 1;
            fprintf(out,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" fill=\"rgb(%d,%d,%d)\">"
                "<title>cost 2^%g, gamma 2^%g: %.2f %%</title></rect>\n",
                x_of(i) - CELL / 2.0, y_of(g, j) - CELL / 2.0, CELL, CELL, (int)(245 - 215 * share),
                (int)(245 - 130 * share), (int)(245 - 70 * share), g->cost[i], g->gamma[j],
                100 * g->accuracy[i][j]);
        }
}

/* The line of a level through the square of four points, found on its sides (marching squares). */
static void draw_square(const tutti_svm_grid *g, int i, int j, double level, FILE *out)
{
    const double v[4] = {
        g->accuracy[i][j], g->accuracy[i + 1][j], g->accuracy[i + 1][j + 1], g->accuracy[i][j + 1]};
    static const int di[4] = {0, 1, 1, 0}, dj[4] = {0, 0, 1, 1};
    double x[4], y[4];
    int points = 0;
    for (int side = 0; side < 4; side++) {
        const int next = (side + 1) % 4;
        if ((v[side] < level) == (v[next] < level)) continue;
        const double part = (level - v[side]) / (v[next] - v[side]);
        x[points] = x_of(i + di[side] + part * (di[next] - di[side]));
        y[points++] = y_of(g, j + dj[side] + part * (dj[next] - dj[side]));
    }
    for (int p = 0; p + 1 < points; p += 2)
        fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#333\"/>\n",
            x[p], y[p], x[p + 1], y[p + 1]);
}

static void put_text(FILE *out, double x, double y, const char *more, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
static void put_text(FILE *out, double x, double y, const char *more, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, more);
    vfprintf(out, format, list);
    fprintf(out, "</text>\n");
    va_end(list);
}

#define MIDDLE " text-anchor=\"middle\""

static void draw_axes(const tutti_svm_grid *g, FILE *out)
{
    const double below = TOP + CELL * g->gammas;
    for (int i = 0; i < g->costs; i++) put_text(out, x_of(i), below + 18, MIDDLE, "%g", g->cost[i]);
    for (int j = 0; j < g->gammas; j++)
        put_text(out, LEFT - 20, y_of(g, j) + 4, MIDDLE, "%g", g->gamma[j]);
    put_text(out, x_of((g->costs - 1) / 2.0), below + 42, MIDDLE, "log2 cost");
    put_text(out, 20, TOP - 12, MIDDLE, "log2 gamma");
}

static void draw(const tutti_svm_grid *g, FILE *out)
{
    const double right = LEFT + CELL * g->costs + 8;
    double low = 1, high = 0;
    int bi = 0, bj = 0;
    for (int i = 0; i < g->costs; i++)
        for (int j = 0; j < g->gammas; j++) {
            low = fmin(low, g->accuracy[i][j]);
            if (g->accuracy[i][j] > high) bi = i, bj = j, high = g->accuracy[i][j];
        }
    fprintf(out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" "
        "fill=\"white\"/>\n<text x=\"%d\" y=\"24\" font-size=\"14\">",
        LEFT + CELL * g->costs + RIGHT, TOP + CELL * g->gammas + BELOW, LEFT);
    tutti_text_markup(out, g->title, 100);
    fprintf(out, "</text>\n");
    draw_cells(g, low, high, out);
    for (int l = 1; l <= LEVELS && high > low; l++) { /* closer together towards the top */
        const double level = high - (high - low) / pow(2, l);
        for (int i = 0; i + 1 < g->costs; i++)
            for (int j = 0; j + 1 < g->gammas; j++) draw_square(g, i, j, level, out);
        put_text(out, right, TOP + 36 + 18 * l, "", "contour %.2f %%", 100 * level);
    }
    fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"6\" fill=\"none\" stroke=\"#c00\"/>\n",
        x_of(bi), y_of(g, bj));
    put_text(out, right, TOP + 16, " fill=\"#c00\"", "best %.2f %%", 100 * high);
    draw_axes(g, out);
    fprintf(out, "</svg>\n");
}

tutti_status tutti_svm_picture_write(const tutti_svm_grid *grid, const char *path)
{
    const tutti_file_options options = {.what = "picture", .path = path};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out) draw(grid, out);
    tutti_status status =
        out && !fclose(out) ? tutti_file_put(&options, text, bytes) : tutti_svm_no_memory(1, bytes);
    free(text);
    return status;
}
