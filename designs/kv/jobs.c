#include "designs/kv/jobs.h"

#include "dag/base/clock.h"
#include "dag/base/conf.h"
#include "dag/base/file.h"
#include "dag/base/log.h"
#include "dag/base/number.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- options and variables ---- */

enum {
    MOST_CLIENTS = 1024,
    MOST_SERVERS = TUTTI_KV_SERVERS_MOST,
    MOST_PORT = 65535,
    MOST_COPIES = 2
};

typedef struct values {
    const char *role, *meet, *listen, *token;
    double timeout_s;
    int64_t servers, clients, copies;
} values;

enum { ROLE, MEET, LISTEN, TOKEN, TIMEOUT, SERVERS, CLIENTS, REPLICAS, ROWS };

/* The name of a value in messages: its field, or its variable. */
typedef const char *value_names[ROWS];
#define AT(member) .offset = offsetof(values, member)
static const tutti_setting settings[ROWS + 1] = {
    [ROLE] = {TUTTI_CONF_TEXT, "role", "ROLE", .environment = "TUTTI_KV_ROLE", AT(role)},
    [MEET] = {TUTTI_CONF_TEXT, "meet", "WHERE", .environment = "TUTTI_KV_MEET", AT(meet)},
    [LISTEN] = {TUTTI_CONF_TEXT, "listen", "ADDRESS", .fallback = "127.0.0.1",
        .environment = "TUTTI_KV_LISTEN", AT(listen)},
    [TOKEN] = {TUTTI_CONF_TEXT, "token", "WORD", .environment = "TUTTI_KV_TOKEN", AT(token)},
    [TIMEOUT] = {TUTTI_CONF_REAL, "timeout", "S", .fallback = "30", .low = 0.1, .high = 1e6,
        .environment = "TUTTI_KV_TIMEOUT", AT(timeout_s)},
    [SERVERS] = {TUTTI_CONF_INT, "servers", "S", .fallback = "0", .high = MOST_SERVERS,
        .environment = "TUTTI_KV_SERVERS", AT(servers)},
    [CLIENTS] = {TUTTI_CONF_INT, "clients", "C", .fallback = "0", .high = MOST_CLIENTS,
        .environment = "TUTTI_KV_CLIENTS", AT(clients)},
    [REPLICAS] = {TUTTI_CONF_INT, "server_replicas", "N", .fallback = "1", .low = 1,
        .high = MOST_COPIES, .environment = "TUTTI_KV_SERVER_REPLICAS", AT(copies)},
};
#undef AT
static const tutti_conf conf = {.program = "tutti_kv_open", .settings = settings};

/* "WORD" or "WORD:N" */
static int read_role(const char *text, const char *word, int *number)
{
    size_t n = strlen(word);
    int64_t given;
    *number = -1;
    if (strncmp(text, word, n) || (text[n] && text[n] != ':')) return 0;
    if (!text[n]) return 1;
    if (!tutti_number_int(text + n + 1, &given) || given < 0 || given > MOST_CLIENTS) return 0;
    *number = (int)given;
    return 1;
}

static void name_values(const tutti_conf_origin origin[ROWS], value_names name)
{
    static const char *const fields[ROWS] = {
        "role", "meet", "listen", "token", "timeout_s", "servers", "clients", "server_replicas"};
    for (int row = 0; row < ROWS; row++)
        name[row] =
            origin[row] == TUTTI_CONF_FROM_ENVIRONMENT ? settings[row].environment : fields[row];
}

static tutti_status take_role(const char *text, const value_names name, tutti_jobs *jobs)
{
    int server, client;
    jobs->serves = read_role(text, "server", &server);
    if (!jobs->serves && !read_role(text, "client", &client))
        return tutti_fail(TUTTI_ERR_USAGE,
            "tutti_kv_open: %s \"%s\": must be server:K, client:K, or client for one that joins",
            name[ROLE], text);
    jobs->any = !jobs->serves && client < 0;
    jobs->number = jobs->serves ? (server < 0 ? 0 : server) : client;
    return TUTTI_OK;
}

static int take_text(char *to, size_t room, const char *from)
{
    return snprintf(to, room, "%s", from ? from : "") < (int)room;
}

/* "ADDRESS", "ADDRESS:PORT" or "ADDRESS:auto". An IPv6 address with a port is in brackets. 0: neither. */
static int read_address(const char *text, char address[TUTTI_JOBS_TEXT], int *port)
{
    int bracket = text[0] == '[';
    const char *from = text + bracket, *end = strchr(from, bracket ? ']' : ':'), *colon = end;
    int64_t number = 0;
    *port = 0;
    if (bracket && (!end || (end[1] && end[1] != ':'))) return 0;
    if (bracket) colon = end[1] ? end + 1 : NULL;
    if (!bracket && colon && strchr(colon + 1, ':')) end = colon = NULL;
    int n = end ? (int)(end - from) : (int)strlen(from);
    if (n < 1 || n >= TUTTI_JOBS_TEXT) return 0;
    snprintf(address, TUTTI_JOBS_TEXT, "%.*s", n, from);
    if (!colon || !strcmp(colon + 1, "auto")) return 1;
    if (!tutti_number_int(colon + 1, &number) || number < 1 || number > MOST_PORT) return 0;
    *port = (int)number;
    return 1;
}

static int uses_address_files(const tutti_jobs *jobs)
{
    return strchr(jobs->meet, '/') != NULL;
}

/* Address number `server` of a list. */
static int find_listed(const char *list, int server, tutti_server_address *at)
{
    char one[TUTTI_JOBS_TEXT];
    for (; server > 0 && list; server--) {
        list = strchr(list, ',');
        if (list) list++;
    }
    if (!list) return 0;
    snprintf(one, sizeof one, "%.*s", (int)strcspn(list, ","), list);
    return read_address(one, at->address, &at->port) && at->port;
}

/* A line of an address file has it, up to the first space. */
static int has_space(const char *text)
{
    while (*text && !isspace((unsigned char)*text)) text++;
    return *text != 0;
}

static tutti_status check_jobs(const tutti_jobs *j, const value_names name)
{
    tutti_server_address ignored;
    if (j->servers < 1 || j->clients < 1)
        return tutti_fail(TUTTI_ERR_USAGE,
            "tutti_kv_open: %s is %d and %s is %d: where servers and clients are jobs of "
            "their own, say how many there are of each",
            name[SERVERS], j->servers, name[CLIENTS], j->clients);
    if (j->servers > MOST_SERVERS || j->clients > MOST_CLIENTS)
        return tutti_fail(TUTTI_ERR_USAGE,
            "tutti_kv_open: %s is %d and %s is %d: there may be %d servers and %d clients",
            name[SERVERS], j->servers, name[CLIENTS], j->clients, MOST_SERVERS, MOST_CLIENTS);
    if (j->serves && j->number >= j->servers)
        return tutti_fail(TUTTI_ERR_USAGE,
            "tutti_kv_open: %s is server:%d, but %s is %d: numbers begin with 0", name[ROLE],
            j->number, name[SERVERS], j->servers);
    if (j->copies > j->servers)
        return tutti_fail(TUTTI_ERR_USAGE,
            "tutti_kv_open: %s is %d, but there is one server: take two or more, so "
            "that each key lies on two",
            name[REPLICAS], j->copies);
    if (!j->meet[0])
        return tutti_fail(TUTTI_ERR_USAGE,
            "tutti_kv_open: meet is not set: set it or TUTTI_KV_MEET to a path with a \"/\", or "
            "HOST:PORT of every server");
    for (int s = 0; !uses_address_files(j) && s < j->servers; s++)
        if (!find_listed(j->meet, s, &ignored))
            return tutti_fail(TUTTI_ERR_USAGE,
                "tutti_kv_open: %s \"%s\": must be a path with a \"/\", or HOST:PORT of %d "
                "servers with \",\" between them",
                name[MEET], j->meet, j->servers);
    if (!uses_address_files(j) && !j->token[0])
        return tutti_fail(TUTTI_ERR_USAGE, "tutti_kv_open: token is not set, which all jobs share "
                                           "where they meet at addresses: set "
                                           "it or TUTTI_KV_TOKEN");
    if (has_space(j->token))
        return tutti_fail(
            TUTTI_ERR_USAGE, "tutti_kv_open: %s: a token may have no spaces", name[TOKEN]);
    if (j->serves && !uses_address_files(j) && !j->port)
        return tutti_fail(TUTTI_ERR_USAGE,
            "tutti_kv_open: %s \"%s\" has no port, so clients do not find this server: set it or "
            "TUTTI_KV_LISTEN to ADDRESS:PORT, with the port as in %s",
            name[LISTEN], j->listen, name[MEET]);
    return TUTTI_OK;
}

static tutti_status take_values(
    const values *v, const value_names name, const tutti_kv_options *o, tutti_jobs *j)
{
    tutti_status status = take_role(v->role, name, j);
    if (status) return status;
    j->on = 1;
    j->servers = v->servers ? (int)v->servers : o->servers;
    j->clients = v->clients ? (int)v->clients : o->clients;
    j->copies = (int)v->copies;
    j->timeout_s = v->timeout_s;
    if (!read_address(v->listen, j->listen, &j->port))
        return tutti_fail(TUTTI_ERR_USAGE,
            "tutti_kv_open: %s \"%s\": must be ADDRESS, ADDRESS:PORT or ADDRESS:auto; an address "
            "of IPv6 with a port stands in brackets: [::1]:5000",
            name[LISTEN], v->listen);
    if (!take_text(j->meet, sizeof j->meet, v->meet) ||
        !take_text(j->token, sizeof j->token, v->token))
        return tutti_fail(TUTTI_ERR_USAGE, "tutti_kv_open: %s may have %d characters, and %s %d",
            name[MEET], TUTTI_JOBS_TEXT - 1, name[TOKEN], TUTTI_JOBS_TOKEN);
    return check_jobs(j, name);
}

tutti_status tutti_jobs_read(const tutti_kv_options *o, tutti_jobs *jobs)
{
    values v;
    value_names name;
    const int set[ROWS] = {[ROLE] = o->role != NULL,
        [MEET] = o->meet != NULL,
        [LISTEN] = o->listen != NULL,
        [TOKEN] = o->token != NULL,
        [TIMEOUT] = o->timeout_s != 0,
        [REPLICAS] = o->server_replicas != 0};
    tutti_conf_origin origin[ROWS];
    for (int row = 0; row < ROWS; row++)
        origin[row] = set[row] ? TUTTI_CONF_FROM_OPTION : TUTTI_CONF_FROM_FALLBACK;
    *jobs = (tutti_jobs){0};
    tutti_status status = tutti_conf_environment(&conf, &v, origin);
    if (status) return status;
    name_values(origin, name);
    if (o->role) v.role = o->role;
    if (o->meet) v.meet = o->meet;
    if (o->listen) v.listen = o->listen;
    if (o->token) v.token = o->token;
    if (o->timeout_s) v.timeout_s = o->timeout_s;
    if (o->server_replicas) v.copies = o->server_replicas;
    if (!(v.timeout_s >= 0.1 && v.timeout_s <= 1e6))
        return tutti_fail(TUTTI_ERR_USAGE,
            "tutti_kv_open: timeout_s is %g: must be seconds, 0.1 to 1e6, or 0 for 30",
            v.timeout_s);
    if (v.copies < 1 || v.copies > MOST_COPIES)
        return tutti_fail(TUTTI_ERR_USAGE,
            "tutti_kv_open: server_replicas is %lld: must be 1 or 2, or 0 for 1",
            (long long)v.copies);
    if (!v.role && v.copies > 1)
        return tutti_fail(TUTTI_ERR_USAGE,
            "tutti_kv_open: %s is %lld, but one mpirun ends when a server dies: start "
            "servers and clients as jobs of their own (tutti-run --servers)",
            name[REPLICAS], (long long)v.copies);
    return v.role ? take_values(&v, name, o, jobs) : TUTTI_OK;
}

/* ---- the servers' addresses ---- */

static void name_file(const tutti_jobs *jobs, int server, char path[])
{
    snprintf(path, TUTTI_JOBS_TEXT + 16, "%s.%d", jobs->meet, server);
}

/* Whether only this user or root can have written there. A folder that others may write to must be sticky, as /tmp. */
static int is_ours(const char *path, const struct stat *at, char *why, size_t why_bytes)
{
    int keeps = S_ISDIR(at->st_mode) && at->st_mode & S_ISVTX;
    if (at->st_uid != geteuid() && at->st_uid != 0)
        snprintf(why, why_bytes,
            "%s belongs to another user (uid %u): meet in a folder of your own", path,
            (unsigned)at->st_uid);
    else if (at->st_mode & (S_IWGRP | S_IWOTH) && !keeps)
        snprintf(why, why_bytes,
            "other users can write to %s (mode %03o): use chmod go-w on it, or meet elsewhere",
            path, (unsigned)at->st_mode & 0777);
    else
        return 1;
    return 0;
}

/* The folder of the address files. 1: trusted. 0: there is none. -1: not trusted. */
static int look_at_folder(const tutti_jobs *jobs, char *why, size_t why_bytes)
{
    struct stat at;
    char folder[TUTTI_JOBS_TEXT];
    const char *slash = strrchr(jobs->meet, '/');
    int n = slash == jobs->meet ? 1 : (int)(slash - jobs->meet);
    snprintf(folder, sizeof folder, "%.*s", n, jobs->meet);
    if (stat(folder, &at)) {
        snprintf(why, why_bytes, "%s: %s", folder, strerror(errno));
        return 0;
    }
    return is_ours(folder, &at, why, why_bytes) ? 1 : -1;
}

tutti_status tutti_jobs_write_address(
    const tutti_jobs *jobs, int server, const tutti_server_address *m)
{
    char path[TUTTI_JOBS_TEXT + 16], text[2 * TUTTI_JOBS_TEXT], why[2 * TUTTI_JOBS_TEXT];
    if (!uses_address_files(jobs)) return TUTTI_OK;
    if (look_at_folder(jobs, why, sizeof why) < 0)
        return tutti_fail(TUTTI_ERR_USAGE, "tutti_kv_open: meet: %s", why);
    name_file(jobs, server, path);
    int brackets = strchr(m->address, ':') != NULL;
    int n = snprintf(text, sizeof text, "tutti server\naddress %s%s%s:%d\ntoken %s\nnumber %lld\n",
        brackets ? "[" : "", m->address, brackets ? "]" : "", m->port, m->token,
        (long long)m->number);
    const tutti_file_options file = {
        .what = "meeting place", .path = path, .unsynced = 1, .secret = 1};
    return tutti_file_put(&file, text, (size_t)n);
}

/* Opens an address file. 1, 0 or -1, as tutti_jobs_find. */
static int open_file(const char *path, FILE **file, char *why, size_t why_bytes)
{
    struct stat at;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), found = 0;
    if (fd < 0 || fstat(fd, &at)) {
        found = fd < 0 && errno == ELOOP ? -1 : 0;
        snprintf(why, why_bytes, "%s: %s", path,
            found ? "is a link, which no server makes: remove it" : strerror(errno));
    } else if (!S_ISREG(at.st_mode)) {
        found = -1;
        snprintf(why, why_bytes, "%s is not a regular file: meet elsewhere", path);
    } else {
        found = is_ours(path, &at, why, why_bytes) ? 1 : -1;
    }
    *file = found == 1 ? fdopen(fd, "r") : NULL;
    if (fd >= 0 && !*file) close(fd);
    return found == 1 && !*file ? 0 : found;
}

/* Closes it. Returns whether it has all lines; m->number is 0 if it lacks that. */
static int read_file(FILE *file, char address[TUTTI_JOBS_TEXT], tutti_server_address *m)
{
    enum { MOST_LINES = 16 };
    char line[2 * TUTTI_JOBS_TEXT];
    long long number = 0;
    int read = 0;
    for (int i = 0; i < MOST_LINES && fgets(line, sizeof line, file); i++) {
        /* the widths are TUTTI_JOBS_TEXT - 1, TUTTI_JOBS_TOKEN */
        if (sscanf(line, "address %255s", address) == 1 ||
            sscanf(line, "token %64s", m->token) == 1)
            read++;
        sscanf(line, "number %lld", &number);
    }
    fclose(file);
    m->number = number > 0 ? number : 0;
    return read == 2;
}

int tutti_jobs_find(
    const tutti_jobs *jobs, int server, tutti_server_address *m, char *why, size_t why_bytes)
{
    char path[TUTTI_JOBS_TEXT + 16], address[TUTTI_JOBS_TEXT] = "";
    FILE *file = NULL;
    *m = (tutti_server_address){0};
    memcpy(m->token, jobs->token, sizeof m->token);
    if (!uses_address_files(jobs)) return find_listed(jobs->meet, server, m);
    name_file(jobs, server, path);
    int found = look_at_folder(jobs, why, why_bytes);
    if (found == 1) found = open_file(path, &file, why, why_bytes);
    if (found < 0) tutti_fail(TUTTI_ERR_USAGE, "tutti_kv_open: meet: %s", why);
    if (found < 1) return found;
    const int whole = read_file(file, address, m);
    m->in_file = 1;
    if (whole && read_address(address, m->address, &m->port) && m->port) return 1;
    snprintf(why, why_bytes, "%s does not say where a server is", path);
    return 0;
}

void tutti_jobs_forget(const tutti_jobs *jobs, int server, int64_t number)
{
    char path[TUTTI_JOBS_TEXT + 16], address[TUTTI_JOBS_TEXT] = "", why[2 * TUTTI_JOBS_TEXT];
    tutti_server_address m = {0};
    FILE *file;
    if (!number || !uses_address_files(jobs)) return;
    name_file(jobs, server, path);
    if (open_file(path, &file, why, sizeof why) != 1) return;
    read_file(file, address, &m);
    if (m.number == number) unlink(path);
}

tutti_status tutti_jobs_make_token(char token[TUTTI_JOBS_TOKEN + 1])
{
    unsigned char random[TUTTI_JOBS_TOKEN / 2];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return tutti_fail(
            TUTTI_ERR_IO, "the system has no random numbers for a token: %s", strerror(errno));
    for (size_t i = 0; i < sizeof random; i++) snprintf(token + 2 * i, 3, "%02x", random[i]);
    return TUTTI_OK;
}

int tutti_jobs_is_any(const char *address)
{
    struct in_addr four;
    struct in6_addr six;
    if (inet_aton(address, &four)) return four.s_addr == INADDR_ANY;
    return inet_pton(AF_INET6, address, &six) == 1 && IN6_IS_ADDR_UNSPECIFIED(&six);
}

int64_t tutti_jobs_draw(void)
{
    int64_t number;
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        number = (int64_t)(tutti_clock_s() * 1e9);
    return (number & INT64_MAX) | 1;
}
