package syncer

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/islet-run/islet/pods"
	"github.com/islet-run/islet/store"
)

// Stored keeps records and events in a [store.Store]. It implements [Records]
// and [EventStore].
type Stored struct{ Store *store.Store }

// Load implements [Records].
func (s Stored) Load() (records []pods.Record, unrecorded []types.UID, err error) {
	uids, err := s.Store.Pods()
	if err != nil {
		return nil, nil, err
	}
	var bad []error
	for _, uid := range uids {
		var r pods.Record
		err := s.Store.GetInstance(uid, &r)
		switch {
		case errors.Is(err, store.ErrNotFound):
			unrecorded = append(unrecorded, types.UID(uid))
		case err != nil:
			unrecorded = append(unrecorded, types.UID(uid))
			bad = append(bad, err)
		case r.Pod == nil || string(r.UID) != uid || r.Key.Name == "":
			unrecorded = append(unrecorded, types.UID(uid))
			bad = append(bad, fmt.Errorf("read instance %s: the record is incomplete", uid))
		default:
			records = append(records, r)
		}
	}
	return records, unrecorded, errors.Join(bad...)
}

// Finished reports whether the instance is on record as finished for good.
func (s Stored) Finished(uid types.UID) bool {
	var r pods.Record
	return store.ValidUID(string(uid)) && s.Store.GetInstance(string(uid), &r) == nil && r.Outcome != nil
}

// Save implements [Records].
func (s Stored) Save(r pods.Record) error { return s.Store.PutInstance(string(r.UID), r) }

// Dir implements [Records].
func (s Stored) Dir(uid types.UID) string { return s.Store.PodDir(string(uid)) }

// Erase implements [Records].
func (s Stored) Erase(uid types.UID) error {
	if !store.ValidUID(string(uid)) {
		return nil // a label of a stray said so; nothing of ours can lie there
	}
	return s.Store.ErasePod(string(uid))
}

func (s Stored) events() *store.Collection { return s.Store.Collection("events") }

func historyName(key pods.Key) string { return key.Realm + "/" + key.Namespace + "/" + key.Name }

// SaveHistory implements [EventStore].
func (s Stored) SaveHistory(h History) error { return s.events().Put(historyName(h.Key), h) }

// DropHistory implements [EventStore].
func (s Stored) DropHistory(key pods.Key) error { return s.events().Delete(historyName(key)) }

// LoadHistories implements [EventStore].
func (s Stored) LoadHistories() ([]History, error) {
	var all []History
	bad, err := s.events().Each(func(_ string, value []byte) error {
		var h History
		if err := json.Unmarshal(value, &h); err != nil {
			return err
		}
		if h.Key.Name == "" || len(h.Events) == 0 {
			return errors.New("history without a pod or events")
		}
		all = append(all, h)
		return nil
	})
	for _, b := range bad {
		err = errors.Join(err, b)
	}
	return all, err
}
