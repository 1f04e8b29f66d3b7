EXTRA_DIST += quickstart
# Installed with their folders, so that the paths in the pages hold there, too.
nobase_dist_doc_DATA = README.md HACKING.md LICENSE NEWS \
	doc/algorithms.md doc/changes.md doc/checkpoint.md doc/compression.md doc/data.md doc/designs.md doc/elastic.md doc/gpu.md doc/index.md doc/install.md doc/kernels.md doc/kv.md doc/map.md doc/numerics.md doc/operating.md doc/photographs.md doc/pipelines.md doc/remote.md doc/results.md doc/scale.md doc/starpu.md doc/strategies.md doc/svm.md doc/threads.md doc/topologies.md doc/training.md \
	doc/broadcasts.jsonl doc/broadcasts.svg doc/grid.jsonl doc/grid.svg doc/imagenette.svg \
	apps/example/groups.c apps/example/layers.c apps/example/pipeline.c apps/example/halo.c apps/example/ring.c apps/example/sample_sort.c apps/example/survivors.c \
	apps/example/sgd_parallel.c apps/example/sgd_sequential.c apps/example/slurm.sh
dist_man_MANS += doc/tutti-starpu.3 doc/tutti-kv.3
dist_man_MANS += doc/tutti-bench.1 doc/tutti-box.1 doc/tutti-cifar.1 doc/tutti-doctor.1 doc/tutti-export.1 doc/tutti-imagenet.1 doc/tutti-info.1 \
	doc/tutti-pack.1 doc/tutti-plan.1 doc/tutti-predict.1 doc/tutti-run.1 doc/tutti-sim.1 doc/tutti-svm.1 doc/tutti-trace.1 doc/tutti-trees.1
dist_man_MANS += doc/tutti-mpicheck.7 doc/tutti-network.5 doc/tutti-rules.5 doc/tutti-topology.5
