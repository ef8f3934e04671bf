package browser

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// Look is how a page is shown.
type Look struct {
	Width, Height int
	Dark          bool
}

// Show gives the page another size and theme, without motion.
func (p *Page) Show(t testing.TB, look Look) {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	scheme := "light"
	if look.Dark {
		scheme = "dark"
	}
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	if err == nil {
		_, err = chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: int64(look.Width), Height: int64(look.Height), DeviceScaleFactor: 1})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Drag drags files and folders of this machine to a place of the page, without dropping them.
func (p *Page) Drag(t testing.TB, x, y float64, paths ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	data := &input.DragData{Items: []*input.DragDataItem{}, Files: paths, DragOperationsMask: 1}
	for _, kind := range []input.DispatchDragEventType{"dragEnter", "dragOver"} {
		if _, err := chromedp.Call(ctx, input.DispatchDragEvent, input.DispatchDragEventParams{Type: kind, X: x, Y: y, Data: data}); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
	}
}
