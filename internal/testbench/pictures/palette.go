package pictures

import (
	"image"
	"image/color"
	"slices"
)

// maxColours is what one byte for each pixel allows, in PNG and in GIF.
const maxColours = 256

// exactColours are kept as they are, the most frequent ones.
const exactColours = 96

// toPaletted reduces pictures of a page to one palette, which makes their files several times smaller. Pictures of a page
// have few colours, and many shades between these at the edges of letters.
func toPaletted(images ...*image.RGBA) []*image.Paletted {
	palette := paletteOf(images)
	index := map[color.RGBA]uint8{}
	out := make([]*image.Paletted, 0, len(images))
	for _, img := range images {
		p := image.NewPaletted(img.Bounds(), palette)
		for y := img.Rect.Min.Y; y < img.Rect.Max.Y; y++ {
			for x := img.Rect.Min.X; x < img.Rect.Max.X; x++ {
				c := img.RGBAAt(x, y)
				i, ok := index[c]
				if !ok {
					i = uint8(palette.Index(c))
					index[c] = i
				}
				p.SetColorIndex(x, y, i)
			}
		}
		out = append(out, p)
	}
	return out
}

type shade struct {
	key    uint32
	n      int
	common color.RGBA // the most frequent colour of the shade
	most   int
}

// paletteOf returns the colours of all pixels, or the most frequent ones and shades of the others if there are too many.
func paletteOf(images []*image.RGBA) color.Palette {
	counts := map[color.RGBA]int{}
	for _, img := range images {
		for i := 0; i+3 < len(img.Pix); i += 4 {
			counts[color.RGBA{img.Pix[i], img.Pix[i+1], img.Pix[i+2], 255}]++
		}
	}
	// Large areas keep their exact colours; what is left are the edges of letters.
	exact := shadesOf(counts, 0)
	palette := make(color.Palette, 0, maxColours)
	for _, s := range exact[:min(len(exact), exactColours)] {
		palette = append(palette, s.common)
		delete(counts, s.common)
	}
	for drop := 0; ; drop++ {
		if shades := shadesOf(counts, drop); len(palette)+len(shades) <= maxColours || drop == 4 {
			for _, s := range shades[:min(len(shades), maxColours-len(palette))] {
				palette = append(palette, s.common)
			}
			return palette
		}
	}
}

// shadesOf joins colours that differ in their lowest bits only, the most frequent shade first.
func shadesOf(counts map[color.RGBA]int, drop int) []*shade {
	byKey := map[uint32]*shade{}
	for c, n := range counts {
		key := uint32(c.R>>drop)<<16 | uint32(c.G>>drop)<<8 | uint32(c.B>>drop)
		s := byKey[key]
		if s == nil {
			s = &shade{key: key}
			byKey[key] = s
		}
		s.n += n
		if n > s.most || n == s.most && before(c, s.common) {
			s.most, s.common = n, c
		}
	}
	shades := make([]*shade, 0, len(byKey))
	for _, s := range byKey {
		shades = append(shades, s)
	}
	slices.SortFunc(shades, func(a, b *shade) int {
		if a.n != b.n {
			return b.n - a.n
		}
		return int(a.key) - int(b.key)
	})
	return shades
}

// before orders colours, so that the same pictures give the same files.
func before(a, b color.RGBA) bool {
	return uint32(a.R)<<16|uint32(a.G)<<8|uint32(a.B) < uint32(b.R)<<16|uint32(b.G)<<8|uint32(b.B)
}
