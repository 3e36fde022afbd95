package simulation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/stowage/stowage/scheduler/packingpolicy"
)

// WindowsQuestion asks when the windows of a policy begin within so many seconds.
type WindowsQuestion struct {
	Windows []packingpolicy.Opening `json:"windows"`
	Began   time.Time               `json:"began"`
	Seconds float64                 `json:"seconds"`
}

// WindowsAnswer has each window's start and end in seconds since the beginning, and the indexes of the entries that never
// open one. A window goes on although others begin meanwhile.
type WindowsAnswer struct {
	Windows    [][2]float64 `json:"windows,omitempty"`
	NeverOpens []int        `json:"neverOpens,omitempty"`
	Error      string       `json:"error,omitempty"`
}

// StreamWindows answers each question, a line, with a line.
func StreamWindows(ctx context.Context, in io.Reader, out io.Writer) (failed int, err error) {
	return stream(ctx, in, out, parseWindows, findWindows, func(_ WindowsQuestion, reason string) WindowsAnswer {
		return WindowsAnswer{Error: reason}
	})
}

func parseWindows(line []byte) (question WindowsQuestion, err error) {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&question); err != nil {
		return question, fmt.Errorf("not a question about windows: %w", err)
	}
	return question, nil
}

func findWindows(_ context.Context, question WindowsQuestion) (WindowsAnswer, error) {
	var answer WindowsAnswer
	schedule, err := packingpolicy.ReadSchedule(question.Windows)
	if err != nil {
		return WindowsAnswer{Error: err.Error()}, nil //nolint:nilerr // What is wrong with the schedule is the answer.
	}
	// A schedule tells what comes after a time; a window that begins at that time counts, too.
	const justBefore = -time.Nanosecond
	for i := range schedule {
		if _, opens := schedule[i : i+1].Next(question.Began.Add(justBefore)); !opens {
			answer.NeverOpens = append(answer.NeverOpens, i)
		}
	}
	next, opens := schedule.Next(question.Began.Add(justBefore))
	for opens && next.Start.Sub(question.Began).Seconds() < question.Seconds {
		end := min(question.Seconds, next.End.Sub(question.Began).Seconds())
		answer.Windows = append(answer.Windows, [2]float64{next.Start.Sub(question.Began).Seconds(), end})
		next, opens = schedule.Next(next.End.Add(justBefore))
	}
	return answer, nil
}
