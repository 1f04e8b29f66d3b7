/* The libraries for GPUs that a build may have beside CUDA: their versions, for tutti-info. [P] */
#ifndef TUTTI_GPU_LIBRARY_H
#define TUTTI_GPU_LIBRARY_H

/* Writes "2.28.9", the version that was loaded, and where it is another, the one that was compiled
 * with; or that this build is without it. */
void tutti_nccl_version(char text[64]);
void tutti_cudnn_version(char text[64]);

#endif
