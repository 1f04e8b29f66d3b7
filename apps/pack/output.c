#include "apps/pack/output.h"

#include "apps/data/file.h"
#include "apps/data/recordio_write.h"
#include "apps/data/tar_write.h"
#include "dag/base/file.h"
#include "dag/base/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME = 64, BLOCK = 1 << 20 };
static const char shard[] = "shard";

struct tutti_pack_output {
    const char *out;
    int records;
    int64_t shard_bytes;
    tutti_pack_manifest *manifest;
    tutti_file file, index; /* index: of records */
    int is_open, has_index;
    char *path, *index_path;
    int64_t bytes, index_bytes, images, synced; /* of what is open */
    tutti_hash *hash;
};

static const char *split_name(const tutti_pack_output *o)
{
    return o->manifest->split == TUTTI_PACK_TRAIN ? "train" : "val";
}

static void name_shard(const tutti_pack_output *o, char name[NAME])
{
    if (o->records)
        snprintf(name, NAME, "%s.rec", split_name(o));
    else
        snprintf(name, NAME, "%s-%06" PRId64 ".tar", split_name(o), o->manifest->number);
}

static tutti_status name_files(tutti_pack_output *o)
{
    char name[NAME];
    free(o->path);
    free(o->index_path);
    name_shard(o, name);
    o->path = tutti_path_format("%s/%s", o->out, name);
    o->index_path = tutti_path_format("%s/%s.idx", o->out, split_name(o));
    if (o->path && o->index_path) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to write a shard", o->out);
}

static void write_hashed(tutti_pack_output *o, const void *data, size_t count)
{
    tutti_file_write(&o->file, data, count);
    tutti_hash_add(o->hash, data, count);
    o->bytes += (int64_t)count;
}

/* ---- shards ---- */

static tutti_status begin_shard(tutti_pack_output *o)
{
    tutti_status status = name_files(o);
    if (status) return status;
    const tutti_file_options options = {.what = shard, .path = o->path};
    tutti_file_sweep(o->path); /* what a killed run has left */
    tutti_hash_free(o->hash);
    o->hash = NULL;
    status = tutti_hash_new(&o->hash);
    if (!status) status = tutti_file_begin(&options, &o->file);
    if (status) return status;
    o->is_open = 1;
    o->bytes = o->images = 0;
    return TUTTI_OK;
}

/* Puts the open file in place and lists it. */
static tutti_status install(tutti_pack_output *o)
{
    char name[NAME], hash[TUTTI_HASH_TEXT];
    name_shard(o, name);
    o->is_open = 0;
    tutti_status status = tutti_file_end(&o->file);
    if (status) return status;
    return tutti_pack_manifest_add(
        o->manifest, name, o->bytes, o->images, tutti_hash_text(o->hash, hash));
}

static tutti_status end_shard(tutti_pack_output *o)
{
    tutti_bytes end = {0};
    tutti_status status = tutti_tar_append_end(&end);
    if (status) return status;
    write_hashed(o, end.bytes, end.count);
    tutti_bytes_free(&end);
    status = install(o);
    o->manifest->number++;
    return status;
}

static tutti_status put_in_shard(tutti_pack_output *o, const tutti_pack_item *item)
{
    int64_t after = o->bytes + (int64_t)item->bytes.count + TUTTI_TAR_END;
    tutti_status status = TUTTI_OK;
    if (o->is_open && after > o->shard_bytes) {
        status = end_shard(o);
        if (!status) status = tutti_pack_manifest_save(o->manifest);
    }
    if (!status && !o->is_open) status = begin_shard(o);
    if (status) return status;
    write_hashed(o, item->bytes.bytes, item->bytes.count);
    return TUTTI_OK;
}

/* ---- records ---- */

/* Hashes what an interrupted run has left of the file. */
static tutti_status hash_part(tutti_pack_output *o)
{
    tutti_data_file part = {0};
    uint8_t *block = malloc(BLOCK);
    if (!block) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to continue it", o->path);
    tutti_status status = tutti_data_file_open(o->file.part, &part);
    for (int64_t at = 0; at < o->bytes && !status;) {
        size_t count = o->bytes - at < BLOCK ? (size_t)(o->bytes - at) : BLOCK;
        status = tutti_data_file_read(&part, at, block, count);
        if (!status) tutti_hash_add(o->hash, block, count);
        at += (int64_t)count;
    }
    tutti_data_file_close(&part);
    free(block);
    return status;
}

/* A run that was killed between the name of a file and the manifest continues with that file. */
static void take_back(const char *path)
{
    char *part = tutti_path_format("%s.part", path);
    if (part && access(part, F_OK)) rename(path, part);
    free(part);
}

static tutti_status begin_records(tutti_pack_output *o)
{
    const tutti_pack_manifest *m = o->manifest;
    tutti_status status = name_files(o);
    if (!status) status = tutti_hash_new(&o->hash);
    if (status) return status;
    const tutti_file_options options = {.what = shard, .path = o->path},
                             index = {.what = "index", .path = o->index_path};
    take_back(o->path);
    take_back(o->index_path);
    status = tutti_file_begin_at(&options, m->bytes, &o->file);
    if (status) return status;
    o->is_open = 1;
    status = tutti_file_begin_at(&index, m->index, &o->index);
    if (status) return status;
    o->has_index = 1;
    o->bytes = o->synced = m->bytes;
    o->index_bytes = m->index;
    o->images = m->images;
    return hash_part(o);
}

static tutti_status sync_records(tutti_pack_output *o)
{
    tutti_pack_manifest *m = o->manifest;
    tutti_status status = tutti_file_sync(&o->file);
    if (!status) status = tutti_file_sync(&o->index);
    if (status) return status;
    m->bytes = o->synced = o->bytes;
    m->index = o->index_bytes;
    m->images = o->images;
    return tutti_pack_manifest_save(m);
}

static tutti_status put_record(tutti_pack_output *o, const tutti_pack_item *item)
{
    char line[TUTTI_RECORDIO_LINE];
    tutti_status status = TUTTI_OK;
    if (o->bytes - o->synced > o->shard_bytes) status = sync_records(o);
    if (status) return status;
    int length = tutti_recordio_line((uint64_t)o->manifest->place, o->bytes, line);
    tutti_file_write(&o->index, line, (size_t)length);
    o->index_bytes += length;
    write_hashed(o, item->bytes.bytes, item->bytes.count);
    return TUTTI_OK;
}

/* Both are on the disk before one gets its name: a file that cannot be ended loses its part, with
 * which a later run would continue. The index first: a record file with its own name has one. */
static tutti_status end_records(tutti_pack_output *o)
{
    tutti_status status = sync_records(o);
    if (status) return status;
    o->has_index = 0;
    status = tutti_file_end(&o->index);
    if (!status) status = install(o);
    o->manifest->bytes = o->manifest->index = o->manifest->images = 0;
    return status;
}

/* ---- either ---- */

tutti_status tutti_pack_output_open(const char *out, int records, int64_t shard_bytes,
    tutti_pack_manifest *manifest, tutti_pack_output **output)
{
    tutti_pack_output *o = calloc(1, sizeof *o);
    if (!o) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to write shards", out);
    *o = (tutti_pack_output){
        .out = out, .records = records, .shard_bytes = shard_bytes, .manifest = manifest};
    tutti_status status = records ? begin_records(o) : TUTTI_OK;
    if (status)
        tutti_pack_output_close(o);
    else
        *output = o;
    return status;
}

/* A failed write ends the run at once, not with the shard. */
static tutti_status check_written(tutti_pack_output *o)
{
    tutti_file *failed = o->file.error                    ? &o->file
                         : o->has_index && o->index.error ? &o->index
                                                          : NULL;
    if (!o->is_open || !failed) return TUTTI_OK;
    if (o->records) return tutti_file_sync(failed);
    o->is_open = 0;
    return tutti_file_end(&o->file);
}

tutti_status tutti_pack_output_put(tutti_pack_output *o, const tutti_pack_item *item)
{
    tutti_status status = TUTTI_OK;
    if (!item->bytes.count) {
        status = tutti_pack_manifest_leave_out(o->manifest, item->fault);
    } else {
        status = o->records ? put_record(o, item) : put_in_shard(o, item);
        if (!status) o->images++;
        if (!status) status = check_written(o);
    }
    if (!status) o->manifest->place++;
    return status;
}

tutti_status tutti_pack_output_end(tutti_pack_output *o)
{
    tutti_status status = TUTTI_OK;
    if (o->records)
        status = end_records(o);
    else if (o->is_open)
        status = end_shard(o);
    if (status) return status;
    o->manifest->split++;
    o->manifest->place = o->manifest->number = 0;
    return tutti_pack_manifest_save(o->manifest);
}

void tutti_pack_output_close(tutti_pack_output *o)
{
    if (!o) return;
    if (o->is_open && o->records)
        tutti_file_keep(&o->file);
    else if (o->is_open)
        tutti_file_drop(&o->file);
    if (o->has_index) tutti_file_keep(&o->index);
    tutti_hash_free(o->hash);
    free(o->path);
    free(o->index_path);
    free(o);
}
