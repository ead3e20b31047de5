import { assertNever } from "../../base/assert-never.ts"

/** A compiled pattern with `*`, `?` and `[…]`, anchored at both ends. */
export interface Glob {
  readonly tokens: readonly Token[]
  /** The literal text before the first wildcard: most candidates are refused by it alone. */
  readonly prefix: string
  readonly isLiteral: boolean
}

type Token =
  | { readonly kind: "text"; readonly char: string }
  | { readonly kind: "one" }
  | { readonly kind: "run" }
  | { readonly kind: "class"; readonly negated: boolean; readonly ranges: readonly (readonly [string, string])[] }

/** A `[` without a closing bracket is an ordinary character. */
export function compileGlob(pattern: string): Glob {
  const tokens: Token[] = []
  for (let index = 0; index < pattern.length; index += 1) {
    const char = pattern.charAt(index)
    if (char === "*") {
      if (tokens.at(-1)?.kind !== "run") tokens.push({ kind: "run" })
    } else if (char === "?") tokens.push({ kind: "one" })
    else {
      const found = char === "[" ? readClass(pattern, index) : undefined
      tokens.push(found?.token ?? { kind: "text", char })
      index = found?.end ?? index
    }
  }
  const wildcard = tokens.findIndex(({ kind }) => kind !== "text")
  const literal = wildcard === -1 ? tokens : tokens.slice(0, wildcard)
  return {
    tokens,
    prefix: literal.map((token) => (token.kind === "text" ? token.char : "")).join(""),
    isLiteral: tokens.every(isLiteralToken),
  }
}

/** A pattern that matches exactly this text. */
export function escapeGlob(text: string): string {
  return text.replaceAll(/[*?[]/g, (char) => `[${char}]`)
}

/** Takes time proportional to the product of both lengths at most: a failed match returns only to the last `*`. */
export function matchesGlob({ tokens, prefix }: Glob, text: string): boolean {
  if (!text.startsWith(prefix)) return false
  let token = prefix.length
  let index = prefix.length
  let retry: { readonly token: number; index: number } | undefined
  while (index < text.length) {
    const current = tokens[token]
    if (current?.kind === "run") {
      retry = { token: token + 1, index }
      token += 1
    } else if (current !== undefined && matchesChar(current, text.charAt(index))) {
      token += 1
      index += 1
    } else if (retry === undefined) return false
    else {
      retry.index += 1
      index = retry.index
      token = retry.token
    }
  }
  while (tokens[token]?.kind === "run") token += 1
  return token === tokens.length
}

/** A compiled path pattern: `*` stays within a component, `**` crosses components. */
export interface PathGlob {
  readonly components: readonly (Glob | "**")[]
}

/** The pattern is absolute. */
export function compilePathGlob(pattern: string): PathGlob {
  const components = pattern
    .split("/")
    .filter((part) => part !== "" && part !== ".")
    .map((part) => (part === "**" ? "**" : compileGlob(part)))
  return { components }
}

/** The components of a path, which are compared with many patterns. */
export function pathComponents(path: string): readonly string[] {
  return path.split("/").filter((part) => part !== "")
}

export function matchesPathGlob({ components }: PathGlob, parts: readonly string[]): boolean {
  let component = 0
  let index = 0
  let retry: { readonly component: number; index: number } | undefined
  while (index < parts.length) {
    const current = components[component]
    if (current === "**") {
      retry = { component: component + 1, index }
      component += 1
    } else if (current !== undefined && matchesGlob(current, parts[index] ?? "")) {
      component += 1
      index += 1
    } else if (retry === undefined) return false
    else {
      retry.index += 1
      index = retry.index
      component = retry.component
    }
  }
  while (components[component] === "**") component += 1
  return component === components.length
}

function matchesChar(token: Token, char: string): boolean {
  switch (token.kind) {
    case "text":
      return token.char === char
    case "one":
      return true
    case "class":
      return token.ranges.some(([from, to]) => from <= char && char <= to) !== token.negated
    case "run":
      return false
    default:
      return assertNever(token)
  }
}

/** `[*]` is how a pattern writes a literal `*`. */
function isLiteralToken(token: Token): boolean {
  if (token.kind === "text") return true
  if (token.kind !== "class" || token.negated || token.ranges.length !== 1) return false
  return token.ranges.every(([from, to]) => from === to)
}

function readClass(pattern: string, start: number): { readonly token: Token; readonly end: number } | undefined {
  const negated = pattern[start + 1] === "!" || pattern[start + 1] === "^"
  const first = start + (negated ? 2 : 1)
  const end = pattern.indexOf("]", first + 1)
  if (end === -1) return undefined
  const ranges: (readonly [string, string])[] = []
  for (let index = first; index < end; index += 1) {
    const from = pattern.charAt(index)
    const isRange = pattern[index + 1] === "-" && index + 2 < end
    ranges.push([from, isRange ? pattern.charAt(index + 2) : from])
    if (isRange) index += 2
  }
  return { token: { kind: "class", negated, ranges }, end }
}
