// The cluster cache of Argo CD's gitops-engine, filled from a cluster as Argo CD fills it: which resource belongs to which,
// and how healthy each is, in memory and without a history.
//
//	gitops-engine URL
//
// It says `listed N` once it has all N resources. For each line of input, a number, it says `followed N` once it has taken
// that many changes since. It ends with its input.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"sync"

	"github.com/argoproj/gitops-engine/pkg/cache"
	"github.com/argoproj/gitops-engine/pkg/health"
	"github.com/argoproj/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/gitops-engine/pkg/utils/tracing"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/rest"
	"k8s.io/kubectl/pkg/util/openapi"
)

// The schemas of a cluster serve for what is applied to it, which is nothing here.
type withoutSchemas struct{ *kube.KubectlCmd }

func (withoutSchemas) LoadOpenAPISchema(*rest.Config) (openapi.Resources, *managedfields.GvkParser, error) {
	return nil, nil, nil
}

// How many changes were taken.
type count struct {
	lock  sync.Mutex
	moved *sync.Cond
	taken int
}

func (c *count) add() {
	c.lock.Lock()
	c.taken++
	c.lock.Unlock()
	c.moved.Broadcast()
}

func (c *count) wait(least int) {
	c.lock.Lock()
	defer c.lock.Unlock()
	for c.taken < least {
		c.moved.Wait()
	}
}

func run(url string) error {
	taken := &count{}
	taken.moved = sync.NewCond(&taken.lock)
	log := logr.Discard()
	judge := func(object *unstructured.Unstructured, _ bool) (any, bool) {
		status, _ := health.GetResourceHealth(object, nil)
		return status, false
	}
	clusters := cache.NewClusterCache(
		// Its own limit is of how often it may ask, which is not what is compared.
		&rest.Config{Host: url, QPS: -1},
		cache.SetLogr(log),
		cache.SetKubectl(withoutSchemas{&kube.KubectlCmd{Log: log, Tracer: tracing.NopTracer{}}}),
		cache.SetPopulateResourceInfoHandler(judge),
		cache.SetClusterResources(true),
	)
	if err := clusters.EnsureSynced(); err != nil {
		return err
	}
	clusters.OnResourceUpdated(func(_, _ *cache.Resource, _ map[kube.ResourceKey]*cache.Resource) { taken.add() })
	fmt.Println("listed", clusters.GetClusterInfo().ResourcesCount)
	input, least := bufio.NewScanner(os.Stdin), 0
	for input.Scan() {
		more, err := strconv.Atoi(input.Text())
		if err != nil {
			return err
		}
		least += more
		taken.wait(least)
		fmt.Println("followed", more)
	}
	return input.Err()
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gitops-engine URL")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "gitops-engine:", err)
		os.Exit(1)
	}
}
