# python3 verify_audit.py FILE KEYS: the same check as verify-audit.mjs, written from docs/AUDIT.md alone. Needs the package "cryptography".
import base64
import csv
import hashlib
import json
import re
import sys
from datetime import datetime, timezone

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

COLUMNS = "kind,seq,id,occurred_at,action,outcome,person,actor,targets,context,metadata,chain,prev_hash,hash,masked,note,check"
HASHED = ["action", "actor", "chain", "context", "id", "metadata", "occurred_at", "outcome", "seq", "targets"]


class Bad(Exception):
    pass


def need(holds, place, finding):
    if not holds:
        raise Bad(f"{place}: {finding}")


def number(value):
    """A number as RFC 8785 has it: the shortest digits, as ECMAScript writes them."""
    if isinstance(value, int):
        value = float(value)
    if value == 0:
        return "0"
    digits, _, exponent = f"{repr(abs(value))}".partition("e")
    whole, _, part = digits.partition(".")
    part = "" if part == "0" else part
    point = len(whole) + int(exponent or 0)
    all_digits = (whole + part).lstrip("0")
    point -= len(whole + part) - len((whole + part).lstrip("0"))
    all_digits = all_digits.rstrip("0")
    count = len(all_digits)
    sign = "-" if value < 0 else ""
    if count <= point <= 21:
        return sign + all_digits + "0" * (point - count)
    if 0 < point <= 21:
        return sign + all_digits[:point] + "." + all_digits[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + all_digits
    power = f"{'+' if point > 0 else '-'}{abs(point - 1)}"
    return sign + all_digits[0] + ("." + all_digits[1:] if count > 1 else "") + "e" + power


def canonical(value):
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return number(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\x7f")
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    names = sorted(value, key=lambda name: name.encode("utf-16-be"))
    return "{" + ",".join(f"{canonical(name)}:{canonical(value[name])}" for name in names) + "}"


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def signed(keys, jws, kind, place):
    parts = jws.split(".")
    need(len(parts) == 3, place, "no JWS")
    header = json.loads(decoded(parts[0]))
    need(header["alg"] == "EdDSA" and header["typ"] == kind, place, "another kind of signature")
    need(header["kid"] in keys, place, "an unknown key")
    try:
        keys[header["kid"]].verify(decoded(parts[2]), f"{parts[0]}.{parts[1]}".encode())
    except InvalidSignature:
        raise Bad(f"{place}: a wrong signature")
    return json.loads(decoded(parts[1]))


def read_keys(name):
    keys = {}
    for key in reversed(json.load(open(name))["keys"]):
        if keys or key["introduction"]:
            said = signed(keys, key["introduction"], "emanet-receipt-key+jws", "keys")
            need(said["kid"] == key["kid"] and said["x"] == key["x"], "keys", "a false introduction")
        keys[key["kid"]] = Ed25519PublicKey.from_public_bytes(decoded(key["x"]))
    return keys


def from_csv(line):
    row = dict(zip(COLUMNS.split(","), next(csv.reader([line.removesuffix("\r\n")]))))
    if row["kind"] == "checkpoint":
        return {"kind": "checkpoint", "jws": row["note"]}
    if row["kind"] != "record":
        return {**json.loads(row["note"]), "kind": row["kind"]}
    parsed = {name: json.loads(row[name]) for name in ["actor", "targets", "context", "metadata"]}
    return {**row, **parsed, "seq": int(row["seq"]), "masked": row["masked"] == "true"}


def from_cef(line):
    parts = re.split(r"(?<!\\)\|", line.removesuffix("\n"), maxsplit=7)
    found = re.findall(r"(?:^| )(\w+)=((?:[^\\=]|\\.)*)(?= \w+=|$)", parts[7])
    fields = {name: re.sub(r"\\(.)", lambda m: {"n": "\n", "r": "\r"}.get(m[1], m[1]), text) for name, text in found}
    if parts[4] == "emanet.checkpoint":
        return {"kind": "checkpoint", "jws": fields["msg"]}
    if parts[4].startswith("emanet."):
        return {**json.loads(fields["msg"]), "kind": parts[4].removeprefix("emanet.")}
    ms = int(fields["rt"])
    when = datetime.fromtimestamp(ms // 1000, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S") + f".{ms % 1000:03}Z"
    names = {"prev_hash": "cs1", "hash": "cs2", "id": "externalId", "outcome": "outcome", "chain": "deviceExternalId"}
    parsed = {name: json.loads(fields[f"cs{3 + at}"]) for at, name in enumerate(["actor", "targets", "context", "metadata"])}
    rest = {"kind": "record", "seq": int(fields["cn1"]), "occurred_at": when, "action": parts[4]}
    return {**rest, **{name: fields[key] for name, key in names.items()}, **parsed, "masked": fields.get("reason") == "masked"}


def from_json(line):
    if line.startswith('{"opening":'):
        return json.loads(line.removesuffix(',"records":[\n') + "}")["opening"]
    if line.startswith('],"closing":'):
        return json.loads("{" + line[2:])["closing"]
    return json.loads(line.removeprefix(","))


def closing_line(kind, closing):
    content = {name: closing[name] for name in ["records", "checkpoint", "statement"]}
    note = json.dumps(content, separators=(",", ":"))
    whole = json.dumps({"kind": "closing", **content}, separators=(",", ":"))
    return {
        "ndjson": whole + "\n",
        "json": f'],"closing":{whole}}}\n',
        "csv": "closing" + "," * 15 + '"' + note.replace('"', '""') + '",\r\n',
        "cef": "CEF:0|Emanet|Emanet|1|emanet.closing|Closing of the export|0|msg=" + note.replace("=", "\\=") + "\n",
    }[kind]


END = {"ndjson": '"}\n', "json": '"}\n', "csv": "\r\n", "cef": "\n"}
PARSE = {"ndjson": json.loads, "json": from_json, "csv": from_csv, "cef": from_cef}


def verify(name, keys):
    lines = open(name, newline="\n", encoding="utf-8").readlines()
    starts = {"{\"kind\"": "ndjson", "{\"openi": "json", "kind,se": "csv", "CEF:0|E": "cef"}
    kind = starts.get(lines[0][:7] if lines else "")
    need(kind is not None, "opening", "no export")
    digest, check, opening, seq, hash_, count, closing = hashlib.sha256(), "", None, 0, None, 0, None
    for line in lines:
        place = "opening" if opening is None else f"record {seq + 1}"
        need(closing is None and line.endswith("\n"), place, "not a whole line, or one after the end")
        if kind == "csv" and line == COLUMNS + "\r\n" and opening is None:
            digest.update(line.encode())
            continue
        try:
            item = PARSE[kind](line)
        except (ValueError, KeyError, IndexError, StopIteration):
            raise Bad(f"{place}: it cannot be read")
        if item["kind"] == "closing":
            closing = item
            need(closing_line(kind, item) == line and item["records"] == count, "closing", "it was changed")
            continue
        digest.update(line.encode())
        if item["kind"] == "opening":
            opening, seq = item, item["first_seq"] - 1
            point = signed(keys, item["checkpoint"], "emanet-audit-checkpoint+jws", "opening")
            need((point["chain"], point["seq"]) == (item["chain"], seq), "opening", "another checkpoint")
            hash_ = point["hash"]
        elif item["kind"] == "record":
            need(opening is not None and item["chain"] == opening["chain"], place, "another chain")
            is_all = opening["selection"] == "all"
            need(item["seq"] == seq + 1 if is_all else item["seq"] > seq, place, "missing, or another record in its place")
            need(not is_all or item["prev_hash"] == hash_, place, "its prev_hash is wrong")
            text = canonical({name: item[name] for name in HASHED})
            content = hashlib.sha256(bytes.fromhex(item["prev_hash"]) + text.encode()).hexdigest()
            need(item.get("masked") or content == item["hash"], place, "its hash is wrong")
            seq, hash_, count = item["seq"], item["hash"], count + 1
        else:
            point = signed(keys, item["jws"], "emanet-audit-checkpoint+jws", place)
            need((point["chain"], point["seq"], point["hash"]) == (opening["chain"], seq, hash_), place, "a checkpoint")
        end = '"},"records":[\n' if kind == "json" and item["kind"] == "opening" else END[kind]
        text = line.removesuffix(end)
        check = hashlib.sha256((check + text[:-16]).encode()).hexdigest()
        need(line.endswith(end) and check[:16] == text[-16:], place, "its check is wrong")
    need(closing is not None, f"record {seq + 1}", "the closing line is missing")
    point = signed(keys, closing["checkpoint"], "emanet-audit-checkpoint+jws", "closing")
    need((point["chain"], point["seq"]) == (opening["chain"], opening["last_seq"]), "closing", "another checkpoint")
    need(opening["selection"] != "all" or (seq, hash_) == (point["seq"], point["hash"]), "closing", "another hash")
    said = signed(keys, closing["statement"], "emanet-audit-export+jws", "closing")
    for name in ["chain", "export_id", "selection", "masked", "first_seq", "last_seq"]:
        need(said[name] == opening[name], "closing", name)
    need((said["records"], said["format"], said["content_sha256"]) == (count, kind, digest.hexdigest()), "closing", "content")


try:
    verify(sys.argv[1], read_keys(sys.argv[2]))
    print("good")
except (Bad, UnicodeDecodeError) as error:
    print(f"bad: {error}")
    sys.exit(1)
