#include "apps/data/shard_tally.h"

#include "apps/data/formats.h"
#include "dag/base/log.h"

#include <stdio.h>
#include <stdlib.h>

tutti_status tutti_shard_tally_open(tutti_shard_tally *tally)
{
    *tally = (tutti_shard_tally){.seen = calloc(TUTTI_CLASSES_MAX, 1)};
    if (!tally->seen) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to check a shard");
    tutti_status status = tutti_decoder_new(&tally->decoder);
    if (status) free(tally->seen);
    return status;
}

void tutti_shard_tally_close(tutti_shard_tally *tally)
{
    tutti_decoder_free(tally->decoder);
    tutti_sample_free(&tally->sample);
    free(tally->seen);
    *tally = (tutti_shard_tally){0};
}

tutti_status tutti_shard_take(
    tutti_shard_tally *tally, const tutti_data_file *file, int64_t offset, int32_t label)
{
    tutti_sample *sample = &tally->sample;
    sample->kind = TUTTI_SAMPLE_FILE;
    snprintf(sample->name, sizeof sample->name, "%s: byte %lld", file->path, (long long)offset);
    tutti_status status = tutti_decoder_check(tally->decoder, sample);
    if (status) {
        const char *fault = tutti_decoder_fault(tally->decoder);
        return *fault ? tutti_fail(status, "%s", fault) : status;
    }
    if (!tally->images || label < tally->least) tally->least = label;
    if (!tally->images || label > tally->most) tally->most = label;
    tally->classes += !tally->seen[label];
    tally->seen[label] = 1;
    tally->images++;
    return TUTTI_OK;
}
