/* Call sites from debug information, with elfutils' libdw. */
#include "apps/mpicheck/site.h"

#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>

static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
};

static const char *tail(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Translates an offset from the loader's base into one of libdw's addresses: libdw places the module's first loaded
 * page where it likes, and the loader counts from that page. */
static Dwarf_Addr address_of(Dwfl_Module *module, uint64_t offset)
{
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(module, &bias);
    GElf_Ehdr header;
    if (!elf || !gelf_getehdr(elf, &header)) return offset;
    if (header.e_type == ET_DYN) return bias + offset;
    /* A program at a fixed address: dladdr's base is its first loaded page. */
    for (size_t i = 0; i < header.e_phnum; i++) {
        GElf_Phdr segment;
        if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_LOAD)
            return bias + (segment.p_vaddr & ~(segment.p_align - 1)) + offset;
    }
    return bias + offset;
}

void mpicheck_site_print(
    char *text, size_t size, const char *path, uint64_t offset, const char *symbol)
{
    snprintf(text, size, "%s (%s+0x%llx)", symbol[0] ? symbol : "?", tail(path),
        (unsigned long long)offset);
    Dwfl *session = dwfl_begin(&callbacks);
    if (!session) return;
    Dwfl_Module *module = dwfl_report_offline(session, "", path, -1);
    dwfl_report_end(session, NULL, NULL);
    if (module) {
        Dwarf_Addr address = address_of(module, offset);
        const char *function = dwfl_module_addrname(module, address);
        Dwfl_Line *line = dwfl_module_getsrc(module, address);
        int number = 0;
        const char *file = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
        if (!function) function = symbol[0] ? symbol : "?";
        if (file)
            snprintf(text, size, "%s (%s:%d)", function, tail(file), number);
        else
            snprintf(
                text, size, "%s (%s+0x%llx)", function, tail(path), (unsigned long long)offset);
    }
    dwfl_end(session);
}
