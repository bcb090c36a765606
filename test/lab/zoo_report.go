package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/lab"
)

// page is the content of the document of a zoo.
type page struct {
	title  string // seed, number and build
	own    []string
	scores []score
	peers  []string
	// command runs a scenario alone.
	command func(number int) string
}

// write writes the document as Markdown.
func (p page) write(b *strings.Builder) {
	fmt.Fprintf(b, "# Zoo\n\n%s\n\n", p.title)
	b.WriteString("Attainment and cost are of the part after the first, on which the policies of others are tuned. *Untuned* is as\n" +
		"published. A ratio of costs is of the scenarios in which both reach the target.\n")
	complete := slices.DeleteFunc(slices.Clone(p.scores), func(s score) bool { return len(s.untuned)+len(s.tuned) == 0 })
	if len(p.own) > 0 && len(complete) > 0 {
		p.aims(b)
		p.distributions(b)
		p.worst(b)
	}
	p.others(b)
	p.all(b)
}

// allScenarios is the heading of the last section, which has a row for each scenario.
const allScenarios = "\n## All scenarios\n"

// section returns a page of the zoo as a section of another document, without the rows of all
// scenarios.
func section(page string) string {
	page, _, _ = strings.Cut(page, allScenarios)
	page = strings.ReplaceAll(page, "\n## ", "\n### ")
	return "\n## The zoo\n" + strings.TrimPrefix(strings.TrimRight(page, "\n"), "# Zoo\n") + "\n"
}

// aim is a figure and its target.
type aim struct {
	what, want string
	got        float64
	format     string
	met        bool
}

// aims prints the figures with targets of the project.
func (p page) aims(b *strings.Builder) {
	v := judge(p.scores, p.own[0])
	part := float64(v.won) / float64(v.winnable)
	rows := []aim{
		{fmt.Sprintf("target reached where an untuned policy of others reaches it, %d of %d", v.won, v.winnable), "0.97 or more", part, "%.3f", part >= 0.97},
		{"cost over the cheapest of these, mean", "0.95 or less", v.untuned.mean(), "%.3f", v.untuned.mean() <= 0.95},
		{"the same, at worst", "1.3 or less", v.untuned.at(1), "%.2f", v.untuned.at(1) <= 1.3},
		{fmt.Sprintf("scenarios in which an untuned one attains %g points more at no more than %g times the cost", 100*far, dearer), "0", float64(v.farBehind), "%.0f", v.farBehind == 0},
		{fmt.Sprintf("most turns in six hours at constant load, of %d scenarios", v.constant), "1 or less", float64(v.turns), "%.0f", v.turns <= 1},
	}
	if part, cost := beside(p.scores, unasked, lab.Tokens); !math.IsNaN(part) {
		points := math.Round(1000*part)/10 + 0 // as printed; + 0 makes -0 a 0
		rows = append(rows,
			aim{fmt.Sprintf("points that `%s` attains more than `%s`, mean", unasked, lab.Tokens), "0 or more", points, "%.1f", points >= 0},
			aim{"its cost over that, mean", "1 or less", cost, "%.3f", cost <= 1})
	}
	fmt.Fprintf(b, "\n## What it should show\n\n| `%s` | Aim | Found | |\n|---|---|--:|---|\n", p.own[0])
	for _, r := range rows {
		met := "no"
		if r.met {
			met = "yes"
		}
		got := fmt.Sprintf(r.format, r.got)
		if math.IsNaN(r.got) {
			got, met = "–", "–"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", r.what, r.want, got, met)
	}
}

// distributions prints the results of our policies, one line each.
func (p page) distributions(b *strings.Builder) {
	b.WriteString("\n## Ours\n\n| Policy | Scenarios | Reached % | Where an untuned one does % | Cost over the best untuned: mean / p50 / p90 / worst | Over the best tuned | Over the clairvoyant | " +
		"Attained %: mean / p10 / least | Points behind the best untuned at 1.2 times the cost: p50 / p90 / worst | Turned at constant load |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, own := range p.own {
		v := judge(p.scores, own)
		if v.ran == 0 {
			continue
		}
		fmt.Fprintf(b, "| `%s` | %d | %.1f | %.1f | %s | %s | %s | %.1f / %.1f / %.1f | %.1f / %.1f / %.1f | %d of %d, %d at most |\n",
			own, v.ran, 100*float64(v.reached)/float64(v.ran), 100*float64(v.won)/float64(v.winnable), ratios(v.untuned), ratios(v.tuned), ratios(v.clairvoyant),
			100*v.attained.mean(), 100*v.attained.at(0.1), 100*v.attained.at(0), 100*v.behind.at(0.5), 100*v.behind.at(0.9), 100*v.behind.at(1), v.turned, v.constant, v.turns)
	}
}

// ratios returns a cell with a distribution of ratios.
func ratios(d distribution) string {
	if len(d) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f / %.2f / %.2f / %.2f (%d)", d.mean(), d.at(0.5), d.at(0.9), d.at(1), len(d))
}

// worst prints the ten scenarios in which our policy is furthest behind the others.
func (p page) worst(b *strings.Builder) {
	const most = 10
	var lags []lag
	for _, s := range p.scores {
		if l, ok := s.lagOf(p.own[0]); ok && l.size > 0 {
			lags = append(lags, l)
		}
	}
	slices.SortFunc(lags, func(a, b lag) int { return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.number, b.number)) })
	fmt.Fprintf(b, "\n## The worst\n\nWhere `%s` does worst beside untuned policies of others:\n\n", p.own[0])
	for _, l := range lags[:min(most, len(lags))] {
		fmt.Fprintf(b, "- %.1f %% at %.2f where %g %% are asked; `%s` attains %.1f %% at %.2f: %s\n  `%s`\n",
			100*l.ours.Attainment, l.ours.Cost, 100*l.target, l.reason.policy, 100*l.reason.Attainment, l.reason.Cost, l.text, p.command(l.number))
	}
}

// others prints the results of the policies of others.
func (p page) others(b *strings.Builder) {
	b.WriteString("\n## The others\n\n| Policy | Untuned: reached % | Cost over the best untuned: mean / p50 / p90 / worst | Tuned: reached % | Cost over the best tuned |\n|---|--:|--:|--:|--:|\n")
	for _, name := range p.peers {
		u, t := p.peer(name, func(s score) []named { return s.untuned }), p.peer(name, func(s score) []named { return s.tuned })
		if u.ran+t.ran > 0 {
			fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", name, u.share(), ratios(u.untuned), t.share(), ratios(t.untuned))
		}
	}
}

// peer compares a policy of others with the others.
func (p page) peer(name string, of func(score) []named) verdict {
	var v verdict
	for _, s := range p.scores {
		i := slices.IndexFunc(of(s), func(n named) bool { return strings.TrimSuffix(n.policy, settingsOf(n.policy)) == name })
		if i < 0 {
			continue
		}
		v.ran++
		if one := of(s)[i]; s.reaches(one.Point) {
			v.reached++
			best, _ := s.best(of(s))
			v.untuned.add(one.Cost / max(best.Cost, 1e-9))
		}
	}
	return v
}

// settingsOf returns the part after the name of a policy, with its colon.
func settingsOf(policy string) string {
	_, after, found := strings.Cut(policy, ":")
	if !found {
		return ""
	}
	return ":" + after
}

func (v verdict) share() string {
	if v.ran == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f", 100*float64(v.reached)/float64(v.ran))
}

// all prints a row for every scenario.
func (p page) all(b *strings.Builder) {
	b.WriteString(allScenarios + "\nAttained %, in brackets the worst hour, at a cost; turns in six hours where the load is constant.\n\n| | Target % |")
	for _, own := range p.own {
		fmt.Fprintf(b, " `%s` |", own)
	}
	b.WriteString(" Before | Best untuned | Best tuned | Clairvoyant | Scenario |\n|--:|--:|" + strings.Repeat("--:|", len(p.own)) + "--:|---|---|--:|---|\n")
	for _, s := range p.scores {
		fmt.Fprintf(b, "| %d | %g |", s.number, 100*s.target)
		for _, own := range p.own {
			r, ok := s.own[own]
			cell := "–"
			if ok {
				cell = fmt.Sprintf("%.1f (%.1f) at %.2f", 100*r.Attainment, 100*r.WorstHour, r.Cost)
				if s.constant {
					cell += fmt.Sprintf(", %d turns", r.Turns)
				}
			}
			fmt.Fprintf(b, " %s |", cell)
		}
		fmt.Fprintf(b, " %s | %s | %s | %s | %s |\n", point(s.before), s.leader(s.untuned), s.leader(s.tuned), point(s.clairvoyant), s.text)
	}
}

// leader returns the cheapest policy that reaches the target, or else the one with the highest
// attainment.
func (s score) leader(of []named) string {
	best, ok := s.best(of)
	if !ok {
		if best, ok = s.ahead(of, lab.Point{Cost: math.Inf(1)}); !ok {
			return "–"
		}
	}
	return fmt.Sprintf("%.1f at %.2f by `%s`", 100*best.Attainment, best.Cost, best.policy)
}

func point(p *lab.Point) string {
	if p == nil {
		return "–"
	}
	return fmt.Sprintf("%.1f at %.2f", 100*p.Attainment, p.Cost)
}
