#include "apps/train/checkpoint.h"
#include "apps/train/hash.h"
#include "dag/base/file.h"
#include "dag/base/little_endian.h"
#include "dag/base/log.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tensors are written as they lie in memory");

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

/* The header's text, padded with spaces so that the data are aligned to 8 bytes; *length includes the padding. NULL: no
 * memory. */
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

/* Reads back what is on the disk, and checks it. */
static tutti_status verify(const char *part)
{
    tutti_checkpoint *checkpoint;
    tutti_status status = tutti_checkpoint_open(part, &checkpoint);
    if (status)
        return tutti_fail(TUTTI_ERR_IO,
            "checkpoint: could not be saved, because %s does not hold what was written (an earlier "
            "checkpoint is untouched)",
            part);
    tutti_checkpoint_close(checkpoint);
    return TUTTI_OK;
}

static tutti_status write_file(const tutti_checkpoint_place *place, const char *header,
    size_t length, int tensors, const tutti_checkpoint_tensor tensor[])
{
    unsigned char prefix[8];
    tutti_file file;
    const tutti_file_options options = {.what = "checkpoint",
        .path = place->path,
        .keep = place->keep,
        .anew = place->anew,
        .verify = verify};
    tutti_status status = tutti_file_begin(&options, &file);
    if (status) return status;
    tutti_little_put(prefix, length, 8);
    tutti_file_write(&file, prefix, sizeof prefix);
    tutti_file_write(&file, header, length);
    for (int i = 0; i < tensors; i++)
        tutti_file_write(&file, tensor[i].data, tensor_bytes(&tensor[i]));
    return tutti_file_end(&file);
}

tutti_status tutti_checkpoint_save(const tutti_checkpoint_place *place, int pairs,
    const tutti_checkpoint_pair pair[], int tensors, const tutti_checkpoint_tensor tensor[])
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
        return tutti_fail(TUTTI_ERR_NOMEM, "checkpoint %s: no memory for its header", place->path);
    status = write_file(place, header, length, tensors, tensor);
    free(header);
    return status;
}
