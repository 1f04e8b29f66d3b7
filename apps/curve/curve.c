#include "apps/curve/curve.h"

#include <math.h>
#include <stdlib.h>

int tutti_curve_add(tutti_curve *c, double x, double y)
{
    if (!isfinite(y)) return 1;
    if (c->count == c->room) {
        int64_t room = c->room ? 2 * c->room : 256;
        double *xs = realloc(c->x, (size_t)room * sizeof *xs);
        if (xs) c->x = xs;
        double *ys = realloc(c->y, (size_t)room * sizeof *ys);
        if (ys) c->y = ys;
        if (!xs || !ys) return 0;
        c->room = room;
    }
    c->x[c->count] = x;
    c->y[c->count++] = y;
    return 1;
}

void tutti_curve_take_back(tutti_curve *c, double x)
{
    while (c->count && c->x[c->count - 1] >= x) c->count--;
}

/* Which of `most` equal parts of the width a place is in; the last place is in the last part. */
static int64_t range_of(double at, double width, int64_t most)
{
    int64_t range = width > 0 ? (int64_t)(at * (double)most / width) : 0;
    return range < most ? range : most - 1;
}

int tutti_curve_thin(const tutti_curve *c, int64_t most, tutti_curve *thin)
{
    double first = c->count ? c->x[0] : 0, width = c->count ? c->x[c->count - 1] - first : 0;
    int whole = c->count <= most, added = 1;
    for (int64_t i = 0, next; i < c->count && added; i = next) {
        double x = 0, y = 0;
        int64_t range = range_of(c->x[i] - first, width, most);
        for (next = i; next < c->count; next++) {
            if (next > i && (whole || range_of(c->x[next] - first, width, most) != range)) break;
            x += c->x[next];
            y += c->y[next];
        }
        added = tutti_curve_add(thin, x / (double)(next - i), y / (double)(next - i));
    }
    return added;
}

json_t *tutti_curve_json(const tutti_curve *c)
{
    json_t *x = json_array(), *y = json_array();
    for (int64_t i = 0; i < c->count; i++) {
        json_array_append_new(x, json_real(c->x[i]));
        json_array_append_new(y, json_real(c->y[i]));
    }
    return json_pack("[o, o]", x, y);
}

int tutti_curve_read(const json_t *value, double last, tutti_curve *curve)
{
    const json_t *x = json_array_get(value, 0), *y = json_array_get(value, 1);
    for (size_t i = 0; i < json_array_size(x) && i < json_array_size(y); i++) {
        const json_t *at = json_array_get(x, i), *is = json_array_get(y, i);
        if (!json_is_number(at) || !json_is_number(is) || json_number_value(at) > last) break;
        if (!tutti_curve_add(curve, json_number_value(at), json_number_value(is))) return 0;
    }
    return 1;
}

void tutti_curve_free(tutti_curve *curve)
{
    free(curve->x);
    free(curve->y);
    *curve = (tutti_curve){0};
}
