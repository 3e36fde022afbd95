"""Container images and the engine that runs them.

They are built from the package registries alone and without any engine.
"""
