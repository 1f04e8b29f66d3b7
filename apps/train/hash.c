#include "apps/train/hash.h"

#include "dag/base/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <xxhash.h>

/* A tutti_hash is an XXH3_state_t under another name, which saves an allocation. */

tutti_status tutti_hash_new(tutti_hash **hash)
{
    XXH3_state_t *state = XXH3_createState();
    if (!state || XXH3_64bits_reset(state) != XXH_OK) {
        XXH3_freeState(state);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a hash");
    }
    *hash = (tutti_hash *)state;
    return TUTTI_OK;
}

void tutti_hash_add(tutti_hash *hash, const void *data, size_t bytes)
{
    if (bytes) XXH3_64bits_update((XXH3_state_t *)hash, data, bytes);
}

char *tutti_hash_text(const tutti_hash *hash, char text[TUTTI_HASH_TEXT])
{
    snprintf(text, TUTTI_HASH_TEXT, "%016" PRIx64,
        (uint64_t)XXH3_64bits_digest((const XXH3_state_t *)hash));
    return text;
}

uint64_t tutti_hash_block(const void *data, size_t bytes)
{
    return XXH3_64bits(data, bytes);
}

void tutti_hash_free(tutti_hash *hash)
{
    XXH3_freeState((XXH3_state_t *)hash);
}
