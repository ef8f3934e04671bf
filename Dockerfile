# The image of the sidecar: one static binary, the authorities it trusts, and a user who is nobody. There is no shell.
# How to build it: docs/DEPLOY.md. How to run it beside an agent: README.md and docker-compose.yml.

FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION
ARG COMMIT
RUN : "${VERSION:?is not set: add --build-arg VERSION=\$(git describe --tags --always)}" \
    && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.linkedVersion=${VERSION} -X main.linkedCommit=${COMMIT}" \
        -o /out/pannier ./cmd/pannier \
    && mkdir -p /out/run /out/state

FROM gcr.io/distroless/static-debian12:nonroot
ARG VERSION
ARG COMMIT
LABEL org.opencontainers.image.title="pannier" \
      org.opencontainers.image.description="A sidecar that keeps an agent's skills live" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${COMMIT}"
COPY --from=build /out/pannier /pannier
# A new volume takes its owner from the directory that it covers, and would belong to root without one.
COPY --from=build --chown=65532:65532 /out/run /run/pannier
COPY --from=build --chown=65532:65532 /out/state /var/lib/pannier
USER 65532:65532
# Not the home of that user: others than 65532 can not enter it.
WORKDIR /
ENV PANNIER_SOCKET=/run/pannier/pannier.sock \
    PANNIER_STATE_DIR=/var/lib/pannier
VOLUME ["/run/pannier", "/var/lib/pannier"]
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["/pannier", "probe"]
ENTRYPOINT ["/pannier"]
CMD ["run"]
