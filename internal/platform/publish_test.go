package platform_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/witness"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

// Code that has changed is published by publishing the stage again, and by
// nothing else: the looks at a stage that stands leave what it serves as it is,
// and write nothing.
func TestOnlyPublishingPublishes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.replica("r")
	id := w.gateway()
	w.reaches(resource.Running, resource.PhaseStarted, id)
	w.furnish(id)
	w.furnished(r, id)
	stage := resource.EnvironmentName(id, "dev")
	before := w.served(id)
	if len(before) != 1 || before[0]["code"] != "export {}" {
		t.Fatalf("published: %v", before)
	}

	_, err := w.docs.CloudFunctions.SetIntent(t.Context(), id+"-hello", mongostore.Intent{
		Fields: map[string]any{"code": "changed", "version": 1, "versions": []resource.FunctionVersion{{Code: "export {}", Runtime: "javascript"}}},
	})
	must(t, err)
	for range 2 {
		token := w.header(resource.KindStage, stage).LockToken
		w.write(resource.KindStage, bson.D{{Key: "$unset", Value: bson.D{{Key: "resyncAt", Value: ""}}}}, stage)
		await(t, "another look at "+stage, func() error {
			if h := w.header(resource.KindStage, stage); h.LockToken == token || h.LockedBy != "" || h.LastError != nil {
				return errors.New(witness.Stands(&h.Meta))
			}
			return nil
		})
	}
	if after := w.served(id); !reflect.DeepEqual(before, after) {
		t.Errorf("published %v, and later, of the same generation, %v", before, after)
	}

	_, err = w.docs.Stages.SetIntent(t.Context(), stage, mongostore.Intent{})
	must(t, err)
	r.Hint(resource.KindStage, stage)
	await(t, "the new code to be published", func() error {
		if after := w.served(id); len(after) != 1 || after[0]["code"] != "changed" {
			return fmt.Errorf("published: %v", after)
		}
		return nil
	})
}

// served are the functions in a gateway's own database.
func (w *world) served(id string) (found []bson.M) {
	w.t.Helper()
	ctx, cancel := bounded(w.t)
	defer cancel()
	cursor, err := w.db.Client().Database(resource.DatabaseName(id)).Collection("functions").Find(ctx, bson.D{})
	must(w.t, err)
	must(w.t, cursor.All(ctx, &found))
	return found
}
