// Package resource defines the platform's documents: their fields as they
// stand in MongoDB and in JSON, their states and phases, the names of what is
// derived from them, and their validation. It does no I/O.
//
// One gateway owns a tree of documents, one collection each:
//
//	ApiGateway
//	├── RuntimeDomain      the hosts under which it is reached
//	├── Database           its database and that database's user
//	├── Environment × 3    dev, staging, prod
//	│   └── ClientApp × N  an API consumer and its credentials
//	├── Stage × 3          what is published to an environment
//	├── CloudFunction × N  code
//	└── CronTrigger × N    a schedule that calls a function
//
// Every document embeds [engine.Meta], through which the engine moves it.
// Names of external objects derive from the gateway's id alone, so that they
// can be found again after any crash (see names.go).
package resource
