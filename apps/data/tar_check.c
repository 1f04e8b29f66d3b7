#include "apps/data/tar_check.h"

#include "apps/data/tar_sample.h"

static tutti_status take_image(
    const tutti_data_file *file, const tutti_tar_sample *sample, tutti_shard_tally *tally)
{
    tutti_status status = tutti_sample_reserve(&tally->sample, (size_t)sample->image_bytes);
    if (!status)
        status =
            tutti_data_file_read(file, sample->image, tally->sample.bytes, tally->sample.count);
    return status ? status : tutti_shard_take(tally, file, sample->image, sample->label);
}

tutti_status tutti_tar_check(const tutti_data_file *file, tutti_shard_tally *tally)
{
    tutti_shard_faults faults = {.strict = 1};
    tutti_tar_reader reader = {.file = file, .faults = &faults};
    tutti_tar_sample sample;
    int found = 1;
    tutti_status status = TUTTI_OK;
    while (!status && found) {
        status = tutti_tar_sample_next(&reader, &sample, &found);
        if (!status && found) status = take_image(file, &sample, tally);
    }
    tally->others += reader.others;
    return status;
}
