# A StarPU program before and after Tutti: what doc/starpu.md walks through; one that sorts with most of the collectives;
# one that shows what priorities gain; one with groups of ranks, one with a ring of messages,
# one with a pipeline, one with remote buffers, and one whose ranks come and go.
# The parallel ones link the library as a stranger's program does: public headers, libtutti, nothing else of this tree.
noinst_PROGRAMS += apps/sgd_sequential apps/sgd_parallel apps/sample_sort apps/layers \
	apps/groups apps/halo apps/ring apps/pipeline apps/survivors
apps_sgd_sequential_SOURCES = apps/example/sgd_sequential.c
apps_sgd_sequential_LDADD = $(STARPU_LIBS)
apps_sgd_parallel_SOURCES = apps/example/sgd_parallel.c
apps_sgd_parallel_LDADD = libtutti.la $(STARPU_LIBS) $(MPI_LIBS)
apps_sample_sort_SOURCES = apps/example/sample_sort.c
apps_sample_sort_LDADD = libtutti.la $(STARPU_LIBS) $(MPI_LIBS)
apps_layers_SOURCES = apps/example/layers.c
apps_layers_LDADD = libtutti.la $(STARPU_LIBS) $(MPI_LIBS)
apps_groups_SOURCES = apps/example/groups.c
apps_groups_LDADD = libtutti.la $(STARPU_LIBS) $(MPI_LIBS)
apps_halo_SOURCES = apps/example/halo.c
apps_halo_LDADD = libtutti.la $(STARPU_LIBS) $(MPI_LIBS)
apps_ring_SOURCES = apps/example/ring.c
apps_ring_LDADD = libtutti.la $(STARPU_LIBS) $(MPI_LIBS)
apps_pipeline_SOURCES = apps/example/pipeline.c
apps_pipeline_LDADD = libtutti.la $(STARPU_LIBS) $(MPI_LIBS)
apps_survivors_SOURCES = apps/example/survivors.c
apps_survivors_LDADD = libtutti.la $(STARPU_LIBS) $(MPI_LIBS)
