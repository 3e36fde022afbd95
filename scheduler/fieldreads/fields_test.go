package fieldreads_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
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

// ours are the packages of which every function counts.
var ours = []string{"github.com/stowage/stowage/scheduler/", "k8s.io/kubernetes/pkg/scheduler"}

// libraries are those whose functions count where they are called. What is left is the machinery of the API: decoding,
// defaults, conversions and clients touch every field, whether it matters or not.
var libraries = []string{"k8s.io/component-helpers/", "k8s.io/csi-translation-lib", "k8s.io/dynamic-resource-allocation/",
	"k8s.io/kube-scheduler/", "k8s.io/kubernetes/pkg/api/v1/", "k8s.io/kubernetes/pkg/apis/core/v1/helper",
	"k8s.io/kubernetes/pkg/apis/core/helper", "k8s.io/kubernetes/pkg/apis/scheduling", "k8s.io/kubernetes/pkg/util/",
	"k8s.io/kubernetes/pkg/volume/"}

func under(path string, folders []string) bool {
	for _, folder := range folders {
		if strings.HasPrefix(path, folder) {
			return true
		}
	}
	return false
}

// listed is a package as `go list` tells of it.
type listed struct {
	ImportPath, Export, Dir string
	GoFiles                 []string
}

// packages are those of the simulation and all that it imports, compiled as the tools are, so that none is compiled anew.
func packages(t *testing.T) []listed {
	t.Helper()
	command := exec.Command("go", "list", "-trimpath", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles",
		"../simulation", "../plugins")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	command.Stderr = os.Stderr
	output := testobjects.Value(command.Output())(t)
	var all []listed
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var one listed
		err := decoder.Decode(&one)
		if errors.Is(err, io.EOF) {
			return all
		}
		testobjects.Must(t, err)
		all = append(all, one)
	}
}

// body is what one function reads and calls.
type body struct{ reads, calls sets.Set[string] }

// walk knows the functions by their full names; calls of an interface's method stand for all methods like it.
type walk struct {
	files    *token.FileSet
	importer types.Importer
	bodies   map[string]*body
	methods  map[string]sets.Set[string]
	roots    sets.Set[string]
}

// readFields are the fields that are read, as in "k8s.io/api/core/v1.Container.Image".
func readFields(t *testing.T) sets.Set[string] {
	t.Helper()
	all := packages(t)
	exports := map[string]string{}
	for _, one := range all {
		exports[one.ImportPath] = one.Export
	}
	files := token.NewFileSet()
	w := &walk{files: files, bodies: map[string]*body{}, methods: map[string]sets.Set[string]{}, roots: sets.New[string](),
		importer: importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	for _, one := range all {
		if under(one.ImportPath, ours) || under(one.ImportPath, libraries) {
			w.add(t, one)
		}
	}
	return w.reached()
}

// add checks the types of a package and collects its functions.
func (w *walk) add(t *testing.T, one listed) {
	t.Helper()
	var sources []*ast.File
	for _, name := range one.GoFiles {
		source, err := parser.ParseFile(w.files, filepath.Join(one.Dir, name), nil, parser.SkipObjectResolution)
		testobjects.Must(t, err)
		sources = append(sources, source)
	}
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}}
	config := types.Config{Importer: w.importer}
	if _, err := config.Check(one.ImportPath, w.files, sources, info); err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		for _, declared := range source.Decls {
			// What stands outside of functions may be a table of functions.
			name := one.ImportPath
			if function, is := declared.(*ast.FuncDecl); is {
				of := info.Defs[function.Name].(*types.Func)
				name = of.FullName()
				if of.Signature().Recv() != nil {
					w.alike(of).Insert(name)
				}
			}
			if name == one.ImportPath || under(one.ImportPath, ours) {
				w.roots.Insert(name)
			}
			w.body(name).collect(declared, info)
		}
	}
}

func (w *walk) body(name string) *body {
	if w.bodies[name] == nil {
		w.bodies[name] = &body{sets.New[string](), sets.New[string]()}
	}
	return w.bodies[name]
}

// alike are the methods of the same name and signature.
func (w *walk) alike(method *types.Func) sets.Set[string] {
	key := shapeOf(method)
	if w.methods[key] == nil {
		w.methods[key] = sets.New[string]()
	}
	return w.methods[key]
}

const anyShaped = "any "

func shapeOf(method *types.Func) string {
	signature := method.Signature()
	return anyShaped + method.Name() + types.TypeString(signature.Params(), nil) + types.TypeString(signature.Results(), nil)
}

func (b *body) collect(declared ast.Decl, info *types.Info) {
	ast.Inspect(declared, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.SelectorExpr:
			if selection := info.Selections[node]; selection != nil {
				b.read(selection)
			}
		case *ast.Ident:
			if called, is := info.Uses[node].(*types.Func); is {
				b.calls.Insert(called.Origin().FullName())
				if receiver := called.Signature().Recv(); receiver != nil && types.IsInterface(receiver.Type()) {
					b.calls.Insert(shapeOf(called))
				}
				if field, accessor := strings.CutPrefix(called.Name(), "Get"); accessor {
					b.reads.Insert("k8s.io/apimachinery/pkg/apis/meta/v1.ObjectMeta." + field)
				}
			}
		}
		return true
	})
}

// read notes every field on the way to the selected one: some are embedded.
func (b *body) read(selection *types.Selection) {
	of := selection.Recv()
	for _, index := range selection.Index() {
		if pointer, is := of.Underlying().(*types.Pointer); is {
			of = pointer.Elem()
		}
		of = types.Unalias(of)
		structure, is := of.Underlying().(*types.Struct)
		if !is {
			return // the method at the end of the way
		}
		if index >= structure.NumFields() {
			return
		}
		if named, is := of.(*types.Named); is && named.Obj().Pkg() != nil {
			b.reads.Insert(named.Obj().Pkg().Path() + "." + named.Obj().Name() + "." + structure.Field(index).Name())
		}
		of = structure.Field(index).Type()
	}
}

// reached are the fields that the roots read, and all that they call.
func (w *walk) reached() sets.Set[string] {
	reads, seen, next := sets.New[string](), sets.New[string](), w.roots.UnsortedList()
	for len(next) > 0 {
		name := next[len(next)-1]
		next = next[:len(next)-1]
		if seen.Has(name) {
			continue
		}
		seen.Insert(name)
		if found := w.bodies[name]; found != nil {
			reads = reads.Union(found.reads)
			next = append(next, found.calls.UnsortedList()...)
		}
		next = append(next, w.methods[name].UnsortedList()...)
	}
	return reads
}
