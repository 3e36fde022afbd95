"""Tasks that need no other, carried out here or on the workers of a Dask cluster."""
