package memory

import (
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// requests returns a load with an arrival rate in requests/s, of 500 input and 100 output tokens.
func requests(rate float64) scaling.Load {
	return scaling.Load{ArrivalRate: scaling.Measured(rate, scaling.Fresh), InputTokens: scaling.Measured(500, scaling.Fresh), OutputTokens: scaling.Measured(100, scaling.Fresh)}
}

// resized returns a decision that changes a model by a number of replicas. All replicas are Ready
// and cost so much per hour; the load fills need of that.
func resized(change int, cost, need float64) Resize {
	return Resize{Change: change, Cost: cost, Ready: cost, Need: need}
}

// unchanged looks each minute after from, until to, and changes nothing. The load fills a cost per
// hour of 5 for each request/s.
func unchanged(t Turns, from, to time.Time, rate float64) Turns {
	for at := from.Add(time.Minute); !at.After(to); at = at.Add(time.Minute) {
		t = t.Then(resized(0, 100, 5*rate), requests(rate), at)
	}
	return t
}

// undone returns t 30 minutes after a reduction to a cost of 90 an hour, and 29 minutes after
// growth back, at a constant 20 requests/s.
func undone(t Turns, at time.Time) Turns {
	t = t.Then(resized(-1, 90, 100), requests(20), at)
	t = t.Then(resized(1, 100, 100), requests(20), at.Add(time.Minute))
	return unchanged(t, at.Add(time.Minute), at.Add(30*time.Minute), 20)
}

func TestGrowthAtTheLoadOfTheReductionIsATurn(t *testing.T) {
	const never = -1.0 // an unknown rate
	for _, tt := range []struct {
		name  string
		rates [3]float64    // requests/s before the reduction, until growth, and after it
		after time.Duration // from the reduction to growth
		want  int
	}{
		{"at the same load", [3]float64{20, 20, 20}, 20 * time.Minute, 1},
		{"at hardly more", [3]float64{20, 21, 21}, 20 * time.Minute, 1},
		{"at more", [3]float64{20, 26, 26}, 20 * time.Minute, 0},
		{"at a load that is seen to have grown when it is judged", [3]float64{20, 20, 26}, 20 * time.Minute, 0},
		{"at the same load within six hours", [3]float64{20, 20, 20}, 6 * time.Hour, 1},
		{"at the same load after more than six hours", [3]float64{20, 20, 20}, 6*time.Hour + time.Minute, 0},
		{"after a dip below 0.9 of the load", [3]float64{20, 16, 20}, 20 * time.Minute, 0},
		{"after a dip that stays above 0.9 of the load", [3]float64{20, 18.5, 20}, 20 * time.Minute, 1},
		{"at a load that is never known", [3]float64{never, never, never}, 20 * time.Minute, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reduced, grown := noon.Add(time.Hour), noon.Add(time.Hour+tt.after)
			turns := unchanged(Turns{}, noon, reduced, tt.rates[0])
			turns = turns.Then(resized(-1, 90, 100), requests(tt.rates[0]), reduced)
			turns = unchanged(turns, reduced, grown, tt.rates[1])
			turns = turns.Then(resized(1, 100, 100), requests(tt.rates[2]), grown)
			if turns = unchanged(turns, grown, grown.Add(time.Hour), tt.rates[2]); turns.Undone != tt.want {
				t.Errorf("%d turns, want %d: %+v", turns.Undone, tt.want, turns)
			}
		})
	}
}

func TestGrowthIsJudgedTwentyMinutesLaterOrAtTheNextReduction(t *testing.T) {
	grown := noon.Add(5 * time.Minute)
	before := unchanged(Turns{}.Then(resized(-1, 90, 100), requests(20), noon), noon, grown.Add(-time.Minute), 20)
	turns := unchanged(before.Then(resized(1, 100, 100), requests(20), grown), grown, grown.Add(19*time.Minute), 20)
	if turns.Undone != 0 || turns.Grown != grown {
		t.Errorf("19 minutes after growth: %d turns of growth at %s, want 0 and %s", turns.Undone, turns.Grown, grown)
	}
	at := grown.Add(20 * time.Minute)
	later := turns.Then(resized(0, 100, 100), requests(20), at)
	if later.Undone != 1 || later.At != grown || !later.Grown.IsZero() || !later.Reduced.IsZero() {
		t.Errorf("20 minutes after growth: %+v, want one turn at %s and no growth to be judged", later, grown)
	}
	soon := before.Then(resized(1, 100, 100), requests(20), grown).Then(resized(-1, 80, 100), requests(20), grown.Add(time.Minute))
	if soon.Undone != 1 || soon.Few != 90 || soon.Left != 80 || soon.Reduced != grown.Add(time.Minute) {
		t.Errorf("at the next reduction: %+v, want one turn of a fleet of 90, and the fleet of 80 that is left", soon)
	}
	if more := turns.Then(resized(1, 110, 100), requests(20), at.Add(-30*time.Second)); more.Grown != grown {
		t.Errorf("the second growth is judged at %s, want the first, %s", more.Grown, grown)
	}
	if alone := unchanged(Turns{}.Then(resized(1, 100, 100), requests(20), noon), noon, noon.Add(time.Hour), 20); alone.Undone != 0 {
		t.Errorf("growth without a reduction before it: %d turns, want 0", alone.Undone)
	}
}

func TestAFleetRestsForAnHourAfterItsFirstTurnAndForEightAfterMore(t *testing.T) {
	at := noon
	var turns Turns
	for i, want := range []time.Duration{time.Hour, 8 * time.Hour, 8 * time.Hour, 8 * time.Hour} {
		turns = undone(turns, at)
		grown := at.Add(time.Minute)
		if turns.At != grown {
			t.Fatalf("turn %d is of %s, want %s", i+1, turns.At, grown)
		}
		if turns.Keeps(requests(20), grown.Add(want-time.Second)) == 0 || turns.Keeps(requests(20), grown.Add(want)) != 0 {
			t.Errorf("after %d turns the fleet does not rest for exactly %s", i+1, want)
		}
		at = at.Add(31 * time.Minute)
	}
	for day, want := range []int{3, 2, 1, 0, 0} {
		turns = turns.Then(resized(0, 100, 100), requests(20), turns.Seen.Add(24*time.Hour))
		if turns.Undone != want {
			t.Errorf("%d days later: %d turns, want %d", day+1, turns.Undone, want)
		}
	}
	again := undone(turns, turns.Seen.Add(time.Hour))
	if again.Undone != 1 || again.Keeps(requests(20), again.At.Add(8*time.Hour-time.Second)) == 0 {
		t.Errorf("a turn after those that are forgotten: %+v, want one and a rest of 8h", again)
	}
}

func TestGrowthSaysNothingOfAFleetThatIsAnotherOneByThen(t *testing.T) {
	reduced := unchanged(Turns{}, noon, noon.Add(time.Hour), 20).Then(resized(-1, 90, 100), requests(20), noon.Add(time.Hour))
	grown := resized(1, 100, 100)
	at := noon.Add(time.Hour + 2*time.Minute)
	for _, tt := range []struct {
		name string
		then func(Turns) Turns
		want int
	}{
		{"the fleet that the reduction left", func(t Turns) Turns { return t.Then(grown, requests(20), at) }, 1},
		{"one that lost replicas", func(t Turns) Turns {
			lost := grown
			lost.Ready = 80
			return t.Then(lost, requests(20), at)
		}, 0},
		{"one that moved", func(t Turns) Turns {
			return t.Then(Resize{Moves: true, Cost: 90, Ready: 90, Need: 100}, requests(20), at).Then(grown, requests(20), at.Add(time.Minute))
		}, 0},
	} {
		if got := unchanged(tt.then(reduced), at.Add(time.Minute), at.Add(time.Hour), 20).Undone; got != tt.want {
			t.Errorf("%s: %d turns, want %d", tt.name, got, tt.want)
		}
	}
}

func TestGrowthInStepsCountsWhole(t *testing.T) {
	turns := Turns{}.Then(resized(0, 100, 100), requests(20), noon).Then(resized(-1, 80, 100), requests(20), noon.Add(time.Hour))
	for step, cost := range []float64{90, 115, 110} {
		turns = turns.Then(resized(1, cost, 100), requests(20), noon.Add(time.Hour+time.Duration(step+1)*time.Minute))
	}
	if got := turns.Keeps(requests(20), noon.Add(time.Hour+10*time.Minute)); got != 115 {
		t.Errorf("growth to 90, 115 and 110 an hour keeps a fleet of %g, want 115", got)
	}
}

func TestAnOutageIsALoadOfNone(t *testing.T) {
	turns := unchanged(Turns{}, noon, noon.Add(time.Hour), 20)
	before := turns.Load
	for minute := range 30 {
		turns = turns.Then(resized(0, 100, 0), scaling.Load{ArrivalRate: scaling.Measured(0, scaling.Fresh)}, noon.Add(time.Hour+time.Duration(minute+1)*time.Minute))
	}
	if turns.Load > 0.1*before {
		t.Errorf("after half an hour without requests the mean is %g tokens/s, want a tenth of %g at most", turns.Load, before)
	}
}

func TestWhatIsKeptAfterATurnIsTheFleetThatDid(t *testing.T) {
	at := noon.Add(time.Hour)
	for _, tt := range []struct {
		name                string
		before, left, again float64
		want                float64
	}{
		{"growth back to what was", 100, 90, 100, 100},
		{"growth by less", 100, 80, 90, 100},
		{"growth by a little more", 100, 90, 110, 110},
		{"growth by much more, for what waited", 100, 90, 300, 125},
	} {
		turns := Turns{}.Then(resized(0, tt.before, 100), requests(20), noon).Then(resized(-1, tt.left, 100), requests(20), at)
		turns = turns.Then(resized(1, tt.again, 100), requests(20), at.Add(time.Minute))
		if got := turns.Keeps(requests(20), at.Add(2*time.Minute)); got != tt.want {
			t.Errorf("%s: a fleet of %g is kept, want %g", tt.name, got, tt.want)
		}
	}
}

func TestAFleetRestsWhileItsGrowthIsNotJudgedAndNotAtLessLoad(t *testing.T) {
	reduced := Turns{}.Then(resized(-1, 90, 100), requests(20), noon)
	grown := reduced.Then(resized(1, 100, 100), requests(20), noon.Add(time.Minute))
	judged := undone(Turns{}, noon)
	end := noon.Add(30 * time.Minute)
	for _, tt := range []struct {
		name  string
		turns Turns
		load  scaling.Load // of now
		at    time.Time
		want  bool
	}{
		{"nothing is remembered", Turns{}, requests(20), noon, false},
		{"a reduction that stays", reduced, requests(20), noon.Add(time.Minute), false},
		{"growth that is not judged yet", grown, requests(20), noon.Add(2 * time.Minute), true},
		{"growth that is not judged yet, and no requests arrive", grown, requests(0), noon.Add(2 * time.Minute), false},
		{"growth that is not judged yet, at less load", unchanged(grown, noon.Add(time.Minute), noon.Add(15*time.Minute), 15), requests(15), noon.Add(15 * time.Minute), false},
		{"a turn", judged, requests(20), end, true},
		{"a turn, and no requests arrive", judged, requests(0), end, false},
		{"a turn, at a little less load", unchanged(judged, end, end.Add(20*time.Minute), 18.5), requests(18.5), end.Add(20 * time.Minute), true},
		{"a turn, at more load", unchanged(judged, end, end.Add(20*time.Minute), 30), requests(30), end.Add(20 * time.Minute), false},
		{"a turn, at less load", unchanged(judged, end, end.Add(20*time.Minute), 15), requests(15), end.Add(20 * time.Minute), false},
	} {
		if got := tt.turns.Keeps(tt.load, tt.at) > 0; got != tt.want {
			t.Errorf("%s: rests %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestTheMarginGrowsWithTheTurns(t *testing.T) {
	for undone, want := range []float64{0, 0.1, 0.3, 0.3, 0.3} {
		if got := (Turns{Undone: undone}).Margin(); got != want {
			t.Errorf("after %d turns: %g, want %g", undone, got, want)
		}
	}
}

func TestAFleetThatWasTooSmallIsKnownForItsLoad(t *testing.T) {
	judged, end := undone(Turns{}, noon), noon.Add(30*time.Minute)
	grown := noon.Add(time.Minute)
	// lessNeed returns the turns after an hour in which the same load fills only a part of what it
	// filled before.
	lessNeed := func(part float64) Turns {
		turns := judged
		for minute := range 60 {
			turns = turns.Then(resized(0, 100, 100*part), requests(20), end.Add(time.Duration(minute+1)*time.Minute))
		}
		return turns
	}
	hour := end.Add(time.Hour)
	for _, tt := range []struct {
		name  string
		turns Turns
		load  scaling.Load
		at    time.Time
		want  float64
	}{
		{"nothing is remembered", Turns{}, requests(20), end, 0},
		{"growth that is not judged yet", Turns{}.Then(resized(-1, 90, 100), requests(20), noon).Then(resized(1, 100, 100), requests(20), grown), requests(20), grown, 90},
		{"growth of the load, not judged yet", Turns{}.Then(resized(-1, 90, 100), requests(20), noon).Then(resized(1, 100, 100), requests(60), grown), requests(60), grown, 0},
		{"the load of before", judged, requests(20), end, 90},
		{"the load of before, just within eight hours", judged, requests(20), grown.Add(8*time.Hour - time.Second), 90},
		{"the load of before, after eight hours", judged, requests(20), grown.Add(8 * time.Hour), 0},
		{"no requests", judged, requests(0), end, 0},
		{"more load", unchanged(judged, end, hour, 40), requests(40), hour, 90},
		{"a little less load", unchanged(judged, end, hour, 18.5), requests(18.5), hour, 90},
		{"less load", unchanged(judged, end, hour, 17), requests(17), hour, 0},
		{"load that fills a little less", lessNeed(0.8), requests(20), hour, 90},
		{"load that fills less", lessNeed(0.7), requests(20), hour, 0},
	} {
		got, since := tt.turns.TooFew(tt.load, tt.at)
		want := grown
		if tt.want == 0 {
			want = time.Time{}
		}
		if got != tt.want || !since.Equal(want) {
			t.Errorf("%s: a fleet of %g was too small since %s, want %g since %s", tt.name, got, since, tt.want, want)
		}
	}
}

func TestALoadThatIsNotKnownDoesNotCountInTheMean(t *testing.T) {
	turns := unchanged(Turns{}, noon, noon.Add(time.Hour), 20)
	load, need := turns.Load, turns.Need
	if load != 20*600 || need != 100 {
		t.Fatalf("a mean of %g tokens/s that fill %g an hour, want 12000 and 100", load, need)
	}
	if turns = turns.Then(resized(0, 100, 0), scaling.Load{}, noon.Add(2*time.Hour)); turns.Load != load || turns.Need != need {
		t.Errorf("an hour without a known load: %g tokens/s that fill %g, want %g and %g", turns.Load, turns.Need, load, need)
	}
}

func TestTheLatestTurnsCount(t *testing.T) {
	early, late := Turns{Undone: 1, Seen: noon}, Turns{Undone: 2, Seen: noon.Add(time.Minute)}
	if a, b := early.Latest(late), late.Latest(early); a != late || b != late {
		t.Errorf("got %+v and %+v, want %+v", a, b, late)
	}
}

// TestATurnThatIsForgottenHoldsNothingAgain: the load stays the same for days.
func TestATurnThatIsForgottenHoldsNothingAgain(t *testing.T) {
	turns, at := undone(undone(Turns{}, noon), noon.Add(time.Hour)), noon.Add(90*time.Minute)
	if turns.Undone != 2 {
		t.Fatalf("%d turns, want 2", turns.Undone)
	}
	for later := 9 * time.Hour; later < 80*time.Hour; later += time.Minute {
		now := at.Add(later)
		turns = turns.Then(resized(0, 100, 100), requests(20), now)
		if few, since := turns.TooFew(requests(20), now); few != 0 {
			t.Fatalf("%s after the second turn a fleet of %g was too small since %s, want none after 8 hours", later, few, since)
		}
		if turns.Keeps(requests(20), now) > 0 {
			t.Fatalf("%s after the second turn the fleet rests, want for 8 hours", later)
		}
	}
	if turns.Undone != 0 {
		t.Errorf("%d turns three days later, want 0", turns.Undone)
	}
}
