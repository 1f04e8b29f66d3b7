#include "apps/pack/check.h"

#include "apps/data/file.h"
#include "apps/data/recordio_check.h"
#include "apps/data/recordio_read.h"
#include "apps/data/tar_check.h"
#include "apps/pack/manifest.h"
#include "apps/train/hash.h"
#include "dag/base/log.h"
#include "dag/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 20, ENDING = 4 };

static int ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path);
    return length > ENDING && !strcmp(path + length - ENDING, ending);
}

/* Records and their index have one name but for the ending. */
static char *with_ending(const char *path, const char *ending)
{
    int length = (int)strlen(path);
    return tutti_path_format("%.*s%s",
        ends_in(path, ".rec") || ends_in(path, ".idx") ? length - ENDING : length, path, ending);
}

static tutti_status hash_file(const tutti_data_file *file, char text[TUTTI_HASH_TEXT])
{
    tutti_hash *hash;
    uint8_t *block = malloc(BLOCK);
    if (!block) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to read it", file->path);
    tutti_status status = tutti_hash_new(&hash);
    for (int64_t at = 0; at < file->bytes && !status; at += BLOCK) {
        size_t count = file->bytes - at < BLOCK ? (size_t)(file->bytes - at) : BLOCK;
        status = tutti_data_file_read(file, at, block, count);
        if (!status) tutti_hash_add(hash, block, count);
    }
    if (!status) tutti_hash_text(hash, text);
    tutti_hash_free(hash);
    free(block);
    return status;
}

/* A picture in which a bit has changed may still be one: only the checksum shows it. */
static tutti_status compare_hash(const tutti_data_file *file, int *known)
{
    char wanted[TUTTI_HASH_TEXT], found[TUTTI_HASH_TEXT];
    int64_t bytes;
    *known = tutti_pack_manifest_find(file->path, &bytes, wanted);
    if (!*known) return TUTTI_OK;
    if (bytes != file->bytes)
        return tutti_fail(TUTTI_ERR_FORMAT,
            "%s: byte %" PRId64 ": the file ends here; it had %" PRId64 " bytes when it was packed",
            file->path, file->bytes, bytes);
    tutti_status status = hash_file(file, found);
    if (status || !strcmp(wanted, found)) return status;
    return tutti_fail(TUTTI_ERR_FORMAT,
        "%s: byte 0 to %" PRId64 ": a byte has changed since it was packed (checksum %s, it was "
        "%s); copy or pack the file again",
        file->path, file->bytes - 1, found, wanted);
}

static tutti_status read_all(const tutti_data_file *file, int *indexed, tutti_shard_tally *tally)
{
    uint8_t head[4] = {0};
    tutti_status status = TUTTI_OK;
    if (file->bytes >= (int64_t)sizeof head)
        status = tutti_data_file_read(file, 0, head, sizeof head);
    if (status) return status;
    if (!tutti_recordio_recognise(head) && !ends_in(file->path, ".rec"))
        return tutti_tar_check(file, tally);
    char *index = with_ending(file->path, ".idx");
    if (!index) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to check it", file->path);
    status = tutti_recordio_check(file, index, indexed, tally);
    free(index);
    return status;
}

static tutti_status check_file(const tutti_data_file *file)
{
    tutti_shard_tally tally;
    int indexed = 0, known = 0;
    tutti_status status = tutti_shard_tally_open(&tally);
    if (status) return status;
    status = read_all(file, &indexed, &tally);
    if (!status) status = compare_hash(file, &known);
    if (!status && !tally.images)
        status = tutti_fail(TUTTI_ERR_FORMAT, "%s: byte 0: holds no images", file->path);
    if (!status)
        tutti_text_print(stdout,
            "%s: %" PRId64 " images of %d classes (labels %" PRId32 " to %" PRId32 "), %" PRId64
            " other files, %" PRId64 " bytes%s; %s\n",
            file->path, tally.images, tally.classes, tally.least, tally.most, tally.others,
            file->bytes, indexed ? ", with an index" : "",
            known ? "the checksum is right" : "no checksum is known");
    tutti_shard_tally_close(&tally);
    return status;
}

tutti_status tutti_pack_check(const char *path)
{
    tutti_data_file file = {0};
    char *records = ends_in(path, ".idx") ? with_ending(path, ".rec") : NULL;
    tutti_status status = tutti_data_file_open(records ? records : path, &file);
    if (!status) status = check_file(&file);
    tutti_data_file_close(&file);
    free(records);
    return status;
}
