#include "dag/strategies/strategies.h"

#include "dag/step/strategy.h"
#include "dag/strategies/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const tutti_strategy *const tutti_strategies[] = {&tutti_strategy_sync, &tutti_strategy_sharded,
    &tutti_strategy_rooted, &tutti_strategy_local, &tutti_strategy_gossip, &tutti_strategy_adpsgd,
    &tutti_strategy_elastic, &tutti_strategy_async, &tutti_strategy_bounded, NULL};

/* Those that stand in for one of the table. */
static const tutti_strategy *const stand_ins[] = {
    &tutti_strategy_served, &tutti_strategy_stored, &tutti_strategy_elastic_stored, NULL};

static int has_store(const tutti_strategy *strategy)
{
    return strategy->pushes || strategy->uses_store;
}

const tutti_strategy *tutti_strategy_with_servers(const tutti_strategy *strategy)
{
    if (strategy->serves) return strategy;
    for (int i = 0; stand_ins[i]; i++)
        if (stand_ins[i]->of == strategy && stand_ins[i]->serves) return stand_ins[i];
    return NULL;
}

const tutti_strategy *tutti_strategy_with_store(const tutti_strategy *strategy)
{
    if (has_store(strategy)) return strategy;
    for (int i = 0; stand_ins[i]; i++)
        if (stand_ins[i]->of == strategy && has_store(stand_ins[i])) return stand_ins[i];
    return NULL;
}

static const tutti_strategy *find(const char *name, size_t length)
{
    for (int i = 0; tutti_strategies[i]; i++)
        if (strlen(tutti_strategies[i]->name) == length &&
            !strncmp(tutti_strategies[i]->name, name, length))
            return tutti_strategies[i];
    return NULL;
}

static int parameters_of(const tutti_strategy *strategy)
{
    int n = 0;
    while (strategy->parameter && strategy->parameter[n].key) n++;
    return n;
}

/* ---- reading ---- */

static void say_names(char *fault, size_t size)
{
    int used = snprintf(fault, size, "must be");
    for (int i = 0; tutti_strategies[i] && used >= 0 && (size_t)used < size; i++)
        used += snprintf(fault + used, size - (size_t)used, "%s %s",
            !i                        ? ""
            : tutti_strategies[i + 1] ? ","
                                      : " or",
            tutti_strategies[i]->name);
}

/* Of a strategy whose first parameter is a word. */
static void say_words(const tutti_strategy *strategy, char *fault, size_t size)
{
    const tutti_strategy_parameter *next = strategy->parameter + 1;
    const char *const *words = strategy->parameter->words;
    int used = snprintf(fault, size, "must be");
    for (int w = 0; words[w] && used >= 0 && (size_t)used < size; w++)
        used += snprintf(fault + used, size - (size_t)used, "%s %s:%s",
            !w             ? ""
            : words[w + 1] ? ","
                           : " or",
            strategy->name, words[w]);
    if (next->key && used >= 0 && (size_t)used < size)
        snprintf(fault + used, size - (size_t)used, ", which %s= may follow, such as %s:%s,%s=%g",
            next->key, strategy->name, words[0], next->key, next->fallback);
}

static void say_keys(const tutti_strategy *strategy, char *fault, size_t size)
{
    int n = parameters_of(strategy), used;
    if (!n) {
        snprintf(
            fault, size, "%s takes no parameters: write just %s", strategy->name, strategy->name);
        return;
    }
    if (strategy->parameter->words) {
        say_words(strategy, fault, size);
        return;
    }
    if (strategy->parameter->bare) {
        snprintf(fault, size, "%s takes a number, such as %s:%g", strategy->name, strategy->name,
            strategy->parameter->fallback);
        return;
    }
    used = snprintf(fault, size, "%s takes", strategy->name);
    for (int i = 0; i < n && used >= 0 && (size_t)used < size; i++)
        used += snprintf(fault + used, size - (size_t)used, "%s %s=",
            !i          ? ""
            : i + 1 < n ? ","
                        : " and",
            strategy->parameter[i].key);
    if (used >= 0 && (size_t)used < size)
        snprintf(fault + used, size - (size_t)used, ", separated by commas, such as %s:%s=%g",
            strategy->name, strategy->parameter[0].key, strategy->parameter[0].fallback);
}

static void say_bounds(const tutti_strategy_parameter *p, char *fault, size_t size)
{
    snprintf(fault, size, "%s must be a %snumber from %.9g to %.9g", p->key,
        p->whole ? "whole " : "", p->low, p->high);
}

/* The word that begins here, up to a comma or the end; *text moves behind it. */
static int read_word(const tutti_strategy_parameter *p, const char **text, double *value)
{
    const size_t length = strcspn(*text, ",");
    for (int w = 0; p->words[w]; w++) {
        if (strlen(p->words[w]) != length || strncmp(p->words[w], *text, length)) continue;
        *text += length;
        *value = w;
        return 1;
    }
    return 0;
}

/* A number up to a comma, or the end; *text moves behind it. */
static int read_value(const tutti_strategy_parameter *p, const char **text, double *value)
{
    char *end;
    if (!strchr("0123456789.", **text)) return 0;
    *value = strtod(*text, &end);
    int read = end > *text && (!*end || *end == ',') && *value >= p->low && *value <= p->high &&
               (!p->whole || *value == floor(*value));
    *text = end;
    return read;
}

/* One "key=value"; returns whether it could be read. */
static int read_one(const tutti_strategy *strategy, const char **text, int seen[],
    tutti_strategy_settings *settings, char *fault, size_t size)
{
    const int n = parameters_of(strategy);
    const size_t length = strcspn(*text, "=,");
    int k = 0;
    for (; k < n && strategy->parameter[k].words; k++)
        if (!seen[k] && read_word(&strategy->parameter[k], text, &settings->value[k]))
            return ++seen[k];
    if (n && !seen[0] && strategy->parameter[0].bare) {
        seen[0]++;
        if (read_value(&strategy->parameter[0], text, &settings->value[0])) return 1;
        say_bounds(&strategy->parameter[0], fault, size);
        return 0;
    }
    while (k < n && (strlen(strategy->parameter[k].key) != length ||
                        strncmp(strategy->parameter[k].key, *text, length)))
        k++;
    if (k == n || (*text)[length] != '=') {
        say_keys(strategy, fault, size);
        return 0;
    }
    const tutti_strategy_parameter *p = &strategy->parameter[k];
    *text += length + 1;
    if (seen[k]++) {
        snprintf(fault, size, "has %s= twice", p->key);
        return 0;
    }
    if (read_value(p, text, &settings->value[k])) return 1;
    say_bounds(p, fault, size);
    return 0;
}

int tutti_strategy_read(const char *text, const tutti_strategy **strategy,
    tutti_strategy_settings *settings, char *fault, size_t size)
{
    const size_t length = strcspn(text, ":");
    const tutti_strategy *found = find(text, length);
    int seen[TUTTI_STRATEGY_PARAMETERS] = {0};
    if (!found) {
        say_names(fault, size);
        return 0;
    }
    *settings = (tutti_strategy_settings){0};
    for (int i = 0; i < parameters_of(found); i++)
        settings->value[i] = found->parameter[i].fallback;
    *strategy = found;
    text += length;
    if (!*text) return 1;
    do {
        text++; /* ":" or "," */
        if (!read_one(found, &text, seen, settings, fault, size)) return 0;
    } while (*text);
    return 1;
}

char *tutti_strategy_print(const tutti_strategy *strategy, const tutti_strategy_settings *settings,
    char text[TUTTI_STRATEGY_TEXT])
{
    if (!strategy) strategy = &tutti_strategy_sync;
    int used = snprintf(text, TUTTI_STRATEGY_TEXT, "%s", strategy->name);
    for (int i = 0; i < parameters_of(strategy); i++) {
        const tutti_strategy_parameter *p = &strategy->parameter[i];
        const double value = settings->value[i];
        const size_t room = (size_t)(TUTTI_STRATEGY_TEXT - used);
        used +=
            p->words  ? snprintf(text + used, room, "%c%s", i ? ',' : ':', p->words[(int)value])
            : p->bare ? snprintf(text + used, room, "%c%.9g", i ? ',' : ':', value)
                      : snprintf(text + used, room, "%c%s=%.9g", i ? ',' : ':', p->key, value);
    }
    return text;
}
