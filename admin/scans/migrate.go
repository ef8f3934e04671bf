package scans

import (
	"encoding/json"
	"errors"
	"fmt"

	"pannier"
)

// Migrate copies blocks from the rows of a version without [Blocks].
func Migrate(rows Rows, blocks Blocks) error {
	verdicts, err := rows.All(bucket)
	if err != nil {
		return err
	}
	for name, raw := range verdicts {
		var v pannier.ScanVerdict
		if err := errors.Join(json.Unmarshal(raw, &v), checkName(name, v)); err != nil {
			return fmt.Errorf("row %q is %.100s: %w", name, raw, err)
		}
		if of := summarize(v); of.AlwaysBlocks() {
			if err := blocks.Put(sectionRules, name, rulesRow{of.At, of.Blocking}); err != nil {
				return err
			}
		}
	}
	held, err := rows.All(bucketHeld)
	if err != nil {
		return err
	}
	for name, raw := range held {
		var row heldRow
		if err := json.Unmarshal(raw, &row); err != nil {
			return fmt.Errorf("row %q is %.100s: %w", name, raw, err)
		}
		if err := blocks.Put(sectionHeld, name, row.block()); err != nil {
			return err
		}
	}
	s := &Store{blocks: blocks}
	var blocked map[string]pannier.Digest
	if _, err := rows.Get("scans_blocked", "newest", &blocked); err != nil {
		return err
	}
	return s.SetBlocked(blocked)
}
