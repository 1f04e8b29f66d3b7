/* tutti-pack: writes a folder of photographs as shards. See tutti-pack(1). */
#include "apps/data/settings.h"
#include "apps/pack/check.h"
#include "apps/pack/pack.h"
#include "dag/base/conf.h"
#include "dag/base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    const char *from, *to, *check, *format;
    tutti_conf_int seed, resize, threads;
    int64_t shard_mb, quality;
} options;

static const char *format_choice(int i)
{
    return tutti_pack_formats[i].name;
}

#define AT(member) .offset = offsetof(options, member)
static const tutti_setting settings[] = {
    {TUTTI_CONF_HEADING, .help = "Packing"},
    {TUTTI_CONF_TEXT, "from", "DIR", .flags = TUTTI_CONF_LOCAL, AT(from),
        .help = "the photographs: a folder for each class, or shards (see doc/data.md)"},
    {TUTTI_CONF_TEXT, "to", "OUT", .flags = TUTTI_CONF_LOCAL, AT(to),
        .help = "the folder of the shards: a new or an empty one, or that of a run that was "
                "interrupted, which continues"},
    {TUTTI_CONF_CHOICE, "format", "NAME", .fallback = "webdataset", .choice = format_choice,
        AT(format), .help = "webdataset: tar files; recordio: MXNet's .rec and .idx"},
    {TUTTI_CONF_INT, "shard-mb", "MB", .fallback = "256", .low = 1, .high = 1e6, AT(shard_mb),
        .help = "how large a tar file becomes; recordio: how much is written between two points "
                "from which a run can continue"},
    {TUTTI_CONF_INT_OR, "seed", "S", .fallback = "1", .low = 0, .high = 9e15, .words = {"none"},
        AT(seed), .help = "of the order of the training images; none: their order in --from"},
    {TUTTI_CONF_INT_OR, "resize", "N", .fallback = "256", .low = 8, .high = 4096, .words = {"none"},
        AT(resize),
        .help = "shrink the shorter side to N pixels, where it is longer; none: copy every file "
                "as it is"},
    {TUTTI_CONF_INT, "quality", "Q", .fallback = "90", .low = 1, .high = 100, AT(quality),
        .help = "of the JPEGs that are resized, on libjpeg's scale"},
    {TUTTI_CONF_INT_OR, "threads", "N", .fallback = "auto", .low = 1, .high = 64, .words = {"auto"},
        .flags = TUTTI_CONF_LOCAL, AT(threads),
        .help = "threads that decode and compress; auto: one per processor, up to 16"},
    {TUTTI_CONF_HEADING, .help = "Checking"},
    {TUTTI_CONF_TEXT, "check", "FILE", .flags = TUTTI_CONF_LOCAL, AT(check),
        .help = "read this shard completely, and print what it holds or where it is damaged"},
    {0},
};
static const tutti_conf conf = {
    .program = "tutti-pack",
    .usage = "--from DIR --to OUT [OPTION]...",
    .summary = "Writes photographs as shards, a few large files instead of many small ones; or "
               "checks a shard.",
    .epilogue = "Exit status: 0 on success; 2 for a mistake in the options; 130 when Ctrl-C ended "
                "the run (143 for SIGTERM); 1 for everything else, a damaged shard, too. See "
                "tutti-pack(1).",
    .settings = settings,
};

static const tutti_pack_format *find_format(const char *name)
{
    const tutti_pack_format *f = tutti_pack_formats;
    while (strcmp(f->name, name) != 0) f++;
    return f;
}

static tutti_status pack(const options *o, int *signal)
{
    char *text = tutti_conf_text(&conf, o);
    if (!text) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the settings");
    const tutti_pack_plan plan = {.from = o->from,
        .to = o->to,
        .settings = text,
        .recipe = {.format = find_format(o->format),
            .root = o->from,
            .side = (int)tutti_conf_int_or(o->resize, 0),
            .quality = (int)o->quality},
        .shard_bytes = o->shard_mb * 1000000,
        .shuffled = !o->seed.word,
        .seed = (uint64_t)tutti_conf_int_or(o->seed, 0),
        .threads = tutti_data_threads(o->threads, 0)};
    tutti_status status = tutti_pack_run(&plan, signal);
    free(text);
    return status;
}

static tutti_status check(const options *o)
{
    tutti_status status = tutti_pack_check(o->check);
    if (!status && fflush(stdout))
        status = tutti_fail(TUTTI_ERR_IO, "the output could not be written: %s", strerror(errno));
    return status;
}

static tutti_status check_options(const options *o)
{
    if (o->check && (o->from || o->to))
        return tutti_conf_refuse(
            &conf, "check", o->check, "cannot be given together with --from or --to");
    if (!o->check && !o->from)
        return tutti_fail(TUTTI_ERR_USAGE, "--from DIR is missing (see %s --help)", conf.program);
    if (!o->check && !o->to)
        return tutti_fail(TUTTI_ERR_USAGE, "--to OUT is missing (see %s --help)", conf.program);
    return TUTTI_OK;
}

int main(int argc, char **argv)
{
    options o;
    int go, signal = 0;
    if (tutti_conf_start(&conf, argc, argv, &o, &go)) return 2;
    if (!go) return EXIT_SUCCESS;
    tutti_status status = check_options(&o);
    if (!status) status = o.check ? check(&o) : pack(&o, &signal);
    if (signal) return 128 + signal;
    return !status ? EXIT_SUCCESS : status == TUTTI_ERR_USAGE ? 2 : EXIT_FAILURE;
}
