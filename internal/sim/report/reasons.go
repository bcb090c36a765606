package report

import "strings"

// phrases holds what reasons say, each phrase once: most reasons are one phrase
// with other numbers in it. The zero value is ready to be used.
type phrases struct {
	list  []string
	index map[string]int
}

// hole stands for a number in a phrase. A reason that has it in itself is kept
// whole.
const hole = "\x00"

// split takes the numbers out of a reason: with each number put back into the
// next hole of the phrase, it is the same reason.
func split(reason string) (phrase string, numbers []string) {
	if strings.Contains(reason, hole) {
		return reason, nil
	}
	var b strings.Builder
	for i := 0; i < len(reason); {
		end := i
		for end < len(reason) && (isDigit(reason[end]) || reason[end] == '.' && end > i && end+1 < len(reason) && isDigit(reason[end+1])) {
			end++
		}
		if end == i {
			b.WriteByte(reason[i])
			i++
			continue
		}
		b.WriteString(hole)
		numbers = append(numbers, reason[i:end])
		i = end
	}
	return b.String(), numbers
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// add returns the index of a phrase, which is new or not.
func (p *phrases) add(phrase string) int {
	if i, ok := p.index[phrase]; ok {
		return i
	}
	if p.index == nil {
		p.index = map[string]int{}
	}
	p.index[phrase] = len(p.list)
	p.list = append(p.list, phrase)
	return len(p.list) - 1
}
