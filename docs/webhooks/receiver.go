// A receiver of webhooks with what Go brings. Put a proxy with TLS in front of it.
//
//	EMANET_WEBHOOK_SECRET=whsec_… PORT=8080 go run receiver.go
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const toleranceSeconds = 300

func isGenuine(secret, header string, body []byte) bool {
	sentAt, digests := "", [][]byte{}
	for _, part := range strings.Split(header, ",") {
		name, value, _ := strings.Cut(part, "=")
		if name == "t" {
			sentAt = value
		} else if digest, err := hex.DecodeString(value); name == "v1" && err == nil {
			digests = append(digests, digest)
		}
	}
	seconds, err := strconv.ParseInt(sentAt, 10, 64)
	age := time.Now().Unix() - seconds
	if err != nil || age > toleranceSeconds || age < -toleranceSeconds {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(sentAt + "."))
	mac.Write(body)
	expected := mac.Sum(nil)
	// After a rotation there is one v1 for each secret that is still valid.
	for _, digest := range digests {
		if hmac.Equal(digest, expected) {
			return true
		}
	}
	return false
}

func main() {
	secret := os.Getenv("EMANET_WEBHOOK_SECRET")
	var seen sync.Map // In production: a table with a unique key.
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20)) // The bytes as they came.
		if err != nil || !isGenuine(secret, r.Header.Get("X-Service-Signature"), body) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if _, known := seen.LoadOrStore(r.Header.Get("webhook-id"), true); !known {
			var event struct {
				Event   string `json:"event"`
				EventID string `json:"event_id"`
			}
			_ = json.Unmarshal(body, &event)
			fmt.Println(event.Event, event.EventID)
		}
		w.WriteHeader(http.StatusNoContent)
	})
	fmt.Fprintln(os.Stderr, http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
