# Tests of net.
