//go:build tools

// Package packaging names the programs that `build` makes, so that `go mod tidy` keeps what they need.
package packaging

import (
	_ "github.com/google/go-containerregistry/cmd/crane"
	_ "helm.sh/helm/v4/cmd/helm"
)
