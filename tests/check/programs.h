/* The cases of the program `programs`: right ones (programs_ok.c) and wrong ones (programs_nok.c). */
#ifndef TUTTI_TESTS_CHECK_PROGRAMS_H
#define TUTTI_TESTS_CHECK_PROGRAMS_H

#include "tests/check/cases.h"

extern const check_case check_ok_cases[], check_nok_cases[];
extern const int check_ok_count, check_nok_count;

#endif
