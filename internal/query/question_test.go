package query_test

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

func TestEveryQuantityBelongsToOneQuestion(t *testing.T) {
	got := map[query.Quantity][]query.Question{}
	for _, ask := range query.Questions() {
		for _, q := range ask.Quantities() {
			got[q] = append(got[q], ask)
		}
	}
	want := map[query.Quantity][]query.Question{
		// When a page was scraped last is asked twice: cheaply, and far back.
		query.PageTime:          {query.AskPages, query.AskEarlierPages},
		query.ScrapeInterval:    {query.AskScrapeIntervals},
		query.KVCacheUsagePeak:  {query.AskKVCacheUsagePeak},
		query.KVCacheUsage:      {query.AskKVCacheUsage},
		query.QueueLengthPeak:   {query.AskQueueLengthPeak},
		query.QueueLength:       {query.AskQueueLength},
		query.Running:           {query.AskRunning},
		query.KVCapacity:        {query.AskKVCapacity},
		query.Decoding:          {query.AskPace},
		query.Generated:         {query.AskPace},
		query.Starting:          {query.AskPace},
		query.Started:           {query.AskPace},
		query.Generating:        {query.AskGenerating},
		query.Resets:            {query.AskGenerating},
		query.Stuck:             {query.AskStuck},
		query.Completions:       {query.AskFlow},
		query.InFlightGrowth:    {query.AskFlow},
		query.InputTokens:       {query.AskMeans},
		query.OutputTokens:      {query.AskMeans},
		query.TTFT:              {query.AskMeans},
		query.ITL:               {query.AskMeans},
		query.PrefixHits:        {query.AskObjective},
		query.TTFTBuckets:       {query.AskObjective},
		query.ITLBuckets:        {query.AskObjective},
		query.RequestITLBuckets: {query.AskObjective},
		query.GatewaySeen:       {query.AskGateway},
		query.GatewayQueue:      {query.AskGateway},
		query.GatewayArrivals:   {query.AskGateway},
		query.NoRequestSince:    {query.AskRecent},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("questions of each quantity (-want +got):\n%s", diff)
	}
	if len(got) != query.Count {
		t.Errorf("got %d quantities in questions, want %d", len(got), query.Count)
	}
}

// TestOneCollectionAsksSixteenQuestionsAtMost: two of them where a model has an objective.
// One more is asked of idle models alone, and only until it is known for how long they
// have been so.
func TestOneCollectionAsksSixteenQuestionsAtMost(t *testing.T) {
	ordinary := slices.DeleteFunc(query.Questions(), func(q query.Question) bool { return q == query.AskRecent })
	if got := len(ordinary); got > 16 {
		t.Errorf("got %d questions", got)
	}
}

func TestNamesAreLabelValuesAndDiffer(t *testing.T) {
	var quantities, questions []string
	for _, q := range query.All() {
		quantities = append(quantities, q.String())
	}
	for _, ask := range query.Questions() {
		questions = append(questions, ask.String())
	}
	for _, names := range [][]string{quantities, questions} {
		for i, name := range names {
			if !regexp.MustCompile(`^[a-z][a-z_]*[a-z]$`).MatchString(name) || slices.Contains(names[:i], name) {
				t.Errorf("the name %q is taken or no label value to like", name)
			}
		}
	}
}

// TestRowsOfAQuestionAreOfOneScope keeps rows that a Row cannot tell apart from
// sharing one answer.
func TestRowsOfAQuestionAreOfOneScope(t *testing.T) {
	for _, ask := range query.Questions() {
		for _, q := range ask.Quantities() {
			if got, want := q.Scope(), ask.Quantities()[0].Scope(); got != want {
				t.Errorf("%s: %s is per %s, want per %s", ask, q, got, want)
			}
		}
	}
}

func TestWhatIsNotInTheCataloguePanics(t *testing.T) {
	for name, call := range map[string]func(){
		"quantity": func() { _ = query.Quantity(query.Count).String() },
		"question": func() { _ = query.Question(query.QuestionCount).Quantities() },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("got an answer for a %s that does not exist", name)
				}
			}()
			call()
		}()
	}
}

// TestResetsAreCountedOverTwentyScrapes: a window is four scrapes or more. Half an hour
// bounds how many restarts of one process fall into the span.
func TestResetsAreCountedOverTwentyScrapes(t *testing.T) {
	for window, want := range map[time.Duration]time.Duration{
		time.Minute: 5 * time.Minute, 2 * time.Minute: 10 * time.Minute, 4 * time.Minute: 20 * time.Minute, 10 * time.Minute: 30 * time.Minute,
	} {
		if got := query.ResetsSpan(window); got != want {
			t.Errorf("window %s: got %s, want %s", window, got, want)
		}
	}
}

func TestQuietSpanIsTwoMinutesAtLeast(t *testing.T) {
	for window, want := range map[time.Duration]time.Duration{
		0: 2 * time.Minute, time.Minute: 2 * time.Minute, 4 * time.Minute: 4 * time.Minute,
	} {
		if got := query.StuckSpan(window); got != want {
			t.Errorf("window %s: got %s, want %s", window, got, want)
		}
	}
}
