// Package client is a typed client of Lockstep's REST API.
//
//	c, err := client.New("https://lockstep.example.com", client.WithToken(token))
//	gw, err := c.CreateGateway(ctx, client.NewGateway{Name: "shop", Region: "eu"},
//		client.Wait("phase:Started", time.Minute))
//	gw, err = c.ChangeGateway(ctx, gw.ID, client.GatewayChange{State: client.Ptr(client.Stopped)},
//		client.IfMatch(gw))
//	for gw, err := range c.Gateways(ctx, client.GatewayQuery{Region: "eu"}) { … }
//	err = c.DeleteGateway(ctx, gw.ID, client.Wait("gone", time.Minute))
//
// There is a method for every operation of the API, with the operation's name.
// Methods that list return a page; those named after what they list go through
// all pages. Errors that the API answers with are [*Problem]s, whose Code is
// stable.
//
// # Trying again
//
// While the service cannot answer (it is restarting, or its database is away)
// and where it asks for patience (429), requests are tried again for as long
// as [WithPatience] says, or the context lasts. That makes nothing twice: what
// is made is made under an Idempotency-Key, and asking for the same state
// again does no harm.
package client
