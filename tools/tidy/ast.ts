// The little of a syntax tree that the rules look at. TypeScript 7 has no programming interface, so the tree comes from
// @babel/parser; the rules see it through these functions and not through the parser's own types.

import { parse } from "@babel/parser";

/** A node of the tree: its kind, its place, and children under names that depend on the kind. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly loc: { readonly start: { readonly line: number }; readonly end: { readonly line: number } };
  readonly [child: string]: unknown;
}

export interface Comment {
  /** A block opened by two asterisks is what editors show as documentation. */
  readonly kind: "line" | "block" | "doc";
  /** Without its delimiters. */
  readonly text: string;
  readonly firstLine: number;
  readonly lastLine: number;
}

export interface Syntax {
  readonly program: Node;
  readonly comments: readonly Comment[];
}

/** Parses one module. Throws what the parser throws, with the line in the message. */
export function parseModule(text: string, jsx: boolean): Syntax {
  const file = parse(text, { sourceType: "module", plugins: jsx ? ["typescript", "jsx"] : ["typescript"] });
  const comments = (file.comments ?? []) as unknown as (Node & { readonly value: string })[];
  return {
    program: file.program as unknown as Node,
    comments: comments.map((comment) => ({
      kind: comment.type === "CommentLine" ? "line" : comment.value.startsWith("*") ? "doc" : "block",
      text: comment.value,
      firstLine: comment.loc.start.line,
      lastLine: comment.loc.end.line,
    })),
  };
}

/** Visits a node and everything below it, parents first. `parents` is innermost last. */
export function walk(node: Node, visit: (node: Node, parents: readonly Node[]) => void): void {
  const parents: Node[] = [];
  const step = (current: Node): void => {
    visit(current, parents);
    parents.push(current);
    for (const child of children(current)) step(child);
    parents.pop();
  };
  step(node);
}

/** Every node of the given kinds. */
export function nodesOf(program: Node, ...types: readonly string[]): Node[] {
  const found: Node[] = [];
  walk(program, (node) => {
    if (types.includes(node.type)) found.push(node);
  });
  return found;
}

/** The child under a name, if it is a single node. */
export function child(node: Node, name: string): Node | undefined {
  const value = node[name];
  return isNode(value) ? value : undefined;
}

/** The children under a name, if it is a list. */
export function list(node: Node, name: string): Node[] {
  const value = node[name];
  return Array.isArray(value) ? value.filter(isNode) : [];
}

/** Text of an identifier or of a literal string. */
export function nameOf(node: Node | undefined): string | undefined {
  if (node === undefined) return undefined;
  if (node.type === "Identifier") return String(node.name);
  if (node.type === "StringLiteral") return String(node.value);
  return undefined;
}

/** `a.b.c` (also `a["b"].c`) as dotted text; `undefined` for anything that is not a plain chain of names. */
export function dotted(node: Node | undefined): string | undefined {
  if (node === undefined) return undefined;
  if (node.type === "Identifier") return nameOf(node);
  if (node.type !== "MemberExpression" && node.type !== "OptionalMemberExpression") return undefined;
  const object = dotted(child(node, "object"));
  const property = child(node, "property");
  const plain = node.computed !== true || property?.type === "StringLiteral";
  const name = plain ? nameOf(property) : undefined;
  return object === undefined || name === undefined ? undefined : `${object}.${name}`;
}

function* children(node: Node): Generator<Node> {
  for (const [name, value] of Object.entries(node)) {
    if (name.endsWith("omments") || name === "tokens" || name === "errors") continue;
    if (isNode(value)) yield value;
    else if (Array.isArray(value)) yield* value.filter(isNode);
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && "loc" in value;
}
