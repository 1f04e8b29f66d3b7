/* IDX, the format of MNIST, Fashion-MNIST and KMNIST: big-endian header, then unsigned bytes; plain
 * or gzip. Images: magic 00 00 08 03, count, height, width. Labels: magic 00 00 08 01, count. Grey,
 * 10 classes. Source: LeCun, Cortes, Burges, "The MNIST database of handwritten digits".
 *
 * A plain file is read image by image. A gzip file is unpacked into memory when it is opened, up to the header's sizes,
 * which must be possible for a file of its length. */
#include "apps/data/file.h"
#include "apps/data/formats.h"
#include "dag/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* GZIP_RATIO_MAX: deflate compresses at most 1032 to 1 (zlib's technical details), so a header that says more is wrong.
 * UNPACKED_MAX: the most memory that a gzip file may need, in bytes. */
enum { CLASSES = 10, IMAGE_DIMS = 3, LABEL_DIMS = 1, HEADER_MAX = 4 + 4 * IMAGE_DIMS };
enum { CHUNK = 64 << 10, GZIP_RATIO_MAX = 1032 };
#define UNPACKED_MAX ((int64_t)4 << 30)

static const char *const prefixes[] = {[TUTTI_TRAIN] = "train", [TUTTI_TEST] = "t10k"};
static const struct {
    char separator;
    const char *suffix;
} spellings[] = {{'-', ""}, {'-', ".gz"}, {'.', ""}, {'.', ".gz"}};

typedef struct idx_array {
    tutti_data_file file;
    uint8_t *unpacked; /* the elements of a gzip file; NULL: plain */
    int dims;
    int64_t dim[IMAGE_DIMS];
    int64_t bytes; /* of all elements */
} idx_array;

typedef struct idx_state {
    idx_array images, labels;
} idx_state;

static int64_t header_bytes(int dims)
{
    return 4 + 4 * dims;
}

/* The path of the existing file with images (3 dims) or labels (1), or NULL. */
static char *find_array(const char *folder, tutti_split split, int dims)
{
    const char *what = dims == IMAGE_DIMS ? "images" : "labels";
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        char head;
        char *path = tutti_path_format("%s/%s-%s%cidx%d-ubyte%s", folder, prefixes[split], what,
            spellings[i].separator, dims, spellings[i].suffix);
        if (path && tutti_data_file_peek(path, &head, 1) >= 0) return path;
        free(path);
    }
    return NULL;
}

static int idx_recognise(const char *folder)
{
    int fit = TUTTI_FORMAT_NO;
    for (tutti_split split = TUTTI_TRAIN; split <= TUTTI_TEST; split++) {
        static const uint8_t magic[4] = {0, 0, 8, IMAGE_DIMS};
        uint8_t head[4] = {0};
        char *path = find_array(folder, split, IMAGE_DIMS);
        if (!path) continue;
        fit = TUTTI_FORMAT_NAMES;
        gzFile stream = gzopen(path, "rb"); /* reads plain files as they are */
        free(path);
        int n = stream ? gzread(stream, head, sizeof head) : 0;
        if (stream) gzclose(stream);
        if (n == (int)sizeof head && !memcmp(head, magic, sizeof magic))
            return TUTTI_FORMAT_CONTENT;
    }
    return fit;
}

static int64_t big_endian(const uint8_t *b)
{
    return (int64_t)((uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3]);
}

/* Takes the dimensions from a header, after checking that they are plausible. */
static tutti_status parse_header(const uint8_t *header, int dims, idx_array *array)
{
    const char *path = array->file.path;
    if (header[0] || header[1])
        return tutti_fail(TUTTI_ERR_FORMAT,
            "%s: is not an IDX file: it begins with %02x %02x instead of 00 00", path, header[0],
            header[1]);
    if (header[2] != 8)
        return tutti_fail(TUTTI_ERR_FORMAT,
            "%s: its elements are of IDX type 0x%02x; only unsigned bytes (0x08) can be read", path,
            header[2]);
    if (header[3] != dims)
        return tutti_fail(
            TUTTI_ERR_FORMAT, "%s: has %d dimensions, %d were expected", path, header[3], dims);
    array->dims = dims;
    array->bytes = 1;
    for (int d = 0; d < dims; d++) {
        array->dim[d] = big_endian(header + 4 + 4 * d);
        if (array->dim[d] == 0 || (d > 0 && array->dim[d] > TUTTI_IMAGE_SIDE_MAX))
            return tutti_fail(TUTTI_ERR_FORMAT,
                "%s: its header declares %lld %s; 1 to %lld can be read", path,
                (long long)array->dim[d], d ? "pixels per side" : "elements",
                d ? (long long)TUTTI_IMAGE_SIDE_MAX : (long long)UINT32_MAX);
        array->bytes *= array->dim[d]; /* below 2^(32+12+12) */
    }
    return TUTTI_OK;
}

/* The header is wrong: reports by how much. `held`: what the file holds after the header, as words. */
static tutti_status fail_size(const idx_array *array, const char *held)
{
    const int64_t *n = array->dim;
    char declared[96];
    if (array->dims == IMAGE_DIMS)
        snprintf(declared, sizeof declared, "%lld images of %lldx%lld", (long long)n[0],
            (long long)n[1], (long long)n[2]);
    else
        snprintf(declared, sizeof declared, "%lld labels", (long long)n[0]);
    return tutti_fail(TUTTI_ERR_FORMAT,
        "%s: its header declares %s (%lld bytes), but the file holds %s; download it again",
        array->file.path, declared, (long long)array->bytes, held);
}

static tutti_status fail_gzip(const idx_array *array, gzFile stream)
{
    int code;
    const char *words = gzerror(stream, &code),
               *prefix = strstr(words, ": "); /* zlib names the descriptor */
    if (prefix) words = prefix + 2;
    return tutti_fail(TUTTI_ERR_FORMAT, "%s: its gzip data is %s (%s); download it again",
        array->file.path, code == Z_BUF_ERROR ? "truncated" : "damaged", words);
}

static int gzip_failed(gzFile stream)
{
    int code;
    gzerror(stream, &code);
    return code != Z_OK && code != Z_STREAM_END;
}

static tutti_status unpack_elements(gzFile stream, idx_array *array)
{
    if (array->bytes / GZIP_RATIO_MAX > array->file.bytes)
        return fail_size(array, "less than that however well it is compressed");
    if (array->bytes > UNPACKED_MAX)
        return tutti_fail(TUTTI_ERR_FORMAT,
            "%s: %lld bytes are too many to unpack into memory; gunzip it first", array->file.path,
            (long long)array->bytes);
    array->unpacked = malloc((size_t)array->bytes);
    if (!array->unpacked)
        return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to unpack %lld bytes", array->file.path,
            (long long)array->bytes);
    int64_t done = 0;
    while (done < array->bytes) {
        int64_t left = array->bytes - done;
        int n = gzread(stream, array->unpacked + done, left < CHUNK ? (unsigned)left : CHUNK);
        if (n <= 0) break;
        done += n;
    }
    /* There must be no further byte, and reaching the end verifies the checksum. */
    uint8_t more;
    int extra = done == array->bytes ? gzread(stream, &more, 1) : 0;
    if (extra < 0 || gzip_failed(stream)) return fail_gzip(array, stream);
    if (extra > 0) return fail_size(array, "more");
    if (done < array->bytes) {
        char held[48];
        snprintf(held, sizeof held, "%lld bytes", (long long)done);
        return fail_size(array, held);
    }
    return TUTTI_OK;
}

static tutti_status open_gzip(idx_array *array, int dims)
{
    int fd = dup(array->file.fd);
    gzFile stream = fd < 0 ? NULL : gzdopen(fd, "rb");
    if (!stream) {
        if (fd >= 0) close(fd);
        return tutti_fail(TUTTI_ERR_NOMEM, "%s: cannot start to unpack it", array->file.path);
    }
    gzbuffer(stream, CHUNK);
    uint8_t header[HEADER_MAX];
    int bytes = (int)header_bytes(dims);
    tutti_status status;
    if (gzread(stream, header, (unsigned)bytes) == bytes) {
        status = parse_header(header, dims, array);
        if (!status) status = unpack_elements(stream, array);
    } else if (gzip_failed(stream)) {
        status = fail_gzip(array, stream);
    } else {
        status = tutti_fail(TUTTI_ERR_FORMAT, "%s: is too short for an IDX header of %d bytes",
            array->file.path, bytes);
    }
    gzclose(stream);
    return status;
}

static tutti_status open_plain(idx_array *array, int dims)
{
    uint8_t header[HEADER_MAX];
    int64_t bytes = header_bytes(dims);
    if (array->file.bytes < bytes)
        return tutti_fail(TUTTI_ERR_FORMAT,
            "%s: is too short (%lld bytes) for an IDX header of %lld bytes", array->file.path,
            (long long)array->file.bytes, (long long)bytes);
    tutti_status status = tutti_data_file_read(&array->file, 0, header, (size_t)bytes);
    if (!status) status = parse_header(header, dims, array);
    if (status) return status;
    if (array->file.bytes - bytes == array->bytes) return TUTTI_OK;
    char held[48];
    snprintf(held, sizeof held, "%lld bytes", (long long)(array->file.bytes - bytes));
    return fail_size(array, held);
}

static tutti_status open_array(const char *folder, tutti_split split, int dims, idx_array *array)
{
    const char *what = dims == IMAGE_DIMS ? "images" : "labels";
    char *path = find_array(folder, split, dims);
    if (!path)
        return tutti_fail(TUTTI_ERR_IO, "%s: %s-%s-idx%d-ubyte or the same with .gz is missing",
            folder, prefixes[split], what, dims);
    tutti_status status = tutti_data_file_open(path, &array->file);
    free(path);
    uint8_t magic[2] = {0};
    if (!status && array->file.bytes >= 2)
        status = tutti_data_file_read(&array->file, 0, magic, sizeof magic);
    if (status) return status;
    int gzip = magic[0] == 0x1f && magic[1] == 0x8b;
    return gzip ? open_gzip(array, dims) : open_plain(array, dims);
}

static tutti_status read_elements(const idx_array *array, int64_t index, uint8_t *to, size_t bytes)
{
    if (!array->unpacked)
        return tutti_data_file_read(
            &array->file, header_bytes(array->dims) + index * (int64_t)bytes, to, bytes);
    memcpy(to, array->unpacked + index * (int64_t)bytes, bytes);
    return TUTTI_OK;
}

static tutti_status check_label(const idx_array *labels, int64_t index, uint8_t label)
{
    if (label < CLASSES) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_FORMAT, "%s: label %lld is %d, out of range 0..%d",
        labels->file.path, (long long)index, label, CLASSES - 1);
}

static tutti_status check_all_labels(const idx_array *labels)
{
    uint8_t chunk[4096];
    for (int64_t first = 0; first < labels->bytes; first += (int64_t)sizeof chunk) {
        int64_t left = labels->bytes - first,
                n = left < (int64_t)sizeof chunk ? left : (int64_t)sizeof chunk;
        tutti_status status = TUTTI_OK;
        if (labels->unpacked)
            memcpy(chunk, labels->unpacked + first, (size_t)n);
        else
            status = tutti_data_file_read(
                &labels->file, header_bytes(LABEL_DIMS) + first, chunk, (size_t)n);
        for (int64_t i = 0; i < n && !status; i++)
            status = check_label(labels, first + i, chunk[i]);
        if (status) return status;
    }
    return TUTTI_OK;
}

static void idx_close(tutti_dataset *dataset)
{
    idx_state *state = dataset->state;
    idx_array *arrays[] = {&state->images, &state->labels};
    for (int a = 0; a < 2; a++) {
        tutti_data_file_close(&arrays[a]->file);
        free(arrays[a]->unpacked);
    }
    free(state);
}

static tutti_status idx_open(const char *path, tutti_split split, tutti_dataset *dataset)
{
    idx_state *state = calloc(1, sizeof *state);
    if (!state) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to open it", path);
    dataset->state = state;
    tutti_status status = open_array(path, split, IMAGE_DIMS, &state->images);
    if (!status) status = open_array(path, split, LABEL_DIMS, &state->labels);
    const int64_t *dim = state->images.dim;
    if (!status && dim[0] != state->labels.dim[0])
        status = tutti_fail(TUTTI_ERR_FORMAT, "%s holds %lld images, but %s holds %lld labels",
            state->images.file.path, (long long)dim[0], state->labels.file.path,
            (long long)state->labels.dim[0]);
    if (!status) status = check_all_labels(&state->labels);
    if (status) {
        idx_close(dataset);
        return status;
    }
    dataset->count = dim[0];
    dataset->height = (int)dim[1];
    dataset->width = (int)dim[2];
    dataset->channels = 1;
    dataset->resize = 0;
    dataset->classes = CLASSES;
    return TUTTI_OK;
}

static tutti_status idx_fetch(const tutti_dataset *dataset, int64_t index, tutti_sample *sample)
{
    const idx_state *state = dataset->state;
    uint8_t value;
    size_t bytes = (size_t)dataset->height * (size_t)dataset->width;
    tutti_status status = tutti_sample_reserve(sample, bytes);
    if (!status) status = read_elements(&state->images, index, sample->bytes, bytes);
    if (!status) status = read_elements(&state->labels, index, &value, 1);
    /* Again: a plain file may have changed since it was opened. */
    if (!status) status = check_label(&state->labels, index, value);
    if (!status) tutti_sample_pixels(dataset, value, sample);
    return status;
}

const tutti_image_source tutti_image_source_idx = {
    .name = "idx",
    .summary = "MNIST and similar sets: train-images-idx3-ubyte, train-labels-idx1-ubyte, "
               "t10k-..., plain or .gz",
    .recognise = idx_recognise,
    .open = idx_open,
    .fetch = idx_fetch,
    .close = idx_close,
};
