#include "designs/membership/message.h"

#include "dag/base/little_endian.h"

#include <stddef.h>
#include <string.h>

static const unsigned char message_magic[4] = {'T', 'T', 'M', 'M'},
                           hello_magic[4] = {'T', 'T', 'M', 'H'};

enum { MAGIC = sizeof message_magic, ENTRIES_AT = 72, NUMBERS_AT = 24 };

/* ---- addresses ---- */

static void put_address(unsigned char *to, const char *address)
{
    memset(to, 0, TUTTI_MEMBERSHIP_ADDRESS);
    memcpy(to, address, strnlen(address, TUTTI_MEMBERSHIP_ADDRESS - 1));
}

/* Printable, ended, and nothing behind the end. */
static int get_address(const unsigned char *from, char *address)
{
    const size_t length = strnlen((const char *)from, TUTTI_MEMBERSHIP_ADDRESS);
    for (size_t i = 0; i < TUTTI_MEMBERSHIP_ADDRESS; i++)
        if (i < length ? from[i] <= ' ' || from[i] > '~' : from[i] != 0) return 0;
    if (length == TUTTI_MEMBERSHIP_ADDRESS) return 0;
    memcpy(address, from, TUTTI_MEMBERSHIP_ADDRESS);
    return 1;
}

/* ---- messages ---- */

/* What a kind has: whether a list, the largest flag, the least of newest and before, and which numbers may be other
 * than 0. */
typedef struct shape {
    int least, flags;
    int64_t newest, before;
    int about, highest, proposer;
} shape;

static const shape shapes[TUTTI_MEMBERSHIP_KINDS] = {
    [TUTTI_MEMBERSHIP_VIEW] = {.least = 1},
    [TUTTI_MEMBERSHIP_READY] = {.least = 1},
    [TUTTI_MEMBERSHIP_SUSPECT] = {.about = 1},
    [TUTTI_MEMBERSHIP_PROPOSE] = {.least = 1, .flags = TUTTI_MEMBERSHIP_GENTLY, .about = 1},
    [TUTTI_MEMBERSHIP_ACK] = {.newest = -1, .before = -1},
    [TUTTI_MEMBERSHIP_REFUSE] = {.flags = TUTTI_MEMBERSHIP_COMMITTED | TUTTI_MEMBERSHIP_TOO_EARLY,
        .about = 1,
        .highest = 1,
        .proposer = 1},
    [TUTTI_MEMBERSHIP_COMMIT] = {.least = 1},
    [TUTTI_MEMBERSHIP_STOP] = {.flags = TUTTI_MEMBERSHIP_NO_SNAPSHOT, .about = 1},
};

static int has_snapshots(tutti_membership_kind kind)
{
    return kind == TUTTI_MEMBERSHIP_ACK || kind == TUTTI_MEMBERSHIP_COMMIT;
}

static int has_list(tutti_membership_kind kind)
{
    return shapes[kind].least || kind == TUTTI_MEMBERSHIP_REFUSE;
}

void tutti_membership_message_write(
    const tutti_membership_message *m, unsigned char bytes[TUTTI_MEMBERSHIP_MESSAGE_BYTES])
{
    const int64_t number[] = {m->epoch, m->about, m->highest, m->proposer, m->newest, m->before};
    memset(bytes, 0, TUTTI_MEMBERSHIP_MESSAGE_BYTES);
    memcpy(bytes, message_magic, MAGIC);
    tutti_little_put(bytes + 4, TUTTI_MEMBERSHIP_VERSION, 4);
    tutti_little_put(bytes + 8, (uint64_t)m->kind, 4);
    tutti_little_put(bytes + 12, (uint64_t)m->flag, 4);
    tutti_little_put(bytes + 16, (uint64_t)m->n, 4);
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        tutti_little_put(bytes + NUMBERS_AT + 8 * i, (uint64_t)number[i], 8);
    for (int i = 0; i < m->n; i++) {
        unsigned char *at = bytes + ENTRIES_AT + (size_t)i * TUTTI_MEMBERSHIP_ENTRY_BYTES;
        tutti_little_put(at, (uint64_t)m->entry[i].id, 8);
        tutti_little_put(at + 8, (uint64_t)m->entry[i].fresh, 8);
        put_address(at + 16, m->entry[i].address);
    }
}

static const char *read_entry(const unsigned char *at, tutti_membership_entry *e)
{
    const uint64_t id = tutti_little_get(at, 8), fresh = tutti_little_get(at + 8, 8);
    if (id > INT64_MAX) return "sends a list with an invalid rank";
    if (fresh > 1) return "sends a list with an invalid mark";
    e->id = (int64_t)id;
    e->fresh = (int)fresh;
    return get_address(at + 16, e->address) ? NULL : "sends a list with an invalid address";
}

static const char *read_list(const unsigned char *bytes, tutti_membership_message *m)
{
    static const unsigned char nothing[TUTTI_MEMBERSHIP_ENTRY_BYTES];
    int members = 0;
    for (int i = 0; i < TUTTI_MEMBERSHIP_MOST; i++) {
        const unsigned char *at = bytes + ENTRIES_AT + (size_t)i * TUTTI_MEMBERSHIP_ENTRY_BYTES;
        if (i >= m->n && memcmp(at, nothing, sizeof nothing)) return "sends more than its list";
        if (i >= m->n) continue;
        const char *wrong = read_entry(at, &m->entry[i]);
        if (wrong) return wrong;
        if (i && m->entry[i].id <= m->entry[i - 1].id) return "sends a list that is not in order";
        members += !m->entry[i].fresh;
    }
    return members || !shapes[m->kind].least ? NULL : "sends a list without members";
}

static const char *check_numbers(const tutti_membership_message *m)
{
    const shape *s = &shapes[m->kind];
    const int snapshots = has_snapshots(m->kind);
    if (m->epoch < 0 || m->about < 0 || m->highest < 0 || m->proposer < 0)
        return "sends a negative number";
    if ((m->about && !s->about) || (m->highest && !s->highest) || (m->proposer && !s->proposer))
        return "sends a number that its message does not have";
    if (snapshots ? m->newest < s->newest || m->before < s->before || m->before > m->newest
                  : m->newest || m->before)
        return "sends invalid snapshots";
    if (m->kind == TUTTI_MEMBERSHIP_COMMIT && m->before) return "sends invalid snapshots";
    if (m->kind == TUTTI_MEMBERSHIP_STOP && !m->flag) return "stops without a reason";
    return NULL;
}

const char *tutti_membership_message_read(
    const unsigned char bytes[TUTTI_MEMBERSHIP_MESSAGE_BYTES], tutti_membership_message *m)
{
    const uint64_t kind = tutti_little_get(bytes + 8, 4), flag = tutti_little_get(bytes + 12, 4),
                   n = tutti_little_get(bytes + 16, 4);
    memset(m, 0, sizeof *m);
    if (memcmp(bytes, message_magic, MAGIC)) return "sends no messages of a membership";
    if (tutti_little_get(bytes + 4, 4) != TUTTI_MEMBERSHIP_VERSION)
        return "sends messages of another version";
    if (kind >= TUTTI_MEMBERSHIP_KINDS) return "sends an unknown message";
    if (flag > (uint64_t)shapes[kind].flags) return "sends an invalid flag";
    if (n > TUTTI_MEMBERSHIP_MOST || tutti_little_get(bytes + 20, 4))
        return "sends a list that is too long";
    if (n < (uint64_t)shapes[kind].least || (n && !has_list((tutti_membership_kind)kind)))
        return "sends a list that its message does not have";
    m->kind = (tutti_membership_kind)kind;
    m->flag = (int)flag;
    m->n = (int)n;
    int64_t *number[] = {&m->epoch, &m->about, &m->highest, &m->proposer, &m->newest, &m->before};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        *number[i] = (int64_t)tutti_little_get(bytes + NUMBERS_AT + 8 * i, 8);
    const char *wrong = check_numbers(m);
    return wrong ? wrong : read_list(bytes, m);
}

/* ---- hellos ---- */

void tutti_membership_hello_write(
    const tutti_membership_hello *h, unsigned char bytes[TUTTI_MEMBERSHIP_HELLO_BYTES])
{
    memset(bytes, 0, TUTTI_MEMBERSHIP_HELLO_BYTES);
    memcpy(bytes, hello_magic, MAGIC);
    tutti_little_put(bytes + 4, (uint64_t)h->version, 4);
    tutti_little_put(bytes + 8, (uint64_t)h->id, 8);
    tutti_little_put(bytes + 16, h->run, 8);
    tutti_little_put(bytes + 24, h->options, 8);
    put_address(bytes + 32, h->address);
}

const char *tutti_membership_hello_read(
    const unsigned char bytes[TUTTI_MEMBERSHIP_HELLO_BYTES], tutti_membership_hello *h)
{
    memset(h, 0, sizeof *h);
    if (memcmp(bytes, hello_magic, MAGIC)) return "sends no hello of a membership";
    const uint64_t version = tutti_little_get(bytes + 4, 4), id = tutti_little_get(bytes + 8, 8);
    h->version = version > INT32_MAX ? INT32_MAX : (int)version;
    if (version != TUTTI_MEMBERSHIP_VERSION) return NULL;
    if (id > INT64_MAX) return "sends an invalid rank";
    h->id = (int64_t)id;
    h->run = tutti_little_get(bytes + 16, 8);
    h->options = tutti_little_get(bytes + 24, 8);
    if (!get_address(bytes + 32, h->address)) return "sends an invalid address";
    return tutti_little_get(bytes + 32 + TUTTI_MEMBERSHIP_ADDRESS, 8) ? "sends more than a hello"
                                                                      : NULL;
}
