/* Which rank this process is, as its messages say (dag/base/log.h). [A] */
#ifndef TUTTI_RANK_H
#define TUTTI_RANK_H

/* -1: not known yet. */
int tutti_log_get_rank(void);

/* How many ranks the launcher says that it has started, and how many of them on this host; 1 where it does not say.
 * [A] */
int tutti_rank_count(void);
int tutti_rank_count_here(void);

#endif
