// Upstream's end-to-end tests of sig-apps in a program of their own, unchanged: `ginkgo` flags choose among them, flags of the
// framework say which cluster they judge. The whole of test/e2e would be four times the build.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"k8s.io/component-base/version"
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/kubernetes/test/e2e/framework/config"
	"k8s.io/kubernetes/test/e2e/framework/testfiles"
	e2etestingmanifests "k8s.io/kubernetes/test/e2e/testing-manifests"

	_ "k8s.io/client-go/plugin/pkg/client/auth"

	_ "k8s.io/kubernetes/test/e2e/apps"
	_ "k8s.io/kubernetes/test/e2e/feature"
	_ "k8s.io/kubernetes/test/e2e/framework/debug/init"
	_ "k8s.io/kubernetes/test/e2e/framework/metrics/init"
	_ "k8s.io/kubernetes/test/e2e/framework/node/init"
)

// suite is what ginkgo reports a failed run to.
type suite struct{ failed bool }

func (s *suite) Fail() { s.failed = true }

func main() {
	config.CopyFlags(config.Flags, flag.CommandLine)
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	versionWanted := flag.Bool("version", false, "print the version of the tests")
	flag.Parse()
	if *versionWanted {
		fmt.Println("sig-apps-e2e", version.Get().GitVersion)
		return
	}
	testfiles.AddFileSource(e2etestingmanifests.GetE2ETestingManifestsFS())
	framework.AfterReadingAllFlags(&framework.TestContext)
	gomega.RegisterFailHandler(framework.Fail)
	suiteConfig, reporterConfig := framework.CreateGinkgoConfig()
	run := &suite{}
	if !ginkgo.RunSpecs(run, "sig-apps", suiteConfig, reporterConfig) || run.failed {
		os.Exit(1)
	}
}
