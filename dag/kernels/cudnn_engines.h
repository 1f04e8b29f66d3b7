/* The engines that cuDNN's heuristics offer for a convolution and that may be taken (cudnn.h), and engines as texts.
 * Internal to dag/kernels/cudnn*. */
#ifndef TUTTI_CUDNN_ENGINES_H
#define TUTTI_CUDNN_ENGINES_H

#include "dag/kernels/cudnn_parts.h"

/* An engine with the settings that it runs with. */
enum { TUTTI_CUDNN_KNOBS = 32 };
typedef struct tutti_cudnn_engine {
    int64_t index;
    int knobs;
    cudnnBackendKnobType_t knob[TUTTI_CUDNN_KNOBS];
    int64_t value[TUTTI_CUDNN_KNOBS];
} tutti_cudnn_engine;

/* Takes the first engine that the heuristics offer: sets the plan, or leaves it NULL. */
void tutti_cudnn_choose(tutti_cudnn *k);
/* The engines that may be taken, best first: at most as many, of small workspaces where there are any. */
int tutti_cudnn_list(tutti_cudnn *k, int most, tutti_cudnn_engine engine[]);
/* Makes a plan of this engine in place of the one that there is. Returns whether there is one. */
int tutti_cudnn_take(tutti_cudnn *k, const tutti_cudnn_engine *engine);

/* "cuDNN 9.19.0 e62 2=1,13=0": returns text. */
enum { TUTTI_CUDNN_TEXT = 512 };
char *tutti_cudnn_print(const tutti_cudnn_engine *engine, char text[TUTTI_CUDNN_TEXT]);
/* Returns 0 if the text is not one of this version of the library. */
int tutti_cudnn_scan(const char *text, tutti_cudnn_engine *engine);

#endif
