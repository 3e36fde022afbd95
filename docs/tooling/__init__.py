"""What builds the generated pages and reads the command blocks of the others."""
