package prometheus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// Range returns the curves of a PromQL expression, an instant vector, between two times in steps of
// at least a second. It asks for a subquery at one instant, so that any store that answers Ask
// answers it, too. Errors are of type *Error. The whole answer is held in memory, within the limit
// of the configuration.
func (s *Source) Range(ctx context.Context, expression string, from, to time.Time, step time.Duration) ([]query.Curve, error) {
	ctx, cancel := context.WithTimeout(ctx, s.client.config.Timeout)
	defer cancel()
	form := url.Values{
		"query": {fmt.Sprintf("(%s)[%ds:%ds]", expression, int64(to.Sub(from).Seconds()), max(1, int64(step.Seconds())))},
		"time":  {unixSeconds(to)},
	}
	for attempts := 1; ; attempts++ {
		series, err := s.rangeOnce(ctx, form)
		if err == nil {
			return series, nil
		}
		failure, ok := errors.AsType[*Error](err)
		if !ok || !s.retry.wait(ctx, attempts, failure) {
			return nil, err
		}
	}
}

// matrix is an answer to a query of a range.
type matrix struct {
	Data struct {
		Type   string `json:"resultType"`
		Result []struct {
			Metric map[string]string    `json:"metric"`
			Values [][2]json.RawMessage `json:"values"`
		} `json:"result"`
	} `json:"data"`
}

func (s *Source) rangeOnce(ctx context.Context, form url.Values) ([]query.Curve, error) {
	text, err := s.client.do(ctx, form)
	if err != nil {
		return nil, err
	}
	defer text.Close()
	var answer matrix
	if err := json.NewDecoder(text).Decode(&answer); err != nil {
		return nil, s.undecoded(text, err)
	}
	if answer.Data.Type != "matrix" {
		return nil, text.found(fmt.Sprintf("a result of type %q, want matrix", answer.Data.Type))
	}
	out := make([]query.Curve, 0, len(answer.Data.Result))
	for _, r := range answer.Data.Result {
		one := query.Curve{Labels: r.Metric, Points: make([]query.Point, 0, len(r.Values))}
		for _, v := range r.Values {
			p, err := pointOf(v)
			if err != nil {
				return nil, text.found(err.Error())
			}
			one.Points = append(one.Points, p)
		}
		out = append(out, one)
	}
	return out, nil
}

// pointOf reads a time in seconds and a value as text.
func pointOf(v [2]json.RawMessage) (query.Point, error) {
	var at float64
	var value string
	if err := errors.Join(json.Unmarshal(v[0], &at), json.Unmarshal(v[1], &value)); err != nil {
		return query.Point{}, fmt.Errorf("a point that is no time and value: %.80s", v[0])
	}
	number, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return query.Point{}, fmt.Errorf("a value that is no number: %.80s", value)
	}
	return query.Point{At: time.UnixMilli(int64(at * 1000)).UTC(), Value: number}, nil
}
