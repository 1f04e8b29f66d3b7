#include "apps/curve/chart.h"
#include "dag/base/text.h"

#include <math.h>
#include <stdint.h>

enum { LEFT = 58, RIGHT = 20, TOP = 30, BOTTOM = 44, ROW = 14, PAD = 12, COLOURS = 6 };
enum { FEW = 32 /* points that are marked */, NAMES = 130 /* width for names at the right */ };

/* Distinguishable with red-green colour blindness (Okabe & Ito 2008). */
static const char *const colours[COLOURS] = {
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#000000"};

typedef struct scale {
    int even, bytes;
    double low, high; /* of x, or its logarithms */
    double top;       /* of y */
} scale;

void tutti_chart_begin(FILE *out, int charts, int across)
{
    int rows = (charts + across - 1) / across, columns = charts < across ? charts : across;
    int width = columns * TUTTI_CHART_WIDTH, height = rows * TUTTI_CHART_HEIGHT;
    fprintf(out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d "
        "%d\" font-family=\"sans-serif\" font-size=\"11\">\n"
        "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n",
        width, height, width, height, width, height);
}

void tutti_chart_end(FILE *out)
{
    fputs("</svg>\n", out);
}

static void put_label(FILE *out, double x, double y, const char *more, const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, more);
    tutti_text_markup(out, text, SIZE_MAX);
    fputs("</text>\n", out);
}

static double measure(const scale *s, double x)
{
    return s->even ? x : log(x);
}

static double place_x(const scale *s, double x)
{
    double span = s->high - s->low, part = span > 0 ? (measure(s, x) - s->low) / span : 0.5;
    return LEFT + PAD + part * (TUTTI_CHART_WIDTH - LEFT - RIGHT - 2 * PAD); /* room for bars */
}

static double place_y(const scale *s, double y)
{
    return TUTTI_CHART_HEIGHT - BOTTOM - y / s->top * (TUTTI_CHART_HEIGHT - TOP - BOTTOM);
}

/* The smallest of 1, 2, 5 times a power of ten that is not below x. */
static double round_up(double x)
{
    double power = pow(10, floor(log10(x)));
    return x <= power       ? power
           : x <= 2 * power ? 2 * power
           : x <= 5 * power ? 5 * power
                            : 10 * power;
}

static scale scale_of(const tutti_chart *chart)
{
    scale s = {chart->even, chart->bytes, chart->even ? 0 : INFINITY, -INFINITY, 0};
    for (int i = 0; i < chart->lines; i++)
        for (int k = 0; k < chart->line[i].points; k++) {
            s.low = fmin(s.low, measure(&s, chart->line[i].x[k]));
            s.high = fmax(s.high, measure(&s, chart->line[i].x[k]));
            s.top = fmax(s.top, fmax(chart->line[i].y[k], chart->line[i].high[k]));
        }
    double step = round_up(s.top > 0 ? s.top / 5 : 1);
    s.top = step * ceil(s.top / step + 1e-9);
    return s;
}

static void put_tick(FILE *out, const scale *s, double x)
{
    char text[32];
    if (s->bytes && x >= 1 << 20 && fmod(x, 1 << 20) == 0)
        snprintf(text, sizeof text, "%g MiB", x / (1 << 20));
    else if (s->bytes && x >= 1 << 10 && fmod(x, 1 << 10) == 0)
        snprintf(text, sizeof text, "%g KiB", x / (1 << 10));
    else
        snprintf(text, sizeof text, "%g", x);
    put_label(out, place_x(s, x), TUTTI_CHART_HEIGHT - BOTTOM + 15, "text-anchor=\"middle\"", text);
}

static int has_many_points(const tutti_chart *chart)
{
    int most = 0;
    for (int i = 0; i < chart->lines; i++)
        if (chart->line[i].points > most) most = chart->line[i].points;
    return most > FEW;
}

/* Ticks of an even scale are round numbers; of another, the places of points, or if these are many powers of ten. */
static void put_ticks(FILE *out, const tutti_chart *chart, const scale *s)
{
    if (!s->even && has_many_points(chart)) {
        const int first = (int)ceil(s->low / log(10) - 1e-9),
                  last = (int)floor(s->high / log(10) + 1e-9);
        for (int i = first; i <= last; i++) put_tick(out, s, pow(10, i));
        return;
    }
    double step = s->high > 0 ? round_up(s->high / 7) : 1;
    for (int i = 0; s->even && i * step <= s->high * 1.001; i++) put_tick(out, s, i * step);
    for (int i = 0; i < chart->lines && !s->even; i++)
        for (int k = 0; k < chart->line[i].points; k++) {
            double x = chart->line[i].x[k];
            int drawn = 0;
            for (int j = 0; j < i && !drawn; j++)
                for (int m = 0; m < chart->line[j].points; m++) drawn |= chart->line[j].x[m] == x;
            if (!drawn) put_tick(out, s, x);
        }
}

static void draw_axes(FILE *out, const tutti_chart *chart, const scale *s)
{
    char text[32];
    double step = round_up(s->top / 5.01);
    for (double y = 0; y <= s->top * 1.001; y += step) {
        snprintf(text, sizeof text, "%g", y);
        fprintf(out, "<path d=\"M%d %.1fH%d\" stroke=\"#ddd\"/>\n", LEFT, place_y(s, y),
            TUTTI_CHART_WIDTH - RIGHT);
        put_label(out, LEFT - 5, place_y(s, y) + 4, "text-anchor=\"end\"", text);
    }
    put_ticks(out, chart, s);
    put_label(out, (LEFT + TUTTI_CHART_WIDTH - RIGHT) / 2.0, TUTTI_CHART_HEIGHT - 10,
        "text-anchor=\"middle\"", chart->x_label);
    put_label(out, 14, TUTTI_CHART_HEIGHT / 2.0,
        "text-anchor=\"middle\" transform=\"rotate(-90 14 150)\"", chart->y_label);
    put_label(out, LEFT, 18, "font-size=\"13\" font-weight=\"bold\"", chart->title);
}

/* Each line's bars are shifted a little, so that they do not hide each other. */
static void draw_bars(FILE *out, const tutti_chart *chart, int number, const scale *s)
{
    enum { APART = 3, CAP = 2 };
    const tutti_chart_line *line = &chart->line[number];
    for (int k = 0; k < line->points; k++) {
        if (line->high[k] <= line->low[k]) continue;
        double x = place_x(s, line->x[k]) + APART * (number - (chart->lines - 1) / 2.0);
        double top = place_y(s, line->high[k]), bottom = place_y(s, line->low[k]);
        fprintf(out,
            "<path class=\"bar\" stroke=\"%s\" d=\"M%.1f %.1fV%.1fM%.1f %.1fh%dM%.1f %.1fh%d\"/>\n",
            colours[number % COLOURS], x, top, bottom, x - CAP, top, 2 * CAP, x - CAP, bottom,
            2 * CAP);
    }
}

/* The name stands at the lower left, where falling lines leave room, or at the lower right. */
static void draw_line(FILE *out, const tutti_chart *chart, int number, const scale *s)
{
    const tutti_chart_line *line = &chart->line[number];
    const char *colour = colours[number % COLOURS], *dash = line->dashed ? "5 4" : "none";
    double legend_x = chart->right ? TUTTI_CHART_WIDTH - RIGHT - NAMES : LEFT + 12;
    double legend_y = TUTTI_CHART_HEIGHT - BOTTOM - 8 - ROW * (chart->lines - 1 - number);
    fprintf(out,
        "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-dasharray=\"%s\" d=\"", colour,
        dash);
    for (int k = 0; k < line->points; k++)
        fprintf(out, "%c%.1f %.1f", k ? 'L' : 'M', place_x(s, line->x[k]), place_y(s, line->y[k]));
    fputs("\"/>\n", out);
    draw_bars(out, chart, number, s);
    for (int k = 0; k < line->points && line->points <= FEW; k++)
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n",
            place_x(s, line->x[k]), place_y(s, line->y[k]), colour);
    fprintf(out,
        "<path stroke=\"%s\" stroke-width=\"2\" stroke-dasharray=\"%s\" d=\"M%.1f %.1fh18\"/>\n",
        colour, dash, legend_x, legend_y);
    put_label(out, legend_x + 24, legend_y + 4, "", line->name);
}

void tutti_chart_draw(FILE *out, int number, int across, const tutti_chart *chart)
{
    scale s = scale_of(chart);
    fprintf(out, "<g transform=\"translate(%d %d)\">\n", number % across * TUTTI_CHART_WIDTH,
        number / across * TUTTI_CHART_HEIGHT);
    draw_axes(out, chart, &s);
    for (int i = 0; i < chart->lines; i++) draw_line(out, chart, i, &s);
    fputs("</g>\n", out);
}
