/* Names for options that choose from a table of the library, for tutti_setting.choice. [P] */
#ifndef TUTTI_BENCH_CHOICES_H
#define TUTTI_BENCH_CHOICES_H

#include "dag/base/conf.h"

const char *tutti_choice_model(int i);
/* An algorithm's name; "all" after the last. */
const char *tutti_choice_algorithms(int i);
/* --steps auto of a block becomes as many steps as 4 seconds hold, 3 to 20. */
void tutti_choice_steps(double step_s, tutti_conf_int *steps);

#endif
