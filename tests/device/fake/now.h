/* The fake of a device as far as fakes of libraries, and what times them, need it, without CUDA: memory is the host's,
 * and work is done when it is put on a stream. Events know only the time that work would take (fake_work). Memory that
 * is written on a stream must not be written on another one before the program has waited. */
#ifndef TUTTI_FAKE_NOW_H
#define TUTTI_FAKE_NOW_H

/* Waits for all streams. */
void fake_wait(void);

#endif
