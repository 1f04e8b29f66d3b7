/* What tutti-info tells of GPUs. */
#ifndef TUTTI_INFO_GPU_H
#define TUTTI_INFO_GPU_H

/* Prints what this build and this machine have, and what has been shown of it. mpi_refuses: as
 * tutti_boot_refuses_gpus says. */
void tutti_info_gpu(void (*row)(const char *name, const char *about), const char *mpi_refuses);

#endif
