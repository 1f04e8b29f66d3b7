/* A key of sync on two servers (designs/kv/message_order.c, designs/kv/kv_serve_pull.c), of which 0 answers, and 1 stands by: C clients make ROUNDS
 * pushes, each with a pull behind it, and may be far ahead of what they have got. A client's notes to a server are heard in the order in
 * which it wrote them; a push's data arrive after its note, in their order. Servers add rounds as soon as they can, and then a value is the
 * number of its rounds. Either server may die at any time (with ONE, 0 alone), which each client notices at a time of its own, until which it may still take
 * answers that were on their way; then it asks server 1 for what it lacks. One that has lost both ends.
 *
 * It asserts that the n-th answer that a client takes has n rounds, whoever gave it.
 *
 *   ANSWERS_STANDING  server 1 answers a pull that stands by
 *   VALUE_NOT_KEPT    server 1 adds a round that a pull must not have, and keeps no copy for it
 *   ASKED_LATE        server 1 hears of pulls only after the death of server 0
 *   PUSHED_LATE       server 1 hears of pushes only after that
 *   ASKED_AGAIN       a client asks server 1 for the last answer that it has, too */
#ifndef C
#define C 2
#endif
#ifndef ROUNDS
#define ROUNDS 3
#endif
#define at(s, c) ((s) * C + (c))
#define pull(s, c, i) ((at(s, c)) * ROUNDS + (i))

byte called[C], got[C];               /* pushes, each with its pull; answers that were taken */
bool lost[2 * C], over[C];            /* it has noticed that server s is dead; has ended */
byte spared[C];                       /* notes to server 1 that server 0 has answered, which are on their way */
bool dead[2];
byte pushes[2 * C], pulls[2 * C];     /* notes that were heard */
byte arrived[2 * C], rounds[2];
byte next[2 * C];                     /* the oldest pull that was not answered, or released */
byte kept[2 * C * ROUNDS];            /* the value for a pull; 0: as it is */
byte sent[2 * C], value[2 * C * ROUNDS], taken[2 * C]; /* answers, in their order */
byte c_, i_;
bool all_here;

#define calls(c) (!over[c] && called[c] < ROUNDS)
#define hears(s, c) (!dead[s] && !lost[at(s, c)])
#if defined(MUTANT_ASKED_LATE)
#define pull_note(s, c) (hears(s, c) && pulls[at(s, c)] < called[c] && ((s) == 0 || lost[c]))
#define push_note(s, c) (hears(s, c) && pushes[at(s, c)] < called[c] && ((s) == 1 || pulls[at(s, c)] == pushes[at(s, c)]))
#else
#define pull_note(s, c) (hears(s, c) && pulls[at(s, c)] < pushes[at(s, c)])
#ifdef MUTANT_PUSHED_LATE
#define push_note(s, c) (hears(s, c) && pushes[at(s, c)] < called[c] && pulls[at(s, c)] == pushes[at(s, c)] && ((s) == 0 || (lost[c] && pushes[at(s, c)] >= at_loss[c])))
#else
#define push_note(s, c) (hears(s, c) && pushes[at(s, c)] < called[c] && pulls[at(s, c)] == pushes[at(s, c)])
#endif
#endif
byte at_loss[C];

inline call(c)
{
    d_step { calls(c) -> called[c]++ }
}

inline hear(s, c)
{
    if
    :: d_step { push_note(s, c) -> pushes[at(s, c)]++ }
    :: d_step { pull_note(s, c) -> pulls[at(s, c)]++ }
    fi
}

/* What a round would spoil is kept, for pulls that were heard, and have all of theirs. */
inline keep(s)
{
    c_ = 0;
    do
    :: c_ < C -> i_ = next[at(s, c_)];
        do
        :: i_ < pulls[at(s, c_)] ->
            if
            :: kept[pull(s, c_, i_)] == 0 && rounds[s] > i_ -> kept[pull(s, c_, i_)] = rounds[s]
            :: else
            fi;
            i_++
        :: else -> break
        od;
        c_++
    :: else -> break
    od
}

inline add(s)
{
    all_here = 1; c_ = 0;
    do
    :: c_ < C -> all_here = all_here && arrived[at(s, c_)] > rounds[s]; c_++
    :: else -> break
    od;
    if
    :: all_here ->
#ifdef MUTANT_VALUE_NOT_KEPT
        if
        :: s == 0 -> keep(s)
        :: else
        fi;
#else
        keep(s);
#endif
        rounds[s]++
    :: else
    fi;
    all_here = 0; c_ = 0; i_ = 0
}

inline arrive(s, c)
{
    d_step { !dead[s] && arrived[at(s, c)] < pushes[at(s, c)] -> arrived[at(s, c)]++; add(s) }
}

/* Server 1 is asked once it has heard of all that server 0 has answered. */
#ifdef MUTANT_ANSWERS_STANDING
#define asked(s, c) 1
#else
#define asked(s, c) ((s) == 0 || (lost[c] && spared[c] == 0))
#endif
inline answer(s, c)
{
    d_step { !dead[s] && asked(s, c) && next[at(s, c)] < pulls[at(s, c)] && rounds[s] > next[at(s, c)] ->
        value[pull(s, c, sent[at(s, c)])] = (kept[pull(s, c, next[at(s, c)])] -> kept[pull(s, c, next[at(s, c)])] : rounds[s]);
        kept[pull(s, c, next[at(s, c)])] = 0;
        sent[at(s, c)]++;
        next[at(s, c)]++ }
}

inline release(c)
{
    d_step { !dead[1] && spared[c] > 0 && next[at(1, c)] < pulls[at(1, c)] ->
        spared[c]--;
        kept[pull(1, c, next[at(1, c)])] = 0;
        next[at(1, c)]++ }
}

inline take(s, c)
{
    d_step { !over[c] && !lost[at(s, c)] && ((s) == 0 || lost[c]) && got[c] < called[c] && taken[at(s, c)] < sent[at(s, c)] ->
        assert(value[pull(s, c, taken[at(s, c)])] == got[c] + 1);
        taken[at(s, c)]++;
        got[c]++;
        spared[c] = spared[c] + (s == 0 -> 1 : 0) }
}

inline notice(s, c)
{
    d_step { dead[s] && !lost[at(s, c)] && !over[c] ->
        lost[at(s, c)] = 1;
        at_loss[c] = called[c];
#ifdef MUTANT_ASKED_AGAIN
        spared[c] = (s == 0 && spared[c] > 0 -> spared[c] - 1 : spared[c]);
#endif
        over[c] = lost[at(0, c)] && lost[at(1, c)] }
}

inline die(s)
{
    d_step { may_die[s] && !dead[s] -> dead[s] = 1 }
}
bool may_die[2];

#define SERVER(s, c) :: hear(s, c) :: arrive(s, c) :: answer(s, c) :: take(s, c) :: notice(s, c)
#define CLIENT(c) :: call(c) :: release(c) SERVER(0, c) SERVER(1, c)
#define has_ended(c) (over[c] || got[c] == ROUNDS)

init
{
    if /* in some runs nobody dies who could, and nobody may wait for that */
    :: may_die[0] = 1
    :: skip
    fi;
#ifndef ONE
    if
    :: may_die[1] = 1
    :: skip
    fi;
#endif
    do
    :: die(0) :: die(1)
    CLIENT(0)
    CLIENT(1)
    :: has_ended(0) && has_ended(1) -> break
    od
}
