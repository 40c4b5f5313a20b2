// Verifies a delivery with the official Go libraries of Stripe and Standard Webhooks. Reads {secret, body, headers} as JSON; prints two words.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stripe/stripe-go/v83/webhook"
)

func main() {
	var question struct {
		Secret  string            `json:"secret"`
		Body    string            `json:"body"`
		Headers map[string]string `json:"headers"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&question); err != nil {
		panic(err)
	}
	headers := http.Header{}
	for name, value := range question.Headers {
		headers.Set(name, value)
	}
	body := []byte(question.Body)
	stripeErr := webhook.ValidatePayloadWithTolerance(body, headers.Get("X-Service-Signature"), question.Secret, 300*time.Second)
	verifier, err := standard.NewWebhook(question.Secret)
	if err != nil {
		panic(err)
	}
	standardErr := verifier.Verify(body, headers)
	fmt.Println(word(stripeErr), word(standardErr))
}

func word(err error) string {
	if err == nil {
		return "accepted"
	}
	return "refused"
}
