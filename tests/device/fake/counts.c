#include "tests/device/fake/state.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static uint64_t counted[FAKE_COUNTS];
static unsigned forbidden;

static const char *const names[FAKE_COUNTS] = {"allocations", "allocated_bytes", "frees",
    "freed_bytes", "host_allocations", "host_frees", "to_device", "to_device_bytes", "to_host",
    "to_host_bytes", "on_device", "on_device_bytes", "between_devices", "between_devices_bytes",
    "pageable", "fills", "launches", "host_functions", "synchronisations", "streams", "events",
    "graphs", "captured", "graph_launches"};

void count_add(fake_count count, const char *call, uint64_t n)
{
    if (forbidden >> count & 1) fake_fail("%s, where %s are forbidden", call, names[count]);
    counted[count] += n;
}

const char *fake_count_name(fake_count count)
{
    return names[count];
}

void fake_counts(uint64_t counts[FAKE_COUNTS])
{
    fake_enter("fake_counts");
    memcpy(counts, counted, sizeof counted);
    fake_leave();
}

void fake_forbid(unsigned counts)
{
    fake_enter("fake_forbid");
    forbidden = counts;
    fake_leave();
}

void count_report(void)
{
    const char *name = fake_get_settings()->report;
    if (!name) return;
    char path[4096];
    const char *number = strstr(name, "%p");
    if (number)
        snprintf(
            path, sizeof path, "%.*s%ld%s", (int)(number - name), name, (long)getpid(), number + 2);
    else
        snprintf(path, sizeof path, "%s", name);
    FILE *file = fopen(path, "w");
    if (!file) fake_fail("TUTTI_FAKE_REPORT=%s cannot be written", path);
    for (int i = 0; i < FAKE_COUNTS; i++)
        fprintf(file, "%s %llu\n", names[i], (unsigned long long)counted[i]);
    if (fclose(file)) fake_fail("TUTTI_FAKE_REPORT=%s cannot be written", path);
}
