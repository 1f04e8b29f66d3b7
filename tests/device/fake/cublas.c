/* cuBLAS: handles, which StarPU makes, too, and matrix products as Tutti calls them. It refuses what
 * the library refuses; what that would do without a word, and what is wrong with it, ends the
 * process: a product on the default stream, in a workspace of the library's own (which streams
 * share, so that results may differ from run to run), with atomic sums, or with sums of bf16.
 * A handle takes memory of the device for itself, as the library's does. */
#include "dag/kernels/dense.h"
#include "tests/device/fake/compute.h"

#include <cublas_v2.h>
#include <stdlib.h>
#include <string.h>

/* Of the interface before version 2, which cublas_v2.h does not have: StarPU calls it. */
unsigned cublasInit(void);
unsigned cublasShutdown(void);
unsigned cublasSetKernelStream(cudaStream_t stream);

struct cublasContext {
    cudaStream_t stream;
    void *workspace; /* NULL: the library's */
    size_t bytes;
    cublasMath_t math;
    cublasAtomicsMode_t atomics;
    void *own;
};
enum { OWN = 256 << 10 };

unsigned cublasInit(void)
{
    return CUBLAS_STATUS_SUCCESS;
}

unsigned cublasShutdown(void)
{
    return CUBLAS_STATUS_SUCCESS;
}

unsigned cublasSetKernelStream(cudaStream_t stream)
{
    (void)stream; /* that interface has nothing here that would use it */
    return CUBLAS_STATUS_SUCCESS;
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_SUCCESS         ? "CUBLAS_STATUS_SUCCESS"
           : status == CUBLAS_STATUS_ALLOC_FAILED  ? "CUBLAS_STATUS_ALLOC_FAILED"
           : status == CUBLAS_STATUS_INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE"
           : status == CUBLAS_STATUS_NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED"
                                                   : "CUBLAS_STATUS_NOT_INITIALIZED";
}

cublasStatus_t cublasCreate(cublasHandle_t *handle)
{
    *handle = calloc(1, sizeof **handle);
    if (*handle) (*handle)->own = fake_own(OWN);
    if (*handle && (*handle)->own) return CUBLAS_STATUS_SUCCESS;
    free(*handle);
    *handle = NULL;
    return CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle)
{
    fake_disown(handle->own);
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream)
{
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->stream = stream;
    handle->workspace = NULL;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t bytes)
{
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if ((uintptr_t)workspace % 256) return CUBLAS_STATUS_INVALID_VALUE;
    handle->workspace = workspace;
    handle->bytes = bytes;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->math = mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode)
{
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->atomics = mode;
    return CUBLAS_STATUS_SUCCESS;
}

/* A matrix, column after column, `lead` elements apart. */
typedef struct matrix {
    const void *address; /* as the program knows it */
    char *inside;
    tutti_dtype dtype;
    size_t rows, columns, lead;
    int transposed;
} matrix;

typedef struct job {
    matrix a, b, c;
    size_t depth;
    int tf32;
    void *workspace; /* inside */
    size_t bytes;
} job;

static const char call[] = "cublasGemmEx";

static size_t bytes_of(const matrix *m)
{
    return ((m->columns - 1) * m->lead + m->rows) * tutti_dtype_bytes(m->dtype);
}

/* Its columns one after another, without gaps; transposed: its rows. */
static void *packed(const matrix *m, int transposed)
{
    const size_t element = tutti_dtype_bytes(m->dtype);
    char *to = compute_room(m->rows * m->columns * element);
    for (size_t c = 0; c < m->columns; c++)
        for (size_t r = 0; r < m->rows; r++)
            memcpy(to + (transposed ? r * m->columns + c : c * m->rows + r) * element,
                m->inside + (c * m->lead + r) * element, element);
    return to;
}

/* What a product leaves in its workspace: at both ends, since all of it takes longer than the product. */
static void spoil(char *workspace, size_t bytes)
{
    enum { MOST = 256 << 10 };
    const size_t each = bytes < MOST ? bytes : MOST;
    memset(workspace, 0xff, each);
    memset(workspace + bytes - each, 0xff, each);
}

/* c = op(a) op(b), as a pass of the CPU's dense layer: the library of the CPU may add in another order in another pass.
 *   dx = w dy, dw = x dy^T    where a is as it is
 *   y = w^T x                 else, with w = op(a)^T and x = op(b) */
static void multiply(const job *j, void *a, void *b, void *c)
{
    const int64_t rows = (int64_t)j->c.rows, columns = (int64_t)j->c.columns;
    const int64_t depth = (int64_t)j->depth;
    const cpu_operand of_a = {a, j->c.rows * j->depth, j->a.dtype};
    const cpu_operand of_b = {b, j->c.columns * j->depth, j->b.dtype};
    const cpu_operand of_c = {c, j->c.columns * j->c.rows, j->c.dtype};
    const int wide = j->a.dtype != j->c.dtype;
    if (!j->a.transposed && j->b.transposed)
        compute_run(call, &tutti_op_dense_bwd_weights, j->a.dtype,
            &(tutti_dense_desc){.N = depth, .C = rows, .K = columns},
            (cpu_operand[]){of_a, of_b, of_c}, 3);
    else if (!j->a.transposed)
        compute_run(call, &tutti_op_dense_bwd_data, j->a.dtype,
            &(tutti_dense_desc){.N = columns, .C = rows, .K = depth},
            (cpu_operand[]){of_b, of_a, of_c}, 3);
    else
        compute_run(call, wide ? &tutti_op_dense_wide : &tutti_op_dense, j->a.dtype,
            &(tutti_dense_desc){.N = columns, .C = depth, .K = rows},
            (cpu_operand[]){of_b, of_a, of_c}, 3);
}

/* A gradient in a type of which the CPU has none. */
static int is_lacking(const job *j)
{
    return !j->a.transposed && j->c.dtype != (j->b.transposed ? TUTTI_F32 : j->a.dtype);
}

static int run(void *arg)
{
    job *j = arg;
    const size_t element = tutti_dtype_bytes(j->c.dtype);
    void *a = packed(&j->a, 0), *b = packed(&j->b, j->a.transposed && j->b.transposed);
    char *c = compute_room(j->c.columns * j->c.rows * element);
    spoil(j->workspace, j->bytes);
    if (j->tf32) compute_round_tf32(a, j->c.rows * j->depth);
    if (j->tf32) compute_round_tf32(b, j->c.columns * j->depth);
    multiply(j, a, b, c);
    for (size_t n = 0; n < j->c.columns; n++)
        memcpy(j->c.inside + n * j->c.lead * element, c + n * j->c.rows * element,
            j->c.rows * element);
    free(a);
    free(b);
    free(c);
    free(j);
    return 1;
}

static fake_access access_of(const matrix *m, fake_mode mode)
{
    return (fake_access){m->address, bytes_of(m), mode, 1, 0};
}

static void enqueue(cublasHandle_t handle, const job *j)
{
    const fake_access access[] = {access_of(&j->a, FAKE_READ), access_of(&j->b, FAKE_READ),
        access_of(&j->c, FAKE_WRITE), {handle->workspace, handle->bytes, FAKE_WRITE, 1, 0}};
    job *copy = compute_room(sizeof *copy);
    *copy = *j;
    matrix *const matrices[] = {&copy->a, &copy->b, &copy->c};
    for (int m = 0; m < 3; m++)
        matrices[m]->inside = fake_inside(call, matrices[m]->address, bytes_of(matrices[m]));
    copy->workspace = fake_inside(call, handle->workspace, handle->bytes);
    copy->bytes = handle->bytes;
    const fake_work work = {.call = call,
        .run = run,
        .arg = copy,
        .bytes = sizeof *copy,
        .access = access,
        .accesses = 4};
    fake_enqueue(handle->stream, &work);
}

/* What the library would not say. */
static void check_use(cublasHandle_t handle, const job *j)
{
    compute_check_stream(call, handle->stream);
    if (!handle->workspace)
        fake_fail("%s in a workspace of the library's own: its handle was given none since its "
                  "stream was set",
            call);
    if (handle->bytes < 4 << 20)
        fake_fail(
            "%s in a workspace of %zu bytes, which is less than recommended", call, handle->bytes);
    if (handle->atomics != CUBLAS_ATOMICS_NOT_ALLOWED)
        fake_fail("%s with atomic sums is not deterministic", call);
    if (j->a.dtype == TUTTI_BF16 &&
        !((unsigned)handle->math & CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION))
        fake_fail("%s may add in bf16", call);
}

static tutti_dtype dtype_of(cudaDataType_t type)
{
    return type == CUDA_R_32F ? TUTTI_F32 : type == CUDA_R_16BF ? TUTTI_BF16 : TUTTI_DTYPE_COUNT;
}

/* As it is stored: `rows` by `columns` if it is not transposed. */
static matrix matrix_of(const void *address, cudaDataType_t type, cublasOperation_t transposed,
    int rows, int columns, int lead)
{
    const int turned = transposed != CUBLAS_OP_N;
    return (matrix){address, NULL, dtype_of(type), (size_t)(turned ? columns : rows),
        (size_t)(turned ? rows : columns), (size_t)lead, turned};
}

static int fits(const matrix *m)
{
    return m->address && m->lead >= m->rows && m->lead < 1u << 31;
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
    cublasOperation_t transb, int m, int n, int k, const void *alpha, const void *A,
    cudaDataType_t Atype, int lda, const void *B, cudaDataType_t Btype, int ldb, const void *beta,
    void *C, cudaDataType_t Ctype, int ldc, cublasComputeType_t compute, cublasGemmAlgo_t algo)
{
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (m < 1 || n < 1 || k < 1 || lda < 1 || ldb < 1 || ldc < 1 || !alpha || !beta)
        return CUBLAS_STATUS_INVALID_VALUE;
    const job j = {.a = matrix_of(A, Atype, transa, m, k, lda),
        .b = matrix_of(B, Btype, transb, k, n, ldb),
        .c = matrix_of(C, Ctype, CUBLAS_OP_N, m, n, ldc),
        .depth = (size_t)k,
        .tf32 =
            Atype == CUDA_R_32F && (compute == CUBLAS_COMPUTE_32F_FAST_TF32 ||
                                       ((unsigned)handle->math & 3) == CUBLAS_TF32_TENSOR_OP_MATH)};
    if (!fits(&j.a) || !fits(&j.b) || !fits(&j.c)) return CUBLAS_STATUS_INVALID_VALUE;
    const float one = *(const float *)alpha, zero = *(const float *)beta;
    const int known = compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    if (Atype != Btype || j.a.dtype == TUTTI_DTYPE_COUNT ||
        (j.c.dtype != j.a.dtype && j.c.dtype != TUTTI_F32) || !known || is_lacking(&j) ||
        algo != CUBLAS_GEMM_DEFAULT || one < 1 || one > 1 || zero < 0 || zero > 0)
        return CUBLAS_STATUS_NOT_SUPPORTED; /* by the library, or this fake */
    check_use(handle, &j);
    enqueue(handle, &j);
    return CUBLAS_STATUS_SUCCESS;
}
