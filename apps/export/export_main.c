/* tutti-export: a trained network as a file of other programs. See tutti-export(1). */
#include "apps/export/onnx.h"
#include "apps/export/torch_file.h"
#include "apps/train/network.h"
#include "dag/base/conf.h"
#include "dag/base/file.h"
#include "dag/base/log.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* What it writes; a further format is a further row. */
static const struct {
    const char *name;
    tutti_status (*save)(tutti_network *network, const char *path);
} formats[] = {{"onnx", tutti_onnx_save}, {"torch", tutti_torch_save}, {NULL, NULL}};

static const char *format_choice(int i)
{
    return formats[i].name;
}

typedef struct options {
    const char *checkpoint, *to, *format;
} options;

#define AT(member) .offset = offsetof(options, member)
static const tutti_setting settings[] = {
    {TUTTI_CONF_HEADING, .help = "Options"},
    {TUTTI_CONF_TEXT, "checkpoint", "FILE", .flags = TUTTI_CONF_REQUIRED, AT(checkpoint),
        .help = "the trained network: a checkpoint of tutti-cifar or tutti-imagenet, or what "
                "tutti-export made of one"},
    {TUTTI_CONF_TEXT, "to", "FILE", .flags = TUTTI_CONF_REQUIRED, AT(to),
        .help = "the file to write, which replaces an earlier one"},
    {TUTTI_CONF_CHOICE, "format", "NAME", .flags = TUTTI_CONF_REQUIRED, .choice = format_choice,
        AT(format),
        .help = "onnx: a model for ONNX Runtime and others; torch: weights with PyTorch's names "
                "and axes in the safetensors format"},
    {0},
};
static const tutti_conf conf = {
    .program = "tutti-export",
    .usage = "--checkpoint FILE --to FILE --format NAME",
    .summary = "Writes a trained network for other programs.",
    .epilogue = "Exit status: 0 on success; 2 for a mistake in the options; 1 if the checkpoint "
                "could not be read or the file not be written. See tutti-export(1).",
    .settings = settings,
};

static tutti_status check(const options *o)
{
    if (!tutti_file_same(o->checkpoint, o->to)) return TUTTI_OK;
    return tutti_conf_refuse(&conf, "to", o->to, "it is the checkpoint itself");
}

static tutti_status export_to(tutti_network *network, const options *o)
{
    int f = 0;
    while (strcmp(formats[f].name, o->format) != 0) f++;
    return formats[f].save(network, o->to);
}

int main(int argc, char **argv)
{
    static options o;
    int go;
    if (tutti_conf_start(&conf, argc, argv, &o, &go)) return 2;
    if (!go) return EXIT_SUCCESS;
    if (check(&o)) return 2;
    tutti_network network = {0};
    tutti_status status = tutti_network_open(o.checkpoint, &network);
    if (!status) status = export_to(&network, &o);
    tutti_status closed = tutti_network_close(&network);
    return status || closed ? EXIT_FAILURE : EXIT_SUCCESS;
}
