package upload

// BeforeSync has a function called before each chunk is synced.
func (s *Store) BeforeSync(f func()) { s.syncing = f }
