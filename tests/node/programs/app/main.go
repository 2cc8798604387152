// The program of the tests' pods: one binary, several roles.
//
//	app                serves HTTP on $PORT (8080) until SIGTERM, then answers what is under way
//	app get URL...     asks each once, prints the answers and ends; fails with the first that is not below 400
//	app dial ADDRESS   connects until somebody accepts, prints how long that took and ends
//	app log FILE       writes a line into FILE ten times a second
//	app grow           takes memory until it is killed
//	app -text ANSWER   serves, and answers this
//	app sleep          the process of a pod's sandbox, and of what only has to be there
//
// Serving, /get?url=U asks U and hands on what it says, /sleep?for=D waits, /fail answers 500, a health check of gRPC
// (HTTP/2 without TLS) says SERVING; all else names the pod, the client and the request's headers, or is $ANSWER where
// that is set. It serves the same over TLS on $TLS_PORT, where that is set. What it does at its start and end it prints
// with the time.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func say(words ...any) {
	fmt.Println(append([]any{time.Now().UTC().Format(time.RFC3339Nano)}, words...)...)
}

func get(w io.Writer, url string) (int, error) {
	client := http.Client{Timeout: 30 * time.Second}
	answer, err := client.Get(url)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	fmt.Fprintf(w, "status %d server %q\n", answer.StatusCode, answer.Header.Get("Server"))
	_, err = io.Copy(w, answer.Body)
	return answer.StatusCode, err
}

func getAll(urls []string) {
	for _, url := range urls {
		status, err := get(os.Stdout, url)
		if err != nil || status >= 400 {
			say("failed", url, status, err)
			os.Exit(1)
		}
	}
	say("asked", len(urls))
}

func dial(address string) {
	start := time.Now()
	for {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			connection.Close()
			fmt.Println(time.Since(start).Seconds())
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func serve() {
	port := os.Getenv("PORT")
	if port == "" {
		port = "8080"
	}
	name, _ := os.Hostname()
	http.HandleFunc("/get", func(w http.ResponseWriter, r *http.Request) {
		if _, err := get(w, r.URL.Query().Get("url")); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
	})
	http.HandleFunc("/sleep", func(w http.ResponseWriter, r *http.Request) {
		wait, _ := time.ParseDuration(r.URL.Query().Get("for"))
		time.Sleep(wait)
		fmt.Fprintln(w, "slept", wait)
	})
	http.HandleFunc("/fail", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) })
	http.HandleFunc("/grpc.health.v1.Health/Check", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Write([]byte{0, 0, 0, 0, 2, 8, 1}) // not compressed, 2 bytes: field 1, status, is 1, SERVING
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
	})
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if answer := os.Getenv("ANSWER"); answer != "" {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, answer)
			return
		}
		fmt.Fprintln(w, "app", name, r.URL.Path, "from", r.RemoteAddr)
		r.Header.Write(w)
	})
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	say("serves on", port)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Addr: ":" + port, Protocols: protocols}
	go func() { say(server.ListenAndServe()) }()
	if port := os.Getenv("TLS_PORT"); port != "" {
		secure := httptest.NewUnstartedServer(http.DefaultServeMux) // has a certificate of its own
		secure.Listener, _ = net.Listen("tcp", ":"+port)
		secure.StartTLS()
	}
	say("got", <-signals)
	server.Shutdown(context.Background())
	say("done")
}

func log(file string) {
	out, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		say(err)
		os.Exit(1)
	}
	for i := 0; ; i++ {
		w := bufio.NewWriter(out)
		fmt.Fprintln(w, "line", i)
		w.Flush()
		time.Sleep(100 * time.Millisecond)
	}
}

func grow() {
	var kept [][]byte
	for {
		block := make([]byte, 1<<20)
		for i := range block {
			block[i] = 1
		}
		kept = append(kept, block)
		time.Sleep(time.Duration(len(kept)%2) * time.Millisecond)
	}
}

// Ends on SIGTERM, and reaps what becomes its child, as a sandbox with a shared process namespace wants.
func sleep() {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for s := range signals {
		if s != syscall.SIGCHLD {
			return
		}
		for {
			if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
				break
			}
		}
	}
}

func main() {
	role, rest := "", []string{}
	if len(os.Args) > 1 {
		role, rest = os.Args[1], os.Args[2:]
	}
	switch role {
	case "":
		serve()
	case "-text":
		os.Setenv("ANSWER", rest[0])
		serve()
	case "get":
		getAll(rest)
	case "dial":
		dial(rest[0])
	case "log":
		log(rest[0])
	case "grow":
		grow()
	case "sleep":
		sleep()
	default:
		say("no role", role)
		os.Exit(2)
	}
}
