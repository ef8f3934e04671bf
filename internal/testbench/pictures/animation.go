// Package pictures writes small files of pictures of pages: PNG with few colours, and GIF of what changes.
package pictures

import (
	"bytes"
	"image"
	"image/draw"
	"image/gif"
	"image/png"
	"time"
)

// Frame is a picture of a page and how long it is shown.
type Frame struct {
	Picture *image.RGBA
	Shown   time.Duration
}

// EncodeGIF writes frames of one size as a GIF that repeats. Each frame after the first has only the rectangle that
// changed; frames without a change lengthen the one before.
func EncodeGIF(frames []Frame) ([]byte, error) {
	pictures := make([]*image.RGBA, len(frames))
	for i, f := range frames {
		pictures[i] = f.Picture
	}
	out := gif.GIF{Config: image.Config{Width: pictures[0].Rect.Dx(), Height: pictures[0].Rect.Dy()}}
	var last *image.Paletted
	for i, p := range toPaletted(pictures...) {
		delay := int(frames[i].Shown / (10 * time.Millisecond))
		part := p
		if last != nil {
			changed := changedRect(last, p)
			if changed.Empty() {
				out.Delay[len(out.Delay)-1] += delay
				continue
			}
			part = image.NewPaletted(changed, p.Palette)
			draw.Draw(part, changed, p, changed.Min, draw.Src)
		}
		out.Image, out.Delay, out.Disposal = append(out.Image, part), append(out.Delay, delay), append(out.Disposal, gif.DisposalNone)
		last = p
	}
	out.Config.ColorModel = last.Palette
	var b bytes.Buffer
	err := gif.EncodeAll(&b, &out)
	return b.Bytes(), err
}

// Decode reads a picture as a browser gives it.
func Decode(text []byte) (*image.RGBA, error) {
	img, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	rgba := image.NewRGBA(img.Bounds())
	draw.Draw(rgba, rgba.Rect, img, img.Bounds().Min, draw.Src)
	return rgba, nil
}

// EncodePNG writes a picture with at most 256 colours.
func EncodePNG(picture *image.RGBA) ([]byte, error) {
	var b bytes.Buffer
	err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, toPaletted(picture)[0])
	return b.Bytes(), err
}

// changedRect returns the smallest rectangle outside of which two pictures are equal.
func changedRect(a, b *image.Paletted) image.Rectangle {
	var r image.Rectangle
	for y := b.Rect.Min.Y; y < b.Rect.Max.Y; y++ {
		rowA, rowB := a.Pix[a.PixOffset(a.Rect.Min.X, y):][:a.Rect.Dx()], b.Pix[b.PixOffset(b.Rect.Min.X, y):][:b.Rect.Dx()]
		if bytes.Equal(rowA, rowB) {
			continue
		}
		first, end := 0, len(rowB)
		for rowA[first] == rowB[first] {
			first++
		}
		for rowA[end-1] == rowB[end-1] {
			end--
		}
		r = r.Union(image.Rect(b.Rect.Min.X+first, y, b.Rect.Min.X+end, y+1))
	}
	return r
}
