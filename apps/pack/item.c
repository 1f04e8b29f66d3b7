#include "apps/pack/item.h"

#include "apps/data/jpeg_write.h"
#include "apps/data/png.h"
#include "apps/data/recordio_write.h"
#include "apps/data/tar_write.h"
#include "apps/data/webp.h"
#include "dag/base/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { KEY = 320, DIGITS = 8, JPEG_SIDE_MOST = 65500 };

/* ---- formats ---- */

/* "00000042-n01440764_10026": places make keys unique, and names tell people what they have before
 * them. A key ends at the first dot, so there is none in it. */
static void make_key(int64_t place, const char *name, char key[KEY])
{
    const char *slash = name ? strrchr(name, '/') : NULL;
    const char *stem = slash ? slash + 1 : name ? name : "", *dot = strrchr(stem, '.');
    int used = snprintf(key, KEY, "%0*" PRId64 "%s", DIGITS, place, *stem ? "-" : "");
    int length =
        snprintf(key + used, (size_t)(KEY - used), "%.*s", dot ? (int)(dot - stem) : KEY, stem);
    for (char *c = key + used; length > 0 && *c; c++)
        if (*c == '.' || (unsigned char)*c < ' ') *c = '_';
}

/* The label first, as WebDataset's own writer sorts them. */
static tutti_status append_to_tar(
    tutti_bytes *to, int64_t place, const char *name, int32_t label, const tutti_bytes *image)
{
    char key[KEY], file[KEY + 8], digits[16];
    const char *ending = tutti_png_recognise(image->bytes, image->count)    ? "png"
                         : tutti_webp_recognise(image->bytes, image->count) ? "webp"
                                                                            : "jpg";
    make_key(place, name, key);
    snprintf(file, sizeof file, "%s.cls", key);
    int count = snprintf(digits, sizeof digits, "%" PRId32, label);
    tutti_status status = tutti_tar_append(to, file, digits, (size_t)count);
    snprintf(file, sizeof file, "%s.%s", key, ending);
    return status ? status : tutti_tar_append(to, file, image->bytes, image->count);
}

static tutti_status append_record(
    tutti_bytes *to, int64_t place, const char *name, int32_t label, const tutti_bytes *image)
{
    (void)name;
    return tutti_recordio_append(to, label, (uint64_t)place, image->bytes, image->count);
}

const tutti_pack_format tutti_pack_formats[] = {
    {"webdataset", append_to_tar},
    {"recordio", append_record},
    {0},
};

/* ---- images ---- */

/* Without the folder that all names begin with, and in one line. */
static void leave_out(const tutti_pack_recipe *recipe, const char *fault, tutti_pack_item *item)
{
    size_t length = strlen(recipe->root);
    const char *from = fault;
    if (!strncmp(from, recipe->root, length)) from += length;
    while (from > fault && *from == '/') from++;
    snprintf(item->fault, sizeof item->fault, "%s", from);
    for (char *c = item->fault; *c; c++)
        if ((unsigned char)*c < ' ') *c = '?';
}

static tutti_status shrink(
    const tutti_pack_recipe *recipe, tutti_decoder *decoder, tutti_pack_item *item)
{
    const uint8_t *pixels;
    int width, height;
    tutti_status status =
        tutti_decoder_shrink(decoder, &item->sample, recipe->side, &pixels, &width, &height);
    if (status) return status;
    if (width > JPEG_SIDE_MOST || height > JPEG_SIDE_MOST) {
        char fault[sizeof item->fault];
        snprintf(fault, sizeof fault, "%s: would be %dx%d pixels, too long for a JPEG",
            item->sample.name, width, height);
        leave_out(recipe, fault, item);
        return TUTTI_OK;
    }
    return tutti_jpeg_append(&item->image, pixels, width, height, recipe->quality);
}

/* The image's file as it will be; none: it is left out. */
static tutti_status make_image(
    const tutti_pack_recipe *recipe, tutti_decoder *decoder, tutti_pack_item *item)
{
    int width, height;
    tutti_status status = tutti_decoder_look(decoder, &item->sample, &width, &height);
    int shorter = width < height ? width : height;
    if (!status && recipe->side && shorter > recipe->side) {
        status = shrink(recipe, decoder, item);
    } else if (!status) {
        status = tutti_decoder_check(decoder, &item->sample);
        if (!status)
            status = tutti_bytes_append(&item->image, item->sample.bytes, item->sample.count);
    }
    if (!status || !*tutti_decoder_fault(decoder)) return status;
    leave_out(recipe, tutti_decoder_fault(decoder), item);
    return TUTTI_OK;
}

tutti_status tutti_pack_item_make(const tutti_pack_recipe *recipe, const tutti_dataset *dataset,
    int64_t image, int64_t place, tutti_decoder *decoder, tutti_pack_item *item)
{
    tutti_sample *sample = &item->sample;
    item->bytes.count = item->image.count = 0;
    item->fault[0] = '\0';
    tutti_status status = tutti_dataset_fetch(dataset, image, sample);
    if (status) return status;
    if (sample->kind != TUTTI_SAMPLE_FILE)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "--from: %s holds pixels, not image files: only photographs are packed",
            dataset->source->name);
    status = make_image(recipe, decoder, item);
    if (status || *item->fault) return status;
    int is_place = strstr(sample->name, ": byte ") != NULL; /* in a shard, not a file */
    return recipe->format->append(
        &item->bytes, place, is_place ? NULL : sample->name, sample->label, &item->image);
}

void tutti_pack_item_free(tutti_pack_item *item)
{
    tutti_bytes_free(&item->bytes);
    tutti_bytes_free(&item->image);
    tutti_sample_free(&item->sample);
}
