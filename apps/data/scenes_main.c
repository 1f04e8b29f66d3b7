/* scenes: a small set of JPEG files of many sizes that look a little like photographs, in ten
 * classes, for those who have no photographs at hand (./quickstart imagenet).
 *
 *   scenes --to DIR    writes DIR/train/<class>/0000.jpg ... and DIR/val/<class>/...
 *
 * A scene is a function of the place in the picture and of random numbers; light, a lens and the
 * noise of a camera lie over all of them. Everything is a function of (seed, split, class, image). */
#include "apps/data/file.h"
#include "dag/base/conf.h"
#include "dag/base/file.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jpeglib.h>

enum { CHANCES = 16, LEAST_SIDE = 112, MORE_SIDE = 80, QUALITY = 85, VAL_PART = 4 };
enum { WEATHER = 10, LIGHT, LEAN, WIDTH, HEIGHT }; /* chances that all scenes share */

typedef struct colour {
    double r, g, b;
} colour;

/* One picture: random numbers in [0, 1), and a seed for textures. */
typedef struct scene {
    double chance[CHANCES];
    uint32_t texture;
} scene;

/* The colour at (x, y), which are from 0 to 1 along the longer side. */
typedef colour paint_fn(const scene *s, double x, double y);

/* ---- textures ---- */

static colour mix(colour a, colour b, double part)
{
    part = fmin(fmax(part, 0), 1);
    return (colour){a.r + part * (b.r - a.r), a.g + part * (b.g - a.g), a.b + part * (b.b - a.b)};
}

static colour shade(colour c, double by)
{
    return (colour){c.r * by, c.g * by, c.b * by};
}

/* From a to b, as chance `i` says. */
static double between(const scene *s, int i, double a, double b)
{
    return a + s->chance[i] * (b - a);
}

/* A random number for a place of whole numbers. */
static double spot(uint32_t seed, int x, int y)
{
    uint32_t h = seed + (uint32_t)x * 0x9e3779b1u + (uint32_t)y * 0x85ebca77u;
    h = (h ^ (h >> 15)) * 0x2c1b3c6du;
    h = (h ^ (h >> 12)) * 0x297a2d39u;
    return (double)(h ^ (h >> 15)) / 4294967296.0;
}

static double smooth(uint32_t seed, double x, double y)
{
    double i = floor(x), j = floor(y), u = x - i, v = y - j;
    u = u * u * (3 - 2 * u);
    v = v * v * (3 - 2 * v);
    int a = (int)i, b = (int)j;
    double top = spot(seed, a, b) * (1 - u) + spot(seed, a + 1, b) * u;
    double low = spot(seed, a, b + 1) * (1 - u) + spot(seed, a + 1, b + 1) * u;
    return top * (1 - v) + low * v;
}

/* Four octaves, from 0 to 1. */
static double cloud(const scene *s, double x, double y)
{
    double sum = 0, weight = 0.5;
    for (uint32_t i = 0; i < 4; i++, weight /= 2, x *= 2, y *= 2)
        sum += weight * smooth(s->texture + i, x, y);
    return sum / 0.9375;
}

/* ---- scenes ---- */

static colour sky(const scene *s, double x, double y)
{
    static const colour high = {0.25, 0.45, 0.8}, low = {0.7, 0.82, 0.92},
                        grey = {0.75, 0.75, 0.78};
    colour c = mix(high, low, y * 1.2);
    return mix(c, grey, between(s, WEATHER, 0, 1) * cloud(s, 3 * x, 5 * y));
}

static colour paint_balloon(const scene *s, double x, double y)
{
    static const colour reds[] = {
        {0.85, 0.15, 0.1}, {0.95, 0.75, 0.1}, {0.1, 0.3, 0.7}, {0.9, 0.9, 0.9}};
    double r = between(s, 0, 0.12, 0.28), dx = (x - between(s, 1, 0.3, 0.7)) / r,
           dy = (y - between(s, 2, 0.25, 0.45)) / (1.15 * r);
    if (dx * dx + dy * dy < 1) {
        int stripe =
            (int)floor(8 + asin(dx / sqrt(1 - dy * dy + 1e-9) * 0.999) * between(s, 3, 2, 4));
        return shade(reds[(stripe + (int)(4 * s->chance[4]) * (stripe & 1)) & 3], 1 - 0.35 * dx);
    }
    if (fabs(dx) < 0.2 && dy > 1.3 && dy < 1.6) return (colour){0.35, 0.22, 0.1};
    return sky(s, x, y);
}

static colour paint_bricks(const scene *s, double x, double y)
{
    static const colour mortar = {0.7, 0.68, 0.63}, dark = {0.4, 0.16, 0.1},
                        light = {0.75, 0.4, 0.28};
    double h = between(s, 0, 0.05, 0.11), w = h * between(s, 1, 2, 3), row = floor(y / h);
    double u = x / w + (fmod(row, 2) != 0 ? 0.5 : 0), v = y / h - row, column = floor(u);
    if (u - column < 0.06 || v < 0.12) return shade(mortar, 0.8 + 0.3 * cloud(s, 30 * x, 30 * y));
    colour brick = mix(dark, light, spot(s->texture, (int)column, (int)row));
    return shade(brick, 0.75 + 0.5 * cloud(s, 40 * x, 40 * y));
}

static colour paint_clouds(const scene *s, double x, double y)
{
    static const colour white = {0.97, 0.97, 0.98}, under = {0.6, 0.63, 0.7},
                        blue = {0.2, 0.45, 0.85};
    double scale = between(s, 0, 2, 5), c = cloud(s, scale * x, 1.6 * scale * y);
    double cover = between(s, 1, 0.35, 0.55);
    colour puff = mix(under, white, 1.5 * (c - cover) + 0.5 * cloud(s, 9 * x, 9 * y + 0.4));
    return mix(shade(blue, 0.9 + 0.2 * y), puff, (c - cover) * 6);
}

static colour paint_fence(const scene *s, double x, double y)
{
    static const colour grass = {0.2, 0.4, 0.12}, old = {0.45, 0.33, 0.22},
                        painted = {0.9, 0.9, 0.87};
    double period = between(s, 0, 0.07, 0.15), u = x / period - floor(x / period);
    double top = between(s, 1, 0.2, 0.4) + 0.06 * fabs(u - 0.35);
    int rail = fabs(y - 0.45) < 0.025 || fabs(y - 0.7) < 0.025;
    colour wood = mix(old, painted, s->chance[2] < 0.5 ? 0 : 1);
    if ((u < 0.7 && y > top && y < 0.85) || rail)
        return shade(wood, (rail && u >= 0.7 ? 0.7 : 1) * (0.8 + 0.3 * cloud(s, 20 * x, 4 * y)));
    return y < 0.45 ? sky(s, x, y) : shade(grass, 0.5 + cloud(s, 30 * x, 30 * y));
}

static colour paint_hills(const scene *s, double x, double y)
{
    static const colour near = {0.13, 0.25, 0.1}, far = {0.5, 0.6, 0.68};
    for (int i = 0; i < 4; i++) { /* the nearest first */
        double at = 0.8 - 0.15 * i - 0.1 * s->chance[0];
        double line = at - 0.25 * (cloud(s, (2 + i) * x + 7 * i, i) - 0.4);
        if (y > line) return shade(mix(near, far, i / 3.0), 0.75 + 0.4 * cloud(s, 18 * x, 18 * y));
    }
    return sky(s, x, y);
}

static colour paint_moon(const scene *s, double x, double y)
{
    static const colour night = {0.02, 0.03, 0.08}, pale = {0.93, 0.91, 0.82};
    double r = between(s, 0, 0.08, 0.25), dx = (x - between(s, 1, 0.3, 0.7)) / r,
           dy = (y - between(s, 2, 0.25, 0.6)) / r, d = dx * dx + dy * dy;
    if (d < 1)
        return shade(pale, (0.5 + 0.6 * cloud(s, 2 * dx + 4, 2 * dy + 4)) * (1.05 - 0.3 * d));
    double star = spot(s->texture, (int)(90 * x), (int)(90 * y));
    if (star > 0.992) return shade(pale, (star - 0.99) * 100);
    return mix(shade(night, 1 + y), pale,
        0.15 / (d + 0.3) + 0.1 * s->chance[WEATHER] * cloud(s, 4 * x, 6 * y));
}

static colour paint_planks(const scene *s, double x, double y)
{
    static const colour light = {0.78, 0.58, 0.36}, dark = {0.42, 0.26, 0.13};
    double w = between(s, 0, 0.1, 0.22), v = x / w, plank = floor(v);
    if (v - plank < 0.03) return (colour){0.1, 0.07, 0.05};
    double own = spot(s->texture, (int)plank, 3);
    double grain = cloud(s, 14 * x + 9 * own, 2 * y + 20 * own);
    return mix(
        light, dark, 0.6 * own + 0.5 * (0.5 + 0.5 * sin(between(s, 1, 40, 80) * grain)) - 0.1);
}

static colour paint_sea(const scene *s, double x, double y)
{
    static const colour deep = {0.05, 0.22, 0.33}, foam = {0.75, 0.86, 0.88};
    double horizon = between(s, 0, 0.25, 0.5), depth = y - horizon;
    if (depth < 0) return sky(s, x, y);
    double far = 1 / (depth + 0.06);
    double wave = cloud(s, 2.5 * x * far, between(s, 1, 3, 6) * far);
    return mix(shade(deep, 1 + 0.8 * depth), foam, 2.2 * (wave - between(s, 2, 0.45, 0.6)));
}

static colour paint_sunset(const scene *s, double x, double y)
{
    static const colour high = {0.2, 0.15, 0.4}, low = {0.98, 0.5, 0.15}, sun = {1, 0.93, 0.6};
    double horizon = between(s, 0, 0.55, 0.75), r = between(s, 1, 0.04, 0.1);
    double dx = x - between(s, 2, 0.2, 0.8), dy = y - horizon + between(s, 3, 0, 0.2);
    if (y > horizon - 0.05 * cloud(s, 6 * x, 2))
        return shade((colour){0.1, 0.06, 0.07}, 0.5 + cloud(s, 9 * x, 30 * y));
    colour c = mix(high, low, y / horizon);
    c = mix(c, shade(c, 0.5), 2 * (cloud(s, 3 * x, 12 * y) - 0.5) * s->chance[WEATHER]);
    return mix(c, sun, 1.2 - sqrt(dx * dx + dy * dy) / r);
}

static colour paint_tiles(const scene *s, double x, double y)
{
    static const colour kinds[] = {
        {0.9, 0.9, 0.88}, {0.15, 0.15, 0.18}, {0.2, 0.4, 0.5}, {0.65, 0.3, 0.2}};
    double turn = between(s, 0, 0, 1.5), size = between(s, 1, 0.07, 0.16);
    double u = (x * cos(turn) - y * sin(turn)) / size, v = (x * sin(turn) + y * cos(turn)) / size;
    double i = floor(u), j = floor(v);
    if (u - i < 0.05 || v - j < 0.05) return (colour){0.5, 0.48, 0.45};
    int odd = ((int)i + (int)j) & 1, other = 1 + (int)(3 * s->chance[2]);
    return shade(kinds[odd ? other : 0], 0.85 + 0.3 * cloud(s, 12 * x, 12 * y));
}

static const struct {
    const char *name;
    paint_fn *paint;
} scenes[] = {{"balloon", paint_balloon}, {"bricks", paint_bricks}, {"clouds", paint_clouds},
    {"fence", paint_fence}, {"hills", paint_hills}, {"moon", paint_moon}, {"planks", paint_planks},
    {"sea", paint_sea}, {"sunset", paint_sunset}, {"tiles", paint_tiles}};
enum { SCENES = sizeof scenes / sizeof *scenes };

/* ---- pictures ---- */

static unsigned char as_byte(double value)
{
    return (unsigned char)(255 * fmin(fmax(value, 0), 1) + 0.5);
}

/* Light from one side, the colour of the light, a lens that is darker at its rim, noise. */
static void expose(const scene *s, colour c, double x, double y, double grain, unsigned char *pixel)
{
    double light = between(s, LIGHT, 0.65, 1.15) * (1 + 0.5 * (s->chance[LEAN] - 0.5) * (x - 0.5));
    double warm = 0.2 * (s->chance[0] * s->chance[LIGHT] - 0.3);
    double rim = 1 - 0.25 * ((x - 0.5) * (x - 0.5) + (y - 0.5) * (y - 0.5));
    grain = 0.06 * (grain - 0.5);
    pixel[0] = as_byte(c.r * light * rim * (1 + warm) + grain);
    pixel[1] = as_byte(c.g * light * rim + grain);
    pixel[2] = as_byte(c.b * light * rim * (1 - warm) + grain);
}

static void draw_line(
    const scene *s, paint_fn *paint, int line, int width, int longer, JSAMPLE *row)
{
    for (int i = 0; i < width; i++) {
        double x = (double)i / longer, y = (double)line / longer;
        expose(s, paint(s, x, y), x, y, spot(s->texture + 9, i, line), row + 3 * i);
    }
}

/* The picture as a JPEG in *bytes, which the caller frees. */
static void draw(const scene *s, paint_fn *paint, unsigned char **bytes, unsigned long *count)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    JSAMPLE row[3 * (LEAST_SIDE + MORE_SIDE)], *rows[] = {row};
    jpeg.err = jpeg_std_error(&errors); /* without memory it ends the program, with a message */
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, bytes, count);
    jpeg.image_width = (JDIMENSION)between(s, WIDTH, LEAST_SIDE, LEAST_SIDE + MORE_SIDE);
    jpeg.image_height = (JDIMENSION)between(s, HEIGHT, LEAST_SIDE, LEAST_SIDE + MORE_SIDE);
    jpeg.input_components = 3;
    jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, QUALITY, TRUE);
    jpeg_start_compress(&jpeg, TRUE);
    int width = (int)jpeg.image_width, height = (int)jpeg.image_height;
    while (jpeg.next_scanline < jpeg.image_height) {
        draw_line(s, paint, (int)jpeg.next_scanline, width, width > height ? width : height, row);
        jpeg_write_scanlines(&jpeg, rows, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
}

/* ---- files ---- */

typedef struct options {
    const char *to;
    int64_t images, seed;
} options;

static tutti_status make_folder(const char *path)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_IO, "%s: cannot make the folder: %s", path, strerror(errno));
}

static tutti_status write_scene(const options *o, const char *split, int class, int64_t image)
{
    scene s;
    char stream[64];
    unsigned char *bytes = NULL;
    unsigned long count = 0;
    snprintf(stream, sizeof stream, "%s/%s", split, scenes[class].name);
    for (int i = 0; i < CHANCES; i++)
        s.chance[i] = tutti_rng_uniform(
            (uint64_t)o->seed, tutti_rng_stream(stream), (uint64_t)(image * CHANCES + i));
    s.texture = (uint32_t)(4294967295.0 * s.chance[CHANCES - 1]);
    char *path = tutti_path_format("%s/%s/%04d.jpg", o->to, stream, (int)image);
    if (!path) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a path");
    draw(&s, scenes[class].paint, &bytes, &count);
    tutti_status status = tutti_file_put(
        &(tutti_file_options){.what = "scene", .path = path, .unsynced = 1}, bytes, count);
    free(bytes);
    free(path);
    return status;
}

static tutti_status write_class(const options *o, const char *split, int class, int64_t images)
{
    char *folder = tutti_path_format("%s/%s/%s", o->to, split, scenes[class].name);
    tutti_status status =
        folder ? make_folder(folder) : tutti_fail(TUTTI_ERR_NOMEM, "no memory for a path");
    for (int64_t i = 0; i < images && !status; i++) status = write_scene(o, split, class, i);
    free(folder);
    return status;
}

static tutti_status write_split(const options *o, const char *split, int64_t images)
{
    char *folder = tutti_path_format("%s/%s", o->to, split);
    tutti_status status = make_folder(o->to);
    if (!status)
        status = folder ? make_folder(folder) : tutti_fail(TUTTI_ERR_NOMEM, "no memory for a path");
    for (int c = 0; c < SCENES && !status; c++) status = write_class(o, split, c, images);
    free(folder);
    return status;
}

#define AT(member) .offset = offsetof(options, member)
static const tutti_setting settings[] = {
    {TUTTI_CONF_HEADING, .help = "Options"},
    {TUTTI_CONF_TEXT, "to", "DIR", .flags = TUTTI_CONF_REQUIRED, AT(to),
        .help = "the folder to make; files in it with the same names are replaced"},
    {TUTTI_CONF_INT, "images", "N", .fallback = "200", .low = 1, .high = 9999, AT(images),
        .help = "how many of each class for training; a quarter as many for tests"},
    {TUTTI_CONF_INT, "seed", "N", .fallback = "1", .low = 0, .high = 1000000000, AT(seed),
        .help = "another number gives other pictures"},
    {0},
};
static const tutti_conf conf = {
    .program = "scenes",
    .usage = "--to DIR [OPTION]...",
    .summary = "Draws JPEG files that look a little like photographs, in ten classes.",
    .settings = settings,
};

int main(int argc, char **argv)
{
    options o = {0};
    int go;
    if (tutti_conf_start(&conf, argc, argv, &o, &go)) return 2;
    if (!go) return EXIT_SUCCESS;
    tutti_status status = write_split(&o, "train", o.images);
    if (!status) status = write_split(&o, "val", (o.images + VAL_PART - 1) / VAL_PART);
    return status ? EXIT_FAILURE : EXIT_SUCCESS;
}
