#include "designs/queue/record.h"

#include "dag/base/clock.h"
#include "dag/base/json.h"
#include "dag/base/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

tutti_status tutti_record_open(tutti_record *record)
{
    *record = (tutti_record){.ring = calloc(TUTTI_RECORD_ROOM, sizeof *record->ring)};
    if (record->ring) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the flight recorder");
}

void tutti_record_close(tutti_record *record)
{
    free(record->ring);
    *record = (tutti_record){0};
}

static tutti_record_entry *slot_at(const tutti_record *record, int64_t number)
{
    return &record->ring[number % TUTTI_RECORD_ROOM];
}

int64_t tutti_record_oldest(const tutti_record *record)
{
    return record->next > TUTTI_RECORD_ROOM ? record->next - TUTTI_RECORD_ROOM : 0;
}

static tutti_record_entry *find_slot(const tutti_record *record, int64_t number)
{
    int held = number >= tutti_record_oldest(record) && number < record->next;
    return held ? slot_at(record, number) : NULL;
}

const tutti_record_entry *tutti_record_get(const tutti_record *record, int64_t number)
{
    return find_slot(record, number);
}

int64_t tutti_record_post(
    tutti_record *record, const tutti_record_key *key, const tutti_coll_args *args)
{
    int64_t number = record->next++;
    tutti_record_entry *e = slot_at(record, number);
    *e = (tutti_record_entry){.sequence = key->sequence,
        .index = key->index,
        .lane = key->lane,
        .chunk = key->chunk,
        .chunks = key->chunks,
        .kind = args->kind,
        .dtype = args->dtype,
        .root = args->root,
        .count = args->count,
        .reserved_s = key->reserved_s,
        .posted_s = tutti_clock_s()};
    if ((unsigned)args->dtype < TUTTI_DTYPE_COUNT)
        e->bytes = args->count * (int64_t)tutti_dtype_bytes(args->dtype);
    snprintf(e->op, sizeof e->op, "%s", tutti_coll_op_name(args));
    if (key->name) strncpy(e->name, key->name, sizeof e->name - 1);
    if (key->members) strncpy(e->members, key->members, sizeof e->members - 1);
    return number;
}

void tutti_record_start(tutti_record *record, int64_t number)
{
    tutti_record_entry *e = find_slot(record, number);
    if (e) e->started_s = tutti_clock_s();
}

void tutti_record_end(tutti_record *record, int64_t number, tutti_status status)
{
    tutti_record_entry *e = find_slot(record, number);
    if (!e) return;
    e->ended_s = tutti_clock_s();
    e->status = status;
}

static void write_time(FILE *out, const char *name, double at_s, double now_s)
{
    if (at_s > 0)
        fprintf(out, ",\"%s\":%.6f", name, at_s - now_s);
    else
        fprintf(out, ",\"%s\":null", name);
}

static void write_entry(const tutti_record_entry *e, double now_s, FILE *out)
{
    fprintf(out,
        "{\"event\":\"collective\",\"sequence\":%" PRId64 ",\"lane\":%d,\"index\":%" PRId64
        ",\"chunk\":%d,\"chunks\":%d",
        e->sequence, e->lane, e->index, e->chunk, e->chunks);
    if (*e->members) {
        fputs(",\"members\":", out);
        tutti_json_string(out, e->members);
    }
    fputs(",\"name\":", out);
    tutti_json_string(out, e->name);
    fprintf(out, ",\"kind\":\"%s\",\"dtype\":\"%s\",\"op\":", tutti_coll_kind_name(e->kind),
        tutti_dtype_name(e->dtype));
    tutti_json_string(out, e->op);
    fprintf(
        out, ",\"root\":%d,\"count\":%" PRId64 ",\"bytes\":%" PRId64, e->root, e->count, e->bytes);
    write_time(out, "submitted_s", e->reserved_s, now_s);
    write_time(out, "posted_s", e->posted_s, now_s);
    write_time(out, "started_s", e->started_s, now_s);
    write_time(out, "ended_s", e->ended_s, now_s);
    fprintf(out, ",\"status\":\"%s\"}\n", e->ended_s > 0 ? tutti_status_name(e->status) : "");
}

void tutti_record_write(const tutti_record *record, double now_s, FILE *out)
{
    for (int64_t i = tutti_record_oldest(record); i < record->next; i++)
        write_entry(slot_at(record, i), now_s, out);
}
