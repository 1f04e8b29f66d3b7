# Sources of apps/data.
