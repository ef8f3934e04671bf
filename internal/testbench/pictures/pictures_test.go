package pictures

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"math/rand/v2"
	"testing"
	"time"
)

func solid(w, h int, c color.Color) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.Draw(img, img.Rect, image.NewUniform(c), image.Point{}, draw.Src)
	return img
}

func TestFewColoursStayExact(t *testing.T) {
	img := solid(20, 20, color.RGBA{1, 2, 3, 255})
	for i := range 255 {
		img.SetRGBA(i%20, i/20, color.RGBA{200, uint8(i), 7, 255})
	}
	p := toPaletted(img)[0]
	for y := range 20 {
		for x := range 20 {
			if got := color.RGBAModel.Convert(p.At(x, y)); got != img.RGBAAt(x, y) {
				t.Fatalf("pixel %d,%d is %v, not %v", x, y, got, img.RGBAAt(x, y))
			}
		}
	}
}

func TestManyColoursStayNear(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	img := solid(100, 100, color.White)
	for i := range 3000 { // shades of grey and of one blue, as the edges of letters have
		v := uint8(random.IntN(256))
		img.SetRGBA(i%100, i/100, color.RGBA{v, v, uint8(min(255, int(v)+random.IntN(24))), 255})
	}
	p := toPaletted(img)[0]
	if len(p.Palette) > maxColours {
		t.Fatalf("%d colours", len(p.Palette))
	}
	for y := range 100 {
		for x := range 100 {
			want, got := img.RGBAAt(x, y), color.RGBAModel.Convert(p.At(x, y)).(color.RGBA)
			if off := max(distance(want.R, got.R), distance(want.G, got.G), distance(want.B, got.B)); off > 16 {
				t.Fatalf("pixel %d,%d is %v, not %v", x, y, got, want)
			}
		}
	}
}

func distance(a, b uint8) int { return max(int(a)-int(b), int(b)-int(a)) }

func TestFramesHoldWhatChanged(t *testing.T) {
	first := solid(50, 40, color.White)
	second := solid(50, 40, color.White)
	draw.Draw(second, image.Rect(10, 5, 20, 9), image.NewUniform(color.Black), image.Point{}, draw.Src)
	b, err := EncodeGIF([]Frame{{first, time.Second}, {first, time.Second}, {second, 500 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	g, err := gif.DecodeAll(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Image) != 2 || g.Delay[0] != 200 || g.Delay[1] != 50 {
		t.Fatalf("%d frames with delays %v", len(g.Image), g.Delay)
	}
	if want := image.Rect(10, 5, 20, 9); g.Image[1].Rect != want {
		t.Errorf("the second frame has %v, not %v", g.Image[1].Rect, want)
	}
	if g.LoopCount != 0 {
		t.Errorf("the picture repeats %d times, not for ever", g.LoopCount)
	}
}

func TestPictureIsReadAgain(t *testing.T) {
	img := solid(30, 20, color.RGBA{10, 20, 30, 255})
	b, err := EncodePNG(img)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Decode(b)
	if err != nil || again.Rect != img.Rect || !bytes.Equal(again.Pix, img.Pix) {
		t.Errorf("another picture: %v %v", again.Rect, err)
	}
}
