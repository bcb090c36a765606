package prometheus

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// decoded is a row as the decoder hands it over.
type decoded struct {
	Namespace, Pod, Model string
	Value                 float64
}

// decodeAll decodes one answer.
func decodeAll(r io.Reader) ([]decoded, *decoder, error) {
	var rows []decoded
	d := &decoder{
		labels: labels{strings: &interner{}},
		row: func(label func(string) string, value float64) error {
			rows = append(rows, decoded{label("namespace"), label("pod"), label("model_name"), value})
			return nil
		},
	}
	err := d.decode(r)
	return rows, d, err
}

// wrapped returns an answer with the given rows.
func wrapped(rows string) string {
	return `{"status":"success","data":{"resultType":"vector","result":[` + rows + `]}}`
}

func TestDecodeTakesWhatStoresSend(t *testing.T) {
	one := []decoded{{"a", "p", "m", 2}}
	at := time.UnixMilli(1435781451781).UTC()
	for _, tc := range []struct {
		name string
		text string
		want []decoded
		at   time.Time
	}{
		{"no rows", wrapped(""), nil, time.Time{}},
		{"null for no rows", `{"status":"success","data":{"resultType":"vector","result":null}}`, nil, time.Time{}},
		{
			"what VictoriaMetrics adds",
			`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"namespace":"a","pod":"p","model_name":"m"},"value":[1435781451.781,"2"]}]},"stats":{"seriesFetched":"1","executionTimeMsec":3}}`,
			one, at,
		},
		{
			"another order",
			`{"data":{"result":[{"value":[1435781451.781,"2"],"metric":{"pod":"p","model_name":"m","namespace":"a"}}],"resultType":"vector"},"status":"success"}`,
			one, at,
		},
		{
			"space and escapes",
			wrapped("\n {\"metric\" : {\"names\\u0070ace\":\"a\", \"pod\":\"\\u0070\", \"model_name\":\"q\\\"\\\\\\n\\ud83d\\ude00\"}, \"value\":[ 1435781451.781 , \"2\" ] }\n"),
			[]decoded{{"a", "p", "q\"\\\n\U0001f600", 2}},
			at,
		},
		{
			"a name that is not UTF-8", wrapped(`{"metric":{"pod":"` + "\xff" + `"},"value":[1435781451.781,"2"]}`),
			[]decoded{{Pod: "\ufffd", Value: 2}},
			at,
		},
		{
			"no number and infinities", wrapped(`{"metric":{},"value":[1,"NaN"]},{"metric":{},"value":[1,"+Inf"]},{"value":[1,"-Inf"]}`),
			[]decoded{{Value: math.NaN()}, {Value: math.Inf(1)}, {Value: math.Inf(-1)}},
			time.Unix(1, 0).UTC(),
		},
		{
			"native histograms", wrapped(`{"metric":{"pod":"h"},"histogram":[1,{"count":"1","buckets":[[0,"1","2","3"]]}]},{"metric":{"pod":"p"},"value":[2,"2"]}`),
			[]decoded{{Pod: "p", Value: 2}},
			time.Unix(2, 0).UTC(),
		},
		{
			"several times, of which the latest counts", wrapped(`{"metric":{},"value":[1,"1"]},{"metric":{},"value":[1.001,"1"]},{"metric":{},"value":[0.5e0,"1"]}`),
			[]decoded{{Value: 1}, {Value: 1}, {Value: 1}},
			time.UnixMilli(1001).UTC(),
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for name, r := range map[string]io.Reader{
				"at once": strings.NewReader(tc.text), "byte by byte": iotest.OneByteReader(strings.NewReader(tc.text)),
			} {
				rows, d, err := decodeAll(r)
				if err != nil || d.missing() != "" || !d.at.Equal(tc.at) {
					t.Errorf("%s: got %v, %q at %s, want %s", name, err, d.missing(), d.at, tc.at)
				}
				if diff := cmp.Diff(tc.want, rows, cmpopts.EquateNaNs()); diff != "" {
					t.Errorf("%s: rows (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

func TestLabelsOfARowAreNotThoseOfTheRowBefore(t *testing.T) {
	rows, _, err := decodeAll(strings.NewReader(wrapped(
		`{"metric":{"namespace":"a","pod":"p","model_name":"m"},"value":[1,"1"]},{"metric":{"pod":"a"},"value":[1,"2"]},{"value":[1,"3"]}`)))
	if diff := cmp.Diff([]decoded{{"a", "p", "m", 1}, {Pod: "a", Value: 2}, {Value: 3}}, rows); err != nil || diff != "" {
		t.Errorf("%v, rows (-want +got):\n%s", err, diff)
	}
}

func TestEveryBeginningOfAnAnswerIsRefused(t *testing.T) {
	text := `{"status":"success","warnings":["w"],"data":{"resultType":"vector","result":[` +
		`{"metric":{"pod":"p"},"value":[1435781451.781,"2"]},{"histogram":[1,{}]}]},"stats":{"a":[true,null]}}`
	for n := range len(text) {
		if rows, d, err := decodeAll(strings.NewReader(text[:n])); err == nil {
			t.Errorf("%q: got %v, %q", text[:n], rows, d.missing())
		}
	}
	if _, _, err := decodeAll(strings.NewReader(text)); err != nil {
		t.Error(err)
	}
}

// oracle decodes an answer the slow and obvious way.
func oracle(text []byte) ([]decoded, error) {
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string `json:"metric"`
				Value  []any             `json:"value"`
			} `json:"result"`
		} `json:"data"`
	}
	if err := json.Unmarshal(text, &answer, jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, err
	}
	var rows []decoded
	for _, r := range answer.Data.Result {
		if r.Value == nil {
			continue
		}
		value, err := strconv.ParseFloat(fmt.Sprint(r.Value[1]), 64)
		if err != nil {
			return nil, err
		}
		rows = append(rows, decoded{r.Metric["namespace"], r.Metric["pod"], r.Metric["model_name"], value})
	}
	return rows, nil
}

// FuzzDecode checks that no body makes the decoder fall over, that the rows of an
// accepted answer are those that another decoder finds, and that an error is one
// line.
func FuzzDecode(f *testing.F) {
	row := `{"metric":{"namespace":"a","pod":"p","model_name":"m"},"value":[1772366400.25,"2"]}`
	for _, text := range []string{
		wrapped(""), wrapped(row), wrapped(row + "," + row), wrapped("null"), wrapped("{}"), wrapped("[]"),
		wrapped(`{"metric":null,"value":[1,"NaN"]}`), wrapped(`{"metric":{"p\u006fd":"\ud800\n"},"value":[0,"0x1p-2"]}`),
		wrapped(`{"metric":{},"histogram":[1,{}]}`), wrapped(`{"value":[1,"1"],"histogram":null}`), wrapped(`{"value":[1e400,"1e400"]}`),
		`{"status":"success","data":null}`, `{"status":"error","errorType":"a","error":"b\n"}`, `{"status":1}`,
		`{"status":"success","data":{"resultType":"sca\nlar","result":[1,"2"]}}`, `{"warnings":["a"],"infos":null}`,
		"<html>", "[]", "", " ", "\xff", "{", "nul", wrapped(row) + " ", wrapped(row) + "x",
		wrapped(`{"metriC":{"pod":"q"},"value":[0,"0"]}`), // names of members have a case
	} {
		f.Add([]byte(text))
	}
	s := &Source{}
	f.Fuzz(func(t *testing.T, text []byte) {
		b := &body{host: "p:9090", status: 200, wire: &wire{Reader: bytes.NewReader(text)}, limit: 1 << 20}
		b.text = b.wire
		rows, d, err := decodeAll(b)
		if err != nil {
			found := s.undecoded(b, err).Error()
			if strings.ContainsAny(found, "\r\n") || len(found) > 600 || !strings.HasPrefix(found, "p:9090 answered HTTP 200: ") {
				t.Errorf("got the error %q", found)
			}
			return
		}
		if found := d.missing(); found != "" {
			if strings.ContainsAny(found, "\r\n") || len(found) > 600 {
				t.Errorf("got the error %q", found)
			}
			return
		}
		want, err := oracle(text)
		if err != nil {
			t.Fatalf("accepted what another decoder refuses: %v", err)
		}
		if diff := cmp.Diff(want, rows, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
	})
}

// pods returns an answer with a row for each of n pods, ten of a model.
func pods(n int) []byte {
	var text bytes.Buffer
	for i := range n {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `{"metric":{"model_name":"meta-llama/Llama-3.1-%d","namespace":"llm-inference-%d","pod":"llama-%d-decode-7d9f8b6c5d-%05d"},"value":[1772366400.25,"0.%d"]}`,
			i/10, i/1000, i/10, i, i)
	}
	return []byte(wrapped(text.String()))
}

// BenchmarkDecode decodes an answer for 10,000 pods whose names are known from the
// answer before.
func BenchmarkDecode(b *testing.B) {
	const count = 10_000
	text := pods(count)
	strings := &interner{}
	rows := make([]query.Row, 0, count)
	decode := func() {
		rows = rows[:0]
		d := &decoder{labels: labels{strings: strings}, row: func(label func(string) string, value float64) error {
			rows = append(rows, query.Row{Namespace: label("namespace"), Pod: label("pod"), Model: label("model_name"), Value: value})
			return nil
		}}
		if err := d.decode(bytes.NewReader(text)); err != nil || len(rows) != count {
			b.Fatalf("got %d rows, %v", len(rows), err)
		}
	}
	decode()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		decode()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/count, "ns/row")
}

func TestDecodingAllocatesNothingPerRow(t *testing.T) {
	strings := &interner{}
	measure := func(count int) float64 {
		text := pods(count)
		return testing.AllocsPerRun(5, func() {
			d := &decoder{labels: labels{strings: strings}, row: func(label func(string) string, _ float64) error {
				label("pod")
				return nil
			}}
			if err := d.decode(bytes.NewReader(text)); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := measure(10), measure(1000); many > few+10 {
		t.Errorf("got %g allocations for 1000 rows and %g for 10", many, few)
	}
}
