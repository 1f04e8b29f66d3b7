/* What designs/drive/driver_grant.c and designs/queue/queue.c do with priorities. The ranks form a binary tree.
 *
 *   report   a collective is ready on a rank and on all ranks below it: its parent learns of it
 *   grant    rank 0 puts a collective that is ready on all ranks at the end of a list
 *   hear     a rank has received the next entry of the list, after its parent
 *
 * Rank 0 may grant any that is ready on all ranks: so these are the lists of all priorities. Priorities begin with
 * collective FIRST; those before it have none. With WINDOW rank 0 grants the next when what it has granted has ended. A
 * message that is under way is one that its receiver has not looked at. */
#ifndef FIRST
#define FIRST 0
#endif
#ifdef MUTANT_FIRST_DIFFERS
#define first_of(r) (r == 0 -> FIRST : FIRST + 1)
#else
#define first_of(r) FIRST
#endif
#define has_priority(r, seq) ((seq) >= first_of(r))

byte reported[P];     /* set: what is ready on this rank and on all below it, as its parent knows */
byte list[N], given;  /* the grants */
byte granted_by[N];   /* set: what precedes this one in the list */
byte granted;         /* set: the list's */
byte heard[P];        /* how much of the list a rank has received */
byte known[P];        /* set: likewise */
#define parent(r) ((r - 1) / 2)
#define child_has(c, seq) (c >= P || (reported[(c >= P -> 0 : c)] & bit_of(seq)))
#define below_have(r, seq) (child_has(2 * r + 1, seq) && child_has(2 * r + 2, seq))

#ifdef MUTANT_GRANT_UNREPORTED
#define all_have(r, seq) (R.ready & bit_of(seq))
#else
#define all_have(r, seq) ((R.ready & bit_of(seq)) && below_have(r, seq))
#endif

#ifdef WINDOW
#define window_has_room(r) !(granted & ~R.ended)
#else
#define window_has_room(r) 1
#endif

#define REPORT(seq) \
    :: d_step { \
           r > 0 && has_priority(r, seq) && all_have(r, seq) && !(reported[r] & bit_of(seq)) -> \
           reported[r] = reported[r] | bit_of(seq) \
       }
#define GRANT(seq) \
    :: d_step { \
           r == 0 && has_priority(r, seq) && all_have(r, seq) && !(granted & bit_of(seq)) && window_has_room(r) -> \
           granted_by[seq] = granted; \
           granted = granted | bit_of(seq); \
           list[given] = seq; \
           given++; \
           known[0] = granted; \
           heard[0] = given \
       }
/* What is granted is ready here. */
#define HEAR \
    :: d_step { \
           r > 0 && heard[r] < heard[parent(r)] -> \
           assert(R.ready & bit_of(list[heard[r]])); \
           known[r] = known[r] | bit_of(list[heard[r]]); \
           heard[r]++ \
       }
#define GRANTING EACH(REPORT) EACH(GRANT) HEAR

/* tutti_queue_startable: those without a priority in program order; then what is granted, in the list's order. */
#define waiting(r, seq) ((R.reserved | R.ready) & R.of_lane[R.lane[seq]])
#ifdef MUTANT_GRANTED_FIRST
#define before_list 0
#else
#define before_list below(FIRST)
#endif
#ifdef MUTANT_LIST_UNORDERED
#define earlier_grants(seq) 0
#else
#define earlier_grants(seq) granted_by[seq]
#endif
#ifdef MUTANT_NOT_AGREED
#define is_granted(r, seq) 1
#else
#define is_granted(r, seq) (known[r] & bit_of(seq))
#endif
#define precede(r, seq) \
    (has_priority(r, seq) -> before_list | earlier_grants(seq) : below(seq))
#define startable(r, seq) \
    ((R.ready & bit_of(seq)) && (!has_priority(r, seq) || is_granted(r, seq)) && \
     !(waiting(r, seq) & precede(r, seq)) && lane_has_room(r, seq))
#define pass_over(r, seq) skip
#define ended(r, seq) skip
