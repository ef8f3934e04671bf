# Short names for the commands of README.md and CONTRIBUTING.md; nothing here does anything of its own.

DURATION ?= 10m
SOAK_FLAGS ?=

.PHONY: build test race ci soak latency

build:
	CGO_ENABLED=0 go build -trimpath ./cmd/pannier

test:
	go test ./...

# With the detector also in the program that the end-to-end tests run, which .ci/run has no time for.
race:
	go test -race -shuffle=on -count=1 ./...

ci:
	.ci/run

# Random churn, by processes of its own, held against an independent walk: make soak DURATION=24h SOAK_FLAGS='-seed 7'
soak:
	go run ./internal/testbench/soak -duration $(DURATION) $(SOAK_FLAGS)

latency:
	go run ./internal/testbench/soak -latency $(SOAK_FLAGS)
