package sweep

import (
	"context"
	"fmt"
	"slices"

	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// orphanDocuments finds a kind's documents whose gateway is gone.
func (s *Sweeper) orphanDocuments(ctx context.Context, kind resource.Kind) ([]Orphan, error) {
	var orphans []Orphan
	after := ""
	for {
		page, err := s.docs.Children(ctx, kind, after)
		if err != nil || len(page) == 0 {
			return orphans, err
		}
		after = page[len(page)-1].ID
		page = slices.DeleteFunc(page, func(d *resource.Header) bool { return !s.opts.Only(d.GatewayID) })
		gone, err := s.missing(ctx, resource.KindApiGateway, gatewaysOf(page))
		if err != nil {
			return orphans, err
		}
		for _, doc := range page {
			if gone[doc.GatewayID] {
				orphans = append(orphans, orphanDocument(kind, doc))
			}
		}
	}
}

func gatewaysOf(docs []*resource.Header) []string {
	ids := make([]string, len(docs))
	for i, doc := range docs {
		ids[i] = doc.GatewayID
	}
	return ids
}

func orphanDocument(kind resource.Kind, doc *resource.Header) Orphan {
	gateway, child := document{resource.KindApiGateway, doc.GatewayID}, document{kind, doc.ID}
	return Orphan{
		Sort: SortDocument, GatewayID: doc.GatewayID, Name: child.String(), Reason: gateway.String() + " is gone",
		Status: fmt.Sprintf("%s, %s", doc.State, doc.Phase), CreatedAt: doc.CreatedAt, Outcome: Found,
		lost: []document{gateway}, child: child,
	}
}

// orphanObjects finds a cluster's objects whose documents are gone. That the
// list is incomplete is an error; what is on it is looked at nevertheless.
func (s *Sweeper) orphanObjects(ctx context.Context, region Region) ([]Orphan, error) {
	if region.Cluster == nil {
		return nil, nil
	}
	objects, listed := region.Cluster.ListManaged(ctx, "")
	if listed != nil {
		listed = fmt.Errorf("region %q: %w", region.Name, listed)
	}
	objects = slices.DeleteFunc(objects, func(o kube.ObjectRef) bool { return !s.opts.Only(o.GatewayID) })
	gone, err := s.missingOwners(ctx, objects)
	if err != nil {
		return nil, err
	}
	var orphans []Orphan
	for i := range objects {
		owner, gateway := ownerOf(&objects[i]), document{resource.KindApiGateway, objects[i].GatewayID}
		if !gone[owner] {
			continue
		}
		lost := []document{owner}
		if owner != gateway && gone[gateway] {
			lost = []document{gateway, owner}
		}
		orphans = append(orphans, orphanObject(region, objects[i], lost))
	}
	return orphans, listed
}

// missingOwners asks for the documents that own objects, and for their
// gateways.
func (s *Sweeper) missingOwners(ctx context.Context, objects []kube.ObjectRef) (map[document]bool, error) {
	ids := map[resource.Kind][]string{}
	for i := range objects {
		owner := ownerOf(&objects[i])
		ids[owner.kind] = append(ids[owner.kind], owner.id)
		ids[resource.KindApiGateway] = append(ids[resource.KindApiGateway], objects[i].GatewayID)
	}
	gone := map[document]bool{}
	for kind, ids := range ids {
		missing, err := s.missing(ctx, kind, ids)
		if err != nil {
			return nil, err
		}
		for id := range missing {
			gone[document{kind, id}] = true
		}
	}
	return gone, nil
}

// ownerOf is the document that owns an object: the one that it names, or its
// gateway where it names none that we know.
func ownerOf(o *kube.ObjectRef) document {
	if o.OwnerID == "" || !slices.Contains(resource.Kinds, o.OwnerKind) {
		return document{resource.KindApiGateway, o.GatewayID}
	}
	return document{o.OwnerKind, o.OwnerID}
}

func orphanObject(region Region, o kube.ObjectRef, lost []document) Orphan {
	return Orphan{
		Sort: SortObject, Region: region.Name, GatewayID: o.GatewayID, Name: o.String(), Reason: lost[0].String() + " is gone",
		Status: o.Status, CreatedAt: o.Created, Outcome: Found, lost: lost, object: o,
	}
}

// orphanDatabases finds databases and users on a region's server whose gateway
// is gone.
func (s *Sweeper) orphanDatabases(ctx context.Context, region Region) ([]Orphan, error) {
	if region.Databases == nil {
		return nil, nil
	}
	ids, err := region.Databases.ListGateways(ctx)
	if err != nil {
		return nil, err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return !s.opts.Only(id) })
	gone, err := s.missing(ctx, resource.KindApiGateway, ids)
	if err != nil {
		return nil, err
	}
	var orphans []Orphan
	for id := range gone {
		gateway := document{resource.KindApiGateway, id}
		orphans = append(orphans, Orphan{
			Sort: SortDatabase, Region: region.Name, GatewayID: id, Name: "database " + resource.DatabaseName(id),
			Reason: gateway.String() + " is gone", Outcome: Found, lost: []document{gateway},
		})
	}
	return orphans, nil
}
