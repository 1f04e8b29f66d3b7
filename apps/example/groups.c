/* Groups: the sums along the rows and the columns of a grid of ranks.
 *
 *     mpirun -np 6 groups 2          2 rows of 3 ranks
 *
 *     0 1 2   | 3          every rank adds up its row, then its column; the sum of a row's sums
 *     3 4 5   | 12         is the sum over all ranks
 *     -----
 *     3 5 7
 *
 * Every rank makes all groups, in the same order, and keeps the two that it is in. The collectives of
 * a row and those of a column wait for each other only where they use the same data. */
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <tutti/starpu.h>

/* The ranks from `first` on, `step` apart. NULL where this rank is none of them. */
static tutti_session *make_group(tutti_session *tutti, int n, int first, int step)
{
    int *ranks = malloc((size_t)n * sizeof *ranks);
    tutti_session *group = NULL;
    for (int i = 0; ranks && i < n; i++) ranks[i] = first + i * step;
    if (!ranks || tutti_group(tutti, n, ranks, &group)) MPI_Abort(MPI_COMM_WORLD, 1);
    free(ranks);
    return group;
}

int main(int argc, char **argv)
{
    int granted, rows = argc > 1 ? atoi(argv[1]) : 1;
    double row_sum, column_sum, all_sum;
    starpu_data_handle_t row_handle, column_handle, all_handle;
    tutti_session *tutti, *row = NULL, *column = NULL;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
    if (tutti_start_starpu(NULL) || tutti_attach(MPI_COMM_WORLD, NULL, &tutti)) return 1;
    int rank = tutti_rank(tutti), size = tutti_size(tutti);
    if (rows < 1 || size % rows) {
        if (!rank) fprintf(stderr, "groups: %d ranks do not fill %d rows\n", size, rows);
        rows = 1;
    }
    int columns = size / rows;
    for (int r = 0; r < rows; r++) {
        tutti_session *group = make_group(tutti, columns, r * columns, 1);
        if (group) row = group;
    }
    for (int c = 0; c < columns; c++) {
        tutti_session *group = make_group(tutti, rows, c, columns);
        if (group) column = group;
    }
    row_sum = column_sum = rank;
    starpu_variable_data_register(
        &row_handle, STARPU_MAIN_RAM, (uintptr_t)&row_sum, sizeof row_sum);
    starpu_variable_data_register(
        &column_handle, STARPU_MAIN_RAM, (uintptr_t)&column_sum, sizeof column_sum);
    starpu_variable_data_register(
        &all_handle, STARPU_MAIN_RAM, (uintptr_t)&all_sum, sizeof all_sum);
    tutti_status status = tutti_allreduce(row, row_handle, TUTTI_F64, TUTTI_SUM);
    if (!status) status = tutti_allreduce(column, column_handle, TUTTI_F64, TUTTI_SUM);
    if (!status) status = tutti_allreduce_to(column, row_handle, all_handle, TUTTI_F64, TUTTI_SUM);
    if (!status) status = tutti_wait(tutti, 60);
    starpu_data_unregister(row_handle);
    starpu_data_unregister(column_handle);
    starpu_data_unregister(all_handle);
    int wrong = all_sum != size * (size - 1) / 2.0;
    if (!status) printf("rank %d: row %g, column %g, all %g\n", rank, row_sum, column_sum, all_sum);
    if (!status) status = tutti_detach(tutti);
    starpu_shutdown();
    MPI_Finalize();
    return status || wrong;
}
