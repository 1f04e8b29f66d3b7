#include "dag/kernels/onednn.h"

#include "dag/base/log.h"

#include <dnnl.h>
#include <stdlib.h>

#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
#include <omp.h>
#endif

enum { MAX_MEMORIES = 12, MAX_STEPS = 4, MAX_ARGS = 6, NO_BUFFER = -1 };

/* One primitive and its arguments. */
typedef struct step {
    dnnl_primitive_t primitive;
    int args;
    dnnl_exec_arg_t arg[MAX_ARGS];
} step;

typedef struct kernel {
    const char *name;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    int memories, steps;
    dnnl_memory_t memory[MAX_MEMORIES];
    int buffer[MAX_MEMORIES]; /* the caller's buffer that this memory is, or NO_BUFFER */
    step step[MAX_STEPS];
} kernel;

/* An argument of a primitive: its id, how to query its layout, and the buffer that holds it with
 * that buffer's layout. */
typedef struct argument {
    int id;
    dnnl_query_t query;
    int index; /* of the query: 1 for a bias among the weights */
    int written;
    int buffer;
    const struct layout *layout; /* the caller's; NULL: the library's own */
} argument;

/* ---- The calling thread alone ---- */

#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
static int threads_one(void)
{
    int before = omp_get_max_threads();
    omp_set_num_threads(1);
    return before;
}

static void threads_restore(int before)
{
    omp_set_num_threads(before);
}
#else /* m4/onednn.m4 accepts no library but a sequential one here */
static int threads_one(void)
{
    return 1;
}

static void threads_restore(int before)
{
    (void)before;
}
#endif

/* ---- Where 2.x and 3.x differ: memory descriptors are structs or handles, and 3.x has no
 * operation descriptors ---- */

typedef struct layout {
    dnnl_memory_desc_t md;
} layout;

/* A layer's descriptor in the library's form. */
typedef struct problem {
    dnnl_alg_kind_t algorithm;
    layout x, w, dw, b, y; /* w, dw, b unused by pooling; b zero without bias */
    layout user_w;         /* (K,R,S,C) or (K,C), of w or dw, which have layouts to compute in */
    dnnl_dims_t stride, pad, pad_end, window, dilation; /* padding before and behind the image */
    dnnl_primitive_attr_t attr;
} problem;

static dnnl_data_type_t library_type(tutti_dtype dtype)
{
    return dtype == TUTTI_BF16 ? dnnl_bf16 : dnnl_f32;
}

#if DNNL_VERSION_MAJOR >= 3

typedef const_dnnl_memory_desc_t layout_ref;

static layout_ref ref(const layout *l)
{
    return l->md;
}

static dnnl_status_t layout_open(
    layout *l, int ndims, const dnnl_dims_t dims, tutti_dtype dtype, dnnl_format_tag_t tag)
{
    return dnnl_memory_desc_create_with_tag(&l->md, ndims, dims, library_type(dtype), tag);
}

static void layout_close(layout *l)
{
    if (l->md) dnnl_memory_desc_destroy(l->md);
}

/* The library's choice. */
static dnnl_format_tag_t conv_weights_tag(
    const tutti_conv_desc *d, tutti_pass pass, tutti_dtype dtype)
{
    (void)d;
    (void)pass;
    (void)dtype;
    return dnnl_format_tag_any;
}

static dnnl_status_t conv_pd(const problem *p, tutti_pass pass, dnnl_engine_t engine,
    dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd)
{
    switch (pass) {
    case TUTTI_PASS_FORWARD:
        return dnnl_convolution_forward_primitive_desc_create(pd, engine, dnnl_forward_training,
            p->algorithm, ref(&p->x), ref(&p->w), ref(&p->b), ref(&p->y), p->stride, p->dilation,
            p->pad, p->pad_end, p->attr);
    case TUTTI_PASS_BACKWARD_DATA:
        return dnnl_convolution_backward_data_primitive_desc_create(pd, engine, p->algorithm,
            ref(&p->x), ref(&p->w), ref(&p->y), p->stride, p->dilation, p->pad, p->pad_end, hint,
            p->attr);
    default:
        return dnnl_convolution_backward_weights_primitive_desc_create(pd, engine, p->algorithm,
            ref(&p->x), ref(&p->dw), ref(&p->b), ref(&p->y), p->stride, p->dilation, p->pad,
            p->pad_end, hint, p->attr);
    }
}

static dnnl_status_t dense_pd(const problem *p, tutti_pass pass, dnnl_engine_t engine,
    dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd)
{
    switch (pass) {
    case TUTTI_PASS_FORWARD:
        return dnnl_inner_product_forward_primitive_desc_create(pd, engine, dnnl_forward_training,
            ref(&p->x), ref(&p->w), ref(&p->b), ref(&p->y), p->attr);
    case TUTTI_PASS_BACKWARD_DATA:
        return dnnl_inner_product_backward_data_primitive_desc_create(
            pd, engine, ref(&p->x), ref(&p->w), ref(&p->y), hint, p->attr);
    default:
        return dnnl_inner_product_backward_weights_primitive_desc_create(
            pd, engine, ref(&p->x), ref(&p->dw), ref(&p->b), ref(&p->y), hint, p->attr);
    }
}

static dnnl_status_t pool_pd(const problem *p, tutti_pass pass, dnnl_engine_t engine,
    dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd)
{
    if (pass == TUTTI_PASS_FORWARD)
        return dnnl_pooling_forward_primitive_desc_create(pd, engine, dnnl_forward_training,
            p->algorithm, ref(&p->x), ref(&p->y), p->stride, p->window, p->dilation, p->pad,
            p->pad_end, p->attr);
    return dnnl_pooling_backward_primitive_desc_create(pd, engine, p->algorithm, ref(&p->x),
        ref(&p->y), p->stride, p->window, p->dilation, p->pad, p->pad_end, hint, p->attr);
}

#else /* 2.x */

typedef const dnnl_memory_desc_t *layout_ref;

static layout_ref ref(const layout *l)
{
    return &l->md;
}

static dnnl_status_t layout_open(
    layout *l, int ndims, const dnnl_dims_t dims, tutti_dtype dtype, dnnl_format_tag_t tag)
{
    return dnnl_memory_desc_init_by_tag(&l->md, ndims, dims, library_type(dtype), tag);
}

static void layout_close(layout *l)
{
    (void)l;
}

/* The library's choice, which for forward passes in float32 with AVX-512 is the layout of its batch-reduce
 * kernels. Its other kernels are faster where filters are few and the output is not yet cached, as
 * in a training step (3x3, batch 64, 16 to 16 channels at 32x32: 9.0 against 10.2 ms for six; 32 to
 * 32 at 16x16: 5.8 against 6.4 ms for five; but 64 to 64 at 8x8: 5.7 against 5.4). They are also
 * faster where weights are many, because their reorder is (512 to 512 at 4x4: 22 against 35 ms). */
static dnnl_format_tag_t conv_weights_tag(
    const tutti_conv_desc *d, tutti_pass pass, tutti_dtype dtype)
{
    enum { FEW_FILTERS = 32, MANY_WEIGHTS = 1 << 20 };
    int avx512 =
        (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
    int whole = d->C % 16 == 0 && d->K % 16 == 0 && tutti_conv_groups(d) == 1;
    int better = d->K <= FEW_FILTERS || d->K * d->R * d->S * d->C >= MANY_WEIGHTS;
    int ours = dtype == TUTTI_F32 && pass == TUTTI_PASS_FORWARD && avx512 && whole && better;
    return ours ? dnnl_OIhw16i16o : dnnl_format_tag_any;
}

static dnnl_status_t conv_pd(const problem *p, tutti_pass pass, dnnl_engine_t engine,
    dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd)
{
    dnnl_convolution_desc_t d;
    dnnl_status_t s;
    if (pass == TUTTI_PASS_FORWARD)
        s = dnnl_convolution_forward_desc_init(&d, dnnl_forward_training, p->algorithm, ref(&p->x),
            ref(&p->w), ref(&p->b), ref(&p->y), p->stride, p->pad, p->pad_end);
    else if (pass == TUTTI_PASS_BACKWARD_DATA)
        s = dnnl_convolution_backward_data_desc_init(
            &d, p->algorithm, ref(&p->x), ref(&p->w), ref(&p->y), p->stride, p->pad, p->pad_end);
    else
        s = dnnl_convolution_backward_weights_desc_init(&d, p->algorithm, ref(&p->x), ref(&p->dw),
            ref(&p->b), ref(&p->y), p->stride, p->pad, p->pad_end);
    return s ? s : dnnl_primitive_desc_create(pd, &d, p->attr, engine, hint);
}

static dnnl_status_t dense_pd(const problem *p, tutti_pass pass, dnnl_engine_t engine,
    dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd)
{
    dnnl_inner_product_desc_t d;
    dnnl_status_t s;
    if (pass == TUTTI_PASS_FORWARD)
        s = dnnl_inner_product_forward_desc_init(
            &d, dnnl_forward_training, ref(&p->x), ref(&p->w), ref(&p->b), ref(&p->y));
    else if (pass == TUTTI_PASS_BACKWARD_DATA)
        s = dnnl_inner_product_backward_data_desc_init(&d, ref(&p->x), ref(&p->w), ref(&p->y));
    else
        s = dnnl_inner_product_backward_weights_desc_init(
            &d, ref(&p->x), ref(&p->dw), ref(&p->b), ref(&p->y));
    return s ? s : dnnl_primitive_desc_create(pd, &d, p->attr, engine, hint);
}

static dnnl_status_t pool_pd(const problem *p, tutti_pass pass, dnnl_engine_t engine,
    dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd)
{
    dnnl_pooling_desc_t d;
    dnnl_status_t s;
    if (pass == TUTTI_PASS_FORWARD)
        s = dnnl_pooling_forward_desc_init(&d, dnnl_forward_training, p->algorithm, ref(&p->x),
            ref(&p->y), p->stride, p->window, p->pad, p->pad_end);
    else
        s = dnnl_pooling_backward_desc_init(
            &d, p->algorithm, ref(&p->x), ref(&p->y), p->stride, p->window, p->pad, p->pad_end);
    return s ? s : dnnl_primitive_desc_create(pd, &d, p->attr, engine, hint);
}

#endif

typedef dnnl_status_t pd_maker(const problem *p, tutti_pass pass, dnnl_engine_t engine,
    dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd);

/* ---- Problems: descriptors as the library sees them ---- */

static void problem_close(problem *p)
{
    layout_close(&p->x);
    layout_close(&p->w);
    layout_close(&p->dw);
    layout_close(&p->b);
    layout_close(&p->y);
    layout_close(&p->user_w);
    if (p->attr) dnnl_primitive_attr_destroy(p->attr);
}

/* We provide the scratch memory, so that kernels never share it. */
static dnnl_status_t problem_attr(problem *p)
{
    dnnl_status_t s = dnnl_primitive_attr_create(&p->attr);
    return s ? s : dnnl_primitive_attr_set_scratchpad_mode(p->attr, dnnl_scratchpad_mode_user);
}

/* The type of the weights that a pass reads or writes. */
static tutti_dtype weights_type(tutti_pass pass, tutti_dtype dtype)
{
    return pass == TUTTI_PASS_BACKWARD_WEIGHTS ? TUTTI_F32 : dtype;
}

static dnnl_status_t problem_conv(
    problem *p, const tutti_conv_desc *d, tutti_pass pass, tutti_dtype dtype)
{
    int64_t P = tutti_conv_out(d->H, d->R, d->stride[0], d->pad[0]);
    int64_t Q = tutti_conv_out(d->W, d->S, d->stride[1], d->pad[1]), groups = tutti_conv_groups(d);
    const dnnl_dims_t x = {d->N, d->C, d->H, d->W}, y = {d->N, d->K, P, Q}, b = {d->K};
    const dnnl_dims_t grouped = {groups, d->K / groups, d->C / groups, d->R, d->S};
    const dnnl_dims_t plain = {d->K, d->C, d->R, d->S};
    const int ndims = groups > 1 ? 5 : 4;
    const int64_t *w = groups > 1 ? grouped : plain;
    *p = (problem){.algorithm = dnnl_convolution_direct,
        .stride = {d->stride[0], d->stride[1]},
        .pad = {d->pad[0], d->pad[1]},
        .pad_end = {d->pad[0], d->pad[1]}};
    dnnl_status_t s = problem_attr(p);
    const dnnl_format_tag_t tag = conv_weights_tag(d, pass, dtype);
    const dnnl_format_tag_t ours = groups > 1 ? dnnl_gohwi : dnnl_ohwi;
    if (!s) s = layout_open(&p->x, 4, x, dtype, dnnl_nhwc);
    if (!s) s = layout_open(&p->w, ndims, w, dtype, tag);
    if (!s) s = layout_open(&p->dw, ndims, w, TUTTI_F32, tag);
    if (!s) s = layout_open(&p->user_w, ndims, w, weights_type(pass, dtype), ours);
    if (!s) s = layout_open(&p->y, 4, y, dtype, dnnl_nhwc);
    if (!s && d->bias) s = layout_open(&p->b, 1, b, TUTTI_F32, dnnl_a);
    return s;
}

static dnnl_status_t problem_dense(
    problem *p, const tutti_dense_desc *d, tutti_pass pass, tutti_dtype dtype, tutti_dtype to)
{
    const dnnl_dims_t x = {d->N, d->C}, w = {d->K, d->C}, b = {d->K}, y = {d->N, d->K};
    *p = (problem){.algorithm = dnnl_alg_kind_undef};
    dnnl_status_t s = problem_attr(p);
    if (!s) s = layout_open(&p->x, 2, x, dtype, dnnl_ab);
    if (!s) s = layout_open(&p->w, 2, w, dtype, dnnl_format_tag_any);
    if (!s) s = layout_open(&p->dw, 2, w, TUTTI_F32, dnnl_format_tag_any);
    if (!s) s = layout_open(&p->user_w, 2, w, weights_type(pass, dtype), dnnl_ab);
    if (!s) s = layout_open(&p->y, 2, y, to, dnnl_ab);
    if (!s && d->bias) s = layout_open(&p->b, 1, b, TUTTI_F32, dnnl_a);
    return s;
}

/* The padding behind the image that the last of `out` windows reaches into; at least `pad`. */
static int64_t pad_end(int64_t in, int64_t window, int64_t stride, int64_t pad, int64_t out)
{
    const int64_t reach = (out - 1) * stride + window - in - pad;
    return reach > pad ? reach : pad;
}

static dnnl_status_t problem_pool(
    problem *p, const tutti_pool_desc *d, int maximum, tutti_dtype dtype)
{
    const int64_t P = tutti_pool_height(d), Q = tutti_pool_width(d);
    const dnnl_dims_t x = {d->N, d->C, d->H, d->W}, y = {d->N, d->C, P, Q};
    const dnnl_alg_kind_t average =
        d->counts_padding ? dnnl_pooling_avg_include_padding : dnnl_pooling_avg_exclude_padding;
    *p = (problem){.algorithm = maximum ? dnnl_pooling_max : average,
        .stride = {d->stride[0], d->stride[1]},
        .pad = {d->pad[0], d->pad[1]},
        .pad_end = {pad_end(d->H, d->R, d->stride[0], d->pad[0], P),
            pad_end(d->W, d->S, d->stride[1], d->pad[1], Q)},
        .window = {d->R, d->S}};
    dnnl_status_t s = problem_attr(p);
    if (!s) s = layout_open(&p->x, 4, x, dtype, dnnl_nhwc);
    if (!s) s = layout_open(&p->y, 4, y, dtype, dnnl_nhwc);
    return s;
}

/* A pass's primitive descriptor; backward passes are described with the help of the forward one. */
static dnnl_status_t problem_pd(const problem *p, pd_maker *make, tutti_pass pass,
    dnnl_engine_t engine, dnnl_primitive_desc_t *pd)
{
    dnnl_primitive_desc_t forward = NULL;
    dnnl_status_t s = make(p, TUTTI_PASS_FORWARD, engine, NULL, &forward);
    if (s || pass == TUTTI_PASS_FORWARD) {
        *pd = forward;
        return s;
    }
    s = make(p, pass, engine, forward, pd);
    dnnl_primitive_desc_destroy(forward);
    return s;
}

/* ---- Kernels: memories and steps around one primitive ---- */

/* A memory for the caller's buffer, or one that the kernel owns when buffer is NO_BUFFER. */
static dnnl_status_t kernel_memory(kernel *k, layout_ref md, int buffer, dnnl_memory_t *memory)
{
    void *handle = buffer == NO_BUFFER ? DNNL_MEMORY_ALLOCATE : DNNL_MEMORY_NONE;
    dnnl_status_t s = dnnl_memory_create(memory, md, k->engine, handle);
    if (s) return s;
    k->buffer[k->memories] = buffer;
    k->memory[k->memories++] = *memory;
    return dnnl_success;
}

static dnnl_status_t kernel_reorder(
    kernel *k, layout_ref from_md, dnnl_memory_t from, layout_ref to_md, dnnl_memory_t to)
{
    dnnl_primitive_desc_t pd = NULL;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_memory_t scratch = NULL;
    step *st = &k->step[k->steps];
    dnnl_status_t s = dnnl_primitive_attr_create(&attr);
    if (!s) s = dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    if (!s) s = dnnl_reorder_primitive_desc_create(&pd, from_md, k->engine, to_md, k->engine, attr);
    if (!s)
        s = kernel_memory(
            k, dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0), NO_BUFFER, &scratch);
    if (!s) s = dnnl_primitive_create(&st->primitive, pd);
    if (!s) {
        st->arg[0] = (dnnl_exec_arg_t){DNNL_ARG_FROM, from};
        st->arg[1] = (dnnl_exec_arg_t){DNNL_ARG_TO, to};
        st->arg[2] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, scratch};
        st->args = 3;
        k->steps++;
    }
    if (pd) dnnl_primitive_desc_destroy(pd);
    if (attr) dnnl_primitive_attr_destroy(attr);
    return s;
}

/* The memory that the primitive uses as `a`: the caller's buffer, or one of ours with a reorder
 * (from it for inputs, before the primitive; into it for outputs, after it). */
static dnnl_status_t kernel_argument(kernel *k, dnnl_primitive_desc_t pd, const argument *a,
    dnnl_memory_t *memory, dnnl_memory_t *user)
{
    layout_ref wanted = dnnl_primitive_desc_query_md(pd, a->query, a->index);
    *user = NULL;
    if (!a->layout || dnnl_memory_desc_equal(wanted, ref(a->layout)))
        return kernel_memory(k, wanted, a->buffer, memory);
    dnnl_status_t s = kernel_memory(k, ref(a->layout), a->buffer, user);
    if (!s) s = kernel_memory(k, wanted, NO_BUFFER, memory);
    if (!s && !a->written) s = kernel_reorder(k, ref(a->layout), *user, wanted, *memory);
    return s;
}

static dnnl_status_t kernel_build(
    kernel *k, dnnl_primitive_desc_t pd, int arguments, const argument a[])
{
    dnnl_memory_t memory[MAX_ARGS] = {NULL}, user[MAX_ARGS] = {NULL};
    dnnl_status_t s = dnnl_success;
    for (int i = 0; !s && i < arguments; i++)
        s = kernel_argument(k, pd, &a[i], &memory[i], &user[i]);
    if (s) return s;
    step *st = &k->step[k->steps];
    s = dnnl_primitive_create(&st->primitive, pd);
    if (s) return s;
    k->steps++;
    for (int i = 0; i < arguments; i++) st->arg[st->args++] = (dnnl_exec_arg_t){a[i].id, memory[i]};
    for (int i = 0; !s && i < arguments; i++)
        if (user[i] && a[i].written)
            s = kernel_reorder(k, dnnl_primitive_desc_query_md(pd, a[i].query, a[i].index),
                memory[i], ref(a[i].layout), user[i]);
    return s;
}

static tutti_status status_of(dnnl_status_t s, const char *name, const char *what)
{
    if (s == dnnl_success) return TUTTI_OK;
    tutti_status status = s == dnnl_out_of_memory ? TUTTI_ERR_NOMEM : TUTTI_ERR_UNSUPPORTED;
    return tutti_fail(
        status, "%s: %s cannot %s it (its status %d)", name, tutti_kernel_library(), what, (int)s);
}

static tutti_status kernel_open(const char *name, const problem *p, pd_maker *make, tutti_pass pass,
    int arguments, const argument a[], void **args)
{
    kernel *k = calloc(1, sizeof *k);
    if (!k) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to open the kernel", name);
    k->name = name;
    int threads = threads_one();
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t s = dnnl_engine_create(&k->engine, dnnl_cpu, 0);
    if (!s) s = dnnl_stream_create(&k->stream, k->engine, dnnl_stream_default_flags);
    if (!s) s = problem_pd(p, make, pass, k->engine, &pd);
    if (!s) s = kernel_build(k, pd, arguments, a);
    if (pd) dnnl_primitive_desc_destroy(pd);
    threads_restore(threads);
    if (s)
        tutti_onednn_close(k);
    else
        *args = k;
    return status_of(s, name, "open");
}

void tutti_onednn_close(void *args)
{
    kernel *k = args;
    if (!k) return;
    for (int i = 0; i < k->steps; i++) dnnl_primitive_destroy(k->step[i].primitive);
    for (int i = 0; i < k->memories; i++) dnnl_memory_destroy(k->memory[i]);
    if (k->stream) dnnl_stream_destroy(k->stream);
    if (k->engine) dnnl_engine_destroy(k->engine);
    free(k);
}

tutti_status tutti_onednn_run(const void *args, void *const buf[], void *queue)
{
    const kernel *k = args;
    (void)queue;
    dnnl_status_t s = dnnl_success;
    int threads = threads_one();
    for (int i = 0; !s && i < k->memories; i++)
        if (k->buffer[i] != NO_BUFFER)
            s = dnnl_memory_set_data_handle(k->memory[i], buf[k->buffer[i]]);
    for (int i = 0; !s && i < k->steps; i++)
        s = dnnl_primitive_execute(
            k->step[i].primitive, k->stream, k->step[i].args, k->step[i].arg);
    if (!s) s = dnnl_stream_wait(k->stream);
    threads_restore(threads);
    if (s)
        return tutti_fail(TUTTI_ERR_KERNEL, "%s: %s failed (its status %d)", k->name,
            tutti_kernel_library(), (int)s);
    return TUTTI_OK;
}

/* ---- What can be opened ---- */

#define SCRATCH                                                                                    \
    {                                                                                              \
        DNNL_ARG_SCRATCHPAD, dnnl_query_scratchpad_md, 0, 0, NO_BUFFER, NULL                       \
    }

/* Convolution and dense take the same buffers: x,w,[b]->y, dy,w->dx and x,dy->dw,[db]. The bias
 * comes last here, so that it can be omitted. */
static tutti_status open_weighted(
    const char *name, const problem *p, pd_maker *make, tutti_pass pass, int bias, void **args)
{
    const argument forward[] = {SCRATCH, {DNNL_ARG_SRC, dnnl_query_src_md, 0, 0, 0, &p->x},
        {DNNL_ARG_WEIGHTS, dnnl_query_weights_md, 0, 0, 1, &p->user_w},
        {DNNL_ARG_DST, dnnl_query_dst_md, 0, 1, bias ? 3 : 2, &p->y},
        {DNNL_ARG_BIAS, dnnl_query_weights_md, 1, 0, 2, &p->b}};
    const argument data[] = {SCRATCH, {DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md, 0, 0, 0, &p->y},
        {DNNL_ARG_WEIGHTS, dnnl_query_weights_md, 0, 0, 1, &p->user_w},
        {DNNL_ARG_DIFF_SRC, dnnl_query_diff_src_md, 0, 1, 2, &p->x}};
    const argument weights[] = {SCRATCH, {DNNL_ARG_SRC, dnnl_query_src_md, 0, 0, 0, &p->x},
        {DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md, 0, 0, 1, &p->y},
        {DNNL_ARG_DIFF_WEIGHTS, dnnl_query_diff_weights_md, 0, 1, 2, &p->user_w},
        {DNNL_ARG_DIFF_BIAS, dnnl_query_diff_weights_md, 1, 1, 3, &p->b}};
    const argument *const arguments[] = {forward, data, weights};
    const int count[] = {bias ? 5 : 4, 4, bias ? 5 : 4};
    return kernel_open(name, p, make, pass, count[pass], arguments[pass], args);
}

tutti_status tutti_onednn_conv(
    const tutti_conv_desc *desc, tutti_pass pass, tutti_dtype dtype, void **args)
{
    problem p;
    tutti_status status = status_of(problem_conv(&p, desc, pass, dtype), "conv", "describe");
    if (!status) status = open_weighted("conv", &p, conv_pd, pass, desc->bias, args);
    problem_close(&p);
    return status;
}

tutti_status tutti_onednn_dense(
    const tutti_dense_desc *desc, tutti_pass pass, tutti_dtype dtype, tutti_dtype to, void **args)
{
    problem p;
    tutti_status status = status_of(problem_dense(&p, desc, pass, dtype, to), "dense", "describe");
    if (!status) status = open_weighted("dense", &p, dense_pd, pass, desc->bias, args);
    problem_close(&p);
    return status;
}

/* x->y,[argmax]   dy,[argmax]->dx */
tutti_status tutti_onednn_pool(
    const tutti_pool_desc *desc, int maximum, tutti_pass pass, tutti_dtype dtype, void **args)
{
    problem p;
    tutti_status status = status_of(problem_pool(&p, desc, maximum, dtype), "pool", "describe");
    const argument forward[] = {SCRATCH, {DNNL_ARG_SRC, dnnl_query_src_md, 0, 0, 0, &p.x},
        {DNNL_ARG_DST, dnnl_query_dst_md, 0, 1, 1, &p.y},
        {DNNL_ARG_WORKSPACE, dnnl_query_workspace_md, 0, 1, 2, NULL}};
    const argument backward[] = {SCRATCH,
        {DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md, 0, 0, 0, &p.y},
        {DNNL_ARG_DIFF_SRC, dnnl_query_diff_src_md, 0, 1, maximum ? 2 : 1, &p.x},
        {DNNL_ARG_WORKSPACE, dnnl_query_workspace_md, 0, 0, 1, NULL}};
    if (!status)
        status = kernel_open("pool", &p, pool_pd, pass, maximum ? 4 : 3,
            pass == TUTTI_PASS_FORWARD ? forward : backward, args);
    problem_close(&p);
    return status;
}

size_t tutti_onednn_pool_workspace(const tutti_pool_desc *desc, tutti_dtype dtype)
{
    problem p;
    dnnl_engine_t engine = NULL;
    dnnl_primitive_desc_t pd = NULL;
    size_t bytes = 0;
    int threads = threads_one();
    dnnl_status_t s = problem_pool(&p, desc, 1, dtype);
    if (!s) s = dnnl_engine_create(&engine, dnnl_cpu, 0);
    if (!s) s = pool_pd(&p, TUTTI_PASS_FORWARD, engine, NULL, &pd);
    if (!s)
        bytes =
            dnnl_memory_desc_get_size(dnnl_primitive_desc_query_md(pd, dnnl_query_workspace_md, 0));
    if (pd) dnnl_primitive_desc_destroy(pd);
    if (engine) dnnl_engine_destroy(engine);
    problem_close(&p);
    threads_restore(threads);
    status_of(s, "pool", "size the workspace of");
    return bytes;
}

#define TEXT(x) #x
#define VERSION(major, minor, patch) "oneDNN " TEXT(major) "." TEXT(minor) "." TEXT(patch)

const char *tutti_kernel_library(void)
{
    return VERSION(DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, DNNL_VERSION_PATCH);
}

/* Of these instruction sets the last that the library may use here. It asks the processor, and heeds
 * DNNL_MAX_CPU_ISA. */
static const struct {
    int isa;
    const char *name;
} sets[] = {{dnnl_cpu_isa_sse41, "SSE4.1"}, {dnnl_cpu_isa_avx, "AVX"}, {dnnl_cpu_isa_avx2, "AVX2"},
    {dnnl_cpu_isa_avx512_core, "AVX-512"}, {dnnl_cpu_isa_avx512_core_vnni, "AVX-512 with VNNI"},
    {dnnl_cpu_isa_avx512_core_bf16, "AVX-512 with bf16"},
    {dnnl_cpu_isa_avx512_core_amx, "AVX-512 with bf16, and AMX"}};

static int has_set(int isa)
{
    return ((int)dnnl_get_effective_cpu_isa() & isa) == isa;
}

const char *tutti_kernel_instructions(void)
{
    const char *name = "none that it names";
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (has_set(sets[i].isa)) name = sets[i].name;
    return name;
}

/* Without SSE4.1 the library has only its reference code, hundreds of times slower; without instructions for
 * bf16 it computes in bf16 several times slower than in float32, or not at all. */
const char *tutti_kernel_fault(tutti_dtype dtype)
{
#ifdef __x86_64__
    if (!has_set(dnnl_cpu_isa_sse41)) return "this processor has no SSE4.1, which kernels need";
#endif
    return dtype != TUTTI_BF16 || has_set(dnnl_cpu_isa_avx512_core_bf16)
               ? NULL
               : "this processor has no instructions for bf16 (avx512_bf16 or AMX), or "
                 "DNNL_MAX_CPU_ISA excludes them";
}
