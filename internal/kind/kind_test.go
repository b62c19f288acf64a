package kind_test

import (
	"testing"

	"github.com/lockstep-io/lockstep/internal/kind/apigateway"
	"github.com/lockstep-io/lockstep/internal/kind/clientapp"
	"github.com/lockstep-io/lockstep/internal/kind/cloudfunction"
	"github.com/lockstep-io/lockstep/internal/kind/crontrigger"
	"github.com/lockstep-io/lockstep/internal/kind/runtimedomain"
	"github.com/lockstep-io/lockstep/internal/kind/stage"
)

// Every kind's definition is sound.
func TestDefinitions(t *testing.T) {
	for _, err := range []error{
		apigateway.Definition(&apigateway.Steps{}).Validate(),
		runtimedomain.Definition(&runtimedomain.Steps{}).Validate(),
		clientapp.Definition(&clientapp.Steps{}).Validate(),
		stage.Definition(&stage.Steps{}).Validate(),
		cloudfunction.Definition().Validate(),
		crontrigger.Definition().Validate(),
	} {
		if err != nil {
			t.Error(err)
		}
	}
}
