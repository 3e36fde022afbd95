// Package profiletest makes options of a scheduler out of the profiles that the chart ships, for tests.
package profiletest

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"sigs.k8s.io/yaml"
)

// Shipped is the content of a profile's file. The folder is that of the profiles, as seen from the test.
func Shipped(t *testing.T, folder, profile string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, profile+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var content map[string]any
	if err := yaml.UnmarshalStrict(data, &content); err != nil {
		t.Fatal(err)
	}
	return content
}

// Options merges into the profile what the chart merges: a kubeconfig, here of an API server that cannot be
// reached, and the leader election.
func Options(t *testing.T, content map[string]any) *options.Options {
	t.Helper()
	folder := t.TempDir()
	connection, _ := content["clientConnection"].(map[string]any)
	if connection == nil {
		connection = map[string]any{}
	}
	connection["kubeconfig"] = write(t, folder, "kubeconfig", map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": []any{map[string]any{"name": "c", "cluster": map[string]any{"server": "https://127.0.0.1:1"}}},
		"users":    []any{map[string]any{"name": "u", "user": map[string]any{"token": "t"}}},
		"contexts": []any{map[string]any{"name": "c", "context": map[string]any{"cluster": "c", "user": "u"}}},
	})
	content["clientConnection"] = connection
	content["leaderElection"] = map[string]any{"leaderElect": false}
	opts := options.NewOptions()
	opts.SecureServing.BindPort = 0
	opts.ConfigFile = write(t, folder, "profile.yaml", content)
	return opts
}

func write(t *testing.T, folder, name string, content any) string {
	t.Helper()
	data, err := yaml.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
