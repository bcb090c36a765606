package discovery

import "strings"

// longestName is the longest name of an object that the API server accepts (RFC 1123 subdomain,
// bytes).
const longestName = 253

// nameFor returns the name that published versions suggest for the object of a variant: its
// variantID in lower case, with a dash for each slash and dot, without other characters that a name
// cannot have, and without dashes at its ends. It is "" where nothing remains.
func nameFor(variantID string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r == '/' || r == '.':
			return '-'
		case r == '-' || 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
			return r
		}
		return -1
	}, strings.ToLower(variantID))
	return strings.Trim(name, "-")
}

// suggestion returns a better name for an object, made from its variantID; "" where the object has
// it already, has no variantID, or cannot have that name.
func suggestion(name, variantID string) string {
	suggested := nameFor(variantID)
	if suggested == name || len(suggested) > longestName {
		return ""
	}
	return suggested
}
