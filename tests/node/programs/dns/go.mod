// client-go is the one of the tests' Kubernetes, so that both builds share its packages.
module dns

go 1.26

require (
	github.com/coredns/coredns v1.14.2
	k8s.io/api v0.36.3
	k8s.io/apimachinery v0.36.3
	k8s.io/client-go v0.36.3
)
