package sidecar

import (
	"context"
	"sync"

	"pannier"
)

// promote tells every platform of a promotion at once, and returns what became of it, in the order of the settings.
func (p *publishers) promote(ctx context.Context, promotion pannier.Promotion, heartbeat bool) []pannier.ActivityResult {
	results := make([]pannier.ActivityResult, len(p.all))
	var telling sync.WaitGroup
	for i, to := range p.all {
		telling.Go(func() { results[i] = sendPromotion(ctx, to, promotion, heartbeat) })
	}
	telling.Wait()
	return results
}

func sendPromotion(ctx context.Context, to platformPublisher, promotion pannier.Promotion, heartbeat bool) pannier.ActivityResult {
	result := pannier.ActivityResult{Platform: to.Name()}
	kept, err := to.promoter.Promote(ctx, promotion, heartbeat)
	if err != nil {
		result.Error, result.Kept = err.Error(), kept
	}
	return result
}
