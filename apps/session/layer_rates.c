#include "apps/session/layer_rates.h"

#include "dag/base/conf_print.h"
#include "dag/base/number.h"
#include "dag/net/layer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = TUTTI_LAYER_NAME + 32 /* a name, a star, a factor */ };
static const double least = 1e-6, most = 1000;
static const char all_but[] = "all-but:";

static int refuse(tutti_layer_rates_fault *fault, const char *reason)
{
    snprintf(fault->reason, sizeof fault->reason, "%s", reason);
    return 0;
}

static int parameters_of(const tutti_layer *layer)
{
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    return tutti_layer_parameters(layer, parameter);
}

/* "layer1*" matches what begins with layer1, "fc" that name alone. */
static int matches(const char *word, const char *name)
{
    const size_t length = strlen(word);
    if (length && word[length - 1] == '*') return strncmp(word, name, length - 1) == 0;
    return strcmp(word, name) == 0;
}

/* Copies the next word, up to a comma, and passes it. Returns 0: it is empty, or too long. */
static int take_word(const char **text, char word[WORD])
{
    const size_t length = strcspn(*text, ",");
    if (!length || length >= WORD) return 0;
    memcpy(word, *text, length);
    word[length] = '\0';
    *text += length;
    return 1;
}

/* Behind a word: whether another one follows. */
static int goes_on(const char **text)
{
    return **text == ',' ? (++*text, 1) : 0;
}

/* Of a word that no layer has. */
static int refuse_name(const tutti_net *net, const char *word, tutti_layer_rates_fault *fault)
{
    const size_t length = strlen(word);
    int names = 0, longer = 0;
    const char **name = calloc((size_t)net->layers, sizeof *name);
    FILE *out = fmemopen(fault->reason, sizeof fault->reason, "w");
    for (int l = 0; l < net->layers; l++) {
        if (!parameters_of(&net->layer[l])) continue;
        longer += strncmp(net->layer[l].name, word, length) == 0;
        if (name) name[names++] = net->layer[l].name;
    }
    if (out) {
        fprintf(out, "the model has no layer %s with weights", word);
        if (longer > 1)
            fprintf(out, "; %d begin so: %s*", longer, word);
        else
            tutti_conf_print_nearest(word, names, name, out);
        fclose(out);
    }
    free(name);
    return 0;
}

/* Multiplies the rate of what a word matches, from what the net had at first. Returns 0: that is nothing. */
static int scale(tutti_net *net, const char *word, double factor, const double *had)
{
    int found = 0;
    for (int l = 0; l < net->layers; l++) {
        tutti_layer *layer = &net->layer[l];
        const int n = parameters_of(layer);
        if (!n || !matches(word, layer->name)) continue;
        found = 1;
        for (int p = 0; p < n; p++)
            layer->factors[p].rate = had[l * TUTTI_LAYER_PARAMETERS + p] * factor;
    }
    return found;
}

static int apply_scale(
    const char *text, tutti_net *net, const double *had, tutti_layer_rates_fault *fault)
{
    static const char form[] = "must be layers with factors from 1e-6 to 1000, such as "
                               "fc=10,layer1*=0.1; a layer that is to stay as it "
                               "is belongs to --freeze";
    char word[WORD];
    do {
        double factor;
        if (!take_word(&text, word)) return refuse(fault, form);
        char *equals = strchr(word, '=');
        if (!equals || equals == word || !tutti_number_real(equals + 1, &factor) ||
            !(factor >= least && factor <= most))
            return refuse(fault, form);
        *equals = '\0';
        if (!scale(net, word, factor, had)) return refuse_name(net, word, fault);
    } while (goes_on(&text));
    return *text ? refuse(fault, form) : 1;
}

static int apply_freeze(const char *text, tutti_net *net, tutti_layer_rates_fault *fault)
{
    const int others = strncmp(text, all_but, sizeof all_but - 1) == 0;
    char word[WORD];
    int left = 0;
    char *named = calloc((size_t)net->layers, 1);
    if (!named) return refuse(fault, "no memory for a list of layers");
    if (others) text += sizeof all_but - 1;
    do {
        int found = 0;
        const int read = take_word(&text, word);
        for (int l = 0; read && l < net->layers; l++) {
            if (!parameters_of(&net->layer[l]) || !matches(word, net->layer[l].name)) continue;
            found = named[l] = 1;
        }
        if (found) continue;
        free(named);
        return read ? refuse_name(net, word, fault)
                    : refuse(fault, "must be layers, such as conv1,layer1*, or all-but:fc");
    } while (goes_on(&text));
    for (int l = 0; l < net->layers; l++)
        for (int p = parameters_of(&net->layer[l]) - 1; p >= 0; p--) {
            if (named[l] != others) net->layer[l].factors[p].rate = 0;
            left += net->layer[l].factors[p].rate > 0;
        }
    free(named);
    return left ? 1 : refuse(fault, "leaves no layer to train: use --evaluate to train nothing");
}

int tutti_layer_rates_apply(
    const tutti_layer_rates *rates, tutti_net *net, tutti_layer_rates_fault *fault)
{
    int good = 1;
    if (rates->scale) {
        *fault = (tutti_layer_rates_fault){"lr-scale", rates->scale, ""};
        double *had = calloc((size_t)net->layers * TUTTI_LAYER_PARAMETERS, sizeof *had);
        if (!had) return refuse(fault, "no memory for the rates of layers");
        for (int l = 0; l < net->layers; l++)
            for (int p = 0; p < TUTTI_LAYER_PARAMETERS; p++)
                had[l * TUTTI_LAYER_PARAMETERS + p] = net->layer[l].factors[p].rate;
        good = apply_scale(rates->scale, net, had, fault);
        free(had);
    }
    if (good && rates->freeze) {
        *fault = (tutti_layer_rates_fault){"freeze", rates->freeze, ""};
        good = apply_freeze(rates->freeze, net, fault);
    }
    return good;
}

int64_t tutti_layer_rates_frozen(const tutti_net *net, int *layers)
{
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    int64_t count = 0;
    *layers = 0;
    for (int l = 0; l < net->layers; l++) {
        const int n = tutti_layer_parameters(&net->layer[l], parameter);
        int frozen = 0;
        for (int p = 0; p < n; p++)
            if (!(net->layer[l].factors[p].rate > 0)) {
                frozen = 1;
                count += tutti_shape_count(&parameter[p].shape);
            }
        *layers += frozen;
    }
    return count;
}
