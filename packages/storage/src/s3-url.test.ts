import assert from "node:assert/strict";
import { test } from "node:test";
import { isObjectStoreError } from "@emanet/engine/object-store";
import { parseS3Url } from "./s3-url.ts";

test("an address of AWS needs a bucket only", () => {
  const plain = { bucket: "backups", endpoint: undefined, region: "us-east-1", pathStyle: false };
  assert.deepEqual(parseS3Url("s3://backups"), { ...plain, prefix: "" });
  assert.deepEqual(parseS3Url("s3://backups/"), { ...plain, prefix: "" });
  assert.deepEqual(parseS3Url("s3://backups/a/b/?region=eu-central-1"), {
    ...plain,
    prefix: "a/b/",
    region: "eu-central-1",
  });
});

test("another server is named by its endpoint, with path style unless said otherwise", () => {
  const address = "s3://backups/emanet?endpoint=https%3A%2F%2Fs3.example.com%3A9000";
  const { endpoint, pathStyle } = parseS3Url(address);
  assert.deepEqual({ endpoint, pathStyle }, { endpoint: "https://s3.example.com:9000", pathStyle: true });
  assert.equal(parseS3Url(`${address}&path_style=0`).pathStyle, false);
  assert.equal(parseS3Url("s3://backups?path_style=1").pathStyle, true);
});

for (const [address, why] of [
  ["backups", "no scheme"],
  ["http://backups/x", "another scheme"],
  ["s3:///x", "no bucket"],
  ["s3://Ba_d/x", "a bucket name that S3 refuses"],
  ["s3://key:secret@backups/x", "credentials"],
  ["s3://backups:9000/x", "a port"],
  ["s3://backups/x#y", "a fragment"],
  ["s3://backups/A", "a prefix that is no name"],
  ["s3://backups/a//b", "a prefix with an empty part"],
  ["s3://backups/a?endpont=https://x", "an unknown parameter"],
  ["s3://backups/a?region=a&region=b", "a parameter given twice"],
  ["s3://backups/a?region=", "an empty region"],
  ["s3://backups/a?path_style=yes", "a flag that is neither 0 nor 1"],
  ["s3://backups/a?endpoint=ftp://x", "an endpoint that is not HTTP"],
  ["s3://backups/a?endpoint=https://k:s@x", "credentials in the endpoint"],
  ["s3://backups/a?endpoint=x", "an endpoint that is no address"],
] as const) {
  test(`an address with ${why} is refused, and not repeated in the error`, () => {
    assert.throws(
      () => parseS3Url(address),
      (error) => isObjectStoreError(error, "bad_name") && !error.message.includes("secret"),
    );
  });
}
