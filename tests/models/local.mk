# Tests of models.
