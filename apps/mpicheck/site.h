/* Call sites: from a return address to "function (file:line)".
 *
 * A rank numbers its sites and sends the judge, once per site, the module and the offset in it
 * (cheap); the judge reads the debug information only when it writes a report. site_dw.c does
 * that with elfutils' libdw; site_none.c, linked where libdw is missing, knows only symbols and
 * offsets. */
#ifndef TUTTI_MPICHECK_SITE_H
#define TUTTI_MPICHECK_SITE_H

#include <stddef.h>
#include <stdint.h>

/* The number of the call that returns to `address`, at least 1; sent to the judge when new. [A] */
int mpicheck_site_number(const void *address);

/* Writes "function (file:line)", or the known part of it; `module` is the path of an ELF file,
 * `offset` the address of the call within it, `symbol` the nearest dynamic symbol or "". */
void mpicheck_site_print(
    char *text, size_t size, const char *module, uint64_t offset, const char *symbol);

#endif
