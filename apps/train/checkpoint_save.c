#include "apps/train/checkpoint.h"
#include "apps/train/hash.h"
#include "dag/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tensors are written as they lie in memory");

static tutti_status part_name(const char *path, char part[PATH_MAX])
{
    int n = snprintf(part, PATH_MAX, "%s.part", path);
    if (n < 0 || n >= PATH_MAX)
        return tutti_fail(TUTTI_ERR_IO, "checkpoint %s: the name is too long", path);
    return TUTTI_OK;
}

static size_t tensor_bytes(const tutti_checkpoint_tensor *tensor)
{
    return (size_t)tutti_shape_count(&tensor->shape) * tutti_dtype_bytes(tensor->dtype);
}

static json_t *describe_metadata(int pairs, const tutti_checkpoint_pair pair[], const char *hash)
{
    json_t *object = json_object();
    for (int i = 0; i < pairs; i++)
        if (json_object_set_new(object, pair[i].key, json_string(pair[i].value))) goto failed;
    if (json_object_set_new(object, "data_xxh3", json_string(hash))) goto failed;
    return object;
failed:
    json_decref(object);
    return NULL;
}

static json_t *describe_tensor(const tutti_checkpoint_tensor *tensor, size_t begin)
{
    json_t *shape = json_array();
    for (int d = 0; d < tensor->shape.rank; d++)
        json_array_append_new(shape, json_integer(tensor->shape.dim[d]));
    return json_pack("{s:s, s:o, s:[I,I]}", "dtype", tutti_dtype_name(tensor->dtype), "shape",
        shape, "data_offsets", (json_int_t)begin, (json_int_t)(begin + tensor_bytes(tensor)));
}

/* The header's text, padded with spaces so that the data are aligned to 8; *length with the
 * padding. NULL: no memory. */
static char *describe(int pairs, const tutti_checkpoint_pair pair[], int tensors,
    const tutti_checkpoint_tensor tensor[], const char *hash, size_t *length)
{
    char *text = NULL;
    json_t *root = json_object();
    if (json_object_set_new(root, "__metadata__", describe_metadata(pairs, pair, hash))) goto done;
    size_t begin = 0;
    for (int i = 0; i < tensors; i++) {
        if (json_object_set_new(root, tensor[i].name, describe_tensor(&tensor[i], begin)))
            goto done;
        begin += tensor_bytes(&tensor[i]);
    }
    char *compact = json_dumps(root, JSON_COMPACT);
    if (!compact) goto done;
    size_t used = strlen(compact), padded = (used + 7) / 8 * 8;
    text = realloc(compact, padded + 1);
    if (!text) {
        free(compact);
        goto done;
    }
    memset(text + used, ' ', padded - used);
    text[padded] = '\0';
    *length = padded;
done:
    json_decref(root);
    return text;
}

/* 0, or an errno value. */
static int write_all(int file, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes) {
        ssize_t n = write(file, at, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        at += n;
        bytes -= (size_t)n;
    }
    return 0;
}

static int write_file(int file, const char *header, size_t length, int tensors,
    const tutti_checkpoint_tensor tensor[])
{
    unsigned char prefix[8];
    for (int i = 0; i < 8; i++) prefix[i] = (unsigned char)(length >> (8 * i));
    int error = write_all(file, prefix, sizeof prefix);
    if (!error) error = write_all(file, header, length);
    for (int i = 0; i < tensors && !error; i++)
        error = write_all(file, tensor[i].data, tensor_bytes(&tensor[i]));
    if (!error && fsync(file)) error = errno;
    return error;
}

/* The rename is durable once the folder is. */
static int sync_folder(const char *path)
{
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path);
    int folder = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return errno;
    int error = fsync(folder) && errno != EINVAL
                    ? errno
                    : 0; /* EINVAL: a file system that has nothing to sync */
    close(folder);
    return error;
}

static tutti_status replace(const char *path, const char *header, size_t length, int tensors,
    const tutti_checkpoint_tensor tensor[])
{
    char part[PATH_MAX];
    tutti_status status = part_name(path, part);
    if (status) return status;
    int file = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0)
        return tutti_fail(
            TUTTI_ERR_IO, "checkpoint %s: cannot create %s: %s", path, part, strerror(errno));
    int error = write_file(file, header, length, tensors, tensor);
    if (close(file) && !error) error = errno;
    if (!error && rename(part, path)) error = errno;
    if (error) {
        unlink(part);
        return tutti_fail(TUTTI_ERR_IO,
            "checkpoint %s could not be saved: %s (an earlier file of this name is untouched)",
            path, strerror(error));
    }
    error = sync_folder(path);
    if (error)
        return tutti_fail(
            TUTTI_ERR_IO, "checkpoint %s: its folder cannot be synced: %s", path, strerror(error));
    return TUTTI_OK;
}

tutti_status tutti_checkpoint_save(const char *path, int pairs, const tutti_checkpoint_pair pair[],
    int tensors, const tutti_checkpoint_tensor tensor[])
{
    tutti_hash *hash;
    tutti_status status = tutti_hash_new(&hash);
    if (status) return status;
    char digits[TUTTI_HASH_TEXT];
    for (int i = 0; i < tensors; i++)
        tutti_hash_add(hash, tensor[i].data, tensor_bytes(&tensor[i]));
    tutti_hash_text(hash, digits);
    tutti_hash_free(hash);

    size_t length = 0;
    char *header = describe(pairs, pair, tensors, tensor, digits, &length);
    if (!header)
        return tutti_fail(TUTTI_ERR_NOMEM, "checkpoint %s: no memory for its header", path);
    status = replace(path, header, length, tensors, tensor);
    free(header);
    return status;
}

tutti_status tutti_checkpoint_probe(const char *path)
{
    char part[PATH_MAX];
    tutti_status status = part_name(path, part);
    if (status) return status;
    int file = open(part, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0)
        return tutti_fail(
            TUTTI_ERR_IO, "checkpoint %s: cannot create %s: %s", path, part, strerror(errno));
    close(file);
    unlink(part);
    return TUTTI_OK;
}
