/* A build without a library that has engines. */
#include "dag/kernels/engines.h"

char *tutti_engines_library(char text[TUTTI_ENGINES_LIBRARY])
{
    text[0] = '\0';
    return text;
}
