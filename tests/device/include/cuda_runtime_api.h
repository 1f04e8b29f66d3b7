/* See README.md. */
#ifndef FAKE_CUDA_RUNTIME_API_H
#define FAKE_CUDA_RUNTIME_API_H

typedef struct CUstream_st *cudaStream_t;

#endif
