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
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/config/rbac"
)

// installAccount creates the manager's service account with the generated role
// and returns a kubeconfig for it: the manager runs here with the permissions
// that it has in a user's cluster, and no others.
func (b *Bed) installAccount(ctx context.Context) (kubeconfig string, err error) {
	if err := b.Namespace(ctx, SystemNamespace); err != nil {
		return "", err
	}
	clusterRole, nodeReader, role, err := managerRoles()
	if err != nil {
		return "", err
	}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: SystemNamespace, Name: managerName}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: SystemNamespace, Name: managerName}}
	objects := []client.Object{
		account, clusterRole, nodeReader, role,
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: managerName}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: clusterRole.Name},
		},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: managerName + "-nodes"}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: nodeReader.Name},
		},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: SystemNamespace, Name: managerName}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: managerName + "-auth-delegator"}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:auth-delegator"},
		},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: managerName + "-authentication-reader"}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "extension-apiserver-authentication-reader"},
		},
	}
	if err := b.Apply(ctx, objects...); err != nil {
		return "", err
	}
	hours := int64(12 * 3600)
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &hours}}
	if err := b.Client.SubResource("token").Create(ctx, account, token); err != nil {
		return "", fmt.Errorf("requesting a token for the manager: %w", err)
	}
	return b.writeKubeconfig(token.Status.Token)
}

// GrantActuation lets managers set replicas by the scale subresource and mark pods,
// as users do who ask for it by annotation. The permission goes with the cluster.
func (b *Bed) GrantActuation(ctx context.Context) error {
	if err := b.Namespace(ctx, SystemNamespace); err != nil {
		return err
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(rbac.ActuationRoles())))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		role := &rbacv1.ClusterRole{}
		if err := errors.Join(err, yaml.UnmarshalStrict(document, role)); err != nil {
			return fmt.Errorf("reading the roles for actuation: %w", err)
		}
		if err := b.Apply(ctx, role, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.Name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: SystemNamespace, Name: managerName}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		}); err != nil {
			return err
		}
	}
}

// managerRoles reads the generated roles: for the cluster, for its nodes, which
// limited mode asks for, and for the leases of the manager's own namespace.
func managerRoles() (cluster, nodes *rbacv1.ClusterRole, own *rbacv1.Role, err error) {
	cluster, nodes, own = &rbacv1.ClusterRole{}, &rbacv1.ClusterRole{}, &rbacv1.Role{}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(rbac.ManagerRoles())))
	for _, into := range []any{cluster, nodes, own} {
		document, err := documents.Read()
		if err != nil {
			return nil, nil, nil, fmt.Errorf("reading the manager's roles: %w", err)
		}
		if err := yaml.UnmarshalStrict(document, into); err != nil {
			return nil, nil, nil, fmt.Errorf("reading the manager's roles: %w", err)
		}
	}
	return cluster, nodes, own, nil
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
