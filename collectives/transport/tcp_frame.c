#include "collectives/transport/tcp_frame.h"

#include "dag/base/little_endian.h"

#include <string.h>

/* Where the fields are. */
enum { MAGIC = 0, KIND = 2, LANE = 4, TAG = 8, REST = 12, BYTES = 16, PLACE = 24 };
enum { VERSION = 8, ORDER = 12, VERDICT = 16, TOKEN = 20, WORDS = 20 + TUTTI_TCP_TOKEN_BYTES };
static const unsigned char magic[2] = {0xD5, 0x74};
static const char name[8] = "tuttitcp";

void tutti_tcp_frame_write(const tutti_tcp_frame *frame, unsigned char header[])
{
    memset(header, 0, TUTTI_TCP_HEADER_BYTES);
    memcpy(header + MAGIC, magic, sizeof magic);
    tutti_little_put(header + KIND, frame->kind, 2);
    tutti_little_put(header + LANE, (uint64_t)frame->lane, 4);
    tutti_little_put(header + TAG, (uint64_t)frame->tag, 4);
    tutti_little_put(header + BYTES, frame->bytes, 8);
    tutti_little_put(header + PLACE, frame->place, 8);
}

const char *tutti_tcp_frame_read(
    const unsigned char header[], const tutti_tcp_limits *limits, tutti_tcp_frame *frame)
{
    uint64_t kind = tutti_little_get(header + KIND, 2), lane = tutti_little_get(header + LANE, 4),
             tag = tutti_little_get(header + TAG, 4);
    *frame = (tutti_tcp_frame){.kind = (tutti_tcp_kind)kind,
        .bytes = tutti_little_get(header + BYTES, 8),
        .place = tutti_little_get(header + PLACE, 8)};
    if (memcmp(header + MAGIC, magic, sizeof magic) || tutti_little_get(header + REST, 4))
        return "sends no valid frame";
    if (kind >= TUTTI_TCP_KINDS) return "sends a frame of an unknown kind";
    if (lane >= (uint64_t)limits->lanes || tag >= (uint64_t)limits->tags)
        return "sends a frame with an invalid lane or tag";
    if (frame->place && kind != TUTTI_TCP_WANT) return "sends no valid frame";
    if ((kind == TUTTI_TCP_DATA || kind == TUTTI_TCP_EARLY) && frame->bytes > TUTTI_TCP_PIECE_BYTES)
        return "sends a frame that is too long";
    if (frame->bytes > SIZE_MAX / 2) return "sends a message that is too long";
    frame->lane = (int)lane;
    frame->tag = (int)tag;
    return NULL;
}

/* ---- greetings ---- */

/* In this machine's byte order: the data of messages are sent unconverted. */
static const uint32_t order = 0x01020304;

void tutti_tcp_greeting_write(const tutti_tcp_greeting *greeting, unsigned char bytes[])
{
    memset(bytes, 0, TUTTI_TCP_GREETING_BYTES);
    memcpy(bytes, name, sizeof name);
    tutti_little_put(bytes + VERSION, (uint64_t)greeting->version, 4);
    memcpy(bytes + ORDER, &order, sizeof order);
    tutti_little_put(bytes + VERDICT, greeting->verdict, 4);
    memcpy(bytes + TOKEN, greeting->token, strnlen(greeting->token, TUTTI_TCP_TOKEN_BYTES));
    memcpy(bytes + WORDS, greeting->words, TUTTI_TCP_WORDS_BYTES);
}

int tutti_tcp_greeting_begins(const unsigned char bytes[])
{
    return !memcmp(bytes, name, sizeof name);
}

const char *tutti_tcp_greeting_read(const unsigned char bytes[], tutti_tcp_greeting *greeting)
{
    memset(greeting, 0, sizeof *greeting);
    if (!tutti_tcp_greeting_begins(bytes)) return "sends no valid greeting";
    greeting->version = (int)(tutti_little_get(bytes + VERSION, 4) & INT32_MAX);
    if (greeting->version != TUTTI_TCP_VERSION) {
        greeting->verdict = TUTTI_TCP_WRONG_VERSION;
        return NULL;
    }
    if (memcmp(bytes + ORDER, &order, sizeof order)) return "has another byte order";
    uint64_t verdict = tutti_little_get(bytes + VERDICT, 4);
    if (verdict >= TUTTI_TCP_VERDICTS) return "sends a greeting with an unknown verdict";
    greeting->verdict = (tutti_tcp_verdict)verdict;
    memcpy(greeting->token, bytes + TOKEN, TUTTI_TCP_TOKEN_BYTES);
    memcpy(greeting->words, bytes + WORDS, TUTTI_TCP_WORDS_BYTES);
    return NULL;
}

int tutti_tcp_token_equal(const char a[], const char b[])
{
    unsigned char differs = 0;
    char x[TUTTI_TCP_TOKEN_BYTES] = {0}, y[TUTTI_TCP_TOKEN_BYTES] = {0};
    memcpy(x, a, strnlen(a, sizeof x));
    memcpy(y, b, strnlen(b, sizeof y));
    for (size_t i = 0; i < sizeof x; i++) differs |= (unsigned char)(x[i] ^ y[i]);
    return !differs;
}
