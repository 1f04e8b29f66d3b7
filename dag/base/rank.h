/* Which rank this process is, as its messages say (dag/base/log.h). [A] */
#ifndef TUTTI_RANK_H
#define TUTTI_RANK_H

/* -1: not known yet. */
int tutti_log_get_rank(void);

#endif
