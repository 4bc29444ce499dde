"""Jobs: descriptions of work whose results are run directories, the runner that does them, and executors."""
