apps_data_sources = apps/data/reader.h apps/data/prefetch.h
