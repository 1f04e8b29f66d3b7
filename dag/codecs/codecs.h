/* The table of codecs (dag/step/codec.h), and how users write one. Threads: [P]. */
#ifndef TUTTI_CODECS_H
#define TUTTI_CODECS_H

#include "dag/step/step.h"

/* NULL-terminated table of codecs. */
extern const tutti_codec *const tutti_codecs[];
/* Reads "NAME", or "NAME:number". Returns whether it could; if not, `fault` says why, and what to write
 * instead. */
int tutti_codec_read(
    const char *text, const tutti_codec **codec, double *value, char *fault, size_t size);
/* The same text; NULL: none. Returns text. */
enum { TUTTI_CODEC_TEXT = 48 };
char *tutti_codec_print(const tutti_codec *codec, double value, char text[TUTTI_CODEC_TEXT]);

#endif
