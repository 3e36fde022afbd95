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

// Stream reads one instance per line and writes one result per line, in the same order. An instance that fails gets a
// result with an error that names its line, and does not affect the others. It returns how many failed; the error is
// about reading or writing.
func (s *Simulator) Stream(ctx context.Context, in io.Reader, out io.Writer) (failed int, err error) {
	return stream(ctx, in, out, func(number int, line []byte) (any, bool) {
		result := s.runLine(ctx, number, line)
		return result, result.Error != ""
	})
}

// StreamAnswers does with questions and answers what Stream does with instances and results.
func (s *Simulator) StreamAnswers(ctx context.Context, in io.Reader, out io.Writer) (failed int, err error) {
	return stream(ctx, in, out, func(number int, line []byte) (any, bool) {
		answer := s.answerLine(ctx, number, line)
		return answer, answer.Error != ""
	})
}

// stream answers each line of in with a line of out.
func stream(
	ctx context.Context, in io.Reader, out io.Writer, answer func(number int, line []byte) (result any, failed bool),
) (failed int, err error) {
	reader := bufio.NewReader(in)
	encoder := json.NewEncoder(out)
	for number := 1; ; number++ {
		line, readError := reader.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			result, bad := answer(number, line)
			if bad {
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

func (s *Simulator) answerLine(ctx context.Context, number int, line []byte) Answer {
	question, err := ParseQuestion(line)
	if err == nil {
		var answer Answer
		if answer, err = s.Answer(ctx, question); err == nil {
			return answer
		}
	}
	return Answer{ID: question.ID, Error: fmt.Sprintf("line %d: %v", number, err)}
}
