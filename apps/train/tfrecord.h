/* Records of a TFRecord file:
 *
 *   length (8 bytes) | masked CRC of it (4) | data | masked CRC of the data (4)      all little endian
 *
 * CRC: CRC-32C (Castagnoli, RFC 3720, appendix B.4); masked: rotated right by 15 bits, plus 0xa282ead8.
 * Source: https://www.tensorflow.org/tutorials/load_data/tfrecord. Threads: [A]. */
#ifndef TUTTI_TRAIN_TFRECORD_H
#define TUTTI_TRAIN_TFRECORD_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

uint32_t tutti_tfrecord_crc(const void *data, size_t size);
/* Whether it could be written, errno set otherwise; the file is flushed. */
int tutti_tfrecord_write(FILE *file, const void *data, size_t size);

#endif
