/* A program from the time of Tutti 0.1, compiled with that release's header. */
#include <stdio.h>
#include <tutti/starpu.h>

int main(int argc, char **argv)
{
    tutti_session *session = NULL;
    float x = 1;
    tutti_handle handle;
    const tutti_attach_options options = {.design = "chained", .stall_warn_s = 1};
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &(int){0});
    if (starpu_init(NULL)) return 77;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
    tutti_status status = tutti_attach(MPI_COMM_WORLD, argc > 1 ? &options : NULL, &session);
    printf("tutti_attach: %s\n", tutti_status_name(status));
    if (!status) status = tutti_allreduce(session, handle, TUTTI_F32, TUTTI_SUM);
    if (!status) status = tutti_wait(session, 60);
    if (!status) status = tutti_detach(session);
    starpu_data_unregister(handle);
    starpu_shutdown();
    MPI_Finalize();
    return status ? 1 : 0;
}
