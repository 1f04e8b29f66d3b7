apps_models_sources = apps/models/model.h
