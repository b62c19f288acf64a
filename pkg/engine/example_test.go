package engine_test

import (
	"context"
	"fmt"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/enginetest"
)

// Order is a document of someone else's: it is paid, shipped, and done.
type Order struct {
	engine.Meta `bson:",inline"`
	Parcel      string `bson:"parcel"`
}

// shop is the world outside.
type shop struct{ paid, delivered bool }

func (s *shop) pay(context.Context, *Order) (engine.Outcome, error) {
	if !s.paid {
		s.paid = true
		return engine.Wait("payment"), nil
	}
	return engine.Done(), nil
}

func (s *shop) ship(ctx context.Context, o *Order) (engine.Outcome, error) {
	if o.Parcel == "" {
		return engine.Done(), engine.ClaimOf(ctx).Update(ctx, map[string]any{"parcel": "P-1"})
	}
	s.delivered = true
	return engine.Done(), nil
}

func (s *shop) definition() *engine.Definition[*Order] {
	return &engine.Definition[*Order]{
		Kind: "Order", Initial: "Placed",
		States:  []engine.State{"Wanted", "Cancelled"},
		Phases:  []engine.Phase{"Placed", "Shipped"},
		Settled: []engine.Settled[*Order]{{State: "Wanted", Phase: "Shipped"}},
		Transitions: []engine.Transition[*Order]{
			{From: []engine.Phase{"Placed"}, When: []engine.State{"Wanted"}, To: "Shipped", Steps: []engine.Step[*Order]{
				{Name: "pay", Run: s.pay}, {Name: "ship", Run: s.ship},
			}},
			{From: []engine.Phase{"Placed", "Shipped"}, When: []engine.State{"Cancelled"}, To: engine.Purged},
		},
	}
}

// A kind is its definition; a service moves its documents. On MongoDB the
// store is mongostore.New[*Order](collection).
func Example() {
	store := enginetest.NewMemStore[*Order](time.Now)
	service := engine.NewService((&shop{}).definition(), store, engine.Options{Holder: "replica-1"})
	ctx, stop := context.WithCancel(context.Background())
	service.OnMove(func(_ *Order, to engine.Phase) { fmt.Println("moved to", to); stop() })

	order := &Order{Meta: engine.Meta{ID: "o-1", State: "Wanted", Phase: "Placed"}}
	if err := store.Insert(ctx, order); err != nil {
		fmt.Println(err)
	}
	if err := service.Run(ctx); err != nil {
		fmt.Println(err)
	}
	order, _ = store.Get(context.Background(), "o-1")
	fmt.Println(order.Phase, order.Parcel, "after", len(order.History), "entries of history")
	// Output:
	// moved to Shipped
	// Shipped P-1 after 2 entries of history
}
