# Sources of apps/bench.
