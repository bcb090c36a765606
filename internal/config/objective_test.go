package config

import (
	"strings"
	"testing"
)

func TestOfSeveralReferencesTheMostImportantClassWins(t *testing.T) {
	store := newStore(t)
	// Rows of one model in several classes are named, for those who look it up.
	report := store.Apply([]Source{system(classesMap,
		"free", "priority: 9\ndata: [{model: default/default, slo-ttft: 9000}]",
		"gold", "priority: 2\ndata: [{model: default/default, slo-ttft: 500}]",
		"also", "priority: 2\ndata: [{model: default/default, slo-ttft: 600}]",
		"byname", "priority: 1\ndata: [{model: meta/llama, slo-ttft: 100}]",
	)})
	for _, f := range report.Findings {
		if !f.Unnamed {
			t.Errorf("finding: %s", f)
		}
	}
	s := store.Snapshot()
	ref := func(key string) ClassRef { return ClassRef{classesMap, key} }
	tests := map[string]struct {
		refs       []ClassRef
		class      string
		unfollowed bool
	}{
		"none":                      {nil, "byname", false},
		"one":                       {[]ClassRef{ref("free")}, "free", false},
		"the most important":        {[]ClassRef{ref("free"), ref("gold")}, "gold", false},
		"whatever their order":      {[]ClassRef{ref("gold"), ref("free")}, "gold", false},
		"the first of two as high":  {[]ClassRef{ref("also"), ref("gold")}, "also", false},
		"one leads nowhere":         {[]ClassRef{ref("platinum"), ref("free")}, "free", false},
		"none of them leads there":  {[]ClassRef{ref("platinum"), ref("silver")}, "byname", true},
		"an empty one says nothing": {[]ClassRef{{}}, "byname", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o, err := s.Objective(llama, tt.refs...)
			if err != nil || o.Class != tt.class || (o.Unfollowed != "") != tt.unfollowed {
				t.Errorf("got %+v, %v; want class %s", o, err, tt.class)
			}
			if tt.unfollowed && !strings.Contains(o.Unfollowed, "platinum") {
				t.Errorf("got %q, want the first reference named", o.Unfollowed)
			}
			if p := s.Policy(llama, tt.refs...); p.Objective != o {
				t.Errorf("the policy has %+v, want %+v", p.Objective, o)
			}
		})
	}
}

func TestAPolicyWithoutAClassHasNoObjective(t *testing.T) {
	s := applied(t, system(saturationMap, "default", "engine: hybrid"))
	p := s.Policy(llama)
	if p.Objective != (Objective{}) || p.Objective.Known() || !p.SizesToObjectives() {
		t.Errorf("got %+v", p.Objective)
	}
	if s.Policy(llama, ClassRef{classesMap, "a"}).Objective.Known() {
		t.Error("a reference that leads nowhere gives an objective")
	}
	if (ModelSettings{}).SizesToObjectives() || defaultPolicy().SizesToObjectives() {
		t.Error("by default objectives are needed")
	}
}

func TestWhereNoEngineIsNamedAClassMakesItHybrid(t *testing.T) {
	class := system(classesMap, "gold", "priority: 1\ndata: [{model: meta/llama, slo-ttft: 500}]")
	for name, tt := range map[string]struct {
		sources []Source
		want    string
	}{
		"no class":                 {nil, EngineTokens},
		"spare capacity tuned":     {[]Source{system(saturationMap, "default", "kvSpareTrigger: 0.1")}, EngineSaturation},
		"an analyzer named":        {[]Source{system(saturationMap, "default", "analyzerName: \"\"")}, EngineSaturation},
		"thresholds without a gap": {[]Source{system(saturationMap, "default", "scaleUpThreshold: 0.6")}, EngineSaturation},
		"a class":                  {[]Source{class}, EngineHybrid},
		"a class and a name":       {[]Source{class, system(saturationMap, "default", "engine: saturation")}, EngineSaturation},
		"a published name":         {[]Source{system(saturationMap, "default", "engine: model")}, EngineQueueing},
		"a name and no class":      {[]Source{system(saturationMap, "default", "engine: queueing")}, EngineQueueing},
		"an unreadable engine":     {[]Source{class, system(saturationMap, "default", "engine: magic")}, EngineHybrid},
	} {
		t.Run(name, func(t *testing.T) {
			store := newStore(t)
			store.Apply(tt.sources)
			if got := store.Snapshot().Policy(llama).Engine; got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestTokensAreCountedUnlessSpareCapacityIsNamed(t *testing.T) {
	class := system(classesMap, "gold", "priority: 1\ndata: [{model: meta/llama, slo-ttft: 500}]")
	for name, tt := range map[string]struct {
		sources []Source
		want    bool
	}{
		"nothing is named":                 {[]Source{class}, true},
		"a threshold of either":            {[]Source{class, system(saturationMap, "default", "kvCacheThreshold: 0.7")}, true},
		"a threshold of tokens":            {[]Source{class, system(saturationMap, "default", "scaleUpThreshold: 0.8")}, true},
		"a trigger of the KV cache":        {[]Source{class, system(saturationMap, "default", "kvSpareTrigger: 0.1")}, false},
		"a trigger of the queue":           {[]Source{class, system(saturationMap, "default", "queueSpareTrigger: 3")}, false},
		"a trigger in the namespace":       {[]Source{class, in("team", saturationMap, "default", "queueSpareTrigger: 3")}, false},
		"a trigger of another model":       {[]Source{class, system(saturationMap, "b", "model_id: b\nqueueSpareTrigger: 3")}, true},
		"spare capacity":                   {[]Source{class, system(saturationMap, "default", "analyzerName: ''")}, false},
		"tokens and a trigger":             {[]Source{class, system(saturationMap, "default", "analyzerName: saturation\nkvSpareTrigger: 0.2")}, true},
		"thresholds that nothing read":     {[]Source{class, system(saturationMap, "default", "scaleUpThreshold: 0.5")}, false},
		"hybrid by name":                   {[]Source{system(saturationMap, "default", "engine: hybrid")}, true},
		"another engine":                   {[]Source{class, system(saturationMap, "default", "engine: saturation")}, false},
		"no class, and a trigger":          {[]Source{system(saturationMap, "default", "kvSpareTrigger: 0.1")}, false},
		"no class, and nothing is named":   {nil, true},
		"hybrid by name, no gap: not read": {[]Source{system(saturationMap, "default", "engine: hybrid\nscaleUpThreshold: 0.5")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			store := newStore(t)
			store.Apply(tt.sources)
			if got := store.Snapshot().Policy(llama); got.CountsTokens() != tt.want {
				t.Errorf("counts tokens: %t, want %t: %+v", got.CountsTokens(), tt.want, got)
			}
		})
	}
}
