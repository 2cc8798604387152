// The floor that a webhook in Go has: it decodes the review and its pod with Kubernetes' own types, and answers a constant.
package main

import (
	"crypto/tls"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"

	admission "k8s.io/api/admission/v1"
	core "k8s.io/api/core/v1"
)

func answer(writer http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	}
	var review admission.AdmissionReview
	var pod core.Pod
	if err = json.Unmarshal(body, &review); err == nil {
		err = json.Unmarshal(review.Request.Object.Raw, &pod)
	}
	if err != nil || len(pod.Spec.Containers) == 0 {
		http.Error(writer, "not the review of a pod", http.StatusBadRequest)
		return
	}
	review.Response = &admission.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	review.Request = nil
	writer.Header().Set("Content-Type", "application/json")
	json.NewEncoder(writer).Encode(review)
}

func main() {
	http.HandleFunc("/mutate", answer)
	server := &http.Server{
		Addr:         "127.0.0.1:" + os.Args[1],
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){}, // HTTP/1.1, as the others
	}
	log.Fatal(server.ListenAndServeTLS(os.Args[2], os.Args[3]))
}
