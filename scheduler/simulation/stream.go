package simulation

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Stream reads one instance a line and writes one result a line, in the same order. An instance that
// fails gets a result with an error that names its line, and the rest go on. It returns how many
// failed; the error is about reading or writing.
func (s *Simulator) Stream(ctx context.Context, in io.Reader, out io.Writer) (failed int, err error) {
	reader := bufio.NewReader(in)
	encoder := json.NewEncoder(out)
	for number := 1; ; number++ {
		line, readError := reader.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			result := s.runLine(ctx, number, line)
			if result.Error != "" {
				failed++
			}
			if err := encoder.Encode(result); err != nil {
				return failed, fmt.Errorf("writing the result of line %d: %w", number, err)
			}
		}
		if errors.Is(readError, io.EOF) {
			return failed, nil
		}
		if readError != nil {
			return failed, fmt.Errorf("reading line %d: %w", number, readError)
		}
		if ctx.Err() != nil {
			return failed, context.Cause(ctx)
		}
	}
}

func (s *Simulator) runLine(ctx context.Context, number int, line []byte) Result {
	instance, err := ParseInstance(line)
	if err == nil {
		var result Result
		if result, err = s.Run(ctx, instance); err == nil {
			return result
		}
	}
	return Result{ID: instance.ID, Placements: map[string]string{}, Error: fmt.Sprintf("line %d: %v", number, err)}
}
