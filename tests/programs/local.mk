# Tests of programs.
