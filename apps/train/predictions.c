#include "apps/train/predictions.h"

#include "apps/data/bytes.h"
#include "apps/data/jpeg_write.h"
#include "apps/data/resize.h"
#include "dag/base/file.h"
#include "dag/base/log.h"
#include "dag/base/text.h"

#include <stdio.h>
#include <stdlib.h>

enum { THUMBNAIL = 112 /* the longest side */, QUALITY = 85 };

/* A file that is written in memory until all of it is there. */
typedef struct sheet {
    const char *what, *path; /* path NULL: it is not wanted */
    char *text;
    size_t size;
    FILE *out;
} sheet;

struct tutti_predictions {
    sheet csv, page;
    tutti_resize_memory resizing;
    tutti_bytes rgb, small, jpeg;
};

static tutti_status fail_memory(void)
{
    return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the predictions");
}

/* Tries whether the file can be written, before hours of predicting. */
static tutti_status open_sheet(sheet *s, const char *what, const char *path)
{
    const tutti_file_options options = {.what = what, .path = path};
    tutti_file file;
    *s = (sheet){.what = what, .path = path};
    tutti_status status = path ? tutti_file_begin(&options, &file) : TUTTI_OK;
    if (status || !path) return status;
    tutti_file_drop(&file);
    s->out = open_memstream(&s->text, &s->size);
    return s->out ? TUTTI_OK : fail_memory();
}

static void drop_sheet(sheet *s)
{
    if (s->out) fclose(s->out);
    free(s->text);
}

static tutti_status close_sheet(sheet *s)
{
    if (!s->out) return TUTTI_OK;
    const int failed = ferror(s->out);
    const tutti_file_options options = {.what = s->what, .path = s->path};
    tutti_status status =
        fclose(s->out) || failed ? fail_memory() : tutti_file_put(&options, s->text, s->size);
    free(s->text);
    return status;
}

static void begin_page(FILE *out, const char *checkpoint)
{
    fputs(
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>Predictions</title>\n"
        "<style>body{font:14px sans-serif;margin:16px;color:#222}\n"
        "main{display:flex;flex-wrap:wrap;gap:12px}\n"
        "figure{margin:0;width:190px;border:1px solid #ddd;padding:8px}\n"
        "figure img{display:block;margin:0 auto 6px}\n"
        "figcaption{font-size:12px;overflow-wrap:anywhere;color:#555;margin-bottom:4px}\n"
        ".g{position:relative;z-index:0;font-size:12px;padding:1px "
        "4px;margin-top:2px;overflow-wrap:anywhere}\n"
        ".g i{position:absolute;left:0;top:0;bottom:0;background:#cfe3f1;z-index:-1}\n"
        ".g b{float:right;font-weight:normal}</style></head><body>\n<h1>Predictions of ",
        out);
    tutti_text_markup(out, checkpoint, SIZE_MAX);
    fputs("</h1>\n<main>\n", out);
}

tutti_status tutti_predictions_open(
    const char *csv, const char *page, const char *checkpoint, tutti_predictions **predictions)
{
    tutti_predictions *p = calloc(1, sizeof *p);
    if (!p) return fail_memory();
    tutti_status status = open_sheet(&p->csv, "predictions", csv);
    if (!status) status = open_sheet(&p->page, "page of predictions", page);
    if (status) {
        drop_sheet(&p->csv);
        drop_sheet(&p->page);
        free(p);
        return status;
    }
    if (p->csv.out) fputs("image,rank,label,class,probability\r\n", p->csv.out);
    if (p->page.out) begin_page(p->page.out, checkpoint);
    *predictions = p;
    return TUTTI_OK;
}

/* ---- CSV ---- */

static void put_field(FILE *out, const char *text)
{
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"') putc('"', out);
        putc(*text, out);
    }
    putc('"', out);
}

static void add_rows(FILE *out, const tutti_seen *seen)
{
    for (int i = 0; i < seen->guesses; i++) {
        put_field(out, seen->path);
        fprintf(out, ",%d,%d,", i + 1, seen->guess[i].label);
        put_field(out, seen->guess[i].class);
        fprintf(out, ",%.9g\r\n", seen->guess[i].probability);
    }
}

/* ---- page ---- */

/* RFC 4648. */
static void put_base64(FILE *out, const uint8_t *bytes, size_t count)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < count; i += 3) {
        const size_t left = count - i;
        const uint32_t word = (uint32_t)bytes[i] << 16 |
                              (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                              (left > 2 ? bytes[i + 2] : 0);
        putc(digit[word >> 18], out);
        putc(digit[word >> 12 & 63], out);
        putc(left > 1 ? digit[word >> 6 & 63] : '=', out);
        putc(left > 2 ? digit[word & 63] : '=', out);
    }
}

/* The picture in `small`, three bytes a pixel. */
static tutti_status shrink(tutti_predictions *p, const tutti_seen *seen, int *width, int *height)
{
    const size_t pixels = (size_t)seen->height * (size_t)seen->width;
    const int longest = seen->height > seen->width ? seen->height : seen->width;
    *width = longest > THUMBNAIL ? seen->width * THUMBNAIL / longest : seen->width;
    *height = longest > THUMBNAIL ? seen->height * THUMBNAIL / longest : seen->height;
    if (*width < 1) *width = 1;
    if (*height < 1) *height = 1;
    p->rgb.count = p->small.count = 0;
    tutti_status status = tutti_bytes_append(&p->rgb, NULL, 3 * pixels);
    if (!status) status = tutti_bytes_append(&p->small, NULL, 3 * (size_t)*width * (size_t)*height);
    if (status) return status;
    for (size_t i = 0; i < 3 * pixels; i++)
        p->rgb.bytes[i] = seen->pixels[seen->channels == 1 ? i / 3 : i];
    const tutti_resize all = {.width = seen->width,
        .across = seen->width,
        .down = seen->height,
        .right = seen->width,
        .bottom = seen->height,
        .out_width = *width,
        .out_height = *height};
    return tutti_resize_make(&p->resizing, &all, p->rgb.bytes, p->small.bytes);
}

static tutti_status add_figure(tutti_predictions *p, const tutti_seen *seen)
{
    FILE *out = p->page.out;
    int width, height;
    tutti_status status = shrink(p, seen, &width, &height);
    p->jpeg.count = 0;
    if (!status) status = tutti_jpeg_append(&p->jpeg, p->small.bytes, width, height, QUALITY);
    if (status) return status;
    fprintf(out, "<figure><img width='%d' height='%d' alt='' src='data:image/jpeg;base64,", width,
        height);
    put_base64(out, p->jpeg.bytes, p->jpeg.count);
    fputs("'><figcaption>", out);
    tutti_text_markup(out, seen->path, SIZE_MAX);
    fputs("</figcaption>\n", out);
    for (int i = 0; i < seen->guesses; i++) {
        const double percent = 100 * seen->guess[i].probability;
        fprintf(out, "<div class='g'><i style='width:%.1f%%'></i><b>%.1f %%</b>", percent, percent);
        tutti_text_markup(out, seen->guess[i].class, SIZE_MAX);
        fputs("</div>\n", out);
    }
    fputs("</figure>\n", out);
    return TUTTI_OK;
}

tutti_status tutti_predictions_add(tutti_predictions *p, const tutti_seen *seen)
{
    if (p->csv.out) add_rows(p->csv.out, seen);
    return p->page.out ? add_figure(p, seen) : TUTTI_OK;
}

tutti_status tutti_predictions_close(tutti_predictions *p)
{
    if (!p) return TUTTI_OK;
    if (p->page.out) fputs("</main></body></html>\n", p->page.out);
    tutti_status table = close_sheet(&p->csv), page = close_sheet(&p->page);
    tutti_resize_free(&p->resizing);
    tutti_bytes_free(&p->rgb);
    tutti_bytes_free(&p->small);
    tutti_bytes_free(&p->jpeg);
    free(p);
    return table ? table : page;
}
