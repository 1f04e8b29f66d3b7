#include "dag/base/parameters.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void find_twice(tutti_parameters *p, const char *key)
{
    for (int i = 0; i < p->count; i++)
        if (p->of[i].key && !strcmp(p->of[i].key, key)) p->twice = key;
}

int tutti_parameters_cut(const char *text, int named, tutti_parameters *parameters)
{
    tutti_parameters *p = parameters;
    char *list = p->text;
    p->count = 0;
    p->name = p->twice = NULL;
    if (strlen(text) >= sizeof p->text) return 0;
    strcpy(p->text, text);
    if (named) p->name = strsep(&list, ":");
    for (char *part; (part = strsep(&list, ",")); p->count++) {
        char *value = strchr(part, '=');
        if (p->count == TUTTI_PARAMETERS_MOST) return 0;
        if (value) *value++ = '\0';
        if (value) find_twice(p, part);
        p->of[p->count].key = value ? part : NULL;
        p->of[p->count].value = value ? value : part;
    }
    return 1;
}

void tutti_parameters_say(char *text, size_t size, int i, const char *last, const char *format, ...)
{
    char word[64];
    const size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(word, sizeof word, format, args);
    va_end(args);
    snprintf(text + used, size - used, "%s %s", !i ? "" : last ? last : ",", word);
}
