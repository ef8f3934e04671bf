# The image of the sidecar: one static binary, CA certificates, and an unprivileged user. It has no shell.
# docs/DEPLOY.md says how to build it, README.md and docker-compose.yml how to run it beside an agent.

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
# A new volume gets the owner of the directory that it covers.
COPY --from=build --chown=65532:65532 /out/run /run/pannier
COPY --from=build --chown=65532:65532 /out/state /var/lib/pannier
USER 65532:65532
# Other users cannot enter the home directory of 65532.
WORKDIR /
ENV PANNIER_SOCKET=/run/pannier/pannier.sock \
    PANNIER_STATE_DIR=/var/lib/pannier
VOLUME ["/run/pannier", "/var/lib/pannier"]
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["/pannier", "probe"]
ENTRYPOINT ["/pannier"]
CMD ["run"]
