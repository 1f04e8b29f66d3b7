/* The table of codecs; those that only choose the type of a sum; how a codec is written. */
#include "dag/codecs/codecs.h"

#include "dag/base/number.h"
#include "dag/base/parameters.h"
#include "dag/codecs/rows.h"
#include "dag/step/codec.h"

#include <stdio.h>
#include <string.h>

static const tutti_codec codec_none = {
    .name = "none", .summary = "gradients travel as they are, in float32"};
static const tutti_codec codec_bf16 = {.name = "bf16",
    .summary = "gradients are rounded to bf16, and summed in it",
    .wire = TUTTI_BF16};

const tutti_codec *const tutti_codecs[] = {
    &codec_none, &codec_bf16, &tutti_codec_onebit, &tutti_codec_topk, &tutti_codec_powersgd, NULL};

static void say_names(char *fault, size_t size)
{
    snprintf(fault, size, "must be");
    for (int i = 0; tutti_codecs[i]; i++)
        tutti_parameters_say(fault, size, i, tutti_codecs[i + 1] ? NULL : " or", "%s%s%s",
            tutti_codecs[i]->name, tutti_codecs[i]->key ? ":" : "",
            tutti_codecs[i]->key ? tutti_codecs[i]->key : "");
}

int tutti_codec_read(
    const char *text, const tutti_codec **codec, double *value, char *fault, size_t size)
{
    tutti_parameters given;
    const char *name = tutti_parameters_cut(text, 1, &given) ? given.name : "";
    int i = 0;
    while (tutti_codecs[i] && strcmp(tutti_codecs[i]->name, name)) i++;
    const tutti_codec *found = tutti_codecs[i];
    *value = 0;
    if (!found) {
        say_names(fault, size);
        return 0;
    }
    if (!found->key && given.count) {
        snprintf(fault, size, "%s takes no number: write just %s", found->name, found->name);
        return 0;
    }
    const int is_number =
        given.count == 1 && !given.of[0].key &&
        tutti_number_within(given.of[0].value, found->low, found->high, found->whole, value);
    if (found->key && !is_number) {
        snprintf(fault, size,
            "%s needs %s, a %snumber from %.9g to %.9g behind a colon, such as %s:%.9g",
            found->name, found->help, found->whole ? "whole " : "", found->low, found->high,
            found->name, found->example);
        return 0;
    }
    *codec = found;
    return 1;
}

char *tutti_codec_print(const tutti_codec *codec, double value, char text[TUTTI_CODEC_TEXT])
{
    if (!codec) codec = &codec_none;
    if (codec->key)
        snprintf(text, TUTTI_CODEC_TEXT, "%s:%.9g", codec->name, value);
    else
        snprintf(text, TUTTI_CODEC_TEXT, "%s", codec->name);
    return text;
}
