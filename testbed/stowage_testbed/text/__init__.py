"""Tables and pages: what people read, wherever it is shown."""
