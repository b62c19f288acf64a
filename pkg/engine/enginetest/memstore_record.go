package enginetest

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// record is a stored document: its BSON, and the engine's fields read from it.
// Records are values; a write makes a new one.
type record struct {
	raw  bson.Raw
	meta engine.Meta
}

func newRecord(raw bson.Raw) (record, error) {
	r := record{raw: raw}
	if err := bson.Unmarshal(raw, &r.meta); err != nil {
		return record{}, fmt.Errorf("read the engine's fields: %w", err)
	}
	return r, nil
}

// decode returns a copy of the document as the user's type.
func decode[D engine.Document](r record) (D, error) {
	var doc D
	if err := bson.Unmarshal(r.raw, &doc); err != nil {
		return doc, fmt.Errorf("read document %q: %w", r.meta.ID, err)
	}
	return doc, nil
}

// metaFields are the names of the engine's fields in BSON.
var metaFields = func() []string {
	var names []string
	for field := range reflect.TypeFor[engine.Meta]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("bson"), ",")
		names = append(names, name)
	}
	return names
}()

// withMeta sets the engine's fields and leaves all others. Those which meta
// omits become missing.
func (r record) withMeta(meta engine.Meta) (record, error) {
	fields, err := bson.Marshal(meta)
	if err != nil {
		return record{}, fmt.Errorf("write the engine's fields: %w", err)
	}
	var doc, changed bson.D
	if err := errors.Join(bson.Unmarshal(r.raw, &doc), bson.Unmarshal(fields, &changed)); err != nil {
		return record{}, err
	}
	present := map[string]bool{}
	for _, e := range changed {
		present[e.Key] = true
		if doc, err = setPath(doc, e.Key, e.Value); err != nil {
			return record{}, err
		}
	}
	doc = slices.DeleteFunc(doc, func(e bson.E) bool {
		return slices.Contains(metaFields, e.Key) && !present[e.Key]
	})
	return r.withDoc(doc)
}

// withFields sets fields by their dotted names, as $set does.
func (r record) withFields(fields map[string]any) (record, error) {
	var doc bson.D
	if err := bson.Unmarshal(r.raw, &doc); err != nil {
		return record{}, err
	}
	names := slices.Sorted(maps.Keys(fields))
	for i, name := range names {
		for _, other := range names[:i] {
			if strings.HasPrefix(name, other+".") {
				return record{}, fmt.Errorf("updating %q would conflict at %q", name, other)
			}
		}
		var err error
		if doc, err = setPath(doc, name, fields[name]); err != nil {
			return record{}, fmt.Errorf("set %q: %w", name, err)
		}
	}
	return r.withDoc(doc)
}

func (r record) withDoc(doc bson.D) (record, error) {
	raw, err := bson.Marshal(doc)
	if err != nil {
		return record{}, fmt.Errorf("write document %q: %w", r.meta.ID, err)
	}
	changed, err := newRecord(raw)
	if err == nil && changed.meta.ID != r.meta.ID {
		err = errors.New("the _id of a document cannot be changed")
	}
	return changed, err
}

// setPath sets the field of a dotted name, and makes the documents on the way
// where they are missing. Like MongoDB it refuses to go through anything but a
// document; unlike it, through lists too.
func setPath(doc bson.D, path string, value any) (bson.D, error) {
	name, rest, nested := strings.Cut(path, ".")
	i := slices.IndexFunc(doc, func(e bson.E) bool { return e.Key == name })
	if i < 0 {
		doc = append(doc, bson.E{Key: name, Value: bson.D{}})
		i = len(doc) - 1
	}
	if !nested {
		doc[i].Value = value
		return doc, nil
	}
	inner, ok := doc[i].Value.(bson.D)
	if !ok {
		return nil, fmt.Errorf("cannot create a field in %s, which is no document", name)
	}
	inner, err := setPath(inner, rest, value)
	doc[i].Value = inner
	return doc, err
}
