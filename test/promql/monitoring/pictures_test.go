package monitoring

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/picture"
)

var update = flag.Bool("update", false, "write docs/images/dashboard-*.svg")

// TestThePicturesAreOfTheseDashboards draws every panel of every dashboard on the
// same hours of the same fleet.
func TestThePicturesAreOfTheseDashboards(t *testing.T) {
	prometheus, look := recorded(t, Recording{Fault: Healthy, Begin: noon, After: 3*time.Hour + 30*time.Minute})
	look.Range, look.Step = 3*time.Hour, time.Minute
	look.Choice = map[string]string{"namespace": "chat"}
	for name, board := range boards(t) {
		look := look
		if name != "model.json" {
			look.Choice = nil
		}
		sheet, err := board.Ask(t.Context(), prometheus, look)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := picture.Draw(&got, sheet); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("../../../docs/images", "dashboard-"+strings.TrimSuffix(name, ".json")+".svg")
		if *update {
			if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s is not what %s shows: CGO_ENABLED=0 go -C test/promql test ./monitoring -run Pictures -update", file, name)
		}
	}
}
