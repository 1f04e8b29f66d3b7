# Sources of apps/models.
