# Sources of apps/tools.
