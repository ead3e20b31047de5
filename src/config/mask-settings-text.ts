import type { Scalar } from "yaml"

import { createRedactor } from "../base/redact.ts"
import { holdsHeaders, isSecretKey, maskAddressPasswords } from "./secrets.ts"
import { findSetting } from "./settings.ts"

/**
 * The text of a `config.yaml` for a reader who must not learn its secrets: the same lines, with `***` for keys and passwords, for headers and
 * environment variables of servers, and for anything else that looks like a secret. Undefined when the text is not valid YAML, because its
 * secrets cannot be found then.
 */
export async function maskSettingsText(text: string): Promise<string | undefined> {
  const { isPair, isScalar, isSeq, parseAllDocuments, visit } = await import("yaml")
  const documents = [parseAllDocuments(text, { logLevel: "error" })].flat()
  const hidden: Range[] = []
  for (const document of documents) {
    if (document.errors.length > 0) return undefined
    visit(document, {
      Scalar: (position, scalar, ancestors) => {
        if (position === "key") return
        const names = ancestors.filter(isPair).map(({ key }) => (isScalar(key) ? String(key.value) : ""))
        const list = ancestors.at(-1)
        const previous = isSeq(list) && typeof position === "number" ? list.items[position - 1] : undefined
        const flag = isScalar(previous) ? String(previous.value) : ""
        if (isSecret(scalar, names, flag)) hidden.push(...rangeOf(scalar))
      },
      Alias: (_position, alias, ancestors) => {
        const names = ancestors.filter(isPair).map(({ key }) => (isScalar(key) ? String(key.value) : ""))
        const source = alias.resolve(document)
        if (isScalar(source) && isSecret(source, names, "")) hidden.push(...rangeOf(source))
      },
    })
  }
  return maskPatterns(withoutRanges(text, hidden))
}

type Range = readonly [start: number, end: number]

function rangeOf({ range }: Scalar): readonly Range[] {
  return range === null || range === undefined ? [] : [[range[0], range[1]]]
}

/** `names` are the keys above the value, the outermost first; `flag` is the list item before it. */
function isSecret({ value }: Scalar, names: readonly string[], flag: string): boolean {
  if (value === "" || !(typeof value === "string" || typeof value === "number" || typeof value === "bigint"))
    return false
  const text = String(value)
  // Its value comes from the environment.
  if (/^\$\{[^}]*\}$/u.test(text)) return false
  const name = names.at(-1) ?? ""
  const parents = names.slice(0, -1)
  if (isSecretKey(name) || parents.some((parent) => holdsHeaders(parent) || ENVIRONMENT.test(parent))) return true
  if (SECRET_FLAG.test(flag)) return true
  if (findSetting(names.join(".")) !== undefined) return false
  return typeof value === "string" && (SECRET_NAME.test(name) || TOKEN.test(text))
}

/** A mapping of environment variables. */
const ENVIRONMENT = /(?:^|_)env(?:ironment)?$/iu
/** `--api-key` in the arguments of a server: the next argument is the key. */
const SECRET_FLAG = /^--?[\w-]*(?:key|token|secret|password|passwd|auth|credentials?|header)$/iu
/** Looser than for settings that Hermes knows: nothing is known about the value. */
const SECRET_NAME = /(?:key|token|secret|pass(?:word|wd|phrase)?|pwd|auth|credentials?|cookie|signature)$/iu
/** Random text: upper case, lower case and digits without a separator. */
const TOKEN = /^(?=[^]*\d)(?=[^]*[a-z])(?=[^]*[A-Z])[A-Za-z0-9+/_=]{20,}$/u

/** Keeps the line ends, so that line numbers stay the same. */
function withoutRanges(text: string, ranges: readonly Range[]): string {
  let result = ""
  let position = 0
  for (const [start, end] of ranges.toSorted(([a], [b]) => a - b)) {
    if (start < position) continue
    result += `${text.slice(position, start)}***${text.slice(start, end).replaceAll(/[^\n]/gu, "")}`
    position = end
  }
  return result + text.slice(position)
}

/** Secrets in comments and inside longer values, and those of a known form. */
function maskPatterns(text: string): string {
  const masked = maskAddressPasswords(text).replaceAll(INNER, (whole, opening: string, value: string) =>
    value.startsWith("***") || value.startsWith("${") ? whole : `${opening}***`,
  )
  return createRedactor({ enabled: true, secrets: [] }).redact(masked, { force: true })
}

const INNER =
  /((?:pass(?:word|wd|phrase)?|pwd|secret|(?<!max_)token|api[_-]?key|authorization)["']?[ \t]*[=:][ \t]*(?:bearer[ \t]+)?["']?)([^\s"',}\]]+)/giu
