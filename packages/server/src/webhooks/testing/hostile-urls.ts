/** Addresses that a webhook must never reach, in the spellings that parsers have been known to disagree about. */

/** Special IPv4 addresses: this machine, private networks, link-local, metadata of clouds, and the rest of IANA's registry. */
const ipv4 = [
  ...["127.0.0.1", "127.255.255.254", "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1"],
  ...["169.254.169.254", "169.254.170.2", "100.100.100.200", "100.64.0.1", "0.0.0.0", "192.0.0.192", "198.18.0.1"],
  ...["192.0.2.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.88.99.1"],
  "168.63.129.16",
];

const numberOf = (address: string) => address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
const hex = (value: number, length = 1) => value.toString(16).padStart(length, "0");

/** The same address as parsers of URLs and of C libraries read it. */
function spellings(address: string): readonly string[] {
  const parts = address.split(".").map(Number);
  const [a = 0, b = 0, c = 0, d = 0] = parts;
  return [
    address,
    `${address}.`,
    String(numberOf(address)),
    `0x${hex(numberOf(address), 8)}`,
    parts.map((part) => `0x${hex(part)}`).join("."),
    parts.map((part) => `0${part.toString(8)}`).join("."),
    `${a}.${b}.${c * 256 + d}`,
    `${a}.${(b * 256 + c) * 256 + d}`,
  ];
}

/** The same address inside an IPv6 one: mapped, compatible, translated, NAT64 (public and local), 6to4, Teredo, ISATAP. */
function embedded(address: string): readonly string[] {
  const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
  const high = hex(a * 256 + b);
  const low = hex(c * 256 + d);
  return [
    `[::ffff:${address}]`,
    `[::ffff:${high}:${low}]`,
    `[::${address}]`,
    `[::ffff:0:${high}:${low}]`,
    `[64:ff9b::${high}:${low}]`,
    `[64:ff9b:1::${high}:${low}]`,
    `[2002:${high}:${low}::1]`,
    `[2001:0:${high}:${low}::1]`,
    `[fe80::5efe:${high}:${low}]`,
  ];
}

const ipv6 = [
  ...["[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[fe80::1]", "[fec0::1]", "[fc00::1]", "[fd00:ec2::254]", "[ff02::1]"],
  ...["[2001:db8::1]", "[100::1]", "[3fff::1]", "[2001:2::1]", "[2001:20::1]", "[5f00::1]"],
];

const names = [
  ...["localhost", "LOCALHOST", "localhost.", "a.localhost", "localhost.localdomain", "printer.local", "nas.lan"],
  ...[
    "metadata.google.internal",
    "metadata",
    "intranet",
    "db.corp",
    "router.home",
    "x.home.arpa",
    "1.0.0.127.in-addr.arpa",
  ],
  ...["ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "１２７.０.０.１", "127。0。0。1", "xn--.invalid"],
];

/** Whole addresses that say something that a webhook may not say, or that parsers read in two ways. */
const others = [
  ...[
    "http://hooks.example.com/",
    "ftp://hooks.example.com/",
    "file:///etc/passwd",
    "gopher://hooks.example.com/",
    "//hooks.example.com/",
  ],
  ...[
    "https://user:pw@hooks.example.com/",
    "https://user@hooks.example.com/",
    "https://@127.0.0.1/",
    "https://hooks.example.com:pw@127.0.0.1/",
  ],
  ...[
    "https://127.0.0.1\\@hooks.example.com/",
    "https://hooks.example.com\\@127.0.0.1/",
    "https:\\\\127.0.0.1\\",
    "https:/127.0.0.1/",
  ],
  ...[
    "https:127.0.0.1",
    "https://hooks.example.com:22/",
    "https://hooks.example.com:25/",
    "https://hooks.example.com:0/",
  ],
  ...[
    "https://hooks.example.com:70000/",
    "https://127.0.0.1\t/",
    "https://127.0.0.1\n/",
    " https://127.0.0.1/",
    "https://%31%32%37.0.0.1/",
  ],
  ...[
    "https://127.1#@hooks.example.com/",
    "https://127.0.0.1?@hooks.example.com/",
    "https://[::1%25lo]/",
    "https://[::1]:443@hooks.example.com/",
  ],
  ...[
    "javascript:alert(1)",
    "data:text/html,x",
    "unix:/run/docker.sock",
    "https://",
    "https://.",
    "https://..",
    "https://a..b/",
  ],
];

/** Every hostile address, at a port of this machine. */
export function hostileUrls(port: number): readonly string[] {
  const hosts = [
    ...ipv4.flatMap(spellings),
    ...["127.0.0.1", "169.254.169.254", "10.0.0.1"].flatMap(embedded),
    ...ipv6,
    ...names,
  ];
  return [...new Set([...hosts.map((host) => `https://${host}:${port}/hook`), ...others])];
}
