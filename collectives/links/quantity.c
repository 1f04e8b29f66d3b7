#include "collectives/links/quantity.h"

#include "dag/base/number.h"

#include <string.h>

const tutti_quantity_unit tutti_rate_units[] = {{"GB/s", 1e9}, {"MB/s", 1e6}, {"kB/s", 1e3},
    {"B/s", 1}, {"TB/s", 1e12}, {"Tbit/s", 125e9}, {"Gbit/s", 125e6}, {"Mbit/s", 125e3},
    {"kbit/s", 125}, {"bit/s", 0.125}, {NULL, 0}};
const tutti_quantity_unit tutti_time_units[] = {
    {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"ps", 1e-12}, {NULL, 0}};
const tutti_quantity_unit tutti_size_units[] = {{"KiB", 1 << 10}, {"MiB", 1 << 20},
    {"GiB", 1 << 30}, {"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {NULL, 0}};
const tutti_quantity_unit tutti_number_units[] = {{"", 1}, {NULL, 0}};

int tutti_quantity_read(const char *text, const tutti_quantity_unit *units, double *value)
{
    char number[64];
    size_t digits = strspn(text, "0123456789.");
    if (text[digits] == 'e' && digits) {
        size_t sign = text[digits + 1] == '-' || text[digits + 1] == '+';
        digits += 1 + sign + strspn(text + digits + 1 + sign, "0123456789");
    }
    if (digits >= sizeof number) return 0;
    memcpy(number, text, digits);
    number[digits] = '\0';
    for (; units->name; units++) {
        if (strcmp(text + digits, units->name)) continue;
        if (!tutti_number_real(number, value)) return 0;
        *value *= units->is;
        return *value > 0 && *value < 1e30;
    }
    return 0;
}

void tutti_quantity_print(FILE *out, double value, const tutti_quantity_unit *units)
{
    char text[64];
    double again;
    for (const tutti_quantity_unit *u = units; u->name; u++) {
        snprintf(text, sizeof text, "%.6g%s", value / u->is, u->name);
        if (value >= u->is && tutti_quantity_read(text, units, &again) && again == value) {
            fputs(text, out);
            return;
        }
    }
    while (units->is != 1) units++;
    fprintf(out, "%.17g%s", value, units->name);
}

int tutti_rate_read(const char *text, double *bytes_per_s)
{
    return tutti_quantity_read(text, tutti_rate_units, bytes_per_s);
}

void tutti_rate_print(FILE *out, double bytes_per_s)
{
    tutti_quantity_print(out, bytes_per_s, tutti_rate_units);
}
