/* apps/train/tensorboard and tfrecord: CRCs that RFC 3720 gives, a record's bytes, full disks, folders that cannot be.
 * tests/programs/report.sh reads whole files. */
#include "apps/train/tensorboard.h"
#include "apps/train/tfrecord.h"
#include "tests/support/testing.h"

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* RFC 3720, appendix B.4, and the check value that catalogues of CRCs give. */
START_TEST(crcs)
{
    unsigned char bytes[32] = {0};
    ck_assert_uint_eq(tutti_tfrecord_crc(bytes, 32), 0x8a9136aa);
    memset(bytes, 0xff, 32);
    ck_assert_uint_eq(tutti_tfrecord_crc(bytes, 32), 0x62a8ab43);
    for (int i = 0; i < 32; i++) bytes[i] = (unsigned char)i;
    ck_assert_uint_eq(tutti_tfrecord_crc(bytes, 32), 0x46dd794e);
    ck_assert_uint_eq(tutti_tfrecord_crc("123456789", 9), 0xe3069283);
    ck_assert_uint_eq(tutti_tfrecord_crc("", 0), 0);
}
END_TEST

START_TEST(a_record)
{
    unsigned char bytes[64];
    FILE *file = fmemopen(bytes, sizeof bytes, "w");
    ck_assert(tutti_tfrecord_write(file, "123456789", 9));
    ck_assert_int_eq(ftell(file), 8 + 4 + 9 + 4);
    fclose(file);
    ck_assert_mem_eq(bytes, "\x09\0\0\0\0\0\0\0", 8);
    ck_assert_mem_eq(bytes + 12, "123456789", 9);
    const uint32_t crc = 0xe3069283, masked = (crc >> 15 | crc << 17) + 0xa282ead8;
    ck_assert_mem_eq(bytes + 21, &masked, 4);
}
END_TEST

/* Writes a file of two steps and an evaluation, and returns its size. limit: of files; 0: none. */
static long write_board(rlim_t limit, tutti_status wanted)
{
    char top[] = "/tmp/tutti-board-XXXXXX", folder[64], path[512];
    struct rlimit usual, less;
    long size = -1;
    tutti_tensorboard *board;
    ck_assert_ptr_nonnull(mkdtemp(top));
    snprintf(folder, sizeof folder, "%s/a/b", top);
    ck_assert_ok(tutti_tensorboard_open(folder, &board));
    getrlimit(RLIMIT_FSIZE, &usual);
    less = usual;
    if (limit) less.rlim_cur = limit;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &less);
    tutti_tensorboard_on_start(board, &(tutti_report_start){.first_step = 4});
    for (int64_t step = 5; step <= 6; step++)
        tutti_tensorboard_on_step(board, &(tutti_report_step){.step = step, .loss = NAN});
    const tutti_report_eval none = {
        .step = 6, .train_loss = NAN, .test_loss = NAN, .test_accuracy = NAN};
    tutti_tensorboard_on_eval(board, &none); /* writes nothing */
    setrlimit(RLIMIT_FSIZE, &usual);
    ck_assert_int_eq(tutti_tensorboard_close(board), wanted);
    DIR *list = opendir(folder);
    for (struct dirent *entry; (entry = readdir(list));) {
        if (entry->d_name[0] == '.') continue;
        ck_assert_int_eq(size, -1); /* one file */
        ck_assert_int_eq(strncmp(entry->d_name, "events.out.tfevents.", 20), 0);
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        FILE *file = fopen(path, "r");
        fseek(file, 0, SEEK_END);
        size = ftell(file);
        fclose(file);
        unlink(path);
    }
    closedir(list);
    rmdir(folder);
    folder[strlen(folder) - 2] = '\0';
    rmdir(folder);
    rmdir(top);
    return size;
}

START_TEST(files)
{
    /* Time, step and tag are 11 bytes of each event; its record adds 16. */
    const long version = 16 + 11 + 15, start = 16 + 11 + 4;
    const long value[] = {
        2 + 2 + 10 + 5, 2 + 2 + 18 + 5, 2 + 2 + 18 + 5}; /* rate, images_per_s, hidden_share */
    const long step = 16 + 11 + 2 + value[0] + value[1] + value[2];
    ck_assert_int_eq(write_board(0, TUTTI_OK), version + start + 2 * step);
    ck_assert_int_le(write_board((rlim_t)(version + start + 5), TUTTI_ERR_IO), version + start + 5);
    tutti_tensorboard *board;
    ck_assert_int_eq(tutti_tensorboard_open("/dev/null/folder", &board), TUTTI_ERR_IO);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tensorboard");
    TCase *tcase = testing_case(suite, "tensorboard");
    tcase_add_test(tcase, crcs);
    tcase_add_test(tcase, a_record);
    tcase_add_test(tcase, files);
    return testing_run(suite);
}
