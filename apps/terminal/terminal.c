#include "apps/terminal/terminal.h"

#include "dag/base/process.h"
#include "dag/base/text.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { USUAL = 80 };

static int own_columns(int file)
{
    struct winsize size;
    return ioctl(file, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* Columns of the first ancestor's terminal that differs from this one: the launcher's, whatever processes lie in
 * between. 0: no terminal. */
static int launcher_columns(int descriptor)
{
    enum { GENERATIONS = 32 };
    struct stat own, other;
    int64_t pid = getppid();
    if (fstat(descriptor, &own)) return 0;
    for (int i = 0; i < GENERATIONS && pid > 1; i++, pid = tutti_process_parent(pid)) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%" PRId64 "/fd/%d", pid, descriptor);
        if (stat(path, &other) || !S_ISCHR(other.st_mode)) return 0;
        if (other.st_rdev == own.st_rdev) continue;
        int file = open(path, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
        if (file < 0) return 0;
        int columns = own_columns(file);
        if (!columns && isatty(file)) columns = USUAL;
        close(file);
        return columns;
    }
    return 0;
}

int tutti_terminal_columns(int descriptor)
{
    const char *kind = getenv("TERM");
    if (!isatty(descriptor) || (kind && !strcmp(kind, "dumb"))) return 0;
    int columns = own_columns(descriptor);
    return columns ? columns : launcher_columns(descriptor);
}

void tutti_terminal_show(FILE *out, int columns, const char *text)
{
    char shown[1024];
    if (!columns) return;
    tutti_text_show(text, shown, sizeof shown);
    fprintf(out, "\r\033[K%.*s", columns - 1, shown);
    fflush(out);
}

void tutti_terminal_clear(FILE *out, int columns)
{
    tutti_terminal_show(out, columns, "");
}

char *tutti_terminal_time(double seconds, char text[TUTTI_TERMINAL_TIME])
{
    enum { MINUTE = 60, HOUR = 3600, DAY = 86400 };
    snprintf(text, TUTTI_TERMINAL_TIME, "?");
    if (!(seconds >= 0 && seconds < 1e9)) return text;
    long s = (long)(seconds + 0.5);
    if (s >= 2 * DAY)
        snprintf(text, TUTTI_TERMINAL_TIME, "%ld d %ld h", s / DAY, s % DAY / HOUR);
    else if (s >= HOUR)
        snprintf(
            text, TUTTI_TERMINAL_TIME, "%ld:%02ld:%02ld", s / HOUR, s % HOUR / MINUTE, s % MINUTE);
    else
        snprintf(text, TUTTI_TERMINAL_TIME, "%ld:%02ld", s / MINUTE, s % MINUTE);
    return text;
}
