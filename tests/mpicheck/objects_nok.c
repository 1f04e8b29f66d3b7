/* Wrong programs: communicators, windows and files, which are made and freed collectively. */
#include "tests/mpicheck/programs.h"

static int x[64], y[64];

static void dup_missing(void)
{
    MPI_Comm copy;
    if (check_rank != 1) MPI_Comm_dup(WORLD, &copy);
}

static void dup_and_barrier(void)
{
    MPI_Comm copy;
    FIRST MPI_Comm_dup(WORLD, &copy);
    else MPI_Barrier(WORLD);
}

static void intercomm(void)
{
    MPI_Comm half, both;
    int side = check_rank % 2;
    MPI_Comm_split(WORLD, side, 0, &half);
    MPI_Intercomm_create(half, 0, WORLD, 1 - side, 7, &both);
    if (side == 0)
        MPI_Barrier(both);
    else
        MPI_Allreduce(x, y, 1, MPI_INT, MPI_SUM, both);
}

static void create_group(void)
{
    MPI_Group all;
    MPI_Comm comm;
    MPI_Comm_group(WORLD, &all);
    if (check_rank != 1) MPI_Comm_create_group(WORLD, all, 4, &comm);
    MPI_Group_free(&all);
}

static void fence(void)
{
    MPI_Win win;
    MPI_Win_create(x, sizeof(x), 1, MPI_INFO_NULL, WORLD, &win);
    if (check_rank != 1) MPI_Win_fence(0, win);
}

static void win_free(void)
{
    MPI_Win win;
    MPI_Win_create(x, sizeof(x), 1, MPI_INFO_NULL, WORLD, &win);
    MPI_Win_fence(0, win);
    if (check_rank != 1) MPI_Win_free(&win);
}

static void file_open(void)
{
    MPI_File file;
    FIRST MPI_File_open(WORLD, "/dev/null", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    else MPI_Barrier(WORLD);
}

static MPI_File open_file(void)
{
    MPI_File file;
    MPI_File_open(WORLD, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    return file;
}

static void file_write(void)
{
    MPI_File file = open_file();
    if (check_rank != 1) MPI_File_write_all(file, x, 4, MPI_INT, MPI_STATUS_IGNORE);
    MPI_Barrier(WORLD);
    MPI_File_close(&file);
}

static void file_order(void)
{
    MPI_File file = open_file();
    FIRST MPI_File_sync(file);
    MPI_File_write_at_all(file, 0, x, 4, MPI_INT, MPI_STATUS_IGNORE);
    if (check_rank != 0) MPI_File_sync(file);
    MPI_File_close(&file);
}

static void file_close(void)
{
    MPI_File file = open_file();
    FIRST MPI_File_read_all_begin(file, x, 4, MPI_INT);
    MPI_File_close(&file);
}

static const check_case cases[] = {
    {"dup_missing_nok", 3, "deadlock", dup_missing},
    {"dup_and_barrier_nok", 3, "the kind of collective", dup_and_barrier},
    {"intercomm_nok", 4, "the kind of collective", intercomm},
    {"create_group_nok", 3, "deadlock", create_group},
    {"fence_nok", 3, "deadlock", fence},
    {"win_free_nok", 3, "deadlock", win_free},
    {"file_open_nok", 3, "the kind of collective", file_open},
    {"file_write_nok", 3, "deadlock", file_write},
    {"file_order_nok", 3, "the kind of collective", file_order},
    {"file_close_nok", 3, "the kind of collective", file_close},
};
const check_table check_objects_nok = {cases, sizeof cases / sizeof *cases};
