/* designs: the flight recorder. */
#include "dag/base/log.h"
#include "designs/queue/record.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>

static int64_t post(tutti_record *record, int64_t sequence, const char *name)
{
    const tutti_record_key key = {
        .sequence = sequence, .lane = 1, .chunk = 1, .chunks = 2, .name = name};
    const tutti_coll_args args = {
        .kind = TUTTI_ALLREDUCE, .dtype = TUTTI_F64, .op = TUTTI_MAX, .count = 5};
    return tutti_record_post(record, &key, &args);
}

START_TEST(the_recorder_keeps_the_last)
{
    tutti_record record;
    ck_assert_ok(tutti_record_open(&record));
    for (int i = 0; i < TUTTI_RECORD_ROOM + 10; i++)
        ck_assert_int_eq((int)post(&record, 7 * i, "w"), i);
    ck_assert_int_eq((int)tutti_record_oldest(&record), 10);
    ck_assert_ptr_null(tutti_record_get(&record, 9));
    ck_assert_ptr_null(tutti_record_get(&record, TUTTI_RECORD_ROOM + 10));
    ck_assert_int_eq((int)tutti_record_get(&record, 10)->sequence, 70);
    ck_assert_int_eq((int)tutti_record_get(&record, 10)->bytes, 40);
    tutti_record_start(&record, 9); /* overwritten: no other entry's times change */
    ck_assert_double_eq(tutti_record_get(&record, TUTTI_RECORD_ROOM + 9)->started_s, 0);
    tutti_record_start(&record, 10);
    tutti_record_end(&record, 10, TUTTI_ERR_COMM);
    const tutti_record_entry *e = tutti_record_get(&record, 10);
    ck_assert(e->posted_s <= e->started_s && e->started_s <= e->ended_s);
    ck_assert_int_eq(e->status, TUTTI_ERR_COMM);
    tutti_record_close(&record);
}
END_TEST

START_TEST(the_recorder_writes_json)
{
    tutti_record record;
    char *text = NULL;
    size_t size = 0;
    ck_assert_ok(tutti_record_open(&record));
    FILE *out = open_memstream(&text, &size);
    int64_t number = post(&record, 3, "a \"name\"\n\xff");
    tutti_record_write(&record, tutti_record_get(&record, number)->posted_s + 2, out);
    fclose(out);
    ck_assert_str_eq(text,
        "{\"event\":\"collective\",\"sequence\":3,\"lane\":1,\"index\":0,"
        "\"chunk\":1,\"chunks\":2,"
        "\"name\":\"a \\\"name\\\"\\u000a?\",\"kind\":\"allreduce\",\"dtype\":\"F64\","
        "\"op\":\"max\",\"root\":0,\"count\":5,\"bytes\":40,\"submitted_s\":null,"
        "\"posted_s\":-2.000000,\"started_s\":null,\"ended_s\":null,\"status\":\"\"}\n");
    free(text);
    tutti_record_close(&record);
}
END_TEST

int main(void)
{
    tutti_log_set_level(TUTTI_LOG_INFO);
    Suite *suite = suite_create("record");
    TCase *tcase = testing_case(suite, "record");
    tcase_add_test(tcase, the_recorder_keeps_the_last);
    tcase_add_test(tcase, the_recorder_writes_json);
    return testing_run(suite);
}
