package scaling

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Role is the part of a request that the pods of a variant serve, by its name in llm-d (ParseRole).
// Any other value counts as the whole request, unless it makes the variant undecidable
// (Variant.Undecidable).
type Role string

// The roles of a model that is served in parts.
const (
	RolePrefill Role = "prefill" // computes the prompt and the first token, and hands the KV cache over
	RoleDecode  Role = "decode"  // receives the KV cache and generates the other tokens
)

// ParseRole returns the role for a word of llm-d, "" for the whole request. It returns an error
// that begins with the word for unknown words, since llm-d sends such pods no requests, and for
// pods that encode for others, which are not supported.
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
// has RolePrefill. All variants with another role then belong to decode.
func Disaggregated(variants []Variant) bool {
	return slices.ContainsFunc(variants, func(v Variant) bool { return v.Role == RolePrefill })
}

// Part is the unit of decisions: a model, or one role of a model that is served in parts. Role is
// "" for a whole model.
type Part struct {
	Model ModelKey `json:"model"`
	Role  Role     `json:"role,omitempty"`
}

// Compare orders parts by model, then role.
func (p Part) Compare(o Part) int {
	return cmp.Or(p.Model.Compare(o.Model), strings.Compare(string(p.Role), string(o.Role)))
}

// String returns "namespace/id", or "namespace/id (prefill)" for a role.
func (p Part) String() string {
	if p.Role == "" {
		return p.Model.String()
	}
	return p.Model.String() + " (" + string(p.Role) + ")"
}

// PartOf returns the part that v belongs to, given all variants of its model.
func (v Variant) PartOf(variants []Variant) Part {
	switch {
	case !Disaggregated(variants):
		return Part{Model: v.Model}
	case v.Role == RolePrefill:
		return Part{v.Model, RolePrefill}
	}
	return Part{v.Model, RoleDecode}
}

// RoleLoad is the load of one role of a model: the rate, lengths and latencies of its part of the
// requests. For prefill, each request has one output token, TTFT ends with it, and there is no ITL.
// For decode, TTFT begins when decode has the request, and PrefixHits covers the prompt tokens that
// prefill handed over and those in decode's own cache.
type RoleLoad struct {
	Role Role `json:"role"`
	Load Load `json:"load"`
}

// Part returns the part that the Snapshot describes.
func (s Snapshot) Part() Part { return Part{s.Model, s.Role} }

// Parts returns one Snapshot for each part that is decided on: s itself, or, for a model that is
// served in parts, decode and prefill with their variants, replicas and load. A role without a
// variant is left out. The load of a role that is missing in s is Absent.
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
