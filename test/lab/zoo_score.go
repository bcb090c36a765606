package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/lab"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/policy"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/zoo"
)

// score returns the kept results of a scenario: of our chosen policies, and of all others.
func (v *zooRun) score(a zooCase) score {
	s := score{number: a.number, text: a.Description, target: a.Attainment, constant: a.Drawn.Constant, own: map[string]result{}}
	for _, c := range v.choices {
		if one, ok := v.find(v.key(a, c)); ok && c.Own() {
			s.own[c.String()] = *one.Result
		}
	}
	if one, ok := v.find(hash(a.key, v.choices[0].String(), v.against)); ok && v.against != "" {
		before := one.Result.point()
		s.before = &before
	}
	for _, d := range policy.Catalogue() {
		one, ok := v.find(v.key(a, lab.Choice{Name: d.Name}))
		if !ok {
			continue
		}
		s.tuned = append(s.tuned, named{one.Result.point(), one.Result.Settings})
		if u := one.Result.Untuned; u != nil {
			s.untuned = append(s.untuned, named{*u, d.Name})
		}
	}
	if one, ok := v.find(v.clairvoyantKey(a)); ok {
		found := one.Result.point()
		s.clairvoyant = &found
	}
	return s
}

// command returns the command that runs a scenario alone.
func (v *zooRun) command(number int) string {
	var flags []string
	extra := "" // a placeholder: the reader has folders of their own
	if v.extra != "" {
		extra = "folder"
	}
	for _, f := range []struct {
		flag, value, otherwise string
	}{{"-extra", extra, ""}, {"-requests", strconv.Itoa(v.requests), strconv.Itoa(zoo.MaxRequests)}, {"-points", strconv.Itoa(v.points), strconv.Itoa(defaultPoints)}} {
		if f.value != f.otherwise {
			flags = append(flags, f.flag, f.value)
		}
	}
	text := fmt.Sprintf("make lab-zoo TRACES=folder SEED=%d RUN=%d", v.seed, number)
	if len(flags) > 0 {
		text += " LABFLAGS='" + strings.Join(flags, " ") + "'"
	}
	return text
}

// page returns the results of all scenarios.
func (v *zooRun) page(cases []zooCase) page {
	p := page{
		title:   fmt.Sprintf("%d scenarios of seed %d, commit %s, %d settings of the others at most.", len(cases), v.seed, v.commit, v.points),
		peers:   policy.Names(),
		command: v.command,
	}
	for _, c := range v.choices {
		if c.Own() {
			p.own = append(p.own, c.String())
		}
	}
	for _, a := range cases {
		p.scores = append(p.scores, v.score(a))
	}
	return p
}
