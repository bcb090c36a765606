package config

import "k8s.io/apimachinery/pkg/util/validation"

// validateScope refuses names that no object in a cluster can have: the manager would serve no
// object and report no error.
func (o *Operator) validateScope() error {
	for _, namespace := range []struct{ key, value string }{
		{"WATCH_NAMESPACE", o.WatchNamespace}, {"POD_NAMESPACE", o.SystemNamespace},
	} {
		if namespace.value != "" && len(validation.IsDNS1123Label(namespace.value)) > 0 {
			return &FieldError{
				Key: namespace.key, Value: namespace.value,
				Want: "the name of one namespace: at most 63 lower case letters, digits and '-', the first and the last no '-'",
			}
		}
	}
	if len(validation.IsValidLabelValue(o.ControllerInstance)) > 0 {
		return &FieldError{
			Key: "CONTROLLER_INSTANCE", Value: o.ControllerInstance,
			Want: "the value of a label: at most 63 letters, digits, '-', '_' and '.', the first and the last a letter or digit",
		}
	}
	return nil
}
