#include "apps/trees/fewest.h"

#include "dag/base/log.h"

#include <glpk.h>
#include <math.h>
#include <stdlib.h>

enum { LIMIT_MS = 3000 };

const char *tutti_fewest_lacks(void)
{
    return NULL;
}

/* min sum of z_t: sum of w_t >= share; for each capacity, sum of loads <= 1; w_t <= z_t; z_t is 0 or 1. w_t is in units
 * of the rate. Columns: w of tree t is t + 1, z is trees + t + 1. Rows: the share, capacities, trees. */
typedef struct program {
    const tutti_tree_network *n;
    const tutti_forest *f;
    double rate;
    glp_prob *lp;
    int *row, *column; /* of each element, from 1 on, as GLPK counts */
    double *value, *load;
    int elements;
} program;

static void add_element(program *p, int row, int column, double value)
{
    p->row[++p->elements] = row;
    p->column[p->elements] = column;
    p->value[p->elements] = value;
}

static void add_tree(program *p, int t)
{
    int C = p->n->capacities, T = p->f->trees;
    glp_set_col_bnds(p->lp, t + 1, GLP_LO, 0, 0);
    glp_set_col_kind(p->lp, T + t + 1, GLP_BV);
    glp_set_obj_coef(p->lp, T + t + 1, 1);
    add_element(p, 1, t + 1, 1);
    for (int c = 0; c < C; c++) p->load[c] = 0;
    tutti_tree_network_add_load(p->n, p->f->tree[t].parent, p->rate, p->load);
    for (int c = 0; c < C; c++)
        if (p->load[c] > 0) add_element(p, 2 + c, t + 1, p->load[c] / p->n->capacity[c]);
    add_element(p, 2 + C + t, t + 1, 1);
    add_element(p, 2 + C + t, T + t + 1, -1);
    glp_set_row_bnds(p->lp, 2 + C + t, GLP_UP, 0, 0);
}

static void write_program(program *p, double share)
{
    int C = p->n->capacities, T = p->f->trees;
    glp_set_obj_dir(p->lp, GLP_MIN);
    glp_add_rows(p->lp, 1 + C + T);
    glp_add_cols(p->lp, 2 * T);
    glp_set_row_bnds(p->lp, 1, GLP_LO, share, 0);
    for (int c = 0; c < C; c++) glp_set_row_bnds(p->lp, 2 + c, GLP_UP, 0, 1);
    for (int t = 0; t < T; t++) add_tree(p, t);
    glp_load_matrix(p->lp, p->elements, p->row, p->column, p->value);
}

/* Returns whether there is a solution. */
static int solve(program *p)
{
    glp_iocp how;
    glp_init_iocp(&how);
    how.presolve = GLP_ON;
    how.tm_lim = LIMIT_MS;
    how.msg_lev = GLP_MSG_OFF;
    glp_intopt(p->lp, &how);
    int is = glp_mip_status(p->lp);
    return is == GLP_OPT || is == GLP_FEAS;
}

tutti_status tutti_fewest(const tutti_tree_network *n, double share, tutti_forest *f)
{
    program p = {.n = n, .f = f, .rate = tutti_forest_rate(f), .lp = glp_create_prob()};
    size_t most = (size_t)f->trees * ((size_t)n->capacities + 3) + 1;
    int solved = 0;
    p.row = malloc(most * sizeof *p.row);
    p.column = malloc(most * sizeof *p.column);
    p.value = malloc(most * sizeof *p.value);
    p.load = malloc(((size_t)n->capacities + 1) * sizeof *p.load);
    int room = p.row && p.column && p.value && p.load;
    if (room) {
        write_program(&p, share);
        solved = solve(&p);
    }
    for (int t = 0; solved && t < f->trees; t++)
        f->tree[t].weight = fmax(glp_mip_col_val(p.lp, t + 1), 0) * p.rate;
    glp_delete_prob(p.lp);
    free(p.row);
    free(p.column);
    free(p.value);
    free(p.load);
    if (!room) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for an integer program");
    if (!solved) return tutti_weigh_fewest(n, share, f);
    /* These trees, with more than the share if they can. */
    tutti_status status = tutti_weigh_drop(n, f);
    if (!status) status = tutti_weigh_best(n, f);
    return status ? status : tutti_weigh_drop(n, f);
}
