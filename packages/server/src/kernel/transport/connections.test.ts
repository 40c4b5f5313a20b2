import assert from "node:assert/strict";
import { test } from "node:test";
import { networkOf } from "./connections.ts";

test("IPv6 clients are counted by their /64, IPv4 clients by their address, however it is written", () => {
  assert.equal(networkOf("2001:db8:1:2:3:4:5:6"), networkOf("2001:db8:1:2::1"));
  assert.notEqual(networkOf("2001:db8:1:2::1"), networkOf("2001:db8:1:3::1"));
  assert.equal(networkOf("::ffff:192.0.2.1"), networkOf("192.0.2.1"));
  assert.notEqual(networkOf("192.0.2.1"), networkOf("192.0.2.2"));
  assert.equal(networkOf("fe80::1%eth0"), networkOf("fe80::2"));
});
