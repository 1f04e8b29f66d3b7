#include "dag/base/json.h"

void tutti_json_string(FILE *out, const char *text)
{
    if (!text) {
        fputs("null", out);
        return;
    }
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c < ' ' || *c == 0x7f)
            fprintf(out, "\\u%04x", *c);
        else
            fputc(*c < 0x80 ? *c : '?', out);
    }
    fputc('"', out);
}
