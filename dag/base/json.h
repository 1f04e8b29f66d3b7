/* Text as JSON, for the files that the library itself writes (apps use a JSON library). [A] */
#ifndef TUTTI_JSON_H
#define TUTTI_JSON_H

#include <stdio.h>

/* Writes "text" with quotes. Quotes, backslashes and control characters are escaped, and non-ASCII
 * bytes become '?', so that the file is UTF-8 whatever the text holds. NULL is written as null. */
void tutti_json_string(FILE *out, const char *text);

#endif
