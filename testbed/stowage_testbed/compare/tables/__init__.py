"""A comparison as tables, which terminal, Markdown and page show alike."""
