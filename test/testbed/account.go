package testbed

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// AuthenticationReader is the Role in kube-system that lets managers read the authority that signs
// for the API server's proxy.
const AuthenticationReader = managerName + "-authentication-reader"

// The files of the manager's roles and their bindings, relative to Bed.Root. A test holds them
// equal to those of the chart.
var (
	managerRoles   = []string{"config/rbac/role.yaml", "config/rbac/bindings.yaml", "config/limited-mode/roles.yaml"}
	actuationRoles = []string{"config/scale/roles.yaml"}
)

// account creates the manager's service account with its roles and returns a kubeconfig for it: the
// manager runs here with the permissions that it has in a user's cluster with limited mode and
// External Metrics, and no others. It does so once: a permission that a test removes stays away
// when a manager starts again.
func (b *Bed) account(ctx context.Context) (kubeconfig string, err error) {
	if b.kubeconfig != "" {
		return b.kubeconfig, nil
	}
	if err := b.Namespace(ctx, SystemNamespace); err != nil {
		return "", err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: SystemNamespace, Name: managerName}}
	// As in the chart, where the manager serves External Metrics.
	reader := metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: AuthenticationReader}
	if err := b.Apply(ctx, account, &rbacv1.Role{ObjectMeta: reader, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"extension-apiserver-authentication"}, Verbs: []string{"get"},
	}}}, &rbacv1.RoleBinding{
		ObjectMeta: reader,
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: SystemNamespace, Name: managerName}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: reader.Name},
	}); err != nil {
		return "", err
	}
	roles, err := b.manifests(managerRoles)
	if err != nil {
		return "", err
	}
	if err := b.Apply(ctx, roles...); err != nil {
		return "", err
	}
	hours := int64(12 * 3600)
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &hours}}
	if err := b.Client.SubResource("token").Create(ctx, account, token); err != nil {
		return "", fmt.Errorf("requesting a token for the manager: %w", err)
	}
	b.kubeconfig, err = b.writeKubeconfig(token.Status.Token)
	return b.kubeconfig, err
}

// GrantActuation lets managers set replicas by the scale subresource and mark pods, as for users
// who ask for it by annotation, until RevokeActuation or the end of the cluster.
func (b *Bed) GrantActuation(ctx context.Context) error {
	if err := b.Namespace(ctx, SystemNamespace); err != nil {
		return err
	}
	roles, err := b.manifests(actuationRoles)
	if err != nil {
		return err
	}
	return b.Apply(ctx, roles...)
}

// RevokeActuation removes the permissions of GrantActuation.
func (b *Bed) RevokeActuation(ctx context.Context) error {
	roles, err := b.manifests(actuationRoles)
	if err != nil {
		return err
	}
	var errs []error
	for _, o := range roles {
		if err := client.IgnoreNotFound(b.Client.Delete(ctx, o)); err != nil {
			errs = append(errs, fmt.Errorf("removing %s: %w", o.GetName(), err))
		}
	}
	return errors.Join(errs...)
}

// manifests returns the objects in YAML files, whose paths are relative to Root.
func (b *Bed) manifests(paths []string) ([]client.Object, error) {
	var objects []client.Object
	for _, path := range paths {
		data, err := os.ReadFile(filepath.Join(b.Root, path))
		if err != nil {
			return nil, fmt.Errorf("reading the manager's roles: %w", err)
		}
		documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
		for {
			document, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			object := &unstructured.Unstructured{}
			if err := errors.Join(err, yaml.Unmarshal(document, &object.Object)); err != nil {
				return nil, fmt.Errorf("reading the manager's roles in %s: %w", path, err)
			}
			if len(object.Object) > 0 { // else it is the comment at the beginning of a file
				objects = append(objects, object)
			}
		}
	}
	return objects, nil
}

func (b *Bed) writeKubeconfig(token string) (string, error) {
	path := filepath.Join(b.Dir, "manager.kubeconfig")
	ca, err := os.ReadFile(b.State.CACert)
	if err != nil {
		return "", fmt.Errorf("reading the cluster's CA: %w", err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["local"] = &clientcmdapi.Cluster{Server: b.Config.Host, CertificateAuthorityData: ca}
	config.AuthInfos["manager"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["local"] = &clientcmdapi.Context{Cluster: "local", AuthInfo: "manager", Namespace: SystemNamespace}
	config.CurrentContext = "local"
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return "", fmt.Errorf("writing the manager's kubeconfig: %w", err)
	}
	return path, nil
}

// elsewhere writes a copy of the manager's kubeconfig for an API server at another address.
func (b *Bed) elsewhere(name, kubeconfig, address string) (string, error) {
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		return "", fmt.Errorf("reading the manager's kubeconfig: %w", err)
	}
	config.Clusters["local"].Server = "https://" + address
	path := filepath.Join(b.Dir, name+".kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return "", fmt.Errorf("writing a kubeconfig for %s: %w", address, err)
	}
	return path, nil
}
