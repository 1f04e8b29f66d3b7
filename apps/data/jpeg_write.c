#include "apps/data/jpeg_write.h"

#include "dag/base/log.h"

#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>
#include <setjmp.h>

enum { CHANNELS = 3 };

/* libjpeg's objects, and the target of its error jumps, which cross only libjpeg's frames. */
typedef struct encoder {
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr errors;
    jmp_buf failed;
    unsigned char *made;
    unsigned long count;
} encoder;

static _Noreturn void on_error(j_common_ptr common)
{
    char words[JMSG_LENGTH_MAX];
    encoder *e = common->client_data;
    common->err->format_message(common, words);
    tutti_fail(TUTTI_ERR_NOMEM, "a picture could not be compressed: %s", words);
    longjmp(e->failed, 1);
}

static void compress(encoder *e, const uint8_t *pixels, int width, int height, int quality)
{
    struct jpeg_compress_struct *cinfo = &e->cinfo;
    jpeg_create_compress(cinfo);
    jpeg_mem_dest(cinfo, &e->made, &e->count);
    cinfo->image_width = (JDIMENSION)width;
    cinfo->image_height = (JDIMENSION)height;
    cinfo->input_components = CHANNELS;
    cinfo->in_color_space = JCS_RGB;
    jpeg_set_defaults(cinfo);
    jpeg_set_quality(cinfo, quality, TRUE);
    cinfo->dct_method = JDCT_ISLOW;
    jpeg_start_compress(cinfo, TRUE);
    for (size_t y = 0; y < (size_t)height; y++) {
        JSAMPROW rows[] = {(JSAMPROW)pixels + y * (size_t)width * CHANNELS};
        jpeg_write_scanlines(cinfo, rows, 1);
    }
    jpeg_finish_compress(cinfo);
}

/* Returns 0 where there is no memory. */
static int try_to_compress(encoder *e, const uint8_t *pixels, int width, int height, int quality)
{
    if (setjmp(e->failed)) return 0;
    compress(e, pixels, width, height, quality);
    return 1;
}

tutti_status tutti_jpeg_append(
    tutti_bytes *to, const uint8_t *pixels, int width, int height, int quality)
{
    tutti_status status = TUTTI_ERR_NOMEM;
    encoder *e = calloc(1, sizeof *e);
    if (!e) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to compress a picture");
    e->cinfo.err = jpeg_std_error(&e->errors);
    e->errors.error_exit = on_error;
    e->cinfo.client_data = e;
    if (try_to_compress(e, pixels, width, height, quality))
        status = tutti_bytes_append(to, e->made, (size_t)e->count);
    jpeg_destroy_compress(&e->cinfo);
    free(e->made);
    free(e);
    return status;
}
