#include "apps/tools/info_gpu.h"

#include "apps/tools/gpu_library.h"
#include "dag/device/device.h"

#include <stdio.h>

/* How far what is here for GPUs has been shown to be right; doc/gpu.md says more of each. */
static const struct {
    const char *name, *about;
} tiers[] = {
    {"compiled", "the inquiry of devices, the runner, kernels"},
    {"fake device", "steps fed, summed over ranks and fetched, in any order of streams; as C++, kernels"},
    {"real libraries", "without a device: programs start, and say what is missing"},
    {"a real GPU", "on one: kernels, one rank, two that share it; never NCCL between GPUs, never --cuda-aware"},
    {NULL, NULL},
};

static void write_version(char text[64], int version, const char *none)
{
    if (version)
        snprintf(text, 64, "%d.%d", version / 1000, version % 1000 / 10);
    else
        snprintf(text, 64, "%s", none);
}

static void print_device(void (*row)(const char *, const char *), int index)
{
    tutti_device_info info;
    char name[16], text[512];
    snprintf(name, sizeof name, "GPU %d", index);
    if (tutti_device_kind_built.info(index, &info)) {
        row(name, "does not answer");
        return;
    }
    snprintf(text, sizeof text, "%s, %.1f GiB, compute capability %d.%d, at %s", info.name,
        (double)info.bytes / 0x1p30, info.major, info.minor, info.bus);
    row(name, text);
}

void tutti_info_gpu(void (*row)(const char *name, const char *about), const char *mpi_refuses)
{
    const tutti_device_kind *kind = &tutti_device_kind_built;
    const char *lacks = kind->lacks();
    char text[64];
    puts("\nGPUs (--device cuda)");
    if (kind->compiled()) {
        write_version(text, kind->compiled(), "");
        row("CUDA", text);
        write_version(text, kind->runtime(), "not found");
        row("CUDA's run time", text);
        write_version(text, kind->driver(), "none");
        row("driver, for CUDA", text);
    }
    tutti_nccl_version(text);
    row("NCCL", text);
    tutti_cudnn_version(text);
    row("cuDNN", text);
    row("--cuda-aware", mpi_refuses ? mpi_refuses : "MPI takes the memory of GPUs, as it says");
    for (int i = 0; i < kind->count(); i++) print_device(row, i);
    if (lacks) row("devices", lacks);
    puts("\nwhat has been shown of GPUs");
    for (int i = 0; tiers[i].name; i++) row(tiers[i].name, tiers[i].about);
}
