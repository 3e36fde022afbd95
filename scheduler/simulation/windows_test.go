package simulation_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stowage/stowage/scheduler/simulation"
)

const hour = 3600

// TestWindowsOpenAsTheControllerOpensThem: whoever tries a policy on a trace must see the windows of the cluster. The trace
// begins on a Monday.
func TestWindowsOpenAsTheControllerOpensThem(t *testing.T) {
	for _, one := range []struct {
		began, windows string
		hours          float64
		opened         [][2]float64
		never          []int
	}{
		{"2026-01-05", `{"schedule":"0 2 * * *","timeZone":"Europe/Berlin","durationSeconds":7200}`, 24, [][2]float64{{1, 3}}, nil},
		{"2026-07-06", `{"schedule":"0 2 * * *","timeZone":"Europe/Berlin","durationSeconds":7200}`, 24, [][2]float64{{0, 2}}, nil},
		{"2026-01-05", `{"schedule":"0 23 * * *","durationSeconds":7200}`, 24, [][2]float64{{23, 24}}, nil},
		{"2026-01-05", `{"schedule":"@daily","durationSeconds":3600}`, 25, [][2]float64{{0, 1}, {24, 25}}, nil},
		// A star with a step is none: Monday is enough, though the 5th is an odd day.
		{"2026-01-05", `{"schedule":"0 5 2/2 * */1","durationSeconds":3600}`, 24, nil, nil},
		{"2026-01-05", `{"schedule":"0 5 */2 * 6","durationSeconds":3600}`, 24, [][2]float64{{5, 6}}, nil},
		// One window goes on although others begin meanwhile.
		{"2026-01-05", `{"schedule":"0 * * * *","durationSeconds":1800},{"schedule":"0 1 * * *","durationSeconds":9000}`, 5,
			[][2]float64{{0, 0.5}, {1, 3.5}, {4, 4.5}}, nil},
		{"2026-01-05", `{"schedule":"0 0 30 2 *","durationSeconds":60},{"schedule":"0 0 29 2 *","durationSeconds":60}`, 1, nil, []int{0}},
	} {
		answer := askWindows(t, fmt.Sprintf(`{"windows":[%s],"began":"%sT00:00:00Z","seconds":%g}`, one.windows, one.began, hour*one.hours))
		var opened [][2]float64
		for _, window := range answer.Windows {
			opened = append(opened, [2]float64{window[0] / hour, window[1] / hour})
		}
		if !reflect.DeepEqual(opened, one.opened) || !reflect.DeepEqual(answer.NeverOpens, one.never) || answer.Error != "" {
			t.Errorf("%s from %s: got %+v", one.windows, one.began, answer)
		}
	}
}

// TestASchedulesErrorNamesItsEntry: the condition Accepted would say the same in the cluster.
func TestASchedulesErrorNamesItsEntry(t *testing.T) {
	for line, want := range map[string]string{
		`{"windows":[{"schedule":"0 25 * * *","durationSeconds":60}]}`: "windows[0]: schedule",
		`{"windows":0}`: "not a question about windows",
	} {
		if answer := askWindows(t, line); !strings.Contains(answer.Error, want) {
			t.Errorf("want an error with %q, got %q", want, answer.Error)
		}
	}
}

func askWindows(t *testing.T, line string) (answer simulation.WindowsAnswer) {
	t.Helper()
	var out bytes.Buffer
	if _, err := simulation.StreamWindows(t.Context(), strings.NewReader(line), &out); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}
