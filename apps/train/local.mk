# Sources of apps/train.
