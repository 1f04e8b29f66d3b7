#include "apps/data/tar_write.h"

#include <string.h>

/* Fields of a header: where, how long. */
enum { NAME_BYTES = 100, MODE = 100, OWNER = 108, GROUP = 116, ID_BYTES = 8 };
enum { SIZE = 124, TIME = 136, NUMBER_BYTES = 12, SUM = 148, SUM_BYTES = 8, TYPE = 156 };
enum { MAGIC = 257, MAGIC_BYTES = 8, OWNER_NAME = 265, GROUP_NAME = 297 };
enum { REGULAR = '0', LONG_NAME = 'L', READ_ONLY = 0444 };
/* 1980-01-01: no tool finds it implausibly old. */
static const int64_t time_of_all = 315532800;

/* Octal digits and a zero; a number that needs more digits becomes GNU's: a byte of 0x80, then the
 * number itself, most significant byte first. */
static void put_number(uint8_t *field, int bytes, int64_t value)
{
    int64_t rest = value;
    field[bytes - 1] = '\0';
    for (int i = bytes - 2; i >= 0; i--, rest /= 8) field[i] = (uint8_t)('0' + rest % 8);
    if (!rest) return;
    for (int i = bytes - 1; i > 0; i--, value >>= 8) field[i] = (uint8_t)value;
    field[0] = 0x80;
}

static void put_text(uint8_t *field, const char *text)
{
    memcpy(field, text, strlen(text));
}

/* Six digits, a zero and a blank, over the sum of all bytes with blanks in this place. */
static void put_sum(uint8_t *block)
{
    int sum = 0;
    memset(block + SUM, ' ', SUM_BYTES);
    for (int i = 0; i < TUTTI_TAR_BLOCK; i++) sum += block[i];
    put_number(block + SUM, SUM_BYTES - 1, sum);
}

static void fill_head(const char *name, int64_t bytes, char type, uint8_t *block)
{
    size_t length = strlen(name);
    memset(block, 0, TUTTI_TAR_BLOCK);
    memcpy(block, name, length < NAME_BYTES ? length : NAME_BYTES);
    put_number(block + MODE, ID_BYTES, READ_ONLY);
    put_number(block + OWNER, ID_BYTES, 0);
    put_number(block + GROUP, ID_BYTES, 0);
    put_number(block + SIZE, NUMBER_BYTES, bytes);
    put_number(block + TIME, NUMBER_BYTES, time_of_all);
    block[TYPE] = (uint8_t)type;
    memcpy(block + MAGIC, "ustar  ", MAGIC_BYTES);
    put_text(block + OWNER_NAME, "root");
    put_text(block + GROUP_NAME, "root");
    put_sum(block);
}

void tutti_tar_header(const char *name, int64_t bytes, uint8_t block[TUTTI_TAR_BLOCK])
{
    fill_head(name, bytes, REGULAR, block);
}

static tutti_status append_padded(tutti_bytes *to, const void *data, size_t count)
{
    size_t over = count % TUTTI_TAR_BLOCK;
    tutti_status status = tutti_bytes_append(to, data, count);
    if (status || !over) return status;
    return tutti_bytes_append(to, NULL, TUTTI_TAR_BLOCK - over);
}

tutti_status tutti_tar_append(tutti_bytes *to, const char *name, const void *contents, size_t count)
{
    uint8_t block[TUTTI_TAR_BLOCK];
    size_t before = to->count, length = strlen(name);
    tutti_status status = TUTTI_OK;
    if (length > NAME_BYTES) {
        fill_head("././@LongLink", (int64_t)length + 1, LONG_NAME, block);
        status = tutti_bytes_append(to, block, sizeof block);
        if (!status) status = append_padded(to, name, length + 1);
    }
    tutti_tar_header(name, (int64_t)count, block);
    if (!status) status = tutti_bytes_append(to, block, sizeof block);
    if (!status) status = append_padded(to, contents, count);
    if (status) to->count = before;
    return status;
}

tutti_status tutti_tar_append_end(tutti_bytes *to)
{
    return tutti_bytes_append(to, NULL, TUTTI_TAR_END);
}
