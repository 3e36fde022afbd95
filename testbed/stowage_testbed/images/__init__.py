"""Container images, built by `build.build_image`, and the Docker engine that builds and runs them."""
