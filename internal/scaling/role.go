package scaling

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Role is the part of a request that the pods of a variant serve, in llm-d's words (ParseRole). Any
// other word than those below is the whole request, as far as decisions on it are made at all
// (Variant.Undecidable).
type Role string

// The roles of a model that is served in parts.
const (
	RolePrefill Role = "prefill" // computes the prompt and the first token, and hands the KV cache over
	RoleDecode  Role = "decode"  // receives the KV cache and generates the other tokens
)

// ParseRole returns the role that a word of llm-d stands for, "" for the whole request. Pods with an
// unknown word get no requests from llm-d, and those with an encoder of their own are not decided on: both
// are errors, which begin with the word.
func ParseRole(word string) (Role, error) {
	switch word {
	case "", "both", "prefill-decode", "encode-prefill-decode":
		return "", nil
	case string(RolePrefill), string(RoleDecode):
		return Role(word), nil
	case "encode", "encode-prefill":
		return "", fmt.Errorf("%q, and pods that encode images for others are not decided on", word)
	}
	return "", fmt.Errorf("%q: want both, prefill or decode", word)
}

// Disaggregated reports whether the variants of one model serve its requests in parts: one of them
// has RolePrefill. Every variant of such a model with another role belongs to decode.
func Disaggregated(variants []Variant) bool {
	return slices.ContainsFunc(variants, func(v Variant) bool { return v.Role == RolePrefill })
}

// Part is what is decided on at once: a model, or one role of a model that is served in parts. Role
// is "" for a whole model.
type Part struct {
	Model ModelKey `json:"model"`
	Role  Role     `json:"role,omitempty"`
}

// Compare orders parts by model, then role.
func (p Part) Compare(o Part) int {
	return cmp.Or(p.Model.Compare(o.Model), strings.Compare(string(p.Role), string(o.Role)))
}

// String returns "namespace/id", and of a role "namespace/id (prefill)".
func (p Part) String() string {
	if p.Role == "" {
		return p.Model.String()
	}
	return p.Model.String() + " (" + string(p.Role) + ")"
}

// PartOf returns what is decided on together with v, which is one of the variants of its model.
func (v Variant) PartOf(variants []Variant) Part {
	switch {
	case !Disaggregated(variants):
		return Part{Model: v.Model}
	case v.Role == RolePrefill:
		return Part{v.Model, RolePrefill}
	}
	return Part{v.Model, RoleDecode}
}

// RoleLoad is what one role of a model has to do: the rate, the lengths and the latencies of its part
// of the requests. Of prefill, each request has one output token, TTFT ends with it, and there is no
// ITL. Of decode, TTFT begins when decode has the request, and PrefixHits are the prompt tokens that
// decode does not compute: those that prefill handed over and those in its own cache.
type RoleLoad struct {
	Role Role `json:"role"`
	Load Load `json:"load"`
}

// Part returns what the Snapshot is of.
func (s Snapshot) Part() Part { return Part{s.Model, s.Role} }

// Parts returns what is decided on of s, each as a Snapshot of its own: s itself, or of a model that is
// served in parts decode and prefill, each with its variants, its replicas and its load. A role without a
// variant is left out. The load of a role that s does not have is Absent.
func (s Snapshot) Parts() []Snapshot {
	if s.Role != "" || !Disaggregated(s.Variants) {
		return []Snapshot{s}
	}
	var parts []Snapshot
	for _, role := range []Role{RoleDecode, RolePrefill} {
		part := s
		part.Role, part.Roles, part.Variants, part.Replicas, part.Load = role, nil, nil, nil, Load{}
		of := make(map[VariantKey]bool, len(s.Variants))
		for _, v := range s.Variants {
			if (v.Role == RolePrefill) == (role == RolePrefill) {
				part.Variants, of[v.Key] = append(part.Variants, v), true
			}
		}
		for _, r := range s.Replicas {
			if of[r.Variant] {
				part.Replicas = append(part.Replicas, r)
			}
		}
		if i := slices.IndexFunc(s.Roles, func(l RoleLoad) bool { return l.Role == role }); i >= 0 {
			part.Load = s.Roles[i].Load
		}
		if len(part.Variants) > 0 {
			parts = append(parts, part)
		}
	}
	return parts
}
