// Package engineargs reads the command line of a vLLM server, as it stands in a pod's template, for
// what bounds a replica, the tokens of a step and the requests of a batch, and for what says how
// large the model is that it loads.
//
// It follows vLLM's engine arguments (vllm/engine/arg_utils.py) where they matter here: dashes and
// underscores are the same, a value follows its flag or an equals sign, the last of two values
// counts, numbers may be written as 32k or 32K, and a command in one string for a shell is split.
// It does not expand variables and substitutions.
package engineargs
