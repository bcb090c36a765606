package lab

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
)

// ReadProfiles reads a file with one serving profile or a list of them, JSON or YAML, in the fields
// of serving.Profile. Names are unique. An error in the content is a *FileError, or several joined.
func ReadProfiles(file string) ([]serving.Profile, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading profiles: %w", err)
	}
	v, err := parse(file, content)
	if err != nil {
		return nil, err
	}
	if v.node.Kind == yaml.MappingNode {
		p, err := readProfile(v)
		return []serving.Profile{p}, err
	}
	var profiles []serving.Profile
	err = v.list(func(v value) error {
		p, err := readProfile(v)
		if err == nil && slices.ContainsFunc(profiles, func(o serving.Profile) bool { return o.Name == p.Name }) {
			return v.wrong("a name that no other profile has: " + p.Name + " is there twice")
		}
		profiles = append(profiles, p)
		return err
	})
	return profiles, err
}

// readProfile reads one profile and checks it. Missing fields get the values of vLLM: blocks of 16
// tokens, a batch of 256, 2048 tokens per step, requests as long as the KV cache.
func readProfile(v value) (serving.Profile, error) {
	const many = 1 << 30 // Validate allows no more
	p := serving.Profile{MaxBatchSize: 256, MaxBatchedTokens: 2048, BlockSize: 16}
	err := v.mapping(map[string]reader{
		"name": text(&p.Name), "accelerator": text(&p.Accelerator),
		"alphaMS": number(&p.AlphaMS, 0, 1e6), "betaMS": number(&p.BetaMS, 0, 1e6),
		"gammaMS": number(&p.GammaMS, 0, 1e6), "deltaMS": number(&p.DeltaMS, 0, 1e6),
		"prefillFloorMS": number(&p.PrefillFloorMS, 0, 1e6),
		"maxBatchSize":   whole(&p.MaxBatchSize, 1, many), "maxBatchedTokens": whole(&p.MaxBatchedTokens, 1, many),
		"kvCacheTokens": whole(&p.KVCacheTokens, 1, many), "blockSize": whole(&p.BlockSize, 1, many),
		"maxModelLen": whole(&p.MaxModelLen, 2, many), "maxQueue": whole(&p.MaxQueue, 0, many),
	})
	if err != nil {
		return p, err
	}
	if p.MaxModelLen == 0 {
		p.MaxModelLen = max(2, p.KVCacheTokens)
	}
	if wrong, ok := errors.AsType[*serving.FieldError](p.Validate()); ok {
		at := value{file: v.file, field: v.field, node: v.node}
		for i := 0; i+1 < len(v.node.Content); i += 2 {
			if v.node.Content[i].Value == wrong.Field {
				at.node = v.node.Content[i+1]
			}
		}
		return p, &FileError{File: v.file, Line: at.node.Line, Field: join(v.field, wrong.Field), Found: wrong.Value, Want: wrong.Want}
	}
	return p, nil
}

func join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}
