package wire

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// contract is KEDA's, of its version 2.21: names, numbers and types are what both sides
// have to agree on.
//
//nolint:dupword // a type ends with a word that the next begins with
const contract = `
externalscaler.ExternalScaler
  IsActive(ScaledObjectRef) IsActiveResponse
  StreamIsActive(ScaledObjectRef) stream IsActiveResponse
  GetMetricSpec(ScaledObjectRef) GetMetricSpecResponse
  GetMetrics(GetMetricsRequest) GetMetricsResponse
  StreamMetricSpec(ScaledObjectRef) stream GetMetricSpecResponse
ScaledObjectRef
  1 name string
  2 namespace string
  3 scalerMetadata map<string, string>
IsActiveResponse
  1 result bool
GetMetricSpecResponse
  1 metricSpecs repeated MetricSpec
MetricSpec
  1 metricName string
  2 targetSize int64
  3 targetSizeFloat double
GetMetricsRequest
  1 scaledObjectRef ScaledObjectRef
  2 metricName string
GetMetricsResponse
  1 metricValues repeated MetricValue
MetricValue
  1 metricName string
  2 metricValue int64
  3 metricValueFloat double
`

func TestTheProtocolIsThatOfKEDA(t *testing.T) {
	var got strings.Builder
	file := File_externalscaler_proto
	for i := range file.Services().Len() {
		service := file.Services().Get(i)
		fmt.Fprintf(&got, "\n%s\n", service.FullName())
		for j := range service.Methods().Len() {
			m := service.Methods().Get(j)
			stream := ""
			if m.IsStreamingServer() {
				stream = "stream "
			}
			if m.IsStreamingClient() {
				t.Errorf("%s takes a stream", m.Name())
			}
			fmt.Fprintf(&got, "  %s(%s) %s%s\n", m.Name(), m.Input().Name(), stream, m.Output().Name())
		}
	}
	for i := range file.Messages().Len() {
		message := file.Messages().Get(i)
		fmt.Fprintf(&got, "%s\n", message.Name())
		for j := range message.Fields().Len() {
			f := message.Fields().Get(j)
			fmt.Fprintf(&got, "  %d %s %s\n", f.Number(), f.Name(), typeOf(f))
		}
	}
	if diff := cmp.Diff(strings.Split(got.String(), "\n"), strings.Split(contract, "\n")); diff != "" {
		t.Errorf("protocol, -got +want:\n%s", diff)
	}
}

func typeOf(f protoreflect.FieldDescriptor) string {
	name := f.Kind().String()
	if f.Kind() == protoreflect.MessageKind {
		name = string(f.Message().Name())
	}
	switch {
	case f.IsMap():
		return fmt.Sprintf("map<%s, %s>", f.MapKey().Kind(), f.MapValue().Kind())
	case f.IsList():
		return "repeated " + name
	}
	return name
}

// TestBytesAreThoseOnTheWire encodes by hand: field number times eight and the wire type
// (https://protobuf.dev/programming-guides/encoding), then the value.
func TestBytesAreThoseOnTheWire(t *testing.T) {
	for name, tt := range map[string]struct {
		message proto.Message
		want    string
	}{
		"a trigger": {
			&GetMetricsRequest{
				ScaledObjectRef: &ScaledObjectRef{Name: "so", Namespace: "ns", ScalerMetadata: map[string]string{"k": "v"}}, MetricName: "m",
			},
			"0a10" + "0a02736f" + "12026e73" + "1a06" + "0a016b" + "120176" + "12016d",
		},
		"a value":  {&MetricValue{MetricName: "m", MetricValue: 3, MetricValueFloat: 3}, "0a016d" + "1003" + "190000000000000840"},
		"a target": {&MetricSpec{MetricName: "m", TargetSize: 1, TargetSizeFloat: 1}, "0a016d" + "1001" + "19000000000000f03f"},
		"active":   {&IsActiveResponse{Result: true}, "0801"},
		"inactive": {&IsActiveResponse{}, ""},
	} {
		got, err := proto.MarshalOptions{Deterministic: true}.Marshal(tt.message)
		if err != nil || hex.EncodeToString(got) != tt.want {
			t.Errorf("%s: %x (%v), want %s", name, got, err, tt.want)
		}
	}
}
