/* Random numbers that are a function of their place: value(seed, stream, index). [P]
 *
 * There is no state, so every rank, thread and order gets the same numbers, and a resumed run draws
 * what the uninterrupted one drew. The generator is Philox4x32-10. Source: Salmon, Moraes, Dror,
 * Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC'11. */
#ifndef TUTTI_RNG_H
#define TUTTI_RNG_H

#include <stddef.h>
#include <stdint.h>

/* Four independent uniform 32-bit words for a 64-bit key and a 128-bit counter (hi, lo). */
void tutti_rng_philox(uint64_t key, uint64_t hi, uint64_t lo, uint32_t out[4]);
/* The same of counters (hi, lo), (hi, lo + step), ..., several times as fast. */
void tutti_rng_philoxes(
    uint64_t key, uint64_t hi, uint64_t lo, uint64_t step, size_t count, uint32_t (*out)[4]);

/* 64 uniform bits. */
uint64_t tutti_rng_u64(uint64_t seed, uint64_t stream, uint64_t index);
/* Uniform in [0, 1). */
double tutti_rng_uniform(uint64_t seed, uint64_t stream, uint64_t index);
/* Standard normal (Box-Muller): one, or `count` from index `first` on, several times as fast and with
 * the same bits. */
double tutti_rng_normal(uint64_t seed, uint64_t stream, uint64_t index);
void tutti_rng_normals(uint64_t seed, uint64_t stream, uint64_t first, size_t count, double *x);
/* Uniform integer in [0, bound), bound > 0 (multiply-shift; bias below 2^-32 for bound < 2^32). */
uint64_t tutti_rng_below(uint64_t seed, uint64_t stream, uint64_t index, uint64_t bound);

/* 64-bit FNV-1a hash of a string: turns a name ("layer1.conv1.weight") into a stream. */
uint64_t tutti_rng_stream(const char *name);
/* The same of its first `length` characters. */
uint64_t tutti_rng_stream_of(const char *name, size_t length);

#endif
