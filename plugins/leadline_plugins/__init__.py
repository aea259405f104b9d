"""The plugins that come with Leadline, registered like a stranger's."""
