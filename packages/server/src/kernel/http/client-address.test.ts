import assert from "node:assert/strict";
import { test } from "node:test";
import { addressKey, clientAddresses } from "./client-address.ts";

test("without configured proxies the socket's peer is the client, whatever headers say", () => {
  const addresses = clientAddresses([]);
  assert.equal(addresses.of("203.0.113.9", "198.51.100.1"), "203.0.113.9");
  assert.equal(addresses.of("::ffff:203.0.113.9", undefined), "203.0.113.9");
});

test("behind proxies the client is the right-most hop that is not trusted", () => {
  const addresses = clientAddresses(["10.0.0.0/8", "fd00::/8"]);
  assert.equal(addresses.of("10.0.0.1", "198.51.100.1, 203.0.113.9, 10.2.3.4"), "203.0.113.9");
  assert.equal(addresses.of("fd00::1", "2001:db8::7"), "2001:db8::7");
  assert.equal(addresses.of("10.0.0.1", "[2001:db8::7]:443"), "2001:db8::7");
  assert.equal(addresses.of("10.0.0.1", "203.0.113.9:5000"), "203.0.113.9");
  assert.equal(addresses.of("10.0.0.1", undefined), "10.0.0.1");
});

test("a forged hop on the left, and text that is no address, change nothing", () => {
  const addresses = clientAddresses(["10.0.0.0/8"]);
  assert.equal(addresses.of("10.0.0.1", "1.1.1.1, unknown, 10.0.0.2"), "10.0.0.2");
  assert.equal(addresses.of("10.0.0.1", `${"9.9.9.9, ".repeat(5_000)}203.0.113.9`), "203.0.113.9");
  assert.equal(addresses.of("203.0.113.9", "10.0.0.1"), "203.0.113.9");
});

test("IPv6 addresses of one /64 share a key, IPv4 addresses do not share", () => {
  assert.equal(addressKey("2001:db8:1:2:3::4"), addressKey("2001:db8:1:2:ffff::1"));
  assert.notEqual(addressKey("2001:db8:1:2::1"), addressKey("2001:db8:1:3::1"));
  assert.notEqual(addressKey("203.0.113.9"), addressKey("203.0.113.10"));
});

test("a key covers a proxy when the proxy is in its network, or its network is the proxy's", () => {
  const addresses = clientAddresses(["2001:db8::5/128", "10.0.0.0/8"]);
  assert.ok(addresses.coversProxy(addressKey("2001:db8::5")));
  assert.ok(addresses.coversProxy(addressKey("10.1.2.3")));
  assert.ok(!addresses.coversProxy(addressKey("2001:db8:0:1::5")));
  assert.ok(!addresses.coversProxy(addressKey("203.0.113.9")));
});
