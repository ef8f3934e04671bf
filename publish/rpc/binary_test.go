package rpc_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"pannier/publish/rpc"
)

// counting takes in binary frames: it tells how many bytes came, and reads no more than it is told to.
func counting(o rpc.Options, most int64) rpc.Options {
	o.MaxBinary = 2 * rpc.MaxFrame
	o.Binary = func(_ *http.Request, frame io.Reader) rpc.Notification {
		n, err := io.Copy(io.Discard, io.LimitReader(frame, most))
		return rpc.Notification{Method: "took", Params: fmt.Sprint(n, " ", err)}
	}
	return o
}

func took(n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"took","params":"%d <nil>"}`, n)
}

// TestBinaryFrames are taken in in their order, between the text frames, whatever is left of them.
func TestBinaryFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 100_000
		s := serve(t.Context(), counting(options(nil), most))
		defer s.end()
		conn := s.dial(t)
		for _, size := range []int{0, 1, most, most + 1, 2 * rpc.MaxFrame} {
			go conn.Write(t.Context(), websocket.MessageBinary, make([]byte, size))
			if got, want := read(t, conn), took(min(size, most)); got != want {
				t.Errorf("%d bytes: %s", size, got)
			}
			write(t, conn, `{"jsonrpc":"2.0","id":1,"method":"add","params":{"a":1}}`)
			if got := read(t, conn); got != `{"jsonrpc":"2.0","id":1,"result":1}` {
				t.Errorf("behind it: %s", got)
			}
		}
		in, err := conn.Writer(t.Context(), websocket.MessageBinary) // in fragments
		for range 3 {
			if err == nil {
				_, err = in.Write(make([]byte, 1000))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		go in.Close()
		if got := read(t, conn); got != took(3000) {
			t.Errorf("in fragments: %s", got)
		}
		conn.CloseNow()
	})
}

// TestTooLargeBesideBinary: where binary frames may be larger than text frames, both keep their bounds.
func TestTooLargeBesideBinary(t *testing.T) {
	for kind, size := range map[websocket.MessageType]int{websocket.MessageText: rpc.MaxFrame, websocket.MessageBinary: 2 * rpc.MaxFrame} {
		synctest.Test(t, func(t *testing.T) {
			s := serve(t.Context(), counting(options(nil), 4*rpc.MaxFrame))
			defer s.end()
			conn := s.dial(t)
			go conn.Write(t.Context(), kind, make([]byte, size+1))
			if code, reason := closing(t, conn); code != websocket.StatusMessageTooBig {
				t.Errorf("%v: closed with %v %s", kind, code, reason)
			}
			conn.CloseNow()
		})
	}
}

// shake makes a WebSocket by hand, and returns its near end.
func (s *service) shake(t *testing.T) io.ReadWriteCloser {
	t.Helper()
	conn := s.pipe()
	io.WriteString(conn, "GET / HTTP/1.1\r\nHost: p\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	var head strings.Builder
	for one := make([]byte, 1); !strings.HasSuffix(head.String(), "\r\n\r\n"); {
		if _, err := conn.Read(one); err != nil {
			t.Fatal(err)
		}
		head.Write(one)
	}
	return conn
}

// beginBinary sends the head of a binary frame of so many bytes, which are masked with zeros (RFC 6455, 5.2).
func beginBinary(t *testing.T, conn io.Writer, size uint16) {
	t.Helper()
	head := binary.BigEndian.AppendUint16([]byte{0x82, 0x80 | 126}, size)
	if _, err := conn.Write(append(head, 0, 0, 0, 0)); err != nil {
		t.Fatal(err)
	}
}

// TestSlowFrame: the pong of a peer that sends a frame comes behind it, so it is not dropped for as long as parts come.
func TestSlowFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t.Context(), counting(options(nil), 1000))
		defer s.end()
		conn := s.shake(t)
		answers := make(chan string, 1)
		go func() {
			text, _ := io.ReadAll(conn)
			answers <- string(text)
		}()
		beginBinary(t, conn, 600)
		for range 600 {
			<-time.After(5 * time.Second) // on the clock of the test
			if _, err := conn.Write([]byte{0}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		beginBinary(t, conn, 600) // and of this one nothing comes
		start := time.Now()
		text := <-answers
		if !strings.Contains(text, took(600)) || !strings.Contains(text, "no pong came within 10s") {
			t.Errorf("%q", text)
		}
		if after := time.Since(start); after > time.Minute {
			t.Errorf("dropped after %v", after)
		}
		conn.Close()
	})
}

// TestSlowDisk: a peer is not dropped because of what takes in its frame.
func TestSlowDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(nil)
		o.MaxBinary = 10
		o.Binary = func(_ *http.Request, frame io.Reader) rpc.Notification {
			frame.Read(make([]byte, 1))
			<-time.After(5 * time.Minute)
			return rpc.Notification{Method: "took"}
		}
		s := serve(t.Context(), o)
		defer s.end()
		conn := s.shake(t)
		beginBinary(t, conn, 3)
		if _, err := conn.Write([]byte("abc")); err != nil {
			t.Fatal(err)
		}
		var answers strings.Builder
		for part := make([]byte, 100); !strings.Contains(answers.String(), `"took"`); {
			n, err := conn.Read(part)
			answers.Write(part[:n])
			if err != nil {
				t.Fatalf("%v after %q", err, answers.String())
			}
		}
		conn.Close()
	})
}

// TestFastSender is slowed down, not dropped, where it reads its answers at last.
func TestFastSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const frames = 300
		s := serve(t.Context(), counting(options(nil), 10))
		defer s.end()
		conn := s.dial(t)
		go func() {
			for range frames {
				if err := conn.Write(t.Context(), websocket.MessageBinary, []byte("ab")); err != nil {
					t.Error(err)
				}
			}
		}()
		synctest.Wait() // more than fit wait by now
		for range frames {
			if got := read(t, conn); got != took(2) {
				t.Fatalf("got %s", got)
			}
		}
		conn.CloseNow()
	})
}

// TestDeadSender: who goes in the midst of a frame leaves nothing behind, and neither does who waits for room.
func TestDeadSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		came := make(chan int64, 1)
		o := options(nil)
		o.MaxBinary = 1000
		o.Binary = func(_ *http.Request, frame io.Reader) rpc.Notification {
			n, _ := io.Copy(io.Discard, frame)
			came <- n
			return rpc.Notification{Method: "took"}
		}
		s := serve(t.Context(), o)
		conn := s.shake(t)
		beginBinary(t, conn, 600)
		if _, err := conn.Write(make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		conn.Close()
		if n := <-came; n != 0 { // what comes with the end of the connection is dropped
			t.Errorf("%d bytes came", n)
		}
		s.end()

		s = serve(t.Context(), counting(options(nil), 10))
		deaf := s.dial(t)
		for range 100 {
			go deaf.Write(t.Context(), websocket.MessageBinary, []byte("ab"))
		}
		synctest.Wait()
		s.end() // returns
		deaf.CloseNow()
	})
}

// TestBinaryPanics costs the connection, and no other.
func TestBinaryPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(nil)
		o.MaxBinary = 1000
		o.Binary = func(*http.Request, io.Reader) rpc.Notification { panic("no") }
		s := serve(t.Context(), o)
		defer s.end()
		conn, other := s.dial(t), s.dial(t)
		if err := conn.Write(t.Context(), websocket.MessageBinary, []byte("ab")); err != nil {
			t.Fatal(err)
		}
		if _, _, err := conn.Read(t.Context()); err == nil {
			t.Error("the connection goes on")
		}
		write(t, other, `{"jsonrpc":"2.0","id":1,"method":"add"}`)
		if got := read(t, other); got != `{"jsonrpc":"2.0","id":1,"result":0}` {
			t.Errorf("another connection: %s", got)
		}
		conn.CloseNow()
		other.CloseNow()
	})
}

// TestStopInTheMidst of a frame that the peer never ends: the server does not wait for the rest of it.
func TestStopInTheMidst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(nil)
		o.MaxBinary = 1000
		o.Binary = func(r *http.Request, frame io.Reader) rpc.Notification {
			frame.Read(make([]byte, 1))
			<-time.After(5 * time.Second) // what closes the connection gets to read meanwhile
			io.Copy(io.Discard, frame)
			return rpc.Notification{Method: "took"}
		}
		s := serve(t.Context(), o)
		conn := s.shake(t)
		go io.Copy(io.Discard, conn)
		beginBinary(t, conn, 600)
		if _, err := conn.Write(make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		s.end()
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("it took %v", took)
		}
		conn.Close()
	})
}

// TestFrameThatIsCutOff: of a connection that ends within a frame nothing is taken in but what the peer has sent.
func TestFrameThatIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		payload, mask := []byte(strings.Repeat("0123456789", 100)), []byte{1, 2, 3, 4}
		taken := make(chan string, 1)
		o := options(nil)
		o.MaxBinary = 2000
		o.Binary = func(_ *http.Request, frame io.Reader) rpc.Notification {
			var got []byte
			for part := make([]byte, 256); ; {
				n, err := frame.Read(part)
				if got = append(got, part[:n]...); err != nil {
					taken <- fmt.Sprintf("%s, %t", got, err == io.EOF)
					return rpc.Notification{Method: "took"}
				}
			}
		}
		s := serve(t.Context(), o)
		defer s.end()
		conn := s.shake(t)
		go io.Copy(io.Discard, conn)
		sent := append(binary.BigEndian.AppendUint16([]byte{0x82, 0x80 | 126}, uint16(len(payload))), mask...)
		for i := range 700 {
			sent = append(sent, payload[i]^mask[i%4])
		}
		if _, err := conn.Write(sent); err != nil {
			t.Fatal(err)
		}
		conn.Close()
		if got, want := <-taken, string(payload[:512])+", false"; got != want {
			t.Errorf("taken in: %q, want %q", got, want)
		}
	})
}
