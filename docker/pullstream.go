package docker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// pullMessage is what matters of one message of a stream of progress. The
// client's own type for it does not promise the older of the two places an
// error may stand in.
type pullMessage struct {
	ID     string `json:"id"` // of a layer; in the first message, the tag
	Status string `json:"status"`
	Bytes  struct {
		Current int64 `json:"current"`
		Total   int64 `json:"total"`
	} `json:"progressDetail"`
	Detail struct {
		Message string `json:"message"`
	} `json:"errorDetail"`
	Error string `json:"error"`
}

// drain reads a stream of progress to its end and returns the first error told.
func drain(stream io.Reader) error { return readPull(stream, func(pullMessage) {}) }

// readPull is drain that shows each message. The stream must be read to its
// end: closing it cancels a pull.
func readPull(stream io.Reader, show func(pullMessage)) error {
	var told error
	for decoder := json.NewDecoder(stream); ; {
		var m pullMessage
		err := decoder.Decode(&m)
		switch {
		case errors.Is(err, io.EOF):
			return told
		case err != nil && told != nil:
			return told
		case err != nil:
			return err
		case told != nil:
		case m.Detail.Message != "":
			told = errors.New(m.Detail.Message)
		case m.Error != "":
			told = errors.New(m.Error)
		default:
			show(m)
		}
	}
}

// layerState is how far a layer has come.
type layerState int

const (
	layerQueued layerState = iota // the engine downloads a few at a time, of all images together
	layerAsked                    // asked for, nothing has come yet
	layerComes                    // is being downloaded
	layerHere                     // downloaded, being checked or waiting to be unpacked
	layerUnpacks
	layerDone
)

type layer struct {
	state          layerState
	current, total int64 // bytes downloaded
	unpacked       float64
}

// layerTrack follows the layers of one pull through its messages.
type layerTrack struct {
	layers map[string]*layer
}

// maxLayers bounds what is kept of a pull; Docker allows 127.
const maxLayers = 1024

// take takes a message in and reports whether it is a sign that something
// comes from the registry.
func (t *layerTrack) take(m pullMessage) (heard bool) {
	state, ok := layerStateOf(m.Status)
	if !ok || m.ID == "" {
		return len(t.layers) == 0
	}
	l := t.layers[m.ID]
	if l == nil {
		if len(t.layers) >= maxLayers {
			return true
		}
		if t.layers == nil {
			t.layers = map[string]*layer{}
		}
		l = &layer{}
		t.layers[m.ID] = l
	}
	l.state = state
	switch state {
	case layerComes:
		// A retry counts from the beginning again, and has nothing to count yet.
		l.current, l.total = m.Bytes.Current, max(m.Bytes.Total, l.total)
	case layerUnpacks:
		if m.Bytes.Total > 0 {
			l.unpacked = clamp(float64(m.Bytes.Current) / float64(m.Bytes.Total))
		}
	}
	if state > layerComes {
		l.current = l.total
	}
	return state != layerUnpacks
}

// layerStateOf reads the status of a layer; false: the message is about
// something else.
func layerStateOf(status string) (layerState, bool) {
	switch status {
	case "Pulling fs layer":
		return layerAsked, true
	case "Waiting":
		return layerQueued, true
	case "Downloading":
		return layerComes, true
	case "Verifying Checksum", "Download complete":
		return layerHere, true
	case "Extracting":
		return layerUnpacks, true
	case "Pull complete", "Already exists":
		return layerDone, true
	}
	return layerComes, strings.HasPrefix(status, "Retrying")
}

// queuePatience is how many times longer than for a download itself it is
// waited until the engine, busy with other images, begins one.
const queuePatience = 12

// patience is how long nothing may come from the registry: stall while the next
// thing to happen must come from there, which is so before the first layer is
// known and while one was asked for or is coming; longer while downloads wait
// for those of other images; zero, for ever, while the engine works on what it
// has.
func (t *layerTrack) patience(stall time.Duration) time.Duration {
	limit := time.Duration(0)
	for _, l := range t.layers {
		switch l.state {
		case layerAsked, layerComes:
			return stall
		case layerQueued:
			limit = queuePatience * stall
		}
	}
	if len(t.layers) == 0 {
		return stall
	}
	return limit
}

// count returns how many layers there are and are done, and the bytes of those
// whose size is known. Sizes become known as downloads begin.
func (t *layerTrack) count() (layers, done int, current, total int64) {
	for _, l := range t.layers {
		if l.state == layerDone {
			done++
		}
		current += l.current
		total += l.total
	}
	return len(t.layers), done, current, total
}

// downloadShare is the part of a layer's way that its download is, of 1.
const downloadShare = 0.8

// fraction is how far the pull has come, of 1: each layer counts the same, as
// the size of those to come is not known.
func (t *layerTrack) fraction() float64 {
	if len(t.layers) == 0 {
		return 0
	}
	sum := 0.0
	for _, l := range t.layers {
		switch l.state {
		case layerComes:
			if l.total > 0 {
				sum += downloadShare * clamp(float64(l.current)/float64(l.total))
			}
		case layerHere, layerUnpacks:
			sum += downloadShare + (1-downloadShare)*l.unpacked
		case layerDone:
			sum++
		}
	}
	return sum / float64(len(t.layers))
}

func clamp(f float64) float64 { return max(0, min(f, 1)) }

// summary says in a few words how far it has come.
func (t *layerTrack) summary() string {
	layers, done, current, total := t.count()
	if layers == 0 {
		return "no layer is known yet"
	}
	return fmt.Sprintf("%d of %d layers, %d of %d bytes of those begun", done, layers, current, total)
}
