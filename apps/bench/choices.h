/* Names for options that choose from a table of the library, for tutti_setting.choice. [P] */
#ifndef TUTTI_BENCH_CHOICES_H
#define TUTTI_BENCH_CHOICES_H

const char *tutti_choice_model(int i);
/* An algorithm's name; "all" after the last. */
const char *tutti_choice_algorithms(int i);

#endif
