/* The stream on which a task of a CUDA worker leaves what is to be computed: StarPU waits for its end with
 * an event. stream_cuda.c, or stream_none.c where StarPU has no CUDA. */
#ifndef TUTTI_STREAM_H
#define TUTTI_STREAM_H

/* Of the calling worker; NULL on a CPU worker. [A] */
void *tutti_run_stream(void);

#endif
