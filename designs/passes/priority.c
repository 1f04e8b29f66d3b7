#include "designs/passes/priority.h"

/* When it may first overtake others: when it is ready, plus a margin, because the link waits for the head of
 * the order. */
static double overtakes_from(const tutti_piece *piece)
{
    static const double least_s = 1e-3, share = 0.25;
    return piece->ready_s + least_s + share * piece->ready_s;
}

static double chunk_s(const tutti_piece *piece, double seconds_per_byte)
{
    return seconds_per_byte * (double)piece->bytes / piece->chunks;
}

/* Whether a precedes b now: first those that may overtake, by need; then the others, as they get ready. */
static int goes_before(const tutti_piece *a, const tutti_piece *b, double now_s)
{
    int first = overtakes_from(a) <= now_s, second = overtakes_from(b) <= now_s;
    if (first != second) return first;
    return first ? a->needed < b->needed : a->ready_s < b->ready_s;
}

/* The next piece, among those with chunks left. */
static int pick_next(int pieces, const tutti_piece piece[], const int left[], double now_s)
{
    int best = -1;
    for (int p = 0; p < pieces; p++)
        if (left[p] && (best < 0 || goes_before(&piece[p], &piece[best], now_s))) best = p;
    return best;
}

void tutti_priority_order(
    int pieces, const tutti_piece piece[], double seconds_per_byte, int32_t order[])
{
    int left[pieces + 1], begin[pieces + 1], slots = 0;
    for (int p = 0; p < pieces; p++) {
        begin[p] = slots;
        left[p] = piece[p].chunks;
        slots += piece[p].chunks;
    }
    double now_s = 0;
    for (int slot = 0; slot < slots; slot++) {
        int p = pick_next(pieces, piece, left, now_s);
        order[slot] = begin[p] + piece[p].chunks - left[p]--;
        if (piece[p].ready_s > now_s) now_s = piece[p].ready_s;
        now_s += chunk_s(&piece[p], seconds_per_byte);
    }
}

void tutti_priority_program_order(int slots, int32_t order[])
{
    for (int slot = 0; slot < slots; slot++) order[slot] = slot;
}

int tutti_priority_is_program_order(int slots, const int32_t order[])
{
    for (int slot = 0; slot < slots; slot++)
        if (order[slot] != slot) return 0;
    return 1;
}

/* The piece of a chunk. */
static int piece_of(int pieces, const tutti_piece piece[], int32_t chunk)
{
    int p = 0;
    for (; p < pieces - 1 && chunk >= piece[p].chunks; p++) chunk -= piece[p].chunks;
    return p;
}

double tutti_priority_urgent_s(
    int pieces, const tutti_piece piece[], double seconds_per_byte, const int32_t order[])
{
    int slots = 0, urgent = 0;
    double now_s = 0, done_s = 0;
    for (int p = 0; p < pieces; p++) {
        slots += piece[p].chunks;
        if (piece[p].needed < piece[urgent].needed) urgent = p;
    }
    for (int slot = 0; slot < slots; slot++) {
        int p = piece_of(pieces, piece, order[slot]);
        if (piece[p].ready_s > now_s) now_s = piece[p].ready_s;
        now_s += chunk_s(&piece[p], seconds_per_byte);
        if (p == urgent) done_s = now_s;
    }
    return done_s;
}
