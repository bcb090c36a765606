# The image of the manager, and of wva beside it, for who builds with a container
# engine. make docker-build makes the same without one.
ARG GO_VERSION=1.26
FROM --platform=$BUILDPLATFORM docker.io/library/golang:${GO_VERSION} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} \
    go build -trimpath -ldflags="-s -w" -o /programs/ ./cmd/manager ./cmd/wva

FROM scratch
COPY --from=build /programs/ /
USER 65532:65532
WORKDIR /
ENTRYPOINT ["/manager"]
