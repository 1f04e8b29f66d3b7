#include "apps/mpicheck/signature.h"

#include "apps/mpicheck/table.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t prime = (UINT64_C(1) << 61) - 1, base = UINT64_C(0x1b873593cc9e2d51) >> 4;

/* Predefined types; those of one kind and size have the same representation. */
static const struct {
    const char *name;
    char kind;
} kinds[] = {
    {"MPI_SHORT", 'i'},
    {"MPI_INT", 'i'},
    {"MPI_LONG", 'i'},
    {"MPI_LONG_LONG", 'i'},
    {"MPI_LONG_LONG_INT", 'i'},
    {"MPI_SIGNED_CHAR", 'i'},
    {"MPI_INT8_T", 'i'},
    {"MPI_INT16_T", 'i'},
    {"MPI_INT32_T", 'i'},
    {"MPI_INT64_T", 'i'},
    {"MPI_AINT", 'i'},
    {"MPI_OFFSET", 'i'},
    {"MPI_COUNT", 'i'},
    {"MPI_UNSIGNED_CHAR", 'u'},
    {"MPI_UNSIGNED_SHORT", 'u'},
    {"MPI_UNSIGNED", 'u'},
    {"MPI_UNSIGNED_LONG", 'u'},
    {"MPI_UNSIGNED_LONG_LONG", 'u'},
    {"MPI_UINT8_T", 'u'},
    {"MPI_UINT16_T", 'u'},
    {"MPI_UINT32_T", 'u'},
    {"MPI_UINT64_T", 'u'},
    {"MPI_C_COMPLEX", 'c'},
    {"MPI_C_FLOAT_COMPLEX", 'c'},
    {"MPI_C_DOUBLE_COMPLEX", 'c'},
    /* Fortran's: a C program may receive data that a Fortran part has sent. */
    {"MPI_INTEGER", 'i'},
    {"MPI_INTEGER1", 'i'},
    {"MPI_INTEGER2", 'i'},
    {"MPI_INTEGER4", 'i'},
    {"MPI_INTEGER8", 'i'},
    {"MPI_FLOAT", 'f'},
    {"MPI_DOUBLE", 'f'},
    {"MPI_REAL", 'f'},
    {"MPI_REAL4", 'f'},
    {"MPI_REAL8", 'f'},
    {"MPI_DOUBLE_PRECISION", 'f'},
    {"MPI_COMPLEX", 'c'},
    {"MPI_COMPLEX8", 'c'},
    {"MPI_COMPLEX16", 'c'},
    {"MPI_DOUBLE_COMPLEX", 'c'},
    {"MPI_CHAR", 'h'},
    {"MPI_CHARACTER", 'h'},
};

/* What is known of one datatype handle. */
typedef struct known {
    mpicheck_signature signature;
    char name[64];
} known;

/* Known types by handle; `lock` protects them. Recursion into the parts of a type locks only once. */
static mpicheck_table types;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t product(uint64_t a, uint64_t b)
{
    unsigned __int128 p = (unsigned __int128)a * b;
    uint64_t sum = (uint64_t)(p & prime) + (uint64_t)(p >> 61);
    return sum >= prime ? sum - prime : sum;
}

static uint64_t power(uint64_t exponent)
{
    uint64_t result = 1, factor = base;
    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1) result = product(result, factor);
        factor = product(factor, factor);
    }
    return result;
}

mpicheck_signature mpicheck_signature_joined(mpicheck_signature a, mpicheck_signature b)
{
    if (a.elements == 0) return b;
    if (b.elements == 0) return a;
    uint64_t hash = product(a.hash, power(b.elements)) + b.hash;
    return (mpicheck_signature){
        .elements = a.elements + b.elements,
        .hash = hash >= prime ? hash - prime : hash,
        .basic = a.basic == b.basic ? a.basic : 0,
        .anything = a.anything || b.anything,
    };
}

static mpicheck_signature repeated(mpicheck_signature one, uint64_t count)
{
    mpicheck_signature all = {0};
    for (; count > 0; count >>= 1) {
        if (count & 1) all = mpicheck_signature_joined(all, one);
        one = mpicheck_signature_joined(one, one);
    }
    return all;
}

bool mpicheck_signature_equal(mpicheck_signature a, mpicheck_signature b)
{
    if (a.elements == 0 && b.elements == 0) return true;
    if (a.anything || b.anything) return true;
    return a.elements == b.elements && a.hash == b.hash;
}

bool mpicheck_signature_receives(mpicheck_signature sent, mpicheck_signature expected)
{
    if (sent.elements == 0 || sent.anything || expected.anything) return true;
    if (sent.elements == expected.elements) return sent.hash == expected.hash;
    /* Prefixes of mixed sequences are not kept: only sequences of a single type can be distinguished. */
    return sent.basic == 0 || expected.basic == 0 || sent.basic == expected.basic;
}

static uint64_t basic_of(const char *name, int size)
{
    char kind = '\0';
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].name, name) == 0) kind = kinds[i].kind;
    uint64_t hash = UINT64_C(1469598103934665603);
    if (kind != '\0') return (hash ^ (uint64_t)kind) * 1099511628211u % prime + (uint64_t)size;
    for (const char *c = name; *c != '\0'; c++) hash = (hash ^ (uint64_t)*c) * 1099511628211u;
    return hash % prime;
}

static known *look(MPI_Datatype type);

static mpicheck_signature named(MPI_Datatype type, known *result)
{
    int length = 0, size = 0;
    char name[MPI_MAX_OBJECT_NAME] = "";
    PMPI_Type_get_name(type, name, &length);
    PMPI_Type_size(type, &size);
    snprintf(result->name, sizeof(result->name), "%.63s", name);
    uint64_t basic = basic_of(name, size);
    return (mpicheck_signature){.elements = 1,
        .hash = basic,
        .basic = basic,
        .anything = strcmp(name, "MPI_PACKED") == 0 || name[0] == '\0'};
}

/* The signature of a type made of `parts` datatypes. Every constructor except struct repeats its only part
 * as often as the sizes require. */
static mpicheck_signature composed(MPI_Datatype type, int combiner, int parts, const int *integers,
    const MPI_Datatype *datatypes, known *result)
{
    mpicheck_signature all = {0};
    if (parts == 0) {
        snprintf(result->name, sizeof(result->name), "opaque type");
        return (mpicheck_signature){.elements = 1, .anything = true};
    }
    if (combiner == MPI_COMBINER_STRUCT) {
        for (int i = 0; i < parts; i++)
            all = mpicheck_signature_joined(
                all, repeated(look(datatypes[i])->signature, (uint64_t)integers[i + 1]));
        snprintf(
            result->name, sizeof(result->name), "struct of %llu", (unsigned long long)all.elements);
        return all;
    }
    MPI_Count whole = 0, part = 0;
    PMPI_Type_size_x(type, &whole);
    PMPI_Type_size_x(datatypes[0], &part);
    known *inner = look(datatypes[0]);
    uint64_t times = part > 0 ? (uint64_t)(whole / part) : 0;
    snprintf(result->name, sizeof(result->name), "type of %llu %.32s", (unsigned long long)times,
        inner->name);
    return repeated(inner->signature, times);
}

static mpicheck_signature derived(
    MPI_Datatype type, int integers, int addresses, int datatypes, int combiner, known *result)
{
    int *i = malloc(sizeof(int) * (size_t)(integers + 1));
    MPI_Aint *a = malloc(sizeof(MPI_Aint) * (size_t)(addresses + 1));
    MPI_Datatype *d = malloc(sizeof(MPI_Datatype) * (size_t)(datatypes + 1));
    mpicheck_signature signature = {.elements = 1, .anything = true};
    if (i && a && d &&
        PMPI_Type_get_contents(type, integers, addresses, datatypes, i, a, d) == MPI_SUCCESS) {
        signature = composed(type, combiner, datatypes, i, d, result);
        for (int k = 0; k < datatypes; k++) {
            int n[3], inner;
            PMPI_Type_get_envelope(d[k], &n[0], &n[1], &n[2], &inner);
            if (inner == MPI_COMBINER_NAMED) continue;
            /* MPI made this handle for us; another type may get its value next. */
            free(mpicheck_table_remove(&types, MPICHECK_KEY(d[k])));
            PMPI_Type_free(&d[k]);
        }
    }
    free(i);
    free(a);
    free(d);
    return signature;
}

/* What is known of the type; asks MPI if it is new. Under the lock. */
static known *look(MPI_Datatype type)
{
    known *found = mpicheck_table_find(&types, MPICHECK_KEY(type));
    if (found) return found;
    found = calloc(1, sizeof(*found));
    if (!found) abort();
    int integers, addresses, datatypes, combiner;
    if (PMPI_Type_get_envelope(type, &integers, &addresses, &datatypes, &combiner) != MPI_SUCCESS)
        found->signature = (mpicheck_signature){.elements = 1, .anything = true};
    else if (combiner == MPI_COMBINER_NAMED)
        found->signature = named(type, found);
    else
        found->signature = derived(type, integers, addresses, datatypes, combiner, found);
    mpicheck_table_add(&types, MPICHECK_KEY(type), found);
    return found;
}

mpicheck_signature mpicheck_signature_of(int64_t count, MPI_Datatype type)
{
    if (count <= 0 || type == MPI_DATATYPE_NULL) return (mpicheck_signature){0};
    pthread_mutex_lock(&lock);
    mpicheck_signature one = look(type)->signature;
    pthread_mutex_unlock(&lock);
    return repeated(one, (uint64_t)count);
}

void mpicheck_signature_print(char *text, size_t size, int64_t count, MPI_Datatype type)
{
    if (type == MPI_DATATYPE_NULL) {
        snprintf(text, size, "%lld MPI_DATATYPE_NULL", (long long)count);
        return;
    }
    pthread_mutex_lock(&lock);
    known *of = look(type);
    bool plain = strncmp(of->name, "MPI_", 4) == 0;
    snprintf(text, size, plain ? "%lld %s" : "%lld of a %s", (long long)count, of->name);
    pthread_mutex_unlock(&lock);
}

void mpicheck_signature_forget(MPI_Datatype type)
{
    pthread_mutex_lock(&lock);
    free(mpicheck_table_remove(&types, MPICHECK_KEY(type)));
    pthread_mutex_unlock(&lock);
}

void mpicheck_signature_put(mpicheck_frame *frame, mpicheck_signature signature)
{
    mpicheck_frame_put(frame, (int64_t)signature.elements);
    mpicheck_frame_put(frame, (int64_t)signature.hash);
    mpicheck_frame_put(frame, (int64_t)signature.basic);
    mpicheck_frame_put(frame, signature.anything);
}

mpicheck_signature mpicheck_signature_get(mpicheck_frame *frame)
{
    mpicheck_signature signature = {.elements = (uint64_t)mpicheck_frame_get(frame)};
    signature.hash = (uint64_t)mpicheck_frame_get(frame);
    signature.basic = (uint64_t)mpicheck_frame_get(frame);
    signature.anything = mpicheck_frame_get(frame) != 0;
    return signature;
}
