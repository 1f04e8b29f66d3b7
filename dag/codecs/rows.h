/* Each codec of this room that compresses, for the table (codecs.h) and for who names one. */
#ifndef TUTTI_CODEC_ROWS_H
#define TUTTI_CODEC_ROWS_H

#include "dag/step/step.h"

extern const tutti_codec tutti_codec_onebit, tutti_codec_topk, tutti_codec_powersgd;

#endif
