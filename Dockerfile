# The service: one static binary, and what it reads of the system. There is no shell in it.
#
#   docker build --build-arg VERSION=1.0.0 -t lockstep:1.0.0 .

FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src

# Modules are a layer of their own: they change less often than the code.
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download

COPY cmd cmd
COPY internal internal
COPY pkg pkg
ARG TARGETOS TARGETARCH VERSION=dev
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -ldflags "-s -w -X main.version=$VERSION" -o /out/lockstep ./cmd/lockstep

FROM scratch
# Certificates for MongoDB, API servers and issuers; time zones for the schedules of triggers.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /usr/local/go/lib/time/zoneinfo.zip /zoneinfo.zip
COPY --from=build /out/lockstep /usr/local/bin/lockstep
ENV ZONEINFO=/zoneinfo.zip
# A number, so that Kubernetes can see that it is not root.
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["lockstep"]
CMD ["serve"]
