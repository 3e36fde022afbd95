package fieldreads_test

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
)

// lists is the file that what-if reads too.
type lists struct {
	Kinds       map[string]string   `json:"kinds"`
	Drop        map[string][]string `json:"drop"`
	DropOfAll   []string            `json:"drop_of_all"`
	Annotations []string            `json:"drop_annotations"`
}

var dropping = map[string]reflect.Type{"Pod": reflect.TypeFor[v1.Pod](), "Node": reflect.TypeFor[v1.Node](),
	"Deployment": reflect.TypeFor[appsv1.Deployment](), "Job": reflect.TypeFor[batchv1.Job](),
	"ReplicaSet": reflect.TypeFor[appsv1.ReplicaSet](), "StatefulSet": reflect.TypeFor[appsv1.StatefulSet](),
	"ReplicationController": reflect.TypeFor[v1.ReplicationController]()}

// The next minor may read a field that this one did not. What-if would then answer about a cluster without it.
func TestNoFieldThatIsReadIsDropped(t *testing.T) {
	read := readFields(t)
	// The walk itself could break: all of these are read, and some of them only in libraries and through interfaces.
	for _, path := range []string{"spec.containers[].resources", "spec.containers[].restartPolicyRules", "spec.containers[].image",
		"spec.containers[].ports", "spec.resources", "spec.volumes[].csi.driver", "spec.volumes[].persistentVolumeClaim.claimName",
		"spec.tolerations[].key", "status.containerStatuses[].allocatedResources", "status.containerStatuses[].resources",
		"status.resources", "status.nominatedNodeName", "status.conditions[].reason", "metadata.ownerReferences", "metadata.labels"} {
		if field := fieldOf(t, "Pod", path); !read.Has(field) {
			t.Errorf("the walk does not see that %s is read: %s", path, field)
		}
	}
	for _, path := range []string{"status.declaredFeatures", "status.allocatable", "status.images", "spec.taints[].effect"} {
		if field := fieldOf(t, "Node", path); !read.Has(field) {
			t.Errorf("the walk does not see that %s is read: %s", path, field)
		}
	}
	for kind, paths := range listsOf(t).Drop {
		for _, path := range paths {
			if field := fieldOf(t, kind, path); read.Has(field) {
				t.Errorf("what-if drops %s of a %s, but %s is read", path, kind, field)
			}
		}
	}
	for _, path := range listsOf(t).DropOfAll {
		// The scheduler's informer drops these itself, and reads them in doing so.
		if field := fieldOf(t, "Pod", path); read.Has(field) && path != "metadata.managedFields" {
			t.Errorf("what-if drops %s of every object, but %s is read", path, field)
		}
	}
}

func listsOf(t *testing.T) lists {
	t.Helper()
	content := testobjects.Value(os.ReadFile("../../testbed/stowage_testbed/whatif/objects.yaml"))(t)
	var all lists
	testobjects.Must(t, yaml.UnmarshalStrict(content, &all))
	return all
}

// fieldOf is the field at the end of a path, with its structure. A path that leads nowhere is a misspelt one.
func fieldOf(t *testing.T, kind, path string) string {
	t.Helper()
	of, known := dropping[kind]
	if !known {
		t.Fatalf("no type of the API is known for %s", kind)
	}
	name := ""
	steps := strings.Split(path, ".")
	for i, step := range steps {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		field, structure, there := fieldNamed(of, strings.TrimSuffix(step, "[]"))
		if !there {
			t.Fatalf("%s of %s: %s has no field %s", path, kind, of, step)
		}
		if i < len(steps)-1 && strings.HasSuffix(step, "[]") != (field.Type.Kind() == reflect.Slice) {
			t.Fatalf("%s of %s: [] stands for the elements of a list, and %s is a %s", path, kind, step, field.Type)
		}
		name = fmt.Sprintf("%s.%s.%s", structure.PkgPath(), structure.Name(), field.Name)
		of = field.Type
	}
	return name
}

// fieldNamed finds a field by its name in JSON, also in an embedded structure.
func fieldNamed(of reflect.Type, name string) (field reflect.StructField, structure reflect.Type, found bool) {
	for i := range of.NumField() {
		field := of.Field(i)
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if tag == name {
			return field, of, true
		}
		if tag == "" && field.Anonymous {
			if inner, structure, found := fieldNamed(field.Type, name); found {
				return inner, structure, true
			}
		}
	}
	return reflect.StructField{}, nil, false
}
