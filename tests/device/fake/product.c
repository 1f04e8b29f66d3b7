#include "tests/device/fake/product.h"

#include "dag/base/bf16.h"
#include "dag/kernels/dense.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t bytes_of(const product_matrix *m)
{
    return ((m->columns - 1) * m->lead + m->rows) * tutti_dtype_bytes(m->dtype);
}

/* Its columns one after another, without gaps; transposed: its rows. */
static void *packed(const product_matrix *m, int transposed)
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
static void multiply(const product *j, void *a, void *b, void *c)
{
    const int64_t rows = (int64_t)j->c.rows, columns = (int64_t)j->c.columns;
    const int64_t depth = (int64_t)j->depth;
    const cpu_operand of_a = {a, j->c.rows * j->depth, j->a.dtype};
    const cpu_operand of_b = {b, j->c.columns * j->depth, j->b.dtype};
    const cpu_operand of_c = {c, j->c.columns * j->c.rows, j->c.dtype};
    const int wide = j->a.dtype != j->c.dtype;
    if (!j->a.transposed && j->b.transposed)
        compute_run(j->call, &tutti_op_dense_bwd_weights, j->a.dtype,
            &(tutti_dense_desc){.N = depth, .C = rows, .K = columns},
            (cpu_operand[]){of_a, of_b, of_c}, 3);
    else if (!j->a.transposed)
        compute_run(j->call, &tutti_op_dense_bwd_data, j->a.dtype,
            &(tutti_dense_desc){.N = columns, .C = rows, .K = depth},
            (cpu_operand[]){of_b, of_a, of_c}, 3);
    else
        compute_run(j->call, wide ? &tutti_op_dense_wide : &tutti_op_dense, j->a.dtype,
            &(tutti_dense_desc){.N = columns, .C = depth, .K = rows},
            (cpu_operand[]){of_b, of_a, of_c}, 3);
}

/* A gradient in a type of which the CPU has none. */
static int is_lacking(const product *j)
{
    return !j->a.transposed && j->c.dtype != (j->b.transposed ? TUTTI_F32 : j->a.dtype);
}

static float number_at(const void *from, tutti_dtype dtype, size_t i)
{
    return dtype == TUTTI_BF16 ? tutti_bf16_widen(((const uint16_t *)from)[i])
                               : ((const float *)from)[i];
}

static void put_number(void *to, tutti_dtype dtype, size_t i, float number)
{
    if (dtype == TUTTI_BF16)
        ((uint16_t *)to)[i] = tutti_bf16_narrow(number);
    else
        ((float *)to)[i] = number;
}

/* Of c, packed. */
static void add_bias(const product *j, void *c, const float *bias)
{
    for (size_t i = 0; i < j->c.rows * j->c.columns; i++)
        put_number(c, j->c.dtype, i, number_at(c, j->c.dtype, i) + bias[i % j->c.rows]);
}

static void rectify(const product *j, void *c)
{
    for (size_t i = 0; i < j->c.rows * j->c.columns; i++) {
        const float number = number_at(c, j->c.dtype, i);
        const int stays = number > 0 || (isnan(number) && !j->drops_nans);
        if (!stays) put_number(c, j->c.dtype, i, 0);
    }
}

/* c, and the sums of dy's columns, as the CPU's dense layer adds them: db. */
static void multiply_and_sum(const product *j, void *x, void *dy, void *c, float *sums)
{
    const int64_t C = (int64_t)j->c.rows, K = (int64_t)j->c.columns, N = (int64_t)j->depth;
    compute_run(j->call, &tutti_op_dense_bwd_weights, j->a.dtype,
        &(tutti_dense_desc){.N = N, .C = C, .K = K, .bias = 1},
        (cpu_operand[]){{x, j->c.rows * j->depth, j->a.dtype},
            {dy, j->c.columns * j->depth, j->b.dtype}, {c, j->c.columns * j->c.rows, TUTTI_F32},
            {sums, j->c.columns, TUTTI_F32}},
        4);
}

static size_t vector_bytes(const product *j)
{
    return (j->adds_bias ? j->c.rows : j->sums ? j->c.columns : 0) * sizeof(float);
}

static int run(void *arg)
{
    product *j = arg;
    float *vector = (float *)(uintptr_t)j->vector; /* inside by now */
    const size_t element = tutti_dtype_bytes(j->c.dtype);
    void *a = packed(&j->a, 0), *b = packed(&j->b, j->a.transposed && j->b.transposed);
    char *c = compute_room(j->c.columns * j->c.rows * element);
    if (j->bytes) spoil(j->workspace, j->bytes);
    if (j->sums) multiply_and_sum(j, a, b, c, vector);
    if (j->tf32) compute_round_tf32(a, j->c.rows * j->depth);
    if (j->tf32) compute_round_tf32(b, j->c.columns * j->depth);
    if (!j->sums || j->tf32) multiply(j, a, b, c);
    if (j->adds_bias) add_bias(j, c, vector);
    if (j->rectifies) rectify(j, c);
    for (size_t n = 0; n < j->c.columns; n++)
        memcpy(j->c.inside + n * j->c.lead * element, c + n * j->c.rows * element,
            j->c.rows * element);
    free(a);
    free(b);
    free(c);
    free(j);
    return 1;
}

static fake_access access_of(const product_matrix *m, fake_mode mode)
{
    return (fake_access){m->address, bytes_of(m), mode, 1, 0};
}

void product_enqueue(const product *p, cudaStream_t stream)
{
    const size_t more = vector_bytes(p);
    fake_access access[5] = {
        access_of(&p->a, FAKE_READ), access_of(&p->b, FAKE_READ), access_of(&p->c, FAKE_WRITE)};
    int accesses = 3;
    if (p->bytes) access[accesses++] = (fake_access){p->workspace, p->bytes, FAKE_WRITE, 1, 0};
    if (more)
        access[accesses++] = (fake_access){p->vector, more, p->sums ? FAKE_WRITE : FAKE_READ, 1, 0};
    product *copy = compute_room(sizeof *copy);
    *copy = *p;
    product_matrix *const matrices[] = {&copy->a, &copy->b, &copy->c};
    for (int m = 0; m < 3; m++)
        matrices[m]->inside = fake_inside(p->call, matrices[m]->address, bytes_of(matrices[m]));
    if (p->bytes) copy->workspace = fake_inside(p->call, p->workspace, p->bytes);
    if (more) copy->vector = fake_inside(p->call, p->vector, more);
    const fake_work work = {.call = p->call,
        .run = run,
        .arg = copy,
        .bytes = sizeof *copy,
        .access = access,
        .accesses = accesses};
    fake_enqueue(stream, &work);
}

static tutti_dtype dtype_of(cudaDataType_t type)
{
    return type == CUDA_R_32F ? TUTTI_F32 : type == CUDA_R_16BF ? TUTTI_BF16 : TUTTI_DTYPE_COUNT;
}

product_matrix product_matrix_of(const void *address, cudaDataType_t type,
    cublasOperation_t transposed, size_t rows, size_t columns, size_t lead)
{
    const int turned = transposed != CUBLAS_OP_N;
    return (product_matrix){address, NULL, dtype_of(type), turned ? columns : rows,
        turned ? rows : columns, lead, turned};
}

static int fits(const product_matrix *m)
{
    return m->address && m->lead >= m->rows && m->lead < 1u << 31;
}

int product_fits(const product *p)
{
    return fits(&p->a) && fits(&p->b) && fits(&p->c);
}

int product_is_known(const product *p)
{
    return p->a.dtype == p->b.dtype && p->a.dtype != TUTTI_DTYPE_COUNT &&
           (p->c.dtype == p->a.dtype || p->c.dtype == TUTTI_F32) && !is_lacking(p);
}
