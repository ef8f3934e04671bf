package onetime_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pannier/internal/onetime"
)

func TestSecretHoldsOnce(t *testing.T) {
	s := onetime.New[int](time.Minute)
	a, b := s.Issue("x", 1), s.Issue("x", 2)
	if a == b || len(a) < 32 {
		t.Errorf("%q and %q", a, b)
	}
	if v, ok := s.Use(a); !ok || v != 1 {
		t.Errorf("first use: %d %v", v, ok)
	}
	if v, ok := s.Use(a); ok || v != 0 {
		t.Errorf("second use: %d %v", v, ok)
	}
	for _, other := range []string{"", a + "x", b[:len(b)-1]} {
		if _, ok := s.Use(other); ok {
			t.Errorf("%q is accepted", other)
		}
	}
	if v, ok := s.Use(b); !ok || v != 2 {
		t.Errorf("the other one: %d %v", v, ok)
	}
}

func TestSecretExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onetime.New[int](time.Minute)
		early, late := s.Issue("x", 1), s.Issue("x", 2)
		time.Sleep(time.Minute - 1)
		if _, ok := s.Use(early); !ok {
			t.Error("it is refused before its time")
		}
		time.Sleep(time.Nanosecond)
		if _, ok := s.Use(late); ok {
			t.Error("it is accepted after its time")
		}
	})
}

func TestSecretsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onetime.New[int](time.Minute)
		other := s.Issue("other", 0)
		var mine []string
		for i := range 20 {
			mine = append(mine, s.Issue("mine", i))
		}
		for i, text := range mine {
			if _, ok := s.Use(text); ok != (i >= 4) {
				t.Errorf("secret %d of 20: accepted %v", i, ok)
			}
		}
		if _, ok := s.Use(other); !ok {
			t.Error("one owner dropped the secret of another")
		}
		first := s.Issue("first", 0)
		for i := range 4096 {
			s.Issue(fmt.Sprint(i), i)
		}
		if _, ok := s.Use(first); ok {
			t.Error("there are more than 4096 secrets")
		}
	})
}
