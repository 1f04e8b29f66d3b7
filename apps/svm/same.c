#include "apps/svm/same.h"

#include "apps/svm/memory.h"
#include "dag/base/conf.h"
#include "dag/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { BLOCK = 1 << 16, MOST_BLOCKS = 1024 };

static tutti_status compare(tutti_svm_world *world, const char *zero, const char *mine)
{
    tutti_conf_difference d;
    if (!tutti_conf_compare(zero, mine, &d)) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_USAGE,
        "the ranks were started with different options: %s is \"%s\" on rank 0 and \"%s\" on rank %d",
        d.name, d.a, d.b, world->rank);
}

tutti_status tutti_svm_same_settings(tutti_svm_world *world, const char *settings)
{
    int64_t length = settings ? (int64_t)strlen(settings) : 0;
    if (world->size == 1) return settings ? TUTTI_OK : TUTTI_ERR_NOMEM;
    tutti_status status = tutti_svm_agree(world, settings ? TUTTI_OK : TUTTI_ERR_NOMEM);
    if (!status) status = tutti_svm_broadcast(world, &length, sizeof length);
    if (status) return status;
    char *text = tutti_svm_new(length + 1, 1);
    status = tutti_svm_agree(world, text ? TUTTI_OK : TUTTI_ERR_NOMEM);
    if (!status && !world->rank) memcpy(text, settings, (size_t)length);
    if (!status) status = tutti_svm_broadcast(world, text, length);
    if (!status) status = tutti_svm_agree(world, compare(world, text, settings));
    free(text);
    return status;
}

/* ---- files ---- */

typedef struct print {
    int64_t size;
    uint64_t hash;
} print;

static tutti_status hash_blocks(int fd, int64_t size, char *block, XXH3_state_t *state)
{
    const int64_t blocks = (size + BLOCK - 1) / BLOCK;
    const int64_t taken = blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS;
    for (int64_t k = 0; k < taken; k++) {
        const off_t at = (off_t)(taken < 2 ? 0 : (blocks - 1) * k / (taken - 1)) * BLOCK;
        const ssize_t n = pread(fd, block, BLOCK, at);
        if (n < 0 && errno == EINTR) {
            k--;
            continue;
        }
        if (n < 0) return TUTTI_ERR_IO;
        XXH3_64bits_update(state, block, (size_t)n);
    }
    return TUTTI_OK;
}

static tutti_status take_print(const char *what, const char *path, print *p)
{
    struct stat s;
    char *block = tutti_svm_new(BLOCK, 1);
    XXH3_state_t *state = XXH3_createState();
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    tutti_status status = block && state ? TUTTI_OK : tutti_svm_no_memory(1, BLOCK);
    if (!status && (fd < 0 || fstat(fd, &s))) status = TUTTI_ERR_IO;
    if (!status) {
        XXH3_64bits_reset(state);
        status = hash_blocks(fd, s.st_size, block, state);
        *p = (print){.size = s.st_size, .hash = XXH3_64bits_digest(state)};
    }
    if (status == TUTTI_ERR_IO)
        tutti_fail(status, "%s %s cannot be read: %s", what, path, strerror(errno));
    XXH3_freeState(state);
    free(block);
    if (fd >= 0) close(fd);
    return status;
}

tutti_status tutti_svm_same_file(tutti_svm_world *world, const char *what, const char *path)
{
    print mine = {0};
    if (world->size == 1) return TUTTI_OK;
    print *all = tutti_svm_new(world->size, sizeof *all);
    tutti_status status = all ? take_print(what, path, &mine) : TUTTI_ERR_NOMEM;
    status = tutti_svm_agree(world, status);
    if (!status) status = tutti_svm_gather(world, &mine, sizeof mine, all);
    for (int r = 1; r < world->size && !status; r++)
        if (all[r].size != all[0].size)
            status = tutti_fail(TUTTI_ERR_MISMATCH,
                "%s %s differs between ranks: it has %" PRId64 " bytes on rank 0, and %" PRId64 " on rank %d",
                what, path, all[0].size, all[r].size, r);
        else if (all[r].hash != all[0].hash)
            status = tutti_fail(TUTTI_ERR_MISMATCH,
                "%s %s differs between ranks: rank %d has other bytes than rank 0", what, path, r);
    free(all);
    return status;
}

tutti_status tutti_svm_describe_file(
    const char *what, const char *path, char text[TUTTI_SVM_FILE_TEXT])
{
    print p = {0};
    tutti_status status = take_print(what, path, &p);
    snprintf(text, TUTTI_SVM_FILE_TEXT, "%" PRId64 " bytes, hash %016" PRIx64, p.size, p.hash);
    return status;
}
