#include "dag/kernels/cudnn_parts.h"

typedef tutti_cudnn_part part;

part tutti_cudnn_make(tutti_cudnn *k, cudnnBackendDescriptorType_t type)
{
    part made = NULL;
    if (!k->status) k->status = cudnnBackendCreateDescriptor(type, &made);
    return made;
}

void tutti_cudnn_set(tutti_cudnn *k, part of, cudnnBackendAttributeName_t name,
    cudnnBackendAttributeType_t type, int64_t count, const void *values)
{
    if (!k->status) k->status = cudnnBackendSetAttribute(of, name, type, count, values);
}

void tutti_cudnn_finish(tutti_cudnn *k, part made)
{
    if (!k->status) k->status = cudnnBackendFinalize(made);
}

void tutti_cudnn_destroy(part made)
{
    if (made) cudnnBackendDestroyDescriptor(made);
}

cudnnStatus_t tutti_cudnn_start(const tutti_cudnn *k,
    const void *const tensors[TUTTI_CUDNN_TENSORS], void *workspace, cudaStream_t stream)
{
    static const int64_t numbers[TUTTI_CUDNN_TENSORS] = {
        TUTTI_CUDNN_FROM0, TUTTI_CUDNN_FROM1, TUTTI_CUDNN_TO, TUTTI_CUDNN_FROM_BIAS};
    part pack = NULL;
    cudnnStatus_t s = cudnnSetStream(k->handle, stream);
    if (!s) s = cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack);
    if (!s)
        s = cudnnBackendSetAttribute(
            pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, k->tensors, numbers);
    if (!s)
        s = cudnnBackendSetAttribute(
            pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, k->tensors, tensors);
    if (!s)
        s = cudnnBackendSetAttribute(
            pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
    if (!s) s = cudnnBackendFinalize(pack);
    if (!s) s = cudnnBackendExecute(k->handle, k->parts[TUTTI_CUDNN_PLAN], pack);
    tutti_cudnn_destroy(pack);
    return s;
}
