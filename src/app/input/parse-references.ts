/** What a `@` reference of a message attaches to it. */
export type Reference = { readonly token: string } & (
  | { readonly kind: "file"; readonly path: string; readonly lines?: LineRange }
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "diff" | "staged" }
  | { readonly kind: "git"; readonly commits: number }
  | { readonly kind: "url"; readonly url: string }
  | { readonly kind: "session"; readonly name: string }
  | { readonly kind: "skill"; readonly name: string }
)

/** Both counted from 1 and included. */
export interface LineRange {
  readonly first: number
  readonly last: number
}

export interface ParsedReferences {
  /** In the order of the message, each once. */
  readonly references: readonly Reference[]
  /** The message without them. */
  readonly rest: string
}

const MAX_COMMITS = 10

const REFERENCE =
  /(?<![\p{L}\p{N}_/])@(?:(diff|staged)(?![\p{L}\p{N}_])|(file|folder|git|url|session|skill):(?:(["'`])((?:(?!\3)[^\n])+)\3(:\d+(?:-\d+)?(?!\d))?|([^\s"'`]\S*)))/gu

/** Whether a message may have references. */
export function mayHaveReferences(text: string): boolean {
  return /@(?:diff|staged|(?:file|folder|git|url|session|skill):\S)/u.test(text)
}

export function parseReferences(text: string): ParsedReferences {
  const references = new Map<string, Reference>()
  const pieces: string[] = []
  let from = 0
  for (const match of text.matchAll(REFERENCE)) {
    const [written, word, kind = "", quote = "", quoted, range = "", plain = ""] = match
    const value = quoted === undefined ? withoutPunctuation(plain) : quoted
    const reference = word === undefined ? referenceTo(kind, value, range) : { kind: wordKind(word) }
    if (reference === undefined) continue
    const token = word === undefined ? `@${kind}:${quote}${value}${quote}${range}` : written
    references.set(token, { token, ...reference })
    // Punctuation at the end belongs to the reference that is removed, and so does the bracket that it closes.
    const isBracketed = /[([{]$/u.test(text.slice(from, match.index)) && /^[)\]}]/u.test(written.slice(token.length))
    pieces.push(text.slice(from, isBracketed ? match.index - 1 : match.index))
    from = match.index + written.length
  }
  if (references.size === 0) return { references: [], rest: text }
  return { references: [...references.values()], rest: joined([...pieces, text.slice(from)]) }
}

function wordKind(word: string): "diff" | "staged" {
  return word === "staged" ? "staged" : "diff"
}

type ReferenceTarget = Reference extends infer One ? (One extends Reference ? Omit<One, "token"> : never) : never

function referenceTo(kind: string, value: string, range: string): ReferenceTarget | undefined {
  switch (kind) {
    case "file": {
      const [, path = value, first, last = first] = /^(.+):(\d+)(?:-(\d+))?$/su.exec(`${value}${range}`) ?? []
      return first === undefined ? { kind, path: value } : { kind, path, lines: rangeOf(Number(first), Number(last)) }
    }
    case "folder":
      return { kind, path: value }
    case "git":
      return /^\d+$/u.test(value) ? { kind, commits: Math.min(MAX_COMMITS, Math.max(1, Number(value))) } : undefined
    case "url":
      return { kind, url: value }
    case "session":
    case "skill":
      return { kind, name: value }
    default:
      return undefined
  }
}

function rangeOf(one: number, other: number): LineRange {
  return { first: Math.max(1, Math.min(one, other)), last: Math.max(1, one, other) }
}

const CLOSING: Readonly<Record<string, string>> = { ")": "(", "]": "[", "}": "{" }

/** Without the punctuation of the sentence: `, . ; ! ?` and closing brackets that the value does not open. */
function withoutPunctuation(value: string): string {
  let end = value.length
  for (; end > 1; end -= 1) {
    const last = value[end - 1] ?? ""
    const opening = CLOSING[last]
    if (opening === undefined ? !",.;!?".includes(last) : isBalanced(value.slice(0, end), opening, last)) break
  }
  return value.slice(0, end)
}

function isBalanced(text: string, opening: string, closing: string): boolean {
  return text.split(closing).length <= text.split(opening).length
}

/** One space where a reference was, none at the ends of lines and before punctuation. */
function joined(pieces: readonly string[]): string {
  return pieces
    .reduce((left, right) => {
      const before = left.replace(/[ \t]+$/u, "")
      const after = right.replace(/^[ \t]+/u, "")
      const isTight = before === "" || before.endsWith("\n") || /^(?:$|[\n,.;:!?)\]}])/u.test(after)
      return `${before}${isTight ? "" : " "}${after}`
    })
    .trim()
}
