package packingplan

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// The API server refuses an event whose note has more than 1,024 bytes, and whoever looks for the reason finds none.
func TestShortenedTextFitsIntoAnEvent(t *testing.T) {
	const limit = 1024
	for name, text := range map[string]string{
		"short": "why", "at the limit": strings.Repeat("x", limit), "long": strings.Repeat("x", limit+1),
		"wide characters": "x" + strings.Repeat("é", limit),
	} {
		t.Run(name, func(t *testing.T) {
			shortened := Shortened(text)

			if len(shortened) > limit || !utf8.ValidString(shortened) {
				t.Errorf("%d bytes, valid: %t", len(shortened), utf8.ValidString(shortened))
			}
			if len(text) <= limit && shortened != text {
				t.Errorf("was changed to %q", shortened)
			}
		})
	}
}
