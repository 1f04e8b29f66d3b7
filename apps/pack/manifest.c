#define _GNU_SOURCE /* getline */
#include "apps/pack/manifest.h"

#include "apps/data/file.h"
#include "apps/data/folder.h"
#include "dag/base/conf.h"
#include "dag/base/file.h"
#include "dag/base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char first_line[] = "tutti-pack 1\n",
                  source_is[] = "source=", left_out[] = "left out: ", what[] = "manifest";
static const char *const splits[] = {"train", "val", "done"};
enum { LINE = 2048, NAME = 64 };

static tutti_status append_text(tutti_bytes *to, const char *text)
{
    return tutti_bytes_append(to, text, strlen(text));
}

/* ---- writing ---- */

tutti_status tutti_pack_manifest_add(
    tutti_pack_manifest *m, const char *name, int64_t bytes, int64_t images, const char *hash)
{
    char line[LINE];
    snprintf(line, sizeof line, "file %s %" PRId64 " %" PRId64 " %s\n", name, bytes, images, hash);
    m->packed += images;
    return append_text(&m->files, line);
}

tutti_status tutti_pack_manifest_leave_out(tutti_pack_manifest *m, const char *fault)
{
    char line[LINE];
    int length =
        snprintf(line, sizeof line - 1, "%s%s: %s", left_out, splits[m->split], fault);
    if (length > LINE - 2) length = LINE - 2;
    for (int i = 0; i < length; i++)
        if (line[i] == '\n' || line[i] == '\r') line[i] = '?'; /* of a file's name */
    line[length] = '\n';
    line[length + 1] = '\0';
    m->left_out++;
    return append_text(&m->left, line);
}

tutti_status tutti_pack_manifest_save(tutti_pack_manifest *m)
{
    const tutti_file_options options = {.what = what, .path = m->path};
    char line[LINE];
    tutti_bytes all = {0};
    snprintf(line, sizeof line,
        "at %s %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", splits[m->split],
        m->place, m->number, m->bytes, m->index, m->images);
    tutti_status status = tutti_bytes_append(&all, m->head.bytes, m->head.count);
    if (!status) status = append_text(&all, line);
    if (!status) status = tutti_bytes_append(&all, m->files.bytes, m->files.count);
    if (!status) status = tutti_bytes_append(&all, m->left.bytes, m->left.count);
    if (!status) status = tutti_file_put(&options, all.bytes, all.count);
    tutti_bytes_free(&all);
    return status;
}

/* ---- reading ---- */

static int read_at(tutti_pack_manifest *m, const char *line)
{
    char split[NAME], end;
    if (sscanf(line, "at %63s %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 "%c", split,
            &m->place, &m->number, &m->bytes, &m->index, &m->images, &end) != 7 ||
        end != '\n')
        return 0;
    m->split = TUTTI_PACK_TRAIN;
    while (m->split <= TUTTI_PACK_DONE && strcmp(splits[m->split], split) != 0) m->split++;
    return m->split <= TUTTI_PACK_DONE && m->place >= 0 && m->number >= 0 && m->bytes >= 0 &&
           m->index >= 0 && m->images >= 0;
}

static int read_file(
    const char *line, char name[NAME], int64_t *bytes, int64_t *images, char hash[TUTTI_HASH_TEXT])
{
    char end;
    return sscanf(line, "file %63s %" SCNd64 " %" SCNd64 " %16[0-9a-f]%c", name, bytes, images,
               hash, &end) == 5 &&
           end == '\n';
}

/* Stores one line; *stage 0: settings, 1: where it is, 2: the rest. Returns whether it is one. */
static int take_line(tutti_pack_manifest *m, const char *line, int *stage, tutti_status *status)
{
    char name[NAME], hash[TUTTI_HASH_TEXT];
    int64_t bytes, images;
    if (*stage == 0) {
        *status = append_text(&m->head, line);
        *stage = !strncmp(line, source_is, strlen(source_is));
        return 1;
    }
    if (*stage == 1) {
        *stage = 2;
        return read_at(m, line);
    }
    if (!strncmp(line, left_out, strlen(left_out))) {
        *status = append_text(&m->left, line);
        m->left_out++;
        return 1;
    }
    if (!read_file(line, name, &bytes, &images, hash)) return 0;
    *status = append_text(&m->files, line);
    m->packed += images;
    return 1;
}

static tutti_status read_lines(tutti_pack_manifest *m, FILE *in)
{
    char *line = NULL;
    size_t room = 0;
    int stage = 0, number = 0;
    tutti_status status = TUTTI_OK;
    while (!status && getline(&line, &room, in) > 0) {
        int good = number++ ? take_line(m, line, &stage, &status) : !strcmp(line, first_line);
        if (number == 1 && good) status = append_text(&m->head, line);
        if (!good)
            status = tutti_fail(TUTTI_ERR_FORMAT,
                "%s: line %d: is none of tutti-pack's: pack into another folder", m->path, number);
    }
    free(line);
    if (!status && stage < 2)
        status =
            tutti_fail(TUTTI_ERR_FORMAT, "%s: is truncated: pack into another folder", m->path);
    return status;
}

/* Whether the settings and the source of this run are those of the file. */
static tutti_status compare(const tutti_pack_manifest *m, const char *settings, const char *source)
{
    char *text = calloc(1, m->head.count + 1);
    if (!text) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to read it", m->path);
    memcpy(text, m->head.bytes, m->head.count);
    char *begin = text + strlen(first_line), *line = strstr(text, source_is);
    tutti_conf_difference d;
    tutti_status status = TUTTI_OK;
    int same = !strncmp(line + strlen(source_is), source, strlen(source));
    *line = '\0';
    if (tutti_conf_compare(begin, settings, &d))
        status = tutti_fail(TUTTI_ERR_USAGE,
            "%s: the run that began these shards had --%s %s, this one has %s: give what it had, "
            "or pack into another folder",
            m->path, d.name, d.a, d.b);
    else if (!same)
        status = tutti_fail(TUTTI_ERR_FORMAT,
            "%s: the images of --from have changed since these shards were begun (names, sizes or "
            "times): pack into another folder",
            m->path);
    free(text);
    return status;
}

static int not_ours(const char *folder, const struct dirent *entry)
{
    (void)folder;
    return strncmp(entry->d_name, TUTTI_PACK_MANIFEST, strlen(TUTTI_PACK_MANIFEST)) != 0;
}

/* Shards of others would be read together with ours. */
static tutti_status check_empty(const char *out)
{
    tutti_names names;
    int error = tutti_names_list(out, not_ours, &names);
    if (error)
        return tutti_fail(TUTTI_ERR_IO, "%s: cannot list the folder: %s", out, strerror(error));
    tutti_status status = TUTTI_OK;
    if (names.count)
        status = tutti_fail(TUTTI_ERR_USAGE,
            "--to %s: holds %s, and no %s of an earlier run: give a new or empty folder", out,
            names.names[0], TUTTI_PACK_MANIFEST);
    tutti_names_free(&names);
    return status;
}

static tutti_status begin(
    const char *out, const char *settings, const char *source, tutti_pack_manifest *m)
{
    tutti_status status = check_empty(out);
    if (!status) status = append_text(&m->head, first_line);
    if (!status) status = append_text(&m->head, settings);
    if (!status) status = append_text(&m->head, source_is);
    if (!status) status = append_text(&m->head, source);
    if (!status) status = append_text(&m->head, "\n");
    return status ? status : tutti_pack_manifest_save(m);
}

static tutti_status read_manifest(
    const char *out, const char *settings, const char *source, tutti_pack_manifest *m)
{
    FILE *in = fopen(m->path, "re");
    if (!in && errno == ENOENT) return begin(out, settings, source, m);
    if (!in) return tutti_fail(TUTTI_ERR_IO, "%s: cannot open: %s", m->path, strerror(errno));
    tutti_status status = read_lines(m, in);
    fclose(in);
    return status ? status : compare(m, settings, source);
}

tutti_status tutti_pack_manifest_open(
    const char *out, const char *settings, const char *source, tutti_pack_manifest *manifest)
{
    tutti_pack_manifest m = {.path = tutti_path_format("%s/%s", out, TUTTI_PACK_MANIFEST)};
    if (!m.path) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to open it", out);
    tutti_status status = read_manifest(out, settings, source, &m);
    if (status)
        tutti_pack_manifest_close(&m);
    else
        *manifest = m;
    return status;
}

void tutti_pack_manifest_close(tutti_pack_manifest *m)
{
    tutti_bytes_free(&m->head);
    tutti_bytes_free(&m->files);
    tutti_bytes_free(&m->left);
    free(m->path);
    *m = (tutti_pack_manifest){0};
}

int tutti_pack_manifest_find(const char *shard, int64_t *bytes, char hash[TUTTI_HASH_TEXT])
{
    const char *slash = strrchr(shard, '/');
    char *path =
        slash ? tutti_path_format("%.*s%s", (int)(slash + 1 - shard), shard, TUTTI_PACK_MANIFEST)
              : tutti_path_format("%s", TUTTI_PACK_MANIFEST);
    FILE *in = path ? fopen(path, "re") : NULL;
    char *line = NULL, name[NAME];
    size_t room = 0;
    int64_t images;
    int found = 0;
    while (in && !found && getline(&line, &room, in) > 0)
        found =
            read_file(line, name, bytes, &images, hash) && !strcmp(name, slash ? slash + 1 : shard);
    if (in) fclose(in);
    free(line);
    free(path);
    return found;
}
