// Prints what Kubernetes' own resource.Quantity makes of quantities: `quantities.jsonl` from its first column.
//
//	cd "$(mktemp -d)" && cp .../tests/unit/pods/quantities.go . && go mod init quantities
//	go get k8s.io/apimachinery@v0.36.3 && go run quantities.go < .../tests/unit/pods/quantities.jsonl
//
// A line is the text and, where that is a quantity, its value, its canonical form, the same rounded up to thousandths (as
// the API server does with requests and limits) and to a whole number, and the sum of the one before and this one.
package main

import (
	"bufio"
	"encoding/json"
	"os"

	"k8s.io/apimachinery/pkg/api/resource"
)

func canonical(q resource.Quantity) string {
	q.Add(resource.Quantity{}) // forgets the text that it was parsed from
	return q.String()
}

func main() {
	lines, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	var before resource.Quantity
	for lines.Scan() {
		var columns []string
		if err := json.Unmarshal(lines.Bytes(), &columns); err != nil {
			panic(err)
		}
		text := columns[0]
		q, err := resource.ParseQuantity(text)
		if err != nil {
			out.Encode([]string{text})
			continue
		}
		thousandths, whole, sum := q.DeepCopy(), q.DeepCopy(), before.DeepCopy()
		thousandths.RoundUp(resource.Milli)
		whole.RoundUp(0)
		sum.Add(q)
		value := q.DeepCopy()
		texts := []string{text, value.AsDec().String()}
		for _, each := range []resource.Quantity{q, thousandths, whole, sum} {
			texts = append(texts, canonical(each))
		}
		out.Encode(texts)
		before = q
	}
}
