"""What can be searched, behind one port: a library on disk, a shelf of texts for tests."""
