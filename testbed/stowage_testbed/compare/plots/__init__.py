"""The comparison's lines as pictures for papers, PNG and SVG."""
