/* The samples of a shard, one after the other, for training and for checks alike: the files KEY.jpg
 * (.jpeg, .png, .webp) and KEY.cls, which has the number of the image's class.
 *
 * A key ends at the first dot of the name's last component, as WebDataset has it. Other files may lie
 * between those of a sample, and are not looked at; nor are hidden ones, whatever they are called: a
 * component of their name begins with a dot, or is what a Mac (__MACOSX) or an old tar (PaxHeader) adds.
 * KEY.json is read for a label in numbers ("label", "cls", "class", "class_id", "target"), which must
 * not contradict KEY.cls. Threads: [A], one thread per reader. */
#ifndef TUTTI_TAR_SAMPLE_H
#define TUTTI_TAR_SAMPLE_H

#include "apps/data/shard_faults.h"
#include "apps/data/tar.h"

#include <stdint.h>

/* The files of one key, as far as they have come. */
typedef struct tutti_tar_sample {
    char key[TUTTI_TAR_NAME];
    int64_t image, image_bytes; /* where the image is; -1: none yet */
    int64_t label_at;           /* -1: none yet */
    int64_t json_at;            /* of a label in KEY.json; -1: none yet */
    int32_t label, json;
    int unread; /* an image or a label is no plain file */
} tutti_tar_sample;

/* Zeroed but for file and faults before its first use. */
typedef struct tutti_tar_reader {
    const tutti_data_file *file;
    tutti_shard_faults *faults;
    int64_t others; /* files that belong to no sample, so far */
    int64_t at;
    int began, ended;
    int joined; /* another archive has begun: its first key is another one, whatever its name */
    tutti_tar_sample next; /* whose files may not be complete */
} tutti_tar_reader;

/* The next sample with an image and a label. *found 0: no sample is left. FORMAT, IO (logged); NOMEM. */
tutti_status tutti_tar_sample_next(tutti_tar_reader *reader, tutti_tar_sample *sample, int *found);

#endif
