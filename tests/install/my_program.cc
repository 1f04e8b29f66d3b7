// A StarPU program in C++: what doc/starpu.md builds with c++. The ranks sum their numbers plus one.
#include <tutti/starpu.h>

#include <cstdint>
#include <cstdio>
#include <vector>

int main(int argc, char **argv)
{
    int level, rank, size;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (starpu_init(nullptr)) return 77;
    std::vector<double> x(100, rank + 1);
    tutti_handle handle;
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, reinterpret_cast<std::uintptr_t>(x.data()),
        static_cast<std::uint32_t>(x.size()), sizeof x[0]);
    tutti_attach_options options{};
    options.design = "concurrent";
    tutti_session *session = nullptr;
    tutti_status status = tutti_attach(MPI_COMM_WORLD, &options, &session);
    if (!status) status = tutti_allreduce(session, handle, TUTTI_F64, TUTTI_SUM);
    if (!status) status = tutti_detach(session);
    if (status) std::fprintf(stderr, "my_program: %s\n", tutti_last_error());
    starpu_data_unregister(handle);
    starpu_shutdown();
    MPI_Finalize();
    bool right = !status && x[0] == size * (size + 1) / 2;
    std::printf("C++ with Tutti %s: %s\n", tutti_version(), right ? "right" : "wrong");
    return right ? 0 : 1;
}
