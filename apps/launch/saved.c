#include "config.h"

#include "apps/launch/saved.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { IDENTITY = TUTTI_LAUNCH_IDENTITY };

/* What a link leads to, even if that is missing. */
static void follow_links(const char *path, char place[PATH_MAX])
{
    enum { LINKS = 40 };
    snprintf(place, PATH_MAX, "%s", path);
    for (int i = 0; i < LINKS; i++) {
        char to[PATH_MAX], here[PATH_MAX];
        const ssize_t n = readlink(place, to, sizeof to - 1);
        if (n < 0) return;
        to[n] = '\0';
        const char *slash = strrchr(place, '/');
        const int folder = *to == '/' || !slash ? 0 : (int)(slash + 1 - place);
        if (snprintf(here, sizeof here, "%.*s%s", folder, place, to) >= PATH_MAX) return;
        memcpy(place, here, PATH_MAX);
    }
}

static int identify_file(const char *path, char identity[IDENTITY])
{
    struct stat is;
    if (stat(path, &is) != 0) return 0;
    snprintf(identity, IDENTITY, "%ju %ju %jd.%09ld", (uintmax_t)is.st_dev, (uintmax_t)is.st_ino,
        (intmax_t)is.st_mtim.tv_sec, is.st_mtim.tv_nsec);
    return 1;
}

/* Where the file is missing, the program continues from the earlier one (a kill between the two steps of putting a new
 * one into its place). */
static void identify(const tutti_launch_saved *s, char identity[IDENTITY])
{
    char earlier[PATH_MAX + 4];
    identity[0] = '\0';
    if (!s->checkpoint || identify_file(s->checkpoint, identity)) return;
    snprintf(earlier, sizeof earlier, "%s.1", s->place);
    identify_file(earlier, identity);
}

void tutti_launch_saved_begin(tutti_launch_saved *saved, const char *checkpoint, int owned)
{
    *saved = (tutti_launch_saved){.checkpoint = checkpoint};
    if (checkpoint) follow_links(checkpoint, saved->place);
    if (!owned) identify(saved, saved->stranger);
}

int tutti_launch_saved_is_there(const tutti_launch_saved *saved)
{
    char now[IDENTITY];
    identify(saved, now);
    return *now && strcmp(now, saved->stranger) != 0;
}
