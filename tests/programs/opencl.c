/* A program whose data are written on a device: OpenCL tasks write and read them in a memory of their own, and
 * Tutti's collectives sum, gather and broadcast what they wrote. Exits with 77 if StarPU finds no OpenCL device. */
#include <tutti/starpu.h>

#include <mpi.h>
#include <starpu.h>
#include <starpu_opencl.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1000, ROUNDS = 6, SKIPPED = 77 };
static const double patience_s = 60;

static const char source[] =
    "__kernel void add(__global float *x, float y, int n)\n"
    "{ int i = get_global_id(0); if (i < n) x[i] += y; }\n"
    "__kernel void set(__global float *x, float y, int n)\n"
    "{ int i = get_global_id(0); if (i < n) x[i] = y + i; }\n"
    "__kernel void take(__global const float *x, int i, __global float *y)\n"
    "{ if (get_global_id(0) == 0) y[0] = x[i]; }\n";
static struct starpu_opencl_program program;

typedef struct kernel_call {
    cl_kernel kernel;
    cl_command_queue queue;
} kernel_call;

static kernel_call load(const char *name)
{
    kernel_call call;
    int device = starpu_worker_get_devid(starpu_worker_get_id());
    cl_int error = starpu_opencl_load_kernel(&call.kernel, &call.queue, &program, name, device);
    if (error != CL_SUCCESS) STARPU_OPENCL_REPORT_ERROR(error);
    return call;
}

static void give(const kernel_call *call, cl_uint i, size_t bytes, const void *value)
{
    cl_int error = clSetKernelArg(call->kernel, i, bytes, value);
    if (error != CL_SUCCESS) STARPU_OPENCL_REPORT_ERROR(error);
}

static void finish(const kernel_call *call, size_t items)
{
    cl_int error =
        clEnqueueNDRangeKernel(call->queue, call->kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
    if (error != CL_SUCCESS) STARPU_OPENCL_REPORT_ERROR(error);
    clFinish(call->queue);
    starpu_opencl_release_kernel(call->kernel);
}

static void change(const char *name, void *buffer, float by)
{
    cl_mem x = (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(buffer);
    int count = (int)STARPU_VECTOR_GET_NX(buffer);
    kernel_call call = load(name);
    give(&call, 0, sizeof x, &x);
    give(&call, 1, sizeof by, &by);
    give(&call, 2, sizeof count, &count);
    finish(&call, (size_t)count);
}

static void add_on_device(void *buffers[], void *arg)
{
    (void)arg;
    change("add", buffers[0], 10);
}

static void set_on_device(void *buffers[], void *arg)
{
    (void)arg;
    change("set", buffers[0], 5);
}

static void take_on_device(void *buffers[], void *arg)
{
    cl_mem x = (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(buffers[0]);
    cl_mem y = (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(buffers[1]);
    int last = (int)STARPU_VECTOR_GET_NX(buffers[0]) - 1;
    kernel_call call = load("take");
    (void)arg;
    give(&call, 0, sizeof x, &x);
    give(&call, 1, sizeof last, &last);
    give(&call, 2, sizeof y, &y);
    finish(&call, 1);
}

static void add_at_home(void *buffers[], void *arg)
{
    float *x = (float *)STARPU_VECTOR_GET_PTR(buffers[0]);
    (void)arg;
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) x[i] += 10;
}

static struct starpu_codelet device_add = {
    .opencl_funcs = {add_on_device}, .nbuffers = 1, .modes = {STARPU_RW}};
static struct starpu_codelet device_set = {
    .opencl_funcs = {set_on_device}, .nbuffers = 1, .modes = {STARPU_W}};
static struct starpu_codelet device_take = {
    .opencl_funcs = {take_on_device}, .nbuffers = 2, .modes = {STARPU_R, STARPU_W}};
static struct starpu_codelet home_add = {
    .cpu_funcs = {add_at_home}, .nbuffers = 1, .modes = {STARPU_RW}};

static void submit(struct starpu_codelet *codelet, tutti_handle data, tutti_handle taken)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = codelet;
    task->handles[0] = data;
    if (taken) task->handles[1] = taken;
    if (starpu_task_submit(task)) abort();
}

/* The last element as the device has it. */
enum { SUM, GATHERED, SPREAD, SEEN };
static const char *const names[SEEN] = {"sum", "gathered", "spread"};

/* Returns the number of errors. */
static int run(tutti_session *tutti)
{
    int rank = tutti_rank(tutti), size = tutti_size(tutti), wrong = 0;
    float wanted[SEEN] = {5 + COUNT - 1, 0, 5 + COUNT - 1}, seen[SEEN] = {0};
    tutti_handle data[SEEN], taken[SEEN];
    /* No value is ever set in main memory. */
    for (int i = 0; i < SEEN; i++) {
        uint32_t count = i == GATHERED ? (uint32_t)(COUNT * size) : COUNT;
        starpu_vector_data_register(&data[i], -1, 0, count, sizeof(float));
        starpu_vector_data_register(
            &taken[i], STARPU_MAIN_RAM, (uintptr_t)&seen[i], 1, sizeof(float));
    }
    submit(&device_set, data[SUM], NULL);
    for (int k = 0; k < ROUNDS; k++) {
        submit((k + rank) % 2 ? &device_add : &home_add, data[SUM], NULL);
        if (tutti_allreduce(tutti, data[SUM], TUTTI_F32, TUTTI_SUM)) return 1;
        wanted[SUM] = (wanted[SUM] + 10) * (float)size;
    }
    submit(&device_add, data[SUM], NULL);
    wanted[SUM] += 10;
    wanted[GATHERED] = wanted[SUM];
    if (tutti_allgather(tutti, data[SUM], data[GATHERED], TUTTI_F32)) return 1;
    if (rank == 0) submit(&device_set, data[SPREAD], NULL); /* the others have no value yet */
    if (tutti_broadcast(tutti, data[SPREAD], TUTTI_F32, 0)) return 1;
    for (int i = 0; i < SEEN; i++) submit(&device_take, data[i], taken[i]);
    if (tutti_wait(tutti, patience_s)) return 1;
    starpu_task_wait_for_all();
    for (int i = 0; i < SEEN; i++) {
        starpu_data_unregister(data[i]);
        starpu_data_unregister(taken[i]);
        if (seen[i] == wanted[i]) continue;
        printf("rank %d: %s: %g, not %g\n", rank, names[i], (double)seen[i], (double)wanted[i]);
        wrong++;
    }
    return wrong;
}

/* Whether there is a device, with a memory that is not the main one. */
static int has_device(void)
{
    int worker;
    if (starpu_worker_get_ids_by_type(STARPU_OPENCL_WORKER, &worker, 1) < 1) return 0;
    return starpu_worker_get_memory_node((unsigned)worker) != STARPU_MAIN_RAM;
}

int main(int argc, char **argv)
{
    int level, result = SKIPPED;
    tutti_session *tutti;
    struct starpu_conf conf;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    starpu_conf_init(&conf);
    conf.ncpus = conf.nopencl = 1;
    conf.ncuda = 0;
    conf.catch_signals = 0;
    if (tutti_start_starpu(&conf)) MPI_Abort(MPI_COMM_WORLD, 1);
    if (has_device()) {
        starpu_opencl_load_opencl_from_string(source, &program, NULL);
        if (tutti_attach(MPI_COMM_WORLD, NULL, &tutti)) MPI_Abort(MPI_COMM_WORLD, 1);
        result = run(tutti) != 0;
        if (tutti_detach(tutti)) result = 1;
        starpu_opencl_unload_opencl(&program);
    }
    starpu_shutdown();
    MPI_Finalize();
    return result;
}
