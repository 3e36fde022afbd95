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
	return stream(ctx, in, out, ParseInstance, s.Run, func(instance Instance, reason string) Result {
		return Result{ID: instance.ID, Placements: map[string]string{}, Error: reason}
	})
}

// StreamAnswers does with questions and answers what Stream does with instances and results.
func (s *Simulator) StreamAnswers(ctx context.Context, in io.Reader, out io.Writer) (failed int, err error) {
	return stream(ctx, in, out, ParseQuestion, s.Answer, func(question Question, reason string) Answer {
		return Answer{ID: question.ID, Error: reason}
	})
}

// stream answers each line of in with a line of out.
func stream[Question, Answer any](
	ctx context.Context, in io.Reader, out io.Writer,
	parse func(line []byte) (Question, error),
	answer func(context.Context, Question) (Answer, error),
	refuse func(question Question, reason string) Answer,
) (failed int, err error) {
	encoder := json.NewEncoder(out)
	err = eachLine(ctx, in, func(number int, line []byte) error {
		var result Answer
		question, err := parse(line)
		if err == nil {
			result, err = answer(ctx, question)
		}
		if err != nil {
			failed++
			result = refuse(question, fmt.Sprintf("line %d: %v", number, err))
		}
		if err := encoder.Encode(result); err != nil {
			return fmt.Errorf("writing the result of line %d: %w", number, err)
		}
		return nil
	})
	return failed, err
}

// eachLine calls do with each line that is not empty, until the input or ctx ends.
func eachLine(ctx context.Context, in io.Reader, do func(number int, line []byte) error) error {
	reader := bufio.NewReader(in)
	for number := 1; ; number++ {
		line, readError := nextLine(ctx, reader)
		if len(bytes.TrimSpace(line)) > 0 {
			if err := do(number, line); err != nil {
				return err
			}
		}
		if errors.Is(readError, io.EOF) {
			return nil
		}
		if readError != nil {
			return fmt.Errorf("reading line %d: %w", number, readError)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// nextLine reads a line, unless ctx ends first: a pipe may have nothing to read for ever.
func nextLine(ctx context.Context, reader *bufio.Reader) ([]byte, error) {
	type line struct {
		text []byte
		err  error
	}
	read := make(chan line, 1)
	go func() {
		text, err := reader.ReadBytes('\n')
		read <- line{text, err}
	}()
	select {
	case one := <-read:
		return one.text, one.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
