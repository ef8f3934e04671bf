package install

// Plain has a store behave as on a file system that can not exchange two directories.
func (s *Store) Plain() { s.plain = true }
