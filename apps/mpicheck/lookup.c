#include "apps/mpicheck/lookup.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <mpi.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The dynamic symbols of a loaded object. */
typedef struct symbols {
    ElfW(Sym) * all;
    const char *names;
    size_t count;
} symbols;

/* A GNU hash table does not say how many symbols there are: the longest chain ends with the last one. */
static size_t count_hashed(const uint32_t *hash)
{
    uint32_t buckets = hash[0], first = hash[1], last = 0;
    const uint32_t *bucket = (const uint32_t *)((const ElfW(Addr) *)(hash + 4) + hash[2]);
    const uint32_t *chain = bucket + buckets;
    for (uint32_t i = 0; i < buckets; i++)
        if (bucket[i] > last) last = bucket[i];
    if (last < first) return first;
    while ((chain[last - first] & 1) == 0) last++;
    return last + 1;
}

static symbols symbols_of(const struct link_map *map)
{
    symbols s = {0};
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        ElfW(Addr) at = d->d_un.d_ptr;
        if (at < map->l_addr) at += map->l_addr; /* some machines leave these addresses relative */
        if (d->d_tag == DT_SYMTAB) s.all = (ElfW(Sym) *)at;
        if (d->d_tag == DT_STRTAB) s.names = (const char *)at;
        if (d->d_tag == DT_HASH) s.count = ((const uint32_t *)at)[1];
        if (d->d_tag == DT_GNU_HASH) s.count = count_hashed((const uint32_t *)at);
    }
    return s.all && s.names ? s : (symbols){0};
}

/* How the part of an object at `base` that contains `address` is protected; -1: unknown. */
static int protection_of(const void *base, const void *address)
{
    const ElfW(Ehdr) *head = base;
    const ElfW(Phdr) *part = (const void *)((const char *)base + head->e_phoff);
    uintptr_t at = (uintptr_t)address - (uintptr_t)base;
    for (int i = 0; i < head->e_phnum; i++) {
        if (part[i].p_type != PT_LOAD || at < part[i].p_vaddr) continue;
        if (at - part[i].p_vaddr >= part[i].p_memsz) continue;
        return (part[i].p_flags & PF_R ? PROT_READ : 0) |
               (part[i].p_flags & PF_W ? PROT_WRITE : 0) | (part[i].p_flags & PF_X ? PROT_EXEC : 0);
    }
    return -1;
}

void mpicheck_lookup_redirect(void)
{
    Dl_info own, theirs, found;
    struct link_map *map;
    if (!dladdr((void *)(uintptr_t)mpicheck_lookup_redirect, &own)) return;
    if (!dladdr1((void *)(uintptr_t)PMPI_Init, &theirs, (void **)&map, RTLD_DL_LINKMAP)) return;
    void *self = dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    symbols s = symbols_of(map);
    int before = protection_of(theirs.dli_fbase, s.all);
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)s.all & ~(page - 1);
    size_t length = (uintptr_t)(s.all + s.count) - from;
    if (!self || s.count == 0 || before < 0 || own.dli_fbase == theirs.dli_fbase ||
        mprotect((void *)from, length, before | PROT_WRITE) != 0)
        return;
    for (size_t i = 0; i < s.count; i++) {
        const char *name = s.names + s.all[i].st_name;
        if (s.all[i].st_shndx == SHN_UNDEF || strncmp(name, "MPI_", 4) != 0) continue;
        void *wrapper = dlsym(self, name);
        if (wrapper && dladdr(wrapper, &found) && found.dli_fbase == own.dli_fbase)
            s.all[i].st_value = (uintptr_t)wrapper - map->l_addr;
    }
    mprotect((void *)from, length, before);
}

/* Whether an ELF file's symbol table defines MPI_Init. */
static bool defines(const char *file, size_t size)
{
    const ElfW(Ehdr) *head = (const void *)file;
    if (size < sizeof(*head) || memcmp(file, ELFMAG, SELFMAG) != 0) return false;
    if (head->e_shoff > size || (size - head->e_shoff) / sizeof(ElfW(Shdr)) < head->e_shnum)
        return false;
    const ElfW(Shdr) *section = (const void *)(file + head->e_shoff);
    for (int i = 0; i < head->e_shnum; i++) {
        if (section[i].sh_type != SHT_SYMTAB || section[i].sh_link >= head->e_shnum) continue;
        const ElfW(Shdr) *texts = &section[section[i].sh_link];
        if (section[i].sh_offset > size || section[i].sh_size > size - section[i].sh_offset)
            continue;
        if (texts->sh_offset > size || texts->sh_size > size - texts->sh_offset) continue;
        const ElfW(Sym) *symbol = (const void *)(file + section[i].sh_offset);
        static const char name[] = "MPI_Init";
        for (size_t k = 0; k < section[i].sh_size / sizeof(*symbol); k++) {
            if (symbol[k].st_shndx == SHN_UNDEF || symbol[k].st_name > texts->sh_size ||
                texts->sh_size - symbol[k].st_name < sizeof(name))
                continue;
            if (memcmp(file + texts->sh_offset + symbol[k].st_name, name, sizeof(name)) == 0)
                return true;
        }
    }
    return false;
}

bool mpicheck_lookup_is_inside(void)
{
    struct stat about;
    bool inside = false;
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    if (fstat(file, &about) == 0 && about.st_size > 0) {
        size_t size = (size_t)about.st_size;
        char *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
        if (bytes != MAP_FAILED) {
            inside = defines(bytes, size);
            munmap(bytes, size);
        }
    }
    close(file);
    return inside;
}
