"""One way to make every page, which then works offline: `offline.offline_page`."""
