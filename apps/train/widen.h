/* Floating-point types of safetensors files as float32. [P] */
#ifndef TUTTI_TRAIN_WIDEN_H
#define TUTTI_TRAIN_WIDEN_H

#include <stddef.h>
#include <stdint.h>

/* From `count` values, little endian, to float32: exact, but for F64, which is rounded to nearest. */
typedef void tutti_widen_function(const void *from, int64_t count, float *to);

/* F32, F64, F16, BF16, F8_E4M3, F8_E5M2; NULL: another type. */
tutti_widen_function *tutti_widen_find(const char *type);
/* The bytes of a value of any type of the format that takes whole bytes; 0: an unknown type. */
size_t tutti_widen_bytes(const char *type);

#endif
