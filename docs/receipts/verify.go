// go run verify.go RECEIPT KEYS [TYPE]: checks a receipt of Emanet without the service.
// A proof of erasure is checked with TYPE emanet-erasure+jws.
package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

func main() {
	receipt, _ := os.ReadFile(os.Args[1])
	list, _ := os.ReadFile(os.Args[2])
	parts := strings.Split(strings.TrimSpace(string(receipt)), ".")
	var header struct{ Alg, Kid, Typ string }
	var published struct{ Keys []struct{ Kid, X string } }
	if json.Unmarshal(list, &published) == nil && len(parts) == 3 && json.Unmarshal(decoded(parts[0]), &header) == nil {
		for _, key := range published.Keys {
			x, signed := decoded(key.X), []byte(parts[0]+"."+parts[1])
			isNamed := key.Kid == header.Kid && header.Alg == "EdDSA" && header.Typ == append(os.Args, "emanet-receipt+jws")[3]
			if isNamed && len(x) == ed25519.PublicKeySize && ed25519.Verify(x, signed, decoded(parts[2])) {
				fmt.Println(string(decoded(parts[1])))
				return
			}
		}
	}
	fmt.Fprintln(os.Stderr, "The receipt is not valid.")
	os.Exit(1)
}

func decoded(text string) []byte {
	bytes, _ := base64.RawURLEncoding.Strict().DecodeString(text)
	return bytes
}
