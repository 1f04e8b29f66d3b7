/* Damaged frames between tutti-run and its agents: fuzz_frame [ITERATIONS]. Whatever the bytes are, a frame is one that
 * could have been written, or is refused; what is not damaged arrives whole, in whatever pieces. */
#include "apps/launch/frame.h"
#include "dag/base/rng.h"
#include "tests/support/testing.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ITERATIONS = 4000, FRAMES = 4, LONGEST = 300, BYTES = FRAMES * (LONGEST + 16) };

typedef struct dice {
    uint64_t seed, iteration, next;
} dice;

static const char kinds[] = "doefxsk";

static size_t roll(dice *d, size_t bound)
{
    return (size_t)tutti_rng_below(d->seed, d->iteration, d->next++, bound);
}

/* Frames as bytes; what they hold is made of their number. */
static size_t write_frames(dice *d, int fd[2], int n, char bytes[BYTES], size_t length[FRAMES])
{
    size_t all = 0;
    for (int i = 0; i < n; i++) {
        char body[LONGEST];
        length[i] = roll(d, 2) ? roll(d, 12) : roll(d, LONGEST + 1);
        memset(body, i ? '\n' : 'x', sizeof body);
        if (!tutti_launch_frame_write(fd[1], (tutti_launch_kind)kinds[i], body, length[i]))
            return 0;
    }
    const ssize_t got = read(fd[0], bytes, BYTES);
    if (got > 0) all = (size_t)got;
    return all;
}

/* Reads the bytes in pieces. How many frames came; -1: they were refused. *wrong: one is not what was written. */
static int read_frames(
    dice *d, int fd[2], const char bytes[], size_t all, const size_t length[], int *wrong)
{
    static tutti_launch_frames frames;
    tutti_launch_frame f;
    int came = 0, got = 0;
    frames.begin = frames.end = 0;
    for (size_t done = 0; done < all && got >= 0;) {
        size_t piece = 1 + roll(d, roll(d, 2) ? 9 : all);
        if (piece > all - done) piece = all - done;
        if (write(fd[1], bytes + done, piece) != (ssize_t)piece) return -1;
        done += piece;
        if (!tutti_launch_frames_fill(&frames, fd[0])) return -1;
        while ((got = tutti_launch_frames_next(&frames, &f)) > 0) {
            if (!f.kind || !strchr(kinds, (int)f.kind) || strnlen(f.bytes, f.length + 1) > f.length)
                *wrong = 1;
            if (came < FRAMES &&
                (f.kind != (tutti_launch_kind)kinds[came] || f.length != length[came]))
                *wrong |= 2;
            came++;
        }
    }
    return got < 0 ? -1 : came;
}

static int fuzz(dice *d, int fd[2], int *refused)
{
    char bytes[BYTES], right[BYTES];
    size_t length[FRAMES] = {0};
    const int n = (int)roll(d, FRAMES + 1);
    const size_t all = write_frames(d, fd, n, bytes, length);
    int wrong = 0;
    memcpy(right, bytes, all);
    for (size_t i = roll(d, 4); all && i--;)
        bytes[roll(d, all)] = (char)(roll(d, 2) ? '0' + (int)roll(d, 10) : (int)roll(d, 256));
    const int came = read_frames(d, fd, bytes, all, length, &wrong);
    *refused += came < 0;
    if (!memcmp(bytes, right, all)) return came != n || wrong;
    return wrong & 1;
}

int main(int argc, char **argv)
{
    const int all = testing_fewer() ? ITERATIONS / 10 : ITERATIONS;
    const int iterations = argc > 1 ? atoi(argv[1]) : all;
    dice d = {.seed = testing_seed(14)};
    int failures = 0, refused = 0, fd[2];
    if (pipe(fd) || fcntl(fd[0], F_SETFL, O_NONBLOCK)) return 1;
    for (int i = 0; i < iterations && !failures; i++) {
        d.iteration = (uint64_t)i;
        d.next = 0;
        failures += fuzz(&d, fd, &refused);
        if (failures) printf("iteration %d: wrong\n", i);
    }
    if (!failures && refused < iterations / 10) {
        printf("only %d of %d were refused: nothing was tested\n", refused, iterations);
        failures = 1;
    }
    return !!failures;
}
