/* Recipes: the settings of published trainings as named sets of defaults. An option or variable
 * that is given counts more than the recipe's. [P] */
#ifndef TUTTI_TRAIN_RECIPE_H
#define TUTTI_TRAIN_RECIPE_H

#include "apps/train/program.h"

typedef struct tutti_train_recipe {
    const char *name, *summary, *source;
    const tutti_train_default *defaults; /* ends with NULL */
} tutti_train_recipe;

/* The table; ends with a NULL name. The first is "none", which has no defaults. */
extern const tutti_train_recipe tutti_train_recipes[];
/* NULL if unknown. */
const tutti_train_recipe *tutti_train_recipe_find(const char *name);

#endif
