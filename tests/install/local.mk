# The library as it is installed, and programs that are built on it outside of the tree.
TESTS += tests/install/completion.sh tests/install/install.sh tests/install/cuda.sh
EXTRA_DIST += tests/install/completion.sh tests/install/install.sh tests/install/cuda.sh tests/install/my_program.cc tests/install/fragments.c tests/install/0.1/program.c tests/install/0.1/stub.c \
	tests/install/0.1/tutti/starpu.h
