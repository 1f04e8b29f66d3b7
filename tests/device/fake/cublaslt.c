/* cuBLASLt: products with an epilogue, as Tutti calls them. It refuses what the library refuses, and what is not known
 * here; what that would do without a word, and what is wrong with it, ends the process: an algorithm that is chosen at
 * each call, for addresses that are more aligned than they are, or that adds parts of a sum in the result's type;
 * a bias that it would read as bf16. It has no algorithm with an epilogue for a result of one row. */
#include "tests/device/fake/product.h"

#include <cublasLt.h>
#include <stdlib.h>
#include <string.h>

static const char call[] = "cublasLtMatmul";

/* The library's structs, which programs do not look into, begin with these. */
typedef struct desc {
    cublasComputeType_t compute;
    cudaDataType_t scale;
    int32_t transposed[2];
    uint32_t epilogue;
    const void *vector;
} desc;

typedef struct layout {
    cudaDataType_t type;
    uint64_t rows, columns;
    int64_t lead;
} layout;

typedef struct preference {
    uint64_t workspace;
    uint32_t schemes, align[4]; /* of A, B, C and D */
} preference;

typedef struct choice {
    uint64_t of;    /* what it was chosen for */
    uint64_t align; /* of all addresses */
    uint64_t workspace;
    uint32_t schemes;
} choice;

_Static_assert(sizeof(desc) <= sizeof(cublasLtMatmulDescOpaque_t), "it has room");
_Static_assert(sizeof(layout) <= sizeof(cublasLtMatrixLayoutOpaque_t), "it has room");
_Static_assert(sizeof(preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t), "it has room");
_Static_assert(sizeof(choice) <= sizeof(cublasLtMatmulAlgo_t), "it has room");

cublasStatus_t cublasLtMatmulDescCreate(
    cublasLtMatmulDesc_t *of, cublasComputeType_t compute, cudaDataType_t scale)
{
    *of = calloc(1, sizeof **of);
    if (!*of) return CUBLAS_STATUS_ALLOC_FAILED;
    *(desc *)*of =
        (desc){compute, scale, {CUBLAS_OP_N, CUBLAS_OP_N}, CUBLASLT_EPILOGUE_DEFAULT, NULL};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t of)
{
    free(of);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t take(void *to, const void *value, size_t bytes, size_t has)
{
    if (!value || bytes != has) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(to, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(
    cublasLtMatmulDesc_t of, cublasLtMatmulDescAttributes_t what, const void *value, size_t bytes)
{
    desc *d = (desc *)of;
    if (what == CUBLASLT_MATMUL_DESC_TRANSA)
        return take(&d->transposed[0], value, bytes, sizeof d->transposed[0]);
    if (what == CUBLASLT_MATMUL_DESC_TRANSB)
        return take(&d->transposed[1], value, bytes, sizeof d->transposed[1]);
    if (what == CUBLASLT_MATMUL_DESC_EPILOGUE)
        return take(&d->epilogue, value, bytes, sizeof d->epilogue);
    if (what == CUBLASLT_MATMUL_DESC_BIAS_POINTER)
        return take(&d->vector, value, bytes, sizeof d->vector);
    return CUBLAS_STATUS_NOT_SUPPORTED; /* by this fake */
}

cublasStatus_t cublasLtMatrixLayoutCreate(
    cublasLtMatrixLayout_t *of, cudaDataType_t type, uint64_t rows, uint64_t columns, int64_t lead)
{
    *of = calloc(1, sizeof **of);
    if (!*of) return CUBLAS_STATUS_ALLOC_FAILED;
    *(layout *)*of = (layout){type, rows, columns, lead};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t of)
{
    free(of);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *of)
{
    *of = calloc(1, sizeof **of);
    if (!*of) return CUBLAS_STATUS_ALLOC_FAILED;
    *(preference *)*of = (preference){0, CUBLASLT_REDUCTION_SCHEME_MASK, {256, 256, 256, 256}};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t of)
{
    free(of);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t of,
    cublasLtMatmulPreferenceAttributes_t what, const void *value, size_t bytes)
{
    preference *p = (preference *)of;
    if (what == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
        return take(&p->workspace, value, bytes, sizeof p->workspace);
    if (what == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK)
        return take(&p->schemes, value, bytes, sizeof p->schemes);
    const int matrix = (int)what - (int)CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
    if (matrix >= 0 && matrix < 4)
        return take(&p->align[matrix], value, bytes, sizeof p->align[matrix]);
    return CUBLAS_STATUS_NOT_SUPPORTED; /* by this fake */
}

static product_matrix matrix_of(const void *address, const layout *l, int32_t transposed)
{
    const int turned = transposed != CUBLAS_OP_N;
    return product_matrix_of(address, l->type, (cublasOperation_t)transposed,
        turned ? l->columns : l->rows, turned ? l->rows : l->columns, (size_t)l->lead);
}

static size_t rows_of(const product_matrix *m)
{
    return m->transposed ? m->columns : m->rows;
}

static size_t columns_of(const product_matrix *m)
{
    return m->transposed ? m->rows : m->columns;
}

static product product_of(const desc *of, const layout *a, const layout *b, const layout *d,
    const void *A, const void *B, void *D)
{
    const char *drops = getenv("TUTTI_FAKE_DROPS_NANS");
    product p = {.call = call,
        .a = matrix_of(A, a, of->transposed[0]),
        .b = matrix_of(B, b, of->transposed[1]),
        .c = matrix_of(D, d, CUBLAS_OP_N),
        .adds_bias = of->epilogue & CUBLASLT_EPILOGUE_BIAS,
        .rectifies = of->epilogue & CUBLASLT_EPILOGUE_RELU,
        .sums = of->epilogue == CUBLASLT_EPILOGUE_BGRADB,
        .drops_nans = drops && !strcmp(drops, "1"),
        .vector = of->vector,
        .tf32 = a->type == CUDA_R_32F && of->compute == CUBLAS_COMPUTE_32F_FAST_TF32};
    p.depth = columns_of(&p.a);
    return p;
}

static int is_known(const desc *of, const product *p)
{
    const uint32_t e = of->epilogue;
    const int compute =
        of->compute == CUBLAS_COMPUTE_32F || of->compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    const int epilogue = e == CUBLASLT_EPILOGUE_DEFAULT || e == CUBLASLT_EPILOGUE_RELU ||
                         e == CUBLASLT_EPILOGUE_BIAS || e == CUBLASLT_EPILOGUE_RELU_BIAS ||
                         e == CUBLASLT_EPILOGUE_BGRADB;
    return compute && epilogue && of->scale == CUDA_R_32F && product_is_known(p) &&
           (e == CUBLASLT_EPILOGUE_DEFAULT || p->c.rows > 1) &&
           (!p->sums || (!p->a.transposed && p->b.transposed && p->c.dtype == TUTTI_F32));
}

static int is_product(const product *p)
{
    return rows_of(&p->a) == p->c.rows && columns_of(&p->b) == p->c.columns &&
           rows_of(&p->b) == p->depth;
}

/* FNV-1a */
static uint64_t add(uint64_t hash, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return hash;
}

static uint64_t hash_of(const desc *of, const layout *a, const layout *b, const layout *d)
{
    const layout *const layouts[] = {a, b, d};
    uint64_t hash = 14695981039346656037u;
    hash = add(hash, &of->compute, sizeof of->compute);
    hash = add(hash, of->transposed, sizeof of->transposed);
    hash = add(hash, &of->epilogue, sizeof of->epilogue);
    for (int i = 0; i < 3; i++) {
        hash = add(hash, &layouts[i]->type, sizeof layouts[i]->type);
        hash = add(hash, &layouts[i]->rows, sizeof layouts[i]->rows);
        hash = add(hash, &layouts[i]->columns, sizeof layouts[i]->columns);
        hash = add(hash, &layouts[i]->lead, sizeof layouts[i]->lead);
    }
    return hash;
}

/* What an address is known to be divided by; of none, as much as the library likes. */
static uint64_t alignment_of(const void *address)
{
    const uint64_t bits = (uint64_t)(uintptr_t)address;
    return bits ? bits & -bits : 256;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t of,
    cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
    cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preferred, int wanted,
    cublasLtMatmulHeuristicResult_t results[], int *count)
{
    enum { WORKSPACE = 4 << 20 };
    const desc *what = (const desc *)of;
    const preference *p = (const preference *)preferred;
    const product asked =
        product_of(what, (const layout *)a, (const layout *)b, (const layout *)d, NULL, NULL, NULL);
    *count = 0;
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (wanted < 1 || c != d || !is_product(&asked)) return CUBLAS_STATUS_INVALID_VALUE;
    if (!is_known(what, &asked)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if ((asked.adds_bias || asked.sums) && asked.c.dtype == TUTTI_BF16)
        fake_fail("%s takes a vector of bf16 beside a result of bf16", call);
    choice chosen = {.of = hash_of(what, (const layout *)a, (const layout *)b, (const layout *)d),
        .align = alignment_of(what->vector),
        .workspace = p->workspace < WORKSPACE ? 0 : WORKSPACE,
        .schemes = p->schemes};
    for (int m = 0; m < 4; m++)
        if (p->align[m] > chosen.align) chosen.align = p->align[m];
    memset(&results[0], 0, sizeof results[0]);
    memcpy(&results[0].algo, &chosen, sizeof chosen);
    results[0].workspaceSize = chosen.workspace;
    *count = 1;
    return CUBLAS_STATUS_SUCCESS;
}

/* What the library would not say. */
static void check_use(const product *p, const choice *chosen, cudaStream_t stream)
{
    const void *const addresses[] = {p->a.address, p->b.address, p->c.address, p->vector};
    compute_check_stream(call, stream);
    for (int i = 0; i < 3 + (p->adds_bias || p->sums); i++)
        if (alignment_of(addresses[i]) < chosen->align)
            fake_fail("%s by an algorithm for addresses that %llu divides", call,
                (unsigned long long)chosen->align);
    if (chosen->schemes &
        (CUBLASLT_REDUCTION_SCHEME_INPLACE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE))
        fake_fail("%s may add parts of a sum in the type of its result", call);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t of, const void *alpha,
    const void *A, cublasLtMatrixLayout_t a, const void *B, cublasLtMatrixLayout_t b,
    const void *beta, const void *C, cublasLtMatrixLayout_t c, void *D, cublasLtMatrixLayout_t d,
    const cublasLtMatmulAlgo_t *algorithm, void *workspace, size_t bytes, cudaStream_t stream)
{
    const desc *what = (const desc *)of;
    choice chosen;
    (void)c;
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!algorithm) fake_fail("%s without an algorithm chooses one at each call", call);
    memcpy(&chosen, algorithm, sizeof chosen);
    product p = product_of(what, (const layout *)a, (const layout *)b, (const layout *)d, A, B, D);
    p.workspace = workspace;
    p.bytes = bytes;
    const float one = *(const float *)alpha, zero = *(const float *)beta;
    if (!product_fits(&p) || C != D || (uintptr_t)workspace % 256 || bytes < chosen.workspace ||
        chosen.of != hash_of(what, (const layout *)a, (const layout *)b, (const layout *)d) ||
        ((p.adds_bias || p.sums) && !p.vector))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (one < 1 || one > 1 || zero < 0 || zero > 0) return CUBLAS_STATUS_NOT_SUPPORTED;
    check_use(&p, &chosen, stream);
    product_enqueue(&p, stream);
    return CUBLAS_STATUS_SUCCESS;
}
