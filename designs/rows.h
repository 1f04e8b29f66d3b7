/* The rows of the table of designs. */
#ifndef TUTTI_DESIGN_ROWS_H
#define TUTTI_DESIGN_ROWS_H

#include "designs/design.h"

extern const tutti_design tutti_design_funneled, tutti_design_concurrent, tutti_design_chained,
    tutti_design_sequential, tutti_design_naive;

#endif
