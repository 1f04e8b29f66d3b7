/* Threads that others wait for. */
#ifndef TUTTI_PROMPT_H
#define TUTTI_PROMPT_H

/* From now on the calling thread asks for short turns on its processor: woken, it runs at once, and does not wait
 * until a thread that computes, or polls, has had a turn of milliseconds. For threads that work little and sleep much.
 * Linux from 6.12 on; before, and elsewhere, nothing changes. Returns what it was before, for tutti_prompt_end. [A] */
unsigned long long tutti_prompt_begin(void);
void tutti_prompt_end(unsigned long long before);

#endif
