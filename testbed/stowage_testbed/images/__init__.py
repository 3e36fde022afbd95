"""Container images, built from the package registries alone and without any engine."""
