#include "apps/data/jpeg.h"

#include "apps/data/formats.h"
#include "dag/base/log.h"

#include <stdio.h>

#include <jpeglib.h>
#include <setjmp.h>

/* Progressive files may have any number of scans, each a pass over the whole picture; real ones
 * have about ten. */
enum { SCANS_MAX = 100, CHANNELS = 3 };
/* What libjpeg may allocate for one picture: a progressive one keeps all its coefficients. */
enum { MEMORY_MAX = 512 << 20 };

/* libjpeg's objects, and the target of its error jumps. The jump crosses only libjpeg's frames; afterwards its setter
 * reads nothing but this struct. */
typedef struct jpeg_job {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf failed;
    const char *path;
    const uint8_t *bytes;
    size_t count;
    int width, height;
    uint8_t *pixels; /* NULL: only the header is read */
    uint8_t *row;    /* a CMYK row, from libjpeg's pool */
    tutti_status status;
} jpeg_job;

static _Noreturn void on_error(j_common_ptr common)
{
    jpeg_job *job = common->client_data;
    char words[JMSG_LENGTH_MAX];
    common->err->format_message(common, words);
    job->status = tutti_fail(TUTTI_ERR_FORMAT, "%s: corrupt JPEG: %s", job->path, words);
    longjmp(job->failed, 1);
}

static void on_message(j_common_ptr common, int level)
{
    if (level < 0) on_error(common); /* a warning: the data is damaged, and libjpeg would guess */
}

static void on_progress(j_common_ptr common)
{
    jpeg_job *job = common->client_data;
    if (job->cinfo.input_scan_number <= SCANS_MAX) return;
    job->status = tutti_fail(
        TUTTI_ERR_FORMAT, "%s: corrupt JPEG: it has more than %d scans", job->path, SCANS_MAX);
    longjmp(job->failed, 1);
}

static _Noreturn void fail(jpeg_job *job, tutti_status status)
{
    job->status = status;
    longjmp(job->failed, 1);
}

static void read_header(jpeg_job *job)
{
    struct jpeg_decompress_struct *cinfo = &job->cinfo;
    jpeg_mem_src(cinfo, job->bytes, job->count);
    jpeg_read_header(cinfo, TRUE);
    int width = (int)cinfo->image_width, height = (int)cinfo->image_height;
    if (width > TUTTI_IMAGE_SIDE_MAX || height > TUTTI_IMAGE_SIDE_MAX)
        fail(job,
            tutti_fail(TUTTI_ERR_FORMAT, "%s: is %dx%d pixels; at most %d per side can be read",
                job->path, width, height, TUTTI_IMAGE_SIDE_MAX));
    if (job->pixels && (width != job->width || height != job->height))
        fail(job, tutti_fail(TUTTI_ERR_FORMAT,
                      "%s: is %dx%d pixels, but the data set's first image is %dx%d; all must have "
                      "one size",
                      job->path, width, height, job->width, job->height));
    job->width = width;
    job->height = height;
}

/* Adobe writes CMYK inverted: 255 is no ink. */
static void cmyk_to_rgb(const uint8_t *cmyk, int inverted, int width, uint8_t *rgb)
{
    for (int x = 0; x < width; x++, cmyk += 4) {
        int k = inverted ? cmyk[3] : 255 - cmyk[3];
        for (int c = 0; c < CHANNELS; c++) {
            int paper = inverted ? cmyk[c] : 255 - cmyk[c];
            *rgb++ = (uint8_t)((paper * k + 127) / 255);
        }
    }
}

static void read_pixels(jpeg_job *job)
{
    struct jpeg_decompress_struct *cinfo = &job->cinfo;
    J_COLOR_SPACE space = cinfo->jpeg_color_space;
    int four = space == JCS_CMYK || space == JCS_YCCK;
    if (!four && space != JCS_GRAYSCALE && space != JCS_RGB && space != JCS_YCbCr)
        fail(job, tutti_fail(TUTTI_ERR_FORMAT,
                      "%s: a JPEG of %d components in an unknown colour space; only grey, RGB, "
                      "YCbCr, CMYK and YCCK "
                      "become RGB; convert it first",
                      job->path, cinfo->num_components));
    cinfo->out_color_space = four ? JCS_CMYK : JCS_RGB;
    cinfo->dct_method = JDCT_ISLOW;
    jpeg_start_decompress(cinfo);
    if (four)
        job->row =
            cinfo->mem->alloc_small((j_common_ptr)cinfo, JPOOL_IMAGE, 4 * (size_t)job->width);
    while (cinfo->output_scanline < cinfo->output_height) {
        uint8_t *to = job->pixels + (size_t)cinfo->output_scanline * (size_t)job->width * CHANNELS;
        JSAMPROW rows[] = {four ? job->row : to};
        jpeg_read_scanlines(cinfo, rows, 1);
        if (four) cmyk_to_rgb(job->row, cinfo->saw_Adobe_marker, job->width, to);
    }
    jpeg_finish_decompress(cinfo);
}

static tutti_status run(jpeg_job *job)
{
    job->cinfo.err = jpeg_std_error(&job->errors);
    job->errors.error_exit = on_error;
    job->errors.emit_message = on_message;
    job->progress.progress_monitor = on_progress;
    if (!setjmp(job->failed)) {
        job->cinfo.client_data = job;
        jpeg_create_decompress(&job->cinfo);
        job->cinfo.mem->max_memory_to_use = MEMORY_MAX;
        job->cinfo.progress = &job->progress;
        read_header(job);
        if (job->pixels) read_pixels(job);
    }
    jpeg_destroy_decompress(&job->cinfo);
    return job->status;
}

tutti_status tutti_jpeg_size(
    const char *path, const uint8_t *bytes, size_t count, int *width, int *height)
{
    jpeg_job job = {.path = path, .bytes = bytes, .count = count};
    tutti_status status = run(&job);
    if (status) return status;
    *width = job.width;
    *height = job.height;
    return TUTTI_OK;
}

tutti_status tutti_jpeg_decode(
    const char *path, const uint8_t *bytes, size_t count, int width, int height, uint8_t *pixels)
{
    jpeg_job job = {.path = path,
        .bytes = bytes,
        .count = count,
        .width = width,
        .height = height,
        .pixels = pixels};
    return run(&job);
}
