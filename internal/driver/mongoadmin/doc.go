// Package mongoadmin administers a region's MongoDB server: the gateways' own
// databases, the users their instances connect as, and the functions that are
// published in them.
//
// # Layout of a gateway's database
//
//	lockstep   {_id: "database", kind, owner, gatewayId, token}
//	           {_id: "stage/dev", kind, owner, gatewayId, token, generation,
//	            functions: [{name, version}]}
//	functions  {_id: "dev/12/hello", environment, generation, name, runtime,
//	            code, version, token}
//	…          everything else belongs to the instance
//
// The instance serves those functions of its environment whose generation is
// the one in the stage's marker. A set is written next to the one before, and
// goes live by one write to the marker. From then on it is only looked after:
// no change of a function's code reaches it, until the stage is published as
// another generation.
//
// # Fencing
//
// The documents in lockstep are markers: each has the token of the newest claim
// that has acted under it. Every change begins with a write of the own token
// that matches only where no newer one is, and is refused with [ErrStale] where
// there is. Functions carry tokens too, and are replaced and deleted only with
// a filter on them, so a holder which has outlived its claim cannot touch what
// its successor published.
//
// MongoDB's users and databases themselves know no precondition: between the
// write to the marker and the command a claim can be lost. After every create
// the claim is therefore verified, and what was made for nobody is removed
// again. A late drop needs no more than that: a gateway's database is dropped
// only when the gateway is deleted, which is never taken back, and gatewayIds
// are never used again.
//
// # Servers
//
// It speaks to MongoDB, and to FerretDB, where some things differ: users are
// the server's, whatever database a command names, so they are made in "admin"
// everywhere; roles are accepted but not kept (every user may read and write
// everything); createUser and dropUser answer a general error where MongoDB
// has a code for "already exists" and "not found". So nothing is concluded from
// the failure of a command: usersInfo is asked instead.
package mongoadmin
