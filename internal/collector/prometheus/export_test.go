package prometheus

// Reading returns how many large answers are being read.
func (s *Source) Reading() int { return len(s.large) }
