/* Names for options that choose from a table of the library; as tutti_setting.choice wants them. [P] */
#ifndef TUTTI_BENCH_CHOICES_H
#define TUTTI_BENCH_CHOICES_H

const char *tutti_choice_model(int i);
/* An algorithm's name, and "all" behind the last. */
const char *tutti_choice_algorithms(int i);

#endif
