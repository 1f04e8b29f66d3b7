#include "apps/train/again.h"

#include "dag/base/process.h"
#include "dag/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_WORDS = 4096, MOST_BYTES = 1 << 17, GENERATIONS = 8 };

/* ---- the text ---- */

/* Whether a message would show something else (dag/base/text.h). */
static int is_odd(const char *word)
{
    char *shown = tutti_text_shown(word);
    const int odd = shown && strcmp(shown, word) != 0;
    free(shown);
    return odd;
}

/* A word with control characters is written as $'a\012b', which the shell reads as it was. */
static void put(const char *word, FILE *out)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    if (*word && !word[strspn(word, plain)]) {
        fputs(word, out);
        return;
    }
    const int odd = is_odd(word);
    fputs(odd ? "$'" : "'", out);
    for (; *word; word++)
        if (odd && (*word < ' ' || *word == 0x7f))
            fprintf(out, "\\%03o", (unsigned)(unsigned char)*word);
        else if (*word == '\'')
            fputs(odd ? "\\'" : "'\\''", out);
        else if (*word == '\\' && odd)
            fputs("\\\\", out);
        else
            fputc(*word, out);
    fputc('\'', out);
}

char *tutti_again_text(int words, char *const word[], const char *checkpoint)
{
    static const char option[] = "--resume", with_value[] = "--resume=";
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    for (int i = 0; i < words; i++) {
        if (!strcmp(word[i], option)) {
            i++;
            continue;
        }
        if (!strncmp(word[i], with_value, sizeof with_value - 1)) continue;
        put(word[i], out);
        fputc(' ', out);
    }
    fputs("--resume ", out);
    put(checkpoint, out);
    if (!fclose(out)) return text;
    free(text);
    return NULL;
}

/* ---- the launcher ---- */

typedef struct line {
    char *bytes, *word[MOST_WORDS];
    int words;
} line;

/* A process's words; none if they cannot be read or are too long. */
static void read_line(int64_t pid, line *l)
{
    char path[64];
    l->words = 0;
    snprintf(path, sizeof path, "/proc/%" PRId64 "/cmdline", pid);
    FILE *file = fopen(path, "re");
    if (!file) return;
    size_t length = fread(l->bytes, 1, MOST_BYTES - 1, file);
    fclose(file);
    if (length == MOST_BYTES - 1) return;
    l->bytes[length] = '\0';
    for (char *at = l->bytes; at < l->bytes + length && l->words < MOST_WORDS; at += strlen(at) + 1)
        l->word[l->words++] = at;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Whether the line ends with these words, apart from the program's folder, and starts only one program. */
static int ends_with(const line *l, int words, char *const word[])
{
    int before = l->words - words;
    if (before < 1) return 0;
    for (int i = 0; i < l->words; i++)
        if (!strcmp(l->word[i], ":")) return 0;
    if (strcmp(base_name(l->word[before]), base_name(word[0])) != 0) return 0;
    for (int i = 1; i < words; i++)
        if (strcmp(l->word[before + i], word[i]) != 0) return 0;
    return 1;
}

/* The mpirun of Open MPI 5 becomes prterun, which refuses by hand what mpirun allows it (to run as root). */
static void name_mpirun(char *launcher)
{
    char *slash = strrchr(launcher, '/'), *name = slash ? slash + 1 : launcher;
    if (!strcmp(name, "prterun")) memcpy(name, "mpirun", sizeof "mpirun");
}

/* Finds the oldest such ancestor: wrappers may stand between the launcher and the program. */
static int find_launcher(line *l, int words, char *const word[])
{
    int64_t pid = getppid(), found = 0;
    for (int i = 0; i < GENERATIONS && pid > 1; i++, pid = tutti_process_parent(pid)) {
        read_line(pid, l);
        if (ends_with(l, words, word)) found = pid;
    }
    if (found) read_line(found, l);
    if (!found || !ends_with(l, words, word)) return 0;
    name_mpirun(l->word[0]);
    return 1;
}

static char *with_mpirun(int words, char *const word[], int ranks, const char *checkpoint)
{
    char *own = tutti_again_text(words, word, checkpoint), *text = NULL;
    size_t size;
    FILE *out = own ? open_memstream(&text, &size) : NULL;
    if (!out || ranks == 1) {
        if (out) fclose(out);
        free(text);
        return own;
    }
    if (ranks)
        fprintf(out, "mpirun -np %d %s", ranks, own);
    else
        fprintf(out, "%s # under tutti-run --elastic, with its options as before", own);
    free(own);
    if (!fclose(out)) return text;
    free(text);
    return NULL;
}

char *tutti_again_command(char *const argv[], int ranks, const char *checkpoint)
{
    int words = 0;
    while (argv[words]) words++;
    line *l = calloc(1, sizeof *l);
    char *text = NULL;
    if (l) l->bytes = malloc(MOST_BYTES);
    if (l && l->bytes)
        text = find_launcher(l, words, argv) ? tutti_again_text(l->words, l->word, checkpoint)
                                             : with_mpirun(words, argv, ranks, checkpoint);
    if (l) free(l->bytes);
    free(l);
    return text;
}

char *tutti_again_jobs(
    int servers, int clients, int ranks, char *const argv[], const char *checkpoint)
{
    int words = 0;
    while (argv[words]) words++;
    char *own = tutti_again_text(words, argv, checkpoint), *text = NULL;
    size_t size;
    FILE *out = own ? open_memstream(&text, &size) : NULL;
    if (out)
        fprintf(out, "tutti-run --servers %d --clients %d -n %d %s", servers, clients,
            clients * ranks, own);
    free(own);
    if (out && !fclose(out)) return text;
    free(text);
    return NULL;
}
