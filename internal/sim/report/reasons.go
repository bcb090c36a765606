package report

import "strings"

// phrases holds the texts of reasons, each once: most reasons are one phrase with other numbers in
// it. The zero value is ready to use.
type phrases struct {
	list  []string
	index map[string]int
}

// hole stands for a number in a phrase. A reason that contains it is kept whole.
const hole = "\x00"

// split takes the numbers out of a reason. With each number put into the next hole, the phrase is
// the reason again.
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

// add returns the index of a phrase, and stores the phrase if it is new.
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
