# Tests of collectives.
