"""Container images, built by `recipe.build_image`, and the Docker engine that builds and runs them."""
