#include "apps/train/checkpoint_parts.h"
#include "apps/train/foreign.h"
#include "apps/train/hash.h"
#include "apps/train/widen.h"
#include "dag/base/file.h"
#include "dag/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PREFIX = 8, HEADER_LIMIT = 100000000, CHUNK = 1 << 20 };

typedef struct entry {
    const char *name, *type; /* owned by the JSON object */
    size_t rank;             /* which may be more than a shape has room for */
    tutti_shape shape;
    int64_t begin, end; /* within the data */
} entry;

/* One file. */
typedef struct part {
    char *path;
    int lenient; /* errors are warnings */
    int file;
    char *image; /* NULL, or the file in memory, which is owned */
    int64_t image_bytes;
    json_t *root;
    int64_t header_bytes, data_bytes;
    int entries;
    entry *entry; /* by begin */
} part;

/* One file, or those of an index. */
struct tutti_checkpoint {
    char *path;
    json_t *map; /* of an index: which file has which tensor; NULL: no index */
    int parts;
    part *part;
};

static tutti_status refuse(const part *c, tutti_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static tutti_status refuse(const part *c, tutti_status status, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tutti_log(c->lenient ? TUTTI_LOG_WARN : TUTTI_LOG_ERROR, "checkpoint %s: %s", c->path, text);
    return status;
}

static tutti_status broken(const part *c, const char *what)
{
    return refuse(c, TUTTI_ERR_FORMAT, "%s", what);
}

static tutti_status broken_tensor(const part *c, const char *name, const char *what)
{
    return refuse(c, TUTTI_ERR_FORMAT, "tensor \"%s\": %s", name, what);
}

static tutti_status read_at(const part *c, void *data, int64_t bytes, int64_t offset)
{
    char *at = data;
    if (c->image && (offset > c->image_bytes || bytes > c->image_bytes - offset))
        return broken(c, "ends too early");
    if (c->image && bytes) memcpy(data, c->image + offset, (size_t)bytes);
    while (bytes && !c->image) {
        ssize_t n = pread(c->file, at, (size_t)bytes, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return refuse(c, TUTTI_ERR_IO, "cannot read: %s", strerror(errno));
        if (n == 0) return broken(c, "became shorter while it was read");
        at += n;
        offset += n;
        bytes -= n;
    }
    return TUTTI_OK;
}

/* Determines the sizes of the parts of a file. */
static tutti_status read_sizes(part *c, int64_t bytes)
{
    if (bytes < PREFIX) return broken(c, "truncated: too short for a header");
    unsigned char prefix[TUTTI_FOREIGN_BYTES];
    const int64_t first = bytes < TUTTI_FOREIGN_BYTES ? bytes : TUTTI_FOREIGN_BYTES;
    tutti_status status = read_at(c, prefix, first, 0);
    if (status) return status;
    const char *other = first > PREFIX ? tutti_foreign_find(prefix, (size_t)first) : NULL;
    if (other) return refuse(c, TUTTI_ERR_FORMAT, "not a safetensors file but %s", other);
    uint64_t length = 0;
    for (int i = PREFIX - 1; i >= 0; i--) length = length << 8 | prefix[i];
    if (length > HEADER_LIMIT)
        return broken(
            c, "not a safetensors file: its header would be longer than 100,000,000 bytes");
    if ((int64_t)length > bytes - PREFIX) return broken(c, "truncated: ends within its header");
    c->header_bytes = (int64_t)length;
    c->data_bytes = bytes - PREFIX - c->header_bytes;
    return TUTTI_OK;
}

static tutti_status open_file(part *c)
{
    struct stat info;
    if (c->image) return read_sizes(c, c->image_bytes);
    c->file = open(c->path, O_RDONLY | O_CLOEXEC);
    if (c->file < 0 || fstat(c->file, &info))
        return refuse(c, TUTTI_ERR_IO, "cannot open: %s", strerror(errno));
    if (!S_ISREG(info.st_mode)) return refuse(c, TUTTI_ERR_IO, "not a file");
    return read_sizes(c, info.st_size);
}

static tutti_status parse_header(part *c)
{
    char *text = malloc((size_t)c->header_bytes + 1);
    if (!text) return refuse(c, TUTTI_ERR_NOMEM, "no memory for its header");
    tutti_status status = read_at(c, text, c->header_bytes, PREFIX);
    if (status) goto done;
    json_error_t error;
    if (c->header_bytes > 0 && text[0] == '{')
        c->root = json_loadb(text, (size_t)c->header_bytes, JSON_REJECT_DUPLICATES, &error);
    else
        snprintf(error.text, sizeof error.text, "it does not begin with {");
    if (!c->root) status = refuse(c, TUTTI_ERR_FORMAT, "bad header: %s", error.text);
done:
    free(text);
    return status;
}

/* Only wanted tensors need a shape that has room for them all, and a type that is known. */
static tutti_status parse_shape(const part *c, json_t *array, entry *e, int64_t *count)
{
    int overflows = 0;
    *count = 1;
    e->rank = json_array_size(array);
    e->shape.rank = e->rank > TUTTI_SHAPE_MAX_RANK ? TUTTI_SHAPE_MAX_RANK : (int)e->rank;
    for (size_t d = 0; d < e->rank; d++) {
        json_t *size = json_array_get(array, d);
        if (!json_is_integer(size) || json_integer_value(size) < 0)
            return broken_tensor(c, e->name, "a size in its shape is not a number from 0 on");
        if (d < TUTTI_SHAPE_MAX_RANK) e->shape.dim[d] = json_integer_value(size);
        overflows |= __builtin_mul_overflow(*count, json_integer_value(size), count);
    }
    if (overflows) *count = -1;
    return TUTTI_OK;
}

static tutti_status parse_entry(const part *c, const char *name, json_t *value, entry *e)
{
    json_t *type = json_object_get(value, "dtype"), *shape = json_object_get(value, "shape");
    json_t *offsets = json_object_get(value, "data_offsets");
    json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    int64_t count, bytes;
    if (json_object_size(value) != 3 || !json_is_string(type) || !json_is_array(shape) ||
        json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end))
        return broken_tensor(c, name, "not described by dtype, shape and two data_offsets");
    *e = (entry){.name = name,
        .type = json_string_value(type),
        .begin = json_integer_value(begin),
        .end = json_integer_value(end)};
    tutti_status status = parse_shape(c, shape, e, &count);
    if (status) return status;
    if (e->begin < 0 || e->end < e->begin)
        return broken_tensor(c, name, "its data_offsets are out of order");
    const size_t each = tutti_widen_bytes(e->type);
    if (each && (count < 0 || __builtin_mul_overflow(count, (int64_t)each, &bytes) ||
                    bytes != e->end - e->begin))
        return broken_tensor(c, name, "its data_offsets do not fit its shape");
    return TUTTI_OK;
}

static tutti_status parse_metadata(const part *c, json_t *metadata)
{
    const char *key;
    json_t *value;
    if (!json_is_object(metadata)) return broken(c, "__metadata__ is not an object");
    json_object_foreach(metadata, key, value)
    {
        if (!json_is_string(value)) return broken(c, "a value of __metadata__ is not text");
    }
    return TUTTI_OK;
}

static int by_begin(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

/* Sorted by begin, the tensors must tile the data. */
static tutti_status check_tiling(const part *c)
{
    int64_t at = 0;
    for (int i = 0; i < c->entries; i++) {
        const entry *e = &c->entry[i];
        if (e->begin < at) return broken_tensor(c, e->name, "its data overlap another tensor's");
        if (e->begin > at) return broken_tensor(c, e->name, "there is a gap before its data");
        at = e->end;
    }
    if (at > c->data_bytes)
        return refuse(c, TUTTI_ERR_FORMAT,
            "truncated: %" PRId64 " bytes of tensors, %" PRId64 " are there", at, c->data_bytes);
    if (at < c->data_bytes) return broken(c, "there are bytes after the last tensor");
    return TUTTI_OK;
}

static tutti_status parse_entries(part *c)
{
    const char *name;
    json_t *value;
    c->entry = calloc(json_object_size(c->root) + 1, sizeof *c->entry);
    if (!c->entry) return refuse(c, TUTTI_ERR_NOMEM, "no memory for its list of tensors");
    json_object_foreach(c->root, name, value)
    {
        tutti_status status = strcmp(name, "__metadata__") == 0
                                  ? parse_metadata(c, value)
                                  : parse_entry(c, name, value, &c->entry[c->entries++]);
        if (status) return status;
    }
    qsort(c->entry, (size_t)c->entries, sizeof *c->entry, by_begin);
    return check_tiling(c);
}

static const char *part_value(const part *c, const char *key)
{
    return json_string_value(json_object_get(json_object_get(c->root, "__metadata__"), key));
}

static tutti_status check_hash(const part *c)
{
    const char *wanted = part_value(c, "data_xxh3");
    if (!wanted) return TUTTI_OK;
    char found[TUTTI_HASH_TEXT];
    tutti_hash *hash = NULL;
    char *chunk = malloc(CHUNK);
    tutti_status status = chunk ? tutti_hash_new(&hash) : refuse(c, TUTTI_ERR_NOMEM, "no memory");
    for (int64_t at = 0; at < c->data_bytes && !status; at += CHUNK) {
        int64_t bytes = c->data_bytes - at < CHUNK ? c->data_bytes - at : CHUNK;
        status = read_at(c, chunk, bytes, PREFIX + c->header_bytes + at);
        if (!status) tutti_hash_add(hash, chunk, (size_t)bytes);
    }
    if (!status && strcmp(tutti_hash_text(hash, found), wanted) != 0)
        status = broken(c, "damaged: its data do not have the hash that was saved with them");
    tutti_hash_free(hash);
    free(chunk);
    return status;
}

/* c: its path, which close frees, and the image, if it is not a file. */
static tutti_status open_part(part *c)
{
    c->file = -1;
    tutti_status status = open_file(c);
    if (!status) status = parse_header(c);
    if (!status) status = parse_entries(c);
    if (!status) status = check_hash(c);
    return status;
}

static tutti_status open_parts(
    tutti_checkpoint *c, const tutti_checkpoint_parts *files, int lenient)
{
    tutti_status status = TUTTI_OK;
    c->map = json_incref(files->map);
    c->part = calloc((size_t)files->count, sizeof *c->part);
    if (!c->part) return tutti_fail(TUTTI_ERR_NOMEM, "checkpoint %s: no memory", c->path);
    for (int i = 0; i < files->count && !status; i++) {
        char *path = strdup(files->path[i]);
        if (!path) return tutti_fail(TUTTI_ERR_NOMEM, "checkpoint %s: no memory", c->path);
        part *p = &c->part[c->parts++];
        *p = (part){.path = path, .lenient = lenient};
        status = open_part(p);
    }
    return status;
}

static tutti_status open_one(const char *path, int lenient, tutti_checkpoint **checkpoint)
{
    tutti_checkpoint *c = calloc(1, sizeof *c);
    if (c) c->path = strdup(path);
    if (!c || !c->path) {
        free(c);
        return tutti_fail(TUTTI_ERR_NOMEM, "checkpoint %s: no memory", path);
    }
    tutti_checkpoint_parts files = {0};
    tutti_status status = tutti_checkpoint_parts_find(path, &files);
    if (!status) status = open_parts(c, &files, lenient);
    tutti_checkpoint_parts_free(&files);
    if (!status)
        *checkpoint = c;
    else
        tutti_checkpoint_close(c);
    return status;
}

tutti_status tutti_checkpoint_open(const char *path, tutti_checkpoint **checkpoint)
{
    return open_one(path, 0, checkpoint);
}

tutti_status tutti_checkpoint_open_image(
    const char *path, void *image, size_t bytes, tutti_checkpoint **checkpoint)
{
    tutti_checkpoint *c = calloc(1, sizeof *c);
    part *p = calloc(1, sizeof *p);
    if (c) c->path = strdup(path);
    if (p) *p = (part){.path = strdup(path), .image = image, .image_bytes = (int64_t)bytes};
    if (!c || !c->path || !p || !p->path) {
        if (c) free(c->path);
        if (p) free(p->path);
        free(c);
        free(p);
        free(image);
        return tutti_fail(TUTTI_ERR_NOMEM, "checkpoint %s: no memory", path);
    }
    c->part = p;
    c->parts = 1;
    tutti_status status = open_part(p);
    if (!status)
        *checkpoint = c;
    else
        tutti_checkpoint_close(c);
    return status;
}

/* "PATH.n" if that exists, else NULL. */
static char *find_earlier(const char *path, int n)
{
    char *name = tutti_file_earlier(path, n);
    if (name && access(name, F_OK) == 0) return name;
    free(name);
    return NULL;
}

/* Opens the newest undamaged file; target: the path with links resolved. */
static tutti_status open_whole(const char *target, tutti_checkpoint **checkpoint, int *earlier)
{
    char *name = strdup(target);
    tutti_status status = TUTTI_ERR_NOMEM;
    for (int n = 0; name; n++) {
        char *next = find_earlier(target, n + 1);
        status = open_one(name, next != NULL, checkpoint);
        if (!status) {
            *earlier = n;
            if (n > 0) tutti_log(TUTTI_LOG_WARN, "continuing from the earlier checkpoint %s", name);
        }
        free(name);
        int damaged = status == TUTTI_ERR_FORMAT || status == TUTTI_ERR_IO;
        if (!damaged) free(next);
        name = damaged ? next : NULL;
    }
    return status;
}

tutti_status tutti_checkpoint_open_newest(
    const char *path, tutti_checkpoint **checkpoint, int *earlier)
{
    char *target;
    tutti_status status =
        tutti_file_target(&(tutti_file_options){.what = "checkpoint", .path = path}, &target);
    if (status) return status;
    status = open_whole(target, checkpoint, earlier);
    free(target);
    return status;
}

void tutti_checkpoint_close(tutti_checkpoint *checkpoint)
{
    if (!checkpoint) return;
    for (int i = 0; i < checkpoint->parts; i++) {
        part *p = &checkpoint->part[i];
        if (p->file >= 0) close(p->file);
        json_decref(p->root);
        free(p->entry);
        free(p->image);
        free(p->path);
    }
    json_decref(checkpoint->map);
    free(checkpoint->part);
    free(checkpoint->path);
    free(checkpoint);
}

const char *tutti_checkpoint_path(const tutti_checkpoint *checkpoint)
{
    return checkpoint->path;
}

const char *tutti_checkpoint_value(const tutti_checkpoint *checkpoint, const char *key)
{
    const char *value = NULL;
    for (int i = 0; i < checkpoint->parts && !value; i++)
        value = part_value(&checkpoint->part[i], key);
    return value;
}

const char *tutti_checkpoint_name(const tutti_checkpoint *checkpoint, int i)
{
    int p = 0;
    while (p < checkpoint->parts && i >= checkpoint->part[p].entries)
        i -= checkpoint->part[p++].entries;
    return p < checkpoint->parts ? checkpoint->part[p].entry[i].name : NULL;
}

/* ---- tensors that are wanted ---- */

static const entry *find_in(const part *p, const char *name)
{
    for (int i = 0; i < p->entries; i++)
        if (strcmp(p->entry[i].name, name) == 0) return &p->entry[i];
    return NULL;
}

static const entry *find_entry(const tutti_checkpoint *c, const char *name, const part **in)
{
    const entry *e = NULL;
    for (int i = 0; i < c->parts && !e; i++) {
        e = find_in(&c->part[i], name);
        *in = &c->part[i];
    }
    return e;
}

static tutti_status say_missing(const tutti_checkpoint *c, const char *name)
{
    const char *where = json_string_value(json_object_get(c->map, name));
    return tutti_fail(TUTTI_ERR_FORMAT, "checkpoint %s: tensor \"%s\": missing%s%s", c->path, name,
        where ? " in the file that the index names, " : "", where ? where : "");
}

/* No two files of an index may have it. */
static tutti_status check_once(const tutti_checkpoint *c, const char *name, const part *in)
{
    for (const part *p = in + 1; p < c->part + c->parts; p++)
        if (find_in(p, name))
            return tutti_fail(TUTTI_ERR_FORMAT,
                "checkpoint %s: tensor \"%s\" is in two of its files, %s and %s", c->path, name,
                in->path, p->path);
    return TUTTI_OK;
}

/* Numbers of 8 bits come with a factor where they are quantised weights; read alone they would be others. */
static tutti_status check_unscaled(const part *p, const entry *e)
{
    static const char *const behind[] = {"_scale", "_scale_inv", ".scale"};
    char name[512];
    for (size_t i = 0; strncmp(e->type, "F8_", 3) == 0 && i < sizeof behind / sizeof *behind; i++) {
        snprintf(name, sizeof name, "%s%s", e->name, behind[i]);
        if (find_in(p, name))
            return tutti_fail(TUTTI_ERR_UNSUPPORTED,
                "checkpoint %s: tensor \"%s\" is quantised (%s, and \"%s\" is its scale): multiply "
                "them, and save the product as F32, F16 or BF16",
                p->path, e->name, e->type, name);
    }
    return TUTTI_OK;
}

static tutti_status check_type(const part *p, const entry *e, const tutti_checkpoint_tensor *wanted)
{
    const char *wants = tutti_dtype_name(wanted->dtype);
    if (strcmp(e->type, wants) == 0) return TUTTI_OK;
    if (wanted->dtype == TUTTI_F32 && tutti_widen_find(e->type)) return check_unscaled(p, e);
    return tutti_fail(TUTTI_ERR_UNSUPPORTED,
        "checkpoint %s: tensor \"%s\" has the type \"%s\", but %s is needed%s", p->path, e->name,
        e->type, wants,
        wanted->dtype == TUTTI_F32 ? ", or one of F64, F16, BF16, F8_E4M3, F8_E5M2" : "");
}

static tutti_status check_shape(
    const part *p, const entry *e, const tutti_checkpoint_tensor *wanted)
{
    char has[64], wants[64];
    if (e->rank > TUTTI_SHAPE_MAX_RANK)
        return tutti_fail(TUTTI_ERR_FORMAT,
            "checkpoint %s: tensor \"%s\" has %zu dimensions, but %s %s is needed", p->path,
            e->name, e->rank, tutti_dtype_name(wanted->dtype),
            tutti_shape_print(&wanted->shape, wants, sizeof wants));
    if (tutti_shape_equal(&e->shape, &wanted->shape)) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_FORMAT,
        "checkpoint %s: tensor \"%s\" is %s %s, but %s %s is needed", p->path, e->name, e->type,
        tutti_shape_print(&e->shape, has, sizeof has), tutti_dtype_name(wanted->dtype),
        tutti_shape_print(&wanted->shape, wants, sizeof wants));
}

static tutti_status check_wanted(const tutti_checkpoint *c, const tutti_checkpoint_tensor *tensor)
{
    const part *p = NULL;
    const entry *e = find_entry(c, tensor->name, &p);
    if (!e) return say_missing(c, tensor->name);
    tutti_status status = check_once(c, tensor->name, p);
    if (!status) status = check_shape(p, e, tensor);
    return status ? status : check_type(p, e, tensor);
}

/* Of another floating-point type. */
static tutti_status read_widened(const part *p, const entry *e, float *to)
{
    const int64_t bytes = e->end - e->begin;
    void *data = malloc((size_t)bytes + 1);
    if (!data) return refuse(p, TUTTI_ERR_NOMEM, "no memory for the tensor \"%s\"", e->name);
    tutti_status status = read_at(p, data, bytes, PREFIX + p->header_bytes + e->begin);
    if (!status) tutti_widen_find(e->type)(data, tutti_shape_count(&e->shape), to);
    free(data);
    return status;
}

static tutti_status read_tensor(const tutti_checkpoint *c, const tutti_checkpoint_tensor *tensor)
{
    const part *p = NULL;
    const entry *e = find_entry(c, tensor->name, &p);
    if (strcmp(e->type, tutti_dtype_name(tensor->dtype)) != 0)
        return read_widened(p, e, tensor->data);
    return read_at(p, tensor->data, e->end - e->begin, PREFIX + p->header_bytes + e->begin);
}

int tutti_checkpoint_find(const tutti_checkpoint *checkpoint, const char *name, tutti_shape *shape)
{
    const part *p;
    const entry *e = find_entry(checkpoint, name, &p);
    if (e) *shape = e->shape;
    return e != NULL && e->rank <= TUTTI_SHAPE_MAX_RANK;
}

tutti_status tutti_checkpoint_read(
    tutti_checkpoint *checkpoint, const tutti_checkpoint_tensor *tensor)
{
    tutti_status status = check_wanted(checkpoint, tensor);
    return status ? status : read_tensor(checkpoint, tensor);
}

/* Warns of tensors that nothing reads, with the name of the first. */
static void name_further(
    const tutti_checkpoint *c, int tensors, const tutti_checkpoint_tensor tensor[])
{
    int further = 0;
    const char *first = NULL, *name;
    for (int i = 0; (name = tutti_checkpoint_name(c, i)); i++) {
        int t = 0;
        while (t < tensors && strcmp(tensor[t].name, name) != 0) t++;
        if (t == tensors && !further++) first = name;
    }
    if (further)
        tutti_log(TUTTI_LOG_WARN,
            "checkpoint %s: it has %d tensor%s that this run does not have, which %s left out: "
            "\"%s\"%s",
            c->path, further, further == 1 ? "" : "s", further == 1 ? "is" : "are", first,
            further == 1 ? "" : " is the first");
}

tutti_status tutti_checkpoint_load(
    tutti_checkpoint *checkpoint, int tensors, const tutti_checkpoint_tensor tensor[])
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < tensors && !status; i++) status = check_wanted(checkpoint, &tensor[i]);
    if (status) return status;
    name_further(checkpoint, tensors, tensor);
    for (int i = 0; i < tensors && !status; i++) status = read_tensor(checkpoint, &tensor[i]);
    return status;
}
