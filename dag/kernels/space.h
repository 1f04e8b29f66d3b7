/* The memory of a GPU that opened kernels keep for themselves: workspaces for libraries, and what one launch leaves to
 * the next. It is counted, so that whoever opens many kernels can tell what all of them need, even where there is not
 * so much. Each thread has a count of its own, as it has a GPU of its own. [A] */
#ifndef TUTTI_SPACE_H
#define TUTTI_SPACE_H

#include <stddef.h>

/* From here on, the kernels that this thread opens get so many bytes in all. One that asks for more opens without: it
 * may only be closed. Without this call there is no limit. */
void tutti_space_begin(size_t most);
/* What they have asked for since, in all. Ends the limit. */
size_t tutti_space_end(void);

/* For kernels: counts the bytes; whether they may be taken. */
int tutti_space_grant(size_t bytes);

#endif
