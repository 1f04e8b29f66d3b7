/* A build without protobuf-c. */
#include "apps/architecture/onnx.h"
#include "dag/base/log.h"

const char *tutti_architecture_lacks(void)
{
    return "this build has no protobuf-c, which reads ONNX: install libprotobuf-c-dev and "
           "protobuf-c-compiler, and configure again";
}

tutti_status tutti_architecture_from_onnx(
    const char *file, const void *data, size_t bytes, char **text)
{
    (void)data, (void)bytes;
    *text = NULL;
    return tutti_fail(TUTTI_ERR_USAGE, "%s: %s", file, tutti_architecture_lacks());
}

tutti_status tutti_architecture_onnx_weights(const char *file, const void *data, size_t bytes,
    const char *name, const char *text, void **image, size_t *image_bytes)
{
    (void)data, (void)bytes, (void)name, (void)text;
    *image = NULL;
    *image_bytes = 0;
    return tutti_fail(TUTTI_ERR_USAGE, "%s: %s", file, tutti_architecture_lacks());
}
