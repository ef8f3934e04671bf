package rpc

import (
	"maps"
	"slices"

	"pannier"
)

// changes are the parameters of skills/changed: fetch the list again.
type changes struct {
	WorkspaceID     string   `json:"workspace_id"`
	SnapshotVersion uint64   `json:"snapshot_version"`
	Reason          string   `json:"reason"`
	Changes         []change `json:"changes"`
	CreatedAt       int64    `json:"created_at"`
}

type change struct {
	Slug       string             `json:"slug"`
	SourceKind pannier.SourceKind `json:"source_kind"`
	ChangeType string             `json:"change_type"`
}

// changed returns the notification from one snapshot to another. Where clients have set policies and nothing else is
// different but the skills that these are about, it names them; else anything may have changed.
func (h *skills) changed(before, after *pannier.Snapshot) Notification {
	changes := changes{
		WorkspaceID: h.WorkspaceID, SnapshotVersion: after.Version, Reason: "catalog_changed", Changes: []change{},
		CreatedAt: after.Time.Unix(),
	}
	if before != nil {
		if keys := policiesSet(before, after); len(keys) > 0 && sameSkills(before, after, keys) {
			changes.Reason = "policy_updated"
			for _, key := range keys {
				changes.Changes = append(changes.Changes, change{key.Slug, key.SourceKind, "policy"})
			}
		}
	}
	return Notification{Method: "skills/changed", Params: changes}
}

func policiesSet(before, after *pannier.Snapshot) (keys []pannier.PolicyKey) {
	was, is := before.Policies.Workspace, after.Policies.Workspace
	for key := range maps.Keys(was) {
		if !was[key].Equal(is[key]) {
			keys = append(keys, key)
		}
	}
	for key := range maps.Keys(is) {
		if _, ok := was[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, pannier.PolicyKey.Compare)
	return keys
}

// sameSkills reports whether two snapshots have the same skills, but for how those of some policies stand.
func sameSkills(before, after *pannier.Snapshot, but []pannier.PolicyKey) bool {
	return slices.EqualFunc(before.Entries, after.Entries, func(a, b *pannier.Entry) bool {
		if a.Sum != b.Sum || a.Path != b.Path {
			return false
		}
		_, found := slices.BinarySearchFunc(
			but, pannier.PolicyKey{Slug: a.Slug, SourceKind: a.SourceKind}, pannier.PolicyKey.Compare,
		)
		return found || a.State == b.State && a.Policy == b.Policy && slices.Equal(a.Reasons, b.Reasons)
	})
}
