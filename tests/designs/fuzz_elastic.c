/* Damaged words and control connections of elastic runs: fuzz_elastic [ITERATIONS]. Whatever the bytes are, words are
 * those that a rank could have written, or are refused; and a connection gives messages that a rank could have
 * written, or breaks with a reason. What is not damaged arrives whole, in whatever pieces. */
#include "dag/base/clock.h"
#include "dag/base/rng.h"
#include "designs/elastic/control.h"
#include "designs/elastic/words.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    ITERATIONS = 6000,
    MOST_MESSAGES = 4,
    MOST_BYTES = MOST_MESSAGES * (2 + TUTTI_MEMBERSHIP_MESSAGE_BYTES)
};

typedef struct dice {
    uint64_t seed, iteration, next;
} dice;

static uint64_t roll(dice *d, uint64_t bound)
{
    return tutti_rng_below(d->seed, d->iteration, d->next++, bound);
}

/* Few bytes, mostly where a part begins. */
static void damage(dice *d, unsigned char *bytes, size_t all)
{
    for (uint64_t n = roll(d, 4); n--;)
        bytes[roll(d, roll(d, 2) ? all
                      : all < 40 ? all
                                 : 40)] = (unsigned char)(roll(d, 2) ? roll(d, 4) : roll(d, 256));
}

static int fuzz_words(dice *d, int *right)
{
    unsigned char bytes[TUTTI_TCP_WORDS_BYTES], again[sizeof bytes];
    tutti_elastic_words w = {.purpose = (tutti_elastic_purpose)roll(d, 2),
        .hello = {.version = TUTTI_MEMBERSHIP_VERSION,
            .id = (int64_t)roll(d, 9),
            .run = roll(d, 9),
            .options = roll(d, 9),
            .address = "host:1"}};
    if (w.purpose == TUTTI_ELASTIC_DATA) w.epoch = (int64_t)roll(d, 9), w.to = (int64_t)roll(d, 9);
    tutti_elastic_words_write(&w, bytes);
    damage(d, bytes, sizeof bytes);
    if (tutti_elastic_words_read(bytes, &w)) return 0;
    if (w.hello.version != TUTTI_MEMBERSHIP_VERSION) return 0;
    tutti_elastic_words_write(&w, again);
    *right += 1;
    return !!memcmp(bytes, again, sizeof bytes);
}

/* An address of any characters: the reader keeps within its parts. */
static int fuzz_address(dice *d)
{
    static const char some[] = "host:5[]1.::x9-\t";
    char address[TUTTI_MEMBERSHIP_ADDRESS] = "", host[TUTTI_ELASTIC_HOST];
    const int length = (int)roll(d, sizeof address);
    int port = 0;
    for (int i = 0; i < length; i++) address[i] = some[roll(d, sizeof some - 1)];
    if (!tutti_elastic_address_read(address, host, &port)) return 0;
    return port < 1 || port > 65535 || !host[0] || strlen(host) >= sizeof host;
}

/* Messages and beats; returns how many bytes. */
static size_t write_stream(dice *d, unsigned char *bytes, int *messages)
{
    size_t length = 0;
    *messages = (int)roll(d, MOST_MESSAGES + 1);
    for (int i = 0; i < *messages; i++) {
        const tutti_membership_message m = {.kind = TUTTI_MEMBERSHIP_SUSPECT,
            .epoch = (int64_t)roll(d, 9),
            .about = (int64_t)roll(d, 9)};
        if (roll(d, 2)) bytes[length++] = 'b';
        bytes[length++] = 'm';
        tutti_membership_message_write(&m, bytes + length);
        length += TUTTI_MEMBERSHIP_MESSAGE_BYTES;
    }
    return length;
}

/* Sends the bytes in pieces, and reads between them; returns how many messages came. */
static int transfer(dice *d, int to, tutti_elastic_control *c, const unsigned char *bytes,
    size_t length, int *failures)
{
    unsigned char again[TUTTI_MEMBERSHIP_MESSAGE_BYTES];
    tutti_membership_message message;
    int came = 0;
    for (size_t at = 0; at <= length && !c->end;) {
        size_t piece = 1 + (size_t)roll(d, 7000);
        if (piece > length - at) piece = length - at;
        if (piece && send(to, bytes + at, piece, MSG_NOSIGNAL) != (ssize_t)piece) *failures += 1;
        at += piece;
        while (tutti_elastic_control_read(c, &message, 0)) {
            tutti_membership_message_write(&message, again);
            came++;
        }
        if (at == length) break;
    }
    return came;
}

static int fuzz_stream(dice *d)
{
    static unsigned char bytes[MOST_BYTES], right[MOST_BYTES];
    tutti_elastic_control c;
    tutti_membership_message message;
    int ends[2], messages, failures = 0;
    const size_t length = write_stream(d, right, &messages);
    memcpy(bytes, right, length);
    if (length) damage(d, bytes, length);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) return 1;
    tutti_elastic_control_open(&c, ends[1], 0);
    const int came = transfer(d, ends[0], &c, bytes, length, &failures);
    close(ends[0]);
    while (tutti_elastic_control_read(&c, &message, 0)) failures++; /* all were read */
    failures += came > messages;
    failures += !c.end || (c.end == TUTTI_ELASTIC_BROKEN && !c.why[0]);
    if (!memcmp(bytes, right, length))
        failures += came != messages || c.end != TUTTI_ELASTIC_IN_ORDER;
    tutti_elastic_control_close(&c);
    return failures;
}

int main(int argc, char **argv)
{
    const int all = testing_fewer() ? ITERATIONS / 10 : ITERATIONS;
    const int iterations = argc > 1 ? atoi(argv[1]) : all;
    dice d = {.seed = testing_seed(12)};
    int failures = 0, right = 0;
    for (int i = 0; i < iterations && !failures; i++) {
        d.iteration = (uint64_t)i;
        d.next = 0;
        failures += fuzz_words(&d, &right) + fuzz_address(&d) + fuzz_stream(&d);
        if (failures) printf("iteration %d: %d failures\n", i, failures);
    }
    if (!failures && right < iterations / 10) {
        printf("only %d of %d words were right: nothing was tested\n", right, iterations);
        failures = 1;
    }
    return !!failures;
}
