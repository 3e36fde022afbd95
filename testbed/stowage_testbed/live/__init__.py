"""A page that shows a cluster as it is now, and as it was while somebody watched. Begin with `server.LiveServer`."""
