package kubectl

import "strings"

// ofTheShell are characters that mean something to a shell outside of quotes.
const ofTheShell = "$`|;&<>(){}*?~\\\"#\n"

// split takes a command line apart as a shell does, if all that is special about it are
// words in single quotes.
func split(line string) (words []string, ok bool) {
	var word strings.Builder
	inWord := false
	for rest := line; rest != ""; {
		switch c := rest[0]; {
		case c == '\'':
			quoted, after, closed := strings.Cut(rest[1:], "'")
			if !closed {
				return nil, false
			}
			word.WriteString(quoted)
			inWord, rest = true, after
			continue
		case c == ' ':
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		case strings.IndexByte(ofTheShell, c) >= 0:
			return nil, false
		default:
			word.WriteByte(c)
			inWord = true
		}
		rest = rest[1:]
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, true
}
