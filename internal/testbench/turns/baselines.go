package main

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// baseline is another way to fill a prompt: what it shows of some skills within a number of characters.
type baseline struct {
	name  string
	shows func(text string, chars int) map[string]bool
}

// overhead is what the marks around a skill take in a list.
const overhead = 12

func baselines(skills []skill) []baseline {
	whole := func(order []skill, chars int) map[string]bool {
		shown := map[string]bool{}
		for _, s := range order {
			if chars -= len(s.Slug) + len(s.Description) + overhead; chars < 0 {
				break
			}
			shown[s.Slug] = true
		}
		return shown
	}
	alphabet := slices.SortedFunc(slices.Values(skills), func(a, b skill) int { return cmp.Compare(a.Slug, b.Slug) })
	rank := bm25(alphabet)
	return []baseline{
		{"whole, by the alphabet", func(_ string, chars int) map[string]bool { return whole(alphabet, chars) }},
		{"whole, by plain BM25", func(text string, chars int) map[string]bool { return whole(rank(text), chars) }},
		{"all shortened evenly, at least 24 characters each", func(_ string, chars int) map[string]bool {
			shown := map[string]bool{}
			for _, s := range alphabet {
				if chars -= len(s.Slug) + 24 + overhead; chars < 0 {
					break
				}
				shown[s.Slug] = true
			}
			return shown
		}},
	}
}

// bm25 ranks skills by the words of name and description as they are written.
func bm25(skills []skill) func(text string) []skill {
	words := func(text string) []string {
		return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	}
	counts, have, total := make([]map[string]int, len(skills)), map[string]int{}, 0
	lengths := make([]int, len(skills))
	for i, s := range skills {
		counts[i] = map[string]int{}
		for _, w := range words(s.Slug + " " + s.Description) {
			if counts[i][w]++; counts[i][w] == 1 {
				have[w]++
			}
			lengths[i]++
			total++
		}
	}
	return func(text string) []skill {
		scores := make([]float64, len(skills))
		for _, w := range words(text) {
			idf := math.Log(1 + (float64(len(skills)-have[w])+0.5)/(float64(have[w])+0.5))
			for i := range skills {
				if n := float64(counts[i][w]); n > 0 {
					scores[i] += idf * n * 2.2 / (n + 1.2*(0.25+0.75*float64(lengths[i])*float64(len(skills))/float64(total)))
				}
			}
		}
		order := make([]int, len(skills))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
		ranked := make([]skill, len(order))
		for i, at := range order {
			ranked[i] = skills[at]
		}
		return ranked
	}
}
