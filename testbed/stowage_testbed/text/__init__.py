"""Tables, figures and lines that people read, wherever they are shown. Begin with `tables.Table`."""
