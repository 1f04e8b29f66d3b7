# Tests of designs.
