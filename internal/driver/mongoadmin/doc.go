// Package mongoadmin administers a region's MongoDB server: the gateways' own
// databases, the users their instances connect as, and the functions that are
// published in them.
//
// # Layout of a gateway's database
//
//	lockstep   {_id: "database", kind, owner, gatewayId, token, dropping}
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
// the claim is therefore verified, and if it is lost for certain, what this
// call has made is removed again; of a claim that could not be verified nothing
// is.
//
// A late drop would take along what was made since: a deletion is never taken
// back, but the document of a gateway that was lost can be made anew under its
// old id. So a drop is announced in the marker (dropping), and while it is,
// nothing is made there: whoever wants the database puts its token on the
// marker, and waits. Before the database is dropped it is looked at once more,
// for such a token, and for the document. A drop whose sender stood still
// between that look and the command for longer than the announcement counts
// (dropGrace) is what remains. A user that is left alone has no marker: dropping
// it is preceded by the look for the document only, and costs no data.
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
