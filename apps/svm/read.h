/* LIBSVM's text: lines "LABEL INDEX:VALUE INDEX:VALUE ...", read by all ranks at once.
 *
 * Labels are any numbers; indices are from 1 to 2^31 - 1 and ascend in a line; a line may have no values.
 * Lines end in LF or CRLF, and the mark that some editors put in front of UTF-8 is skipped. Empty lines may
 * stand at the end of the file alone. */
#ifndef TUTTI_SVM_READ_H
#define TUTTI_SVM_READ_H

#include "apps/svm/rows.h"
#include "apps/svm/world.h"

enum { TUTTI_SVM_REASON = 200 };

/* Appends the row of a line of `length` bytes, without its end. 1; 0: the line is refused, `reason` says
 * why, and `rows` is as before; -1: NOMEM, logged. */
int tutti_svm_parse_line(
    const char *line, size_t length, tutti_rows *rows, char reason[TUTTI_SVM_REASON]);

/* Reads text of `bytes` bytes in memory: the part of a file from a line on. *lines: how many there are;
 * *empty: the number of the first empty one, from 0, or -1; *last: that of the last line that is not
 * empty, or -1. FORMAT: *bad is the line that is refused, and `reason` says why; nothing is logged. */
typedef struct tutti_svm_text {
    int64_t lines, empty, last, bad;
    char reason[TUTTI_SVM_REASON];
} tutti_svm_text;
tutti_status tutti_svm_parse_text(
    const char *text, size_t bytes, tutti_svm_text *found, tutti_rows *rows);

/* Reads the lines that begin in this rank's part of the file, into a zero-initialised object. All ranks
 * call it with the same path. rows->from, and rows->columns over all ranks, are set. On all ranks: IO, the
 * file cannot be read or is empty; FORMAT, the first line of the file that is refused; NOMEM (logged). */
tutti_status tutti_svm_read(tutti_svm_world *world, const char *path, tutti_rows *rows);

#endif
