// Pause holds a pod's namespaces open and reaps the orphans of a pod that shares its process namespace.
//
// It stands in for Kubernetes' own pause (build/pause/linux/pause.c), which is C: a machine that runs the lab need not have
// a C compiler. It does what that program does and nothing more; clusters in clouds pull the official image.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Set by the build to the version whose behaviour this is.
var version = "unset"

func main() {
	for _, argument := range os.Args[1:] {
		if argument == "-v" || argument == "-V" {
			fmt.Println("pause (Go)", version)
			return
		}
	}
	if os.Getpid() != 1 {
		// Not an error: it is also used outside of pods' containers.
		fmt.Fprintln(os.Stderr, "Warning: pause should be the first process")
	}
	received := make(chan os.Signal, 16)
	signal.Notify(received, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	reap()
	for got := range received {
		if got != syscall.SIGCHLD {
			fmt.Fprintln(os.Stderr, "Shutting down, got signal:", got)
			return
		}
		reap()
	}
}

// One SIGCHLD may stand for several children.
func reap() {
	for {
		child, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || child <= 0 {
			return
		}
	}
}
