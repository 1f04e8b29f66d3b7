#include "tests/step/leavings.h"

#include "dag/base/log.h"
#include "tests/support/testing.h"

#include <stdlib.h>
#include <string.h>

/* Elements from number `first` on. */
static uint64_t hash_of(const void *data, int64_t first, int64_t count)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, (const char *)data + i * (int64_t)sizeof bits, sizeof bits);
        uint64_t h = ((uint64_t)(first + i) << 32 | bits) * 0x9e3779b97f4a7c15u;
        sum += (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
    }
    return sum;
}

/* Where the tensor of this name is, or would be. */
static int place_of(const leavings *l, const char *name)
{
    int i = 0;
    while (i < l->tensors && strcmp(l->tensor[i].name, name)) i++;
    return i;
}

static tutti_status add(leavings *l, const char *name, uint64_t hash, int is_sharded)
{
    const int i = place_of(l, name);
    if (i == l->tensors) {
        ck_assert_int_lt(i, LEAVINGS_TENSORS);
        snprintf(l->tensor[i].name, sizeof l->tensor[i].name, "%s", name);
        l->tensor[l->tensors++].hash = hash;
    } else if (is_sharded) {
        l->tensor[i].hash += hash;
    } else if (l->tensor[i].hash != hash) {
        return tutti_fail(TUTTI_ERR_MISMATCH, "%s differs between ranks", name);
    }
    return TUTTI_OK;
}

tutti_status leavings_note(leavings *l, const tutti_runner *runner, tutti_run *run,
    const tutti_graph *graph, int tensor, int is_sharded)
{
    const tutti_tensor *t = tutti_graph_get_tensor(graph, tensor);
    void *data = malloc(t->bytes);
    tutti_status status = tutti_run_read(runner, run, tensor, data, t->bytes);
    const uint64_t hash = is_sharded ? hash_of(data, t->first, t->owns)
                                     : hash_of(data, 0, (int64_t)(t->bytes / sizeof(float)));
    free(data);
    pthread_mutex_lock(&l->lock);
    if (!status) status = add(l, t->name, hash, is_sharded);
    pthread_mutex_unlock(&l->lock);
    return status;
}

void leavings_compare(const leavings *got, const leavings *want, const char *what)
{
    ck_assert_msg(
        got->tensors == want->tensors, "%s: %d tensors, not %d", what, got->tensors, want->tensors);
    for (int i = 0; i < want->tensors; i++) {
        const int k = place_of(got, want->tensor[i].name);
        ck_assert_msg(k < got->tensors, "%s: no %s", what, want->tensor[i].name);
        ck_assert_msg(got->tensor[k].hash == want->tensor[i].hash, "%s: other bits of %s", what,
            want->tensor[i].name);
    }
}
