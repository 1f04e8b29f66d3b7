#include "dag/strategies/strategies.h"

#include "dag/base/number.h"
#include "dag/base/parameters.h"
#include "dag/step/strategy.h"
#include "dag/strategies/rows.h"

#include <stdio.h>
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

static const tutti_strategy *find(const char *name)
{
    for (int i = 0; name && tutti_strategies[i]; i++)
        if (!strcmp(tutti_strategies[i]->name, name)) return tutti_strategies[i];
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
    snprintf(fault, size, "must be");
    for (int i = 0; tutti_strategies[i]; i++)
        tutti_parameters_say(fault, size, i, tutti_strategies[i + 1] ? NULL : " or", "%s",
            tutti_strategies[i]->name);
}

/* Of a strategy whose first parameter is a word. */
static void say_words(const tutti_strategy *strategy, char *fault, size_t size)
{
    const tutti_strategy_parameter *next = strategy->parameter + 1;
    const char *const *words = strategy->parameter->words;
    snprintf(fault, size, "must be");
    for (int w = 0; words[w]; w++)
        tutti_parameters_say(
            fault, size, w, words[w + 1] ? NULL : " or", "%s:%s", strategy->name, words[w]);
    const size_t used = strlen(fault);
    if (next->key)
        snprintf(fault + used, size - used, ", which %s= may follow, such as %s:%s,%s=%g",
            next->key, strategy->name, words[0], next->key, next->fallback);
}

static void say_keys(const tutti_strategy *strategy, char *fault, size_t size)
{
    const int n = parameters_of(strategy);
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
    snprintf(fault, size, "%s takes", strategy->name);
    for (int i = 0; i < n; i++)
        tutti_parameters_say(
            fault, size, i, i + 1 < n ? NULL : " and", "%s=", strategy->parameter[i].key);
    const size_t used = strlen(fault);
    snprintf(fault + used, size - used, ", separated by commas, such as %s:%s=%g", strategy->name,
        strategy->parameter[0].key, strategy->parameter[0].fallback);
}

static int read_word(const tutti_strategy_parameter *p, const char *text, double *value)
{
    for (int w = 0; p->words[w]; w++)
        if (!strcmp(p->words[w], text)) {
            *value = w;
            return 1;
        }
    return 0;
}

static int read_value(
    const tutti_strategy_parameter *p, const char *text, double *value, char *fault, size_t size)
{
    if (text && tutti_number_within(text, p->low, p->high, p->whole, value)) return 1;
    snprintf(fault, size, "%s must be a %snumber from %.9g to %.9g", p->key,
        p->whole ? "whole " : "", p->low, p->high);
    return 0;
}

/* One "key=value", or a value alone (key NULL); returns whether it could be read. */
static int read_one(const tutti_strategy *strategy, const char *key, const char *text, int seen[],
    tutti_strategy_settings *settings, char *fault, size_t size)
{
    const tutti_strategy_parameter *p = strategy->parameter;
    const int n = parameters_of(strategy);
    int k = 0;
    for (; k < n && p[k].words; k++)
        if (!key && !seen[k] && read_word(&p[k], text, &settings->value[k])) return ++seen[k];
    if (n && !seen[0] && p[0].bare) {
        seen[0]++;
        return read_value(&p[0], key ? NULL : text, &settings->value[0], fault, size);
    }
    while (key && k < n && strcmp(p[k].key, key)) k++;
    if (key && k < n) return read_value(&p[k], text, &settings->value[k], fault, size);
    say_keys(strategy, fault, size);
    return 0;
}

int tutti_strategy_read(const char *text, const tutti_strategy **strategy,
    tutti_strategy_settings *settings, char *fault, size_t size)
{
    tutti_parameters given;
    const tutti_strategy *found = tutti_parameters_cut(text, 1, &given) ? find(given.name) : NULL;
    int seen[TUTTI_STRATEGY_PARAMETERS] = {0};
    if (!found) {
        say_names(fault, size);
        return 0;
    }
    *settings = (tutti_strategy_settings){0};
    for (int i = 0; i < parameters_of(found); i++)
        settings->value[i] = found->parameter[i].fallback;
    *strategy = found;
    for (int i = 0; i < given.count; i++)
        if (!read_one(found, given.of[i].key, given.of[i].value, seen, settings, fault, size))
            return 0;
    if (given.twice) snprintf(fault, size, "has %s= twice", given.twice);
    return !given.twice;
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
        used += p->words  ? snprintf(text + used, room, "%c%s", i ? ',' : ':', p->words[(int)value])
                : p->bare ? snprintf(text + used, room, "%c%.9g", i ? ',' : ':', value)
                          : snprintf(text + used, room, "%c%s=%.9g", i ? ',' : ':', p->key, value);
    }
    return text;
}
