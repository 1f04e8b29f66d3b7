#include "apps/train/checkpoint.h"
#include "apps/train/hash.h"
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
    const char *name; /* owned by the JSON object */
    tutti_dtype dtype;
    tutti_shape shape;
    int64_t begin, end; /* within the data */
} entry;

struct tutti_checkpoint {
    char *path;
    int lenient; /* errors are warnings */
    int file;
    json_t *root;
    int64_t header_bytes, data_bytes;
    int entries;
    entry *entry; /* by begin */
};

static tutti_status refuse(const tutti_checkpoint *c, tutti_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static tutti_status refuse(const tutti_checkpoint *c, tutti_status status, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tutti_log(c->lenient ? TUTTI_LOG_WARN : TUTTI_LOG_ERROR, "checkpoint %s: %s", c->path, text);
    return status;
}

static tutti_status broken(const tutti_checkpoint *c, const char *what)
{
    return refuse(c, TUTTI_ERR_FORMAT, "%s", what);
}

static tutti_status broken_tensor(const tutti_checkpoint *c, const char *name, const char *what)
{
    return refuse(c, TUTTI_ERR_FORMAT, "tensor \"%s\": %s", name, what);
}

static tutti_status read_at(const tutti_checkpoint *c, void *data, int64_t bytes, int64_t offset)
{
    char *at = data;
    while (bytes) {
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

/* Opens the file and determines the sizes of its parts. */
static tutti_status open_file(tutti_checkpoint *c)
{
    struct stat info;
    c->file = open(c->path, O_RDONLY | O_CLOEXEC);
    if (c->file < 0 || fstat(c->file, &info))
        return refuse(c, TUTTI_ERR_IO, "cannot open: %s", strerror(errno));
    if (!S_ISREG(info.st_mode)) return refuse(c, TUTTI_ERR_IO, "not a file");
    if (info.st_size < PREFIX) return broken(c, "truncated: too short for a header");
    unsigned char prefix[PREFIX];
    tutti_status status = read_at(c, prefix, PREFIX, 0);
    if (status) return status;
    uint64_t length = 0;
    for (int i = PREFIX - 1; i >= 0; i--) length = length << 8 | prefix[i];
    if (length > HEADER_LIMIT)
        return broken(
            c, "not a safetensors file: its header would be longer than 100,000,000 bytes");
    if ((int64_t)length > info.st_size - PREFIX)
        return broken(c, "truncated: ends within its header");
    c->header_bytes = (int64_t)length;
    c->data_bytes = info.st_size - PREFIX - c->header_bytes;
    return TUTTI_OK;
}

static tutti_status parse_header(tutti_checkpoint *c)
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

static int find_dtype(const char *name)
{
    for (int d = 0; d < TUTTI_DTYPE_COUNT; d++)
        if (strcmp(tutti_dtype_name((tutti_dtype)d), name) == 0) return d;
    return -1;
}

static tutti_status parse_shape(
    const tutti_checkpoint *c, const char *name, json_t *array, tutti_shape *shape)
{
    size_t rank = json_array_size(array);
    if (rank > TUTTI_SHAPE_MAX_RANK)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "checkpoint %s: tensor \"%s\" has %zu dimensions, at most %d are supported", c->path,
            name, rank, TUTTI_SHAPE_MAX_RANK);
    *shape = (tutti_shape){.rank = (int)rank};
    for (size_t d = 0; d < rank; d++) {
        json_t *size = json_array_get(array, d);
        if (!json_is_integer(size) || json_integer_value(size) < 0)
            return broken_tensor(c, name, "a size in its shape is not a number from 0 on");
        shape->dim[d] = json_integer_value(size);
    }
    return TUTTI_OK;
}

static tutti_status parse_entry(
    const tutti_checkpoint *c, const char *name, json_t *value, entry *e)
{
    json_t *dtype = json_object_get(value, "dtype"), *shape = json_object_get(value, "shape");
    json_t *offsets = json_object_get(value, "data_offsets");
    json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    if (json_object_size(value) != 3 || !json_is_string(dtype) || !json_is_array(shape) ||
        json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end))
        return broken_tensor(c, name, "not described by dtype, shape and two data_offsets");
    int known = find_dtype(json_string_value(dtype));
    if (known < 0)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "checkpoint %s: tensor \"%s\" has the unsupported type \"%s\"", c->path, name,
            json_string_value(dtype));
    *e = (entry){.name = name,
        .dtype = (tutti_dtype)known,
        .begin = json_integer_value(begin),
        .end = json_integer_value(end)};
    tutti_status status = parse_shape(c, name, shape, &e->shape);
    if (status) return status;
    if (e->begin < 0 || e->end < e->begin)
        return broken_tensor(c, name, "its data_offsets are out of order");
    int64_t count = tutti_shape_count(&e->shape), bytes;
    if (count < 0 || __builtin_mul_overflow(count, (int64_t)tutti_dtype_bytes(e->dtype), &bytes) ||
        bytes != e->end - e->begin)
        return broken_tensor(c, name, "its data_offsets do not fit its shape");
    return TUTTI_OK;
}

static tutti_status parse_metadata(const tutti_checkpoint *c, json_t *metadata)
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
static tutti_status check_tiling(const tutti_checkpoint *c)
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

static tutti_status parse_entries(tutti_checkpoint *c)
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

static tutti_status check_hash(const tutti_checkpoint *c)
{
    const char *wanted = tutti_checkpoint_value(c, "data_xxh3");
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

static tutti_status open_one(const char *path, int lenient, tutti_checkpoint **checkpoint)
{
    tutti_checkpoint *c = calloc(1, sizeof *c);
    if (!c) return tutti_fail(TUTTI_ERR_NOMEM, "checkpoint %s: no memory", path);
    c->file = -1;
    c->lenient = lenient;
    c->path = strdup(path);
    tutti_status status =
        c->path ? open_file(c) : tutti_fail(TUTTI_ERR_NOMEM, "checkpoint %s: no memory", path);
    if (!status) status = parse_header(c);
    if (!status) status = parse_entries(c);
    if (!status) status = check_hash(c);
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
    if (checkpoint->file >= 0) close(checkpoint->file);
    json_decref(checkpoint->root);
    free(checkpoint->entry);
    free(checkpoint->path);
    free(checkpoint);
}

const char *tutti_checkpoint_path(const tutti_checkpoint *checkpoint)
{
    return checkpoint->path;
}

const char *tutti_checkpoint_value(const tutti_checkpoint *checkpoint, const char *key)
{
    return json_string_value(
        json_object_get(json_object_get(checkpoint->root, "__metadata__"), key));
}

static const entry *find_entry(const tutti_checkpoint *c, const char *name)
{
    for (int i = 0; i < c->entries; i++)
        if (strcmp(c->entry[i].name, name) == 0) return &c->entry[i];
    return NULL;
}

static tutti_status check_wanted(const tutti_checkpoint *c, const tutti_checkpoint_tensor *tensor)
{
    char has[64], wants[64];
    const entry *e = find_entry(c, tensor->name);
    if (!e) return broken_tensor(c, tensor->name, "missing");
    if (e->dtype != tensor->dtype || !tutti_shape_equal(&e->shape, &tensor->shape))
        return tutti_fail(TUTTI_ERR_FORMAT,
            "checkpoint %s: tensor \"%s\" is %s %s, but %s %s is needed", c->path, tensor->name,
            tutti_dtype_name(e->dtype), tutti_shape_print(&e->shape, has, sizeof has),
            tutti_dtype_name(tensor->dtype),
            tutti_shape_print(&tensor->shape, wants, sizeof wants));
    return TUTTI_OK;
}

static tutti_status read_tensor(const tutti_checkpoint *c, const tutti_checkpoint_tensor *tensor)
{
    const entry *e = find_entry(c, tensor->name);
    return read_at(c, tensor->data, e->end - e->begin, PREFIX + c->header_bytes + e->begin);
}

int tutti_checkpoint_find(const tutti_checkpoint *checkpoint, const char *name, tutti_shape *shape)
{
    const entry *e = find_entry(checkpoint, name);
    if (e) *shape = e->shape;
    return e != NULL;
}

tutti_status tutti_checkpoint_read(
    tutti_checkpoint *checkpoint, const tutti_checkpoint_tensor *tensor)
{
    tutti_status status = check_wanted(checkpoint, tensor);
    return status ? status : read_tensor(checkpoint, tensor);
}

tutti_status tutti_checkpoint_load(
    tutti_checkpoint *checkpoint, int tensors, const tutti_checkpoint_tensor tensor[])
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < tensors && !status; i++) status = check_wanted(checkpoint, &tensor[i]);
    if (status) return status;
    if (checkpoint->entries != tensors)
        return tutti_fail(TUTTI_ERR_FORMAT, "checkpoint %s: %d tensors, but %d are needed",
            checkpoint->path, checkpoint->entries, tensors);
    for (int i = 0; i < tensors && !status; i++) status = read_tensor(checkpoint, &tensor[i]);
    return status;
}
