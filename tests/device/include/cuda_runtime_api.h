/* See README.md. */
#ifndef TUTTI_FAKE_CUDA_RUNTIME_API_H
#define TUTTI_FAKE_CUDA_RUNTIME_API_H

typedef struct CUstream_st *cudaStream_t;

#endif
