/* A function marked TUTTI_CLONES is compiled for several instruction sets, and the loader picks
 * one. Sanitizers instrument the resolvers that pick, which run before the sanitizer is
 * initialised, so with them there are no clones. */
#ifndef TUTTI_CLONES_H
#define TUTTI_CLONES_H

#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) &&   \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TUTTI_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define TUTTI_CLONES
#endif

#endif
