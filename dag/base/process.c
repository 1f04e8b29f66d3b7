#include "dag/base/process.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tutti_process_boot(char boot[TUTTI_PROCESS_BOOT])
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    boot[0] = '\0';
    if (!file) return;
    if (fgets(boot, TUTTI_PROCESS_BOOT, file))
        boot[strcspn(boot, "\n")] = '\0';
    else
        boot[0] = '\0';
    fclose(file);
}

int tutti_process_look(int64_t pid, char *state, int64_t *began)
{
    enum {
        AFTER_NAME = 3,
        BEGAN = 22
    }; /* fields, as proc(5) numbers them; the first is the state */
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    const char *name_end = strrchr(text, ')'); /* a name may hold blanks and brackets */
    if (!name_end || strlen(name_end) < 3) return 0;
    const char *at = name_end + 2;
    for (int field = AFTER_NAME; at && field < BEGAN; field++) {
        at = strchr(at, ' ');
        if (at) at++;
    }
    if (!at) return 0;
    if (state) *state = name_end[2];
    if (began) *began = strtoll(at, NULL, 10);
    return 1;
}
