"""Suite files: finding them by name and reading them; errors have file and line."""
