#include "designs/elastic/elastic_start.h"

#include "dag/base/number.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

const char *tutti_elastic_start_asked(void)
{
    const char *text = getenv("TUTTI_ELASTIC");
    return text && *text ? text : NULL;
}

enum { WORDS = 10, LONGEST = TUTTI_MEMBERSHIP_MOST * TUTTI_MEMBERSHIP_ADDRESS };

/* The next part of a text up to `end`, which it goes past; NULL: it is empty, or too long. */
static const char *next_part(const char *text, char end, char *part, size_t size)
{
    const char *at = strchr(text, end);
    const size_t length = at ? (size_t)(at - text) : strlen(text);
    if (!length || length >= size) return NULL;
    memcpy(part, text, length);
    part[length] = '\0';
    return text + length + (at != NULL);
}

static int read_int(const char *text, int64_t low, int64_t high, int64_t *number)
{
    return tutti_number_int(text, number) && *number >= low && *number <= high;
}

static const char *read_numbers(char word[][LONGEST], tutti_elastic_start *s)
{
    int64_t least, most, ranks, number, door, report, run;
    if (!read_int(word[0], 1, TUTTI_MEMBERSHIP_MOST, &least) ||
        !read_int(word[1], least, TUTTI_MEMBERSHIP_MOST, &most))
        return "has no numbers LEAST and MOST of ranks";
    if (!read_int(word[2], least, most, &ranks)) return "has no number of ranks from LEAST to MOST";
    if (!read_int(word[3], 0, INT64_MAX, &number)) return "has no number of this rank";
    if (!read_int(word[4], 0, INT32_MAX, &door)) return "has no descriptor of a door";
    if (!read_int(word[5], 0, INT32_MAX, &report)) return "has no descriptor of the launcher";
    if (!read_int(word[6], 0, INT64_MAX, &run)) return "has no number of the run";
    if (strlen(word[7]) >= sizeof s->token) return "has a token that is too long";
    s->least = (int)least;
    s->most = (int)most;
    s->ranks = (int)ranks;
    s->door = (int)door;
    s->report = (int)report;
    s->run = (uint64_t)run;
    s->self.id = number;
    memcpy(s->token, word[7], strlen(word[7]) + 1);
    return NULL;
}

/* The addresses of the first ranks; this one is among them. */
static const char *read_first(const char *list, tutti_elastic_start *s)
{
    int n = 0;
    while (*list) {
        tutti_membership_entry *entry = &s->first.entry[n];
        if (n == s->ranks) return "has more addresses than RANKS";
        entry->id = n++;
        list = next_part(list, ',', entry->address, sizeof entry->address);
        if (!list) return "has a wrong address of a rank";
    }
    s->first.n = n;
    if (n < s->ranks) return "has fewer addresses than RANKS";
    if (s->self.id >= n) return "has no address of this rank";
    s->self = s->first.entry[s->self.id];
    return NULL;
}

const char *tutti_elastic_start_read(const char *text, tutti_elastic_start *start)
{
    static char word[WORDS][LONGEST];
    const char *at = text;
    *start = (tutti_elastic_start){0};
    for (int i = 0; i < WORDS; i++)
        if (!(at = next_part(at, ' ', word[i], LONGEST))) return "has fewer than ten words";
    if (*at) return "has more than ten words";
    const char *wrong = read_numbers(word, start);
    if (wrong) return wrong;
    if (!strcmp(word[8], "first")) return read_first(word[9], start);
    if (strcmp(word[8], "join")) return "says neither first nor join";
    at = next_part(word[9], ',', start->self.address, sizeof start->self.address);
    if (at) at = next_part(at, ',', start->contact, sizeof start->contact);
    return at && !*at ? NULL : "has not the two addresses of a rank that joins";
}

tutti_elastic_options tutti_elastic_start_options(const tutti_elastic_start *s)
{
    return (tutti_elastic_options){.token = s->token,
        .first = s->first.n ? &s->first : NULL,
        .self = s->self,
        .contact = s->contact,
        .run = s->run,
        .least = 1,
        .most = s->most,
        .settle_s = 0.05, /* a death is seen at once; the others are for what ends without one */
        .silence_s = 10,
        .join_s = 300,
        .lasting = s->lasting};
}

static void send_number(const tutti_elastic_start *s)
{
    (void)!send(s->report, &s->self.id, sizeof s->self.id, MSG_NOSIGNAL);
}

void tutti_elastic_start_entered(tutti_elastic_start *s)
{
    if (s->report < 0 || s->entered) return;
    s->entered = 1;
    fcntl(s->report, F_SETFD, FD_CLOEXEC);
    send_number(s);
}

void tutti_elastic_start_ended(tutti_elastic_start *s)
{
    if (s->report < 0) return;
    send_number(s);
    close(s->report);
    s->report = -1;
}
