#include "apps/data/source.h"

#include "apps/data/bad_images.h"
#include "apps/data/decode.h"
#include "apps/data/file.h"
#include "apps/data/formats.h"
#include "apps/data/listed.h"
#include "dag/base/log.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const tutti_image_source *const tutti_image_sources[] = {
    &tutti_image_source_cifar10,
    &tutti_image_source_cifar100,
    &tutti_image_source_folders,
    &tutti_image_source_idx,
    &tutti_image_source_imagenet,
    &tutti_image_source_jpeg,
    &tutti_image_source_recordio,
    &tutti_image_source_synthetic,
    &tutti_image_source_webdataset,
    NULL,
};

/* What users download by mistake, and the advice. */
static const struct {
    const char *file, *advice;
} mistakes[] = {
    {"data_batch_1", "this is the Python version of CIFAR-10; download the binary version"},
    {"train", "this is the Python version of CIFAR-100; download the binary version"},
    {"data_batch_1.mat", "this is the Matlab version of CIFAR-10; download the binary version"},
    {"train.mat", "this is the Matlab version of CIFAR-100; download the binary version"},
    {"cifar-10-binary.tar.gz",
        "unpack cifar-10-binary.tar.gz with tar -xzf and give the new folder"},
    {"cifar-100-binary.tar.gz",
        "unpack cifar-100-binary.tar.gz with tar -xzf and give the new folder"},
};

enum { LIST_BYTES = 1024, MOMENTS_IMAGES = 10000 };

static void append(char list[LIST_BYTES], const char *separator, const char *word, const char *note)
{
    size_t used = strlen(list);
    snprintf(list + used, LIST_BYTES - used, "%s%s%s%s%s", used ? separator : "", word,
        *note ? " (" : "", note, *note ? ")" : "");
}

static tutti_status find_by_name(const char *format, const tutti_image_source **found)
{
    char known[LIST_BYTES] = "";
    for (const tutti_image_source *const *r = tutti_image_sources; *r; r++) {
        if (!strcmp((*r)->name, format)) {
            *found = *r;
            return TUTTI_OK;
        }
        append(known, ", ", (*r)->name, "");
    }
    return tutti_fail(TUTTI_ERR_USAGE, "unknown data format '%s'; known: %s", format, known);
}

/* Finds the source that fits best; returns how well. `names` lists all that fit by content. */
static int best_fit(
    const char *path, const tutti_image_source **found, int *several, char names[LIST_BYTES])
{
    int best = TUTTI_FORMAT_NO;
    *several = 0;
    *names = '\0';
    for (const tutti_image_source *const *r = tutti_image_sources; *r; r++) {
        int fit = (*r)->recognise(path);
        if (fit == TUTTI_FORMAT_CONTENT) append(names, ", ", (*r)->name, "");
        if (fit > best) {
            best = fit;
            *found = *r;
        } else if (fit == TUTTI_FORMAT_CONTENT) {
            *several = 1;
        }
    }
    return best;
}

/* A subfolder of `path` that holds a data set, or NULL; the caller frees it. */
static char *look_below(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder) return NULL;
    char *below = NULL, names[LIST_BYTES];
    for (const struct dirent *e; !below && (e = readdir(folder));) {
        const tutti_image_source *found;
        int several;
        if (*e->d_name == '.') continue;
        below = tutti_path_format("%s/%s", path, e->d_name);
        if (below && best_fit(below, &found, &several, names) == TUTTI_FORMAT_CONTENT) break;
        free(below);
        below = NULL;
    }
    closedir(folder);
    return below;
}

static tutti_status fail_unknown(const char *path)
{
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        char *file = tutti_path_format("%s/%s", path, mistakes[i].file), head;
        int64_t bytes = file ? tutti_data_file_peek(file, &head, 1) : -1;
        free(file);
        if (bytes >= 0)
            return tutti_fail(
                TUTTI_ERR_FORMAT, "%s: holds no known data set: %s", path, mistakes[i].advice);
    }
    char *below = look_below(path);
    if (below) {
        tutti_fail(TUTTI_ERR_FORMAT, "%s: holds no known data set, but %s does: give that folder",
            path, below);
        free(below);
        return TUTTI_ERR_FORMAT;
    }
    char looked[LIST_BYTES] = "";
    for (const tutti_image_source *const *r = tutti_image_sources; *r; r++)
        append(looked, "; ", (*r)->name, (*r)->summary);
    return tutti_fail(
        TUTTI_ERR_FORMAT, "%s: holds no known data set; looked for: %s", path, looked);
}

static tutti_status find_by_content(const char *path, const tutti_image_source **found)
{
    char names[LIST_BYTES];
    int several;
    int fit = best_fit(path, found, &several, names);
    if (fit == TUTTI_FORMAT_NO) return fail_unknown(path);
    if (several)
        return tutti_fail(TUTTI_ERR_USAGE,
            "%s: holds several data sets (%s); choose one with --format", path, names);
    return TUTTI_OK;
}

/* 0: images have the size of the first one, or that of the format. */
static int side_of_views(const tutti_dataset_options *options, const tutti_image_source *source)
{
    enum { USUAL = 224 };
    if (options->size || !source->photographs) return options->size;
    return options->usual ? options->usual : USUAL;
}

/* Images that are stored as pixels have a size already. */
static tutti_status check_size(const tutti_dataset_options *options, const tutti_dataset *opened)
{
    if (!options->size || opened->resize) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_USAGE,
        "%s: its images (%s) have %dx%d pixels; only photographs are resized", options->path,
        opened->source->name, opened->width, opened->height);
}

/* A data set that is not open yet: what a source's list and open find there. */
static tutti_status ask(
    const tutti_dataset_options *options, const tutti_image_source *source, tutti_dataset *asked)
{
    int size = side_of_views(options, source);
    int resize = options->resize ? options->resize : tutti_resize_for(size);
    if (resize < size)
        return tutti_fail(
            TUTTI_ERR_USAGE, "--eval-resize %d is smaller than --size %d", resize, size);
    *asked = (tutti_dataset){.source = source,
        .height = size,
        .width = size,
        .held_out = options->held_out,
        .held_out_seed = options->held_out_seed};
    if (size) asked->resize = resize;
    return TUTTI_OK;
}

/* What every rank looks at itself. *found: the source, if it is known without looking into the folder. */
static tutti_status check_place(
    const tutti_dataset_options *options, const tutti_image_source **found)
{
    const tutti_image_source *synthetic = &tutti_image_source_synthetic;
    tutti_status status = TUTTI_OK;
    if (options->format)
        status = find_by_name(options->format, found);
    else if (synthetic->recognise(options->path)) /* a word, not a folder */
        *found = synthetic;
    if (status || *found == synthetic) return status;
    return tutti_folder_check(options->path);
}

/* On rank 0, for all ranks: the name of the format, then what the source has listed. */
static tutti_status examine(const tutti_dataset_options *options, const tutti_image_source *source,
    tutti_split split, tutti_bytes *found)
{
    tutti_dataset asked;
    tutti_status status = source ? TUTTI_OK : find_by_content(options->path, &source);
    if (!status) status = ask(options, source, &asked);
    if (!status) status = tutti_listed_put_text(found, source->name);
    if (!status && source->list) status = source->list(options->path, split, &asked, found);
    return status;
}

static tutti_status check_assign(
    const tutti_dataset_options *options, const tutti_image_source *source)
{
    if (!options->assign.assign || source->sharded) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_USAGE,
        "--shards local: %s (%s) is not in shards that ranks could divide: pack it as webdataset "
        "(tutti-pack), or use --shards shared",
        options->path, source->name);
}

static tutti_status check_split(
    const tutti_dataset_options *options, const tutti_image_source *source)
{
    if (!options->held_out || source->splits) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_USAGE, "--split: %s (%s) has test images of its own: leave it out",
        options->path, source->name);
}

/* Opens what rank 0 has found. */
static tutti_status open_found(const tutti_dataset_options *options, tutti_split split,
    const tutti_bytes *found, tutti_dataset *dataset)
{
    tutti_listed from = {(const char *)found->bytes, (const char *)found->bytes + found->count};
    const char *name = tutti_listed_text(&from);
    const tutti_image_source *source = NULL;
    tutti_dataset opened;
    tutti_status status = find_by_name(name ? name : "", &source);
    if (!status) status = check_assign(options, source);
    if (!status) status = check_split(options, source);
    if (!status) status = ask(options, source, &opened);
    if (status) return status;
    opened.assign = options->assign.assign ? &options->assign : NULL;
    opened.tells = !options->share.share || options->share.rank == 0 || opened.assign;
    const tutti_bytes list = {.bytes = found->bytes + (from.at - (const char *)found->bytes),
        .count = (size_t)(from.end - from.at)};
    opened.listed = source->list ? &list : NULL;
    status = source->open(options->path, split, &opened);
    if (status) return status;
    opened.listed = NULL;
    opened.assign = NULL;
    status = check_size(options, &opened);
    if (status)
        tutti_dataset_close(&opened);
    else
        *dataset = opened;
    return status;
}

tutti_status tutti_dataset_open_as(
    const tutti_dataset_options *options, tutti_split split, tutti_dataset *dataset)
{
    const tutti_dataset_share *share = &options->share;
    const tutti_image_source *source = NULL;
    tutti_bytes found = {0};
    tutti_status status = check_place(options, &source);
    if (!status && (!share->share || share->rank == 0))
        status = examine(options, source, split, &found);
    if (share->share) status = share->share(share->ctx, status, &found);
    if (!status) status = open_found(options, split, &found, dataset);
    tutti_bytes_free(&found);
    return status;
}

tutti_status tutti_dataset_open(
    const char *path, const char *format, tutti_split split, tutti_dataset *dataset)
{
    const tutti_dataset_options options = {.path = path, .format = format};
    return tutti_dataset_open_as(&options, split, dataset);
}

void tutti_dataset_close(tutti_dataset *dataset)
{
    if (!dataset || !dataset->source) return;
    dataset->source->close(dataset);
    *dataset = (tutti_dataset){0};
}

/* Of ImageNet's training images, as torchvision's models have them. */
static const float photograph_mean[] = {0.485f, 0.456f, 0.406f};
static const float photograph_deviation[] = {0.229f, 0.224f, 0.225f};

/* Sums over the images of a data set, and how many there were. */
typedef struct channel_sums {
    uint64_t sum[4], square[4];
    int64_t images;
} channel_sums;

/* Sums of 32 bits in lanes that become vectors; 1 and 3, the numbers of channels, divide how many there are.
 * TURNS: before one of them could overflow. */
static void add_pixels(const uint8_t *pixels, size_t bytes, size_t channels, channel_sums *all)
{
    enum { LANES = 48, TURNS = 65536 };
    for (size_t p = 0; p < bytes;) {
        uint32_t sum[LANES] = {0}, square[LANES] = {0};
        for (int turn = 0; turn < TURNS && p + LANES <= bytes; turn++, p += LANES)
            for (int j = 0; j < LANES; j++) {
                uint32_t pixel = pixels[p + (size_t)j];
                sum[j] += pixel;
                square[j] += pixel * pixel;
            }
        if (p + LANES > bytes)
            for (int j = 0; p < bytes; j++, p++) {
                sum[j] += pixels[p];
                square[j] += (uint32_t)pixels[p] * pixels[p];
            }
        for (size_t j = 0, c = 0; j < LANES; j++, c = c + 1 < channels ? c + 1 : 0) {
            all->sum[c] += sum[j];
            all->square[c] += square[j];
        }
    }
}

/* One image, which is not counted if it is damaged and may be left out. pixels: scratch memory. */
static tutti_status add_image(const tutti_dataset *dataset, tutti_decoder *decoder, int64_t index,
    int may_skip, uint8_t *pixels, channel_sums *all)
{
    const tutti_view_choice as_it_is = {0};
    size_t channels = (size_t)dataset->channels;
    size_t bytes = (size_t)dataset->height * (size_t)dataset->width * channels;
    int32_t label;
    tutti_status status = tutti_decoder_make(decoder, dataset, &as_it_is, index, pixels, &label);
    const char *fault = tutti_decoder_fault(decoder);
    if (status && *fault) return may_skip ? TUTTI_OK : tutti_bad_images_refuse(fault);
    if (status) return status;
    all->images++;
    add_pixels(pixels, bytes, channels, all);
    return TUTTI_OK;
}

static tutti_status add_images(
    const tutti_dataset *dataset, int skips, uint8_t *pixels, channel_sums *all)
{
    int64_t images = dataset->count < MOMENTS_IMAGES ? dataset->count : MOMENTS_IMAGES;
    tutti_decoder *decoder;
    tutti_status status = tutti_decoder_new(&decoder);
    if (status) return status;
    for (int64_t i = 0; i < images && !status; i++) {
        /* Evenly spaced without a product that could overflow. */
        int64_t index = dataset->count / images * i + dataset->count % images * i / images;
        int is_last = i == images - 1 && !all->images;
        status = add_image(dataset, decoder, index, skips && !is_last, pixels, all);
    }
    tutti_decoder_free(decoder);
    return status;
}

tutti_status tutti_dataset_moments(
    const tutti_dataset *dataset, int skips, float *mean, float *deviation)
{
    if (dataset->resize) {
        memcpy(mean, photograph_mean, sizeof photograph_mean);
        memcpy(deviation, photograph_deviation, sizeof photograph_deviation);
        return TUTTI_OK;
    }
    size_t channels = (size_t)dataset->channels;
    size_t bytes = (size_t)dataset->height * (size_t)dataset->width * channels;
    channel_sums all = {0};
    uint8_t *pixels = malloc(bytes);
    if (!pixels) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for an image of %zu bytes", bytes);
    tutti_status status = add_images(dataset, skips, pixels, &all);
    free(pixels);
    if (status) return status;
    double n = (double)all.images * (double)(bytes / channels);
    for (size_t c = 0; c < channels; c++) {
        double m = (double)all.sum[c] / n, v = (double)all.square[c] / n - m * m;
        mean[c] = (float)(m / 255);
        deviation[c] = v > 1e-6 ? (float)(sqrt(v) / 255) : 1.0f;
    }
    return TUTTI_OK;
}
