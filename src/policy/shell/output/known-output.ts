import { basename, dirname } from "node:path/posix"
import { gunzipSync } from "node:zlib"

import { decodeBase32 } from "./decode-base32.ts"
import type { Call, Field } from "../interpreter.ts"
import { PROGRAM_PATH } from "../copied-programs.ts"
import { decodeEscapes, formatPrintf } from "./printf.ts"
import { fileText } from "../redirections.ts"

/** A program that prints the same for the same arguments and input. */
interface Printing {
  readonly args: readonly string[]
  /** Standard input; undefined when it is not known. */
  readonly input: string | undefined
  readonly call: Call
}

type Printer = (printing: Printing) => string | undefined

const LONGEST_OUTPUT = 65_536

/** What a program prints, when its arguments and input are known and it is simple enough; otherwise undefined. */
export function knownOutput(name: string, call: Call): string | undefined {
  const print = PRINTERS.get(name)
  if (print === undefined) return undefined
  const words = call.argv.slice(1)
  if (words.some(({ known, pattern }) => !known || pattern) && name !== "cat") return undefined
  const output = print({ args: words.map(({ text }) => text), input: call.frame.input.text, call })
  return output !== undefined && output.length > LONGEST_OUTPUT ? undefined : output
}

const PRINTERS: ReadonlyMap<string, Printer> = new Map<string, Printer>([
  ["echo", ({ args }) => echo(args)],
  ["printf", ({ args }) => (args[0] === "-v" ? "" : formatPrintf(args))],
  ["cat", ({ call }) => concatenate(call)],
  [
    "tac",
    ({ args, input }) => (args.length > 0 ? undefined : input?.replace(/\n$/u, "").split("\n").toReversed().join("\n")),
  ],
  ["tee", ({ input }) => input],
  [
    "pwd",
    ({ call: { frame } }) => (frame.scope.directories.length === 1 ? line(frame.scope.directories[0]) : undefined),
  ],
  ["basename", ({ args }) => (args.length === 1 ? line(basename(args[0] ?? "")) : undefined)],
  ["dirname", ({ args }) => (args.length === 1 ? line(dirname(args[0] ?? "")) : undefined)],
  ["which", ({ args }) => located(args)],
  ["readlink", ({ args }) => resolved(args)],
  ["realpath", ({ args }) => resolved(args)],
  ["type", ({ args }) => (args[0]?.startsWith("-") === true ? located(args) : undefined)],
  ["command", ({ args }) => (args[0] === "-v" ? located(args) : undefined)],
  ["base64", ({ args, input }) => base64(args, input)],
  ["base32", ({ args, input }) => decodeWith(args, input, decodeBase32)],
  [
    "openssl",
    ({ args, input }) =>
      args.some((word) => /^-?(?:base64|a)$/u.test(word))
        ? decodeWith(args, input, (text) => Buffer.from(text, "base64").toString("utf8"))
        : undefined,
  ],
  ["xxd", ({ args, input }) => (args.some((word) => /^-\w*r/u.test(word)) ? fromHex(args, input) : undefined)],
  [
    "rev",
    ({ input }) =>
      input
        ?.split("\n")
        .map((text) => Array.from(text).toReversed().join(""))
        .join("\n"),
  ],
  ["tr", ({ args, input }) => translate(args, input)],
  ["gunzip", ({ input }) => unzip(input)],
  ["true", () => ""],
  [":", () => ""],
])

function line(text: string | undefined): string | undefined {
  return text === undefined ? undefined : `${text}\n`
}

function echo(args: readonly string[]): string {
  let at = 0
  let decodes = false
  let endsLine = true
  for (; /^-[neE]+$/u.test(args[at] ?? ""); at += 1) {
    const option = args[at] ?? ""
    if (option.includes("n")) endsLine = false
    if (option.includes("e")) decodes = true
    if (option.includes("E")) decodes = false
  }
  const text = args.slice(at).join(" ")
  if (!decodes) return endsLine ? `${text}\n` : text
  const { text: decoded, hasEnded } = decodeEscapes(text, true)
  return endsLine && !hasEnded ? `${decoded}\n` : decoded
}

function concatenate({ argv, frame }: Call): string | undefined {
  const files = argv.slice(1).filter(({ text }) => text === "-" || !text.startsWith("-"))
  if (files.length === 0) return frame.input.text
  const texts = files.map((file: Field) => (file.text === "-" ? frame.input.text : fileText(file, frame.scope)))
  return texts.includes(undefined) ? undefined : texts.join("")
}

/** Where programs are is not known, and the directory does not matter. */
function located(args: readonly string[]): string | undefined {
  const names = args.filter((word) => !word.startsWith("-"))
  const [name] = names
  return names.length === 1 && name !== undefined ? line(name.startsWith("/") ? name : `/usr/bin/${name}`) : undefined
}

/** A program of the system stays one, wherever the links in its path lead. */
function resolved(args: readonly string[]): string | undefined {
  const paths = args.filter((word) => !word.startsWith("-"))
  const [path = ""] = paths
  return paths.length === 1 && PROGRAM_PATH.test(path) ? line(path) : undefined
}

function decodeWith(
  args: readonly string[],
  input: string | undefined,
  decode: (text: string) => string,
): string | undefined {
  const isDecoding = args.some((word) => /^-\w*[dD]$/u.test(word) || word === "--decode" || word.startsWith("-di"))
  return isDecoding && input !== undefined ? decode(input.replaceAll(/\s/gu, "")) : undefined
}

function base64(args: readonly string[], input: string | undefined): string | undefined {
  if (args.length === 0 && input !== undefined) return `${Buffer.from(input).toString("base64")}\n`
  return decodeWith(args, input, (text) => Buffer.from(text, "base64").toString("utf8"))
}

function fromHex(args: readonly string[], input: string | undefined): string | undefined {
  if (input === undefined || !args.some((word) => /^-\w*p/u.test(word))) return undefined
  return Buffer.from(input.replaceAll(/[^\dA-Fa-f]/gu, ""), "hex").toString("utf8")
}

function unzip(input: string | undefined): string | undefined {
  if (input === undefined) return undefined
  try {
    return gunzipSync(Buffer.from(input, "latin1"), { maxOutputLength: LONGEST_OUTPUT }).toString("utf8")
  } catch {
    // Text that is not compressed prints an error instead.
    return undefined
  }
}

/** `tr a-z n-za-m` and `tr -d x`. */
function translate(args: readonly string[], input: string | undefined): string | undefined {
  if (input === undefined) return undefined
  const [first = "", second] = args.filter((word) => !/^-[dscC]+$/u.test(word))
  const flags = args.filter((word) => /^-[dscC]+$/u.test(word)).join("")
  if (flags.includes("c") || flags.includes("C") || flags.includes("s")) return undefined
  const from = translationSet(first)
  if (flags.includes("d"))
    return Array.from(input)
      .filter((character) => !from.includes(character))
      .join("")
  if (second === undefined) return undefined
  const to = translationSet(second)
  return Array.from(input)
    .map((character) => {
      const at = from.lastIndexOf(character)
      return at === -1 ? character : (to[at] ?? to.at(-1) ?? "")
    })
    .join("")
}

const CLASSES: Readonly<Record<string, string>> = {
  "[:lower:]": "a-z",
  "[:upper:]": "A-Z",
  "[:digit:]": "0-9",
  "[:space:]": " \t\n\r\v\f",
  "[:alpha:]": "A-Za-z",
}

function translationSet(text: string): readonly string[] {
  const plain = decodeEscapes(
    text.replaceAll(/\[:\w+:\]/gu, (name) => CLASSES[name] ?? name),
    false,
  ).text
  const characters: string[] = []
  for (let at = 0; at < plain.length && characters.length < 1024; at += 1) {
    const last = plain[at + 1] === "-" ? plain.charCodeAt(at + 2) : Number.NaN
    if (Number.isNaN(last)) {
      characters.push(plain[at] ?? "")
      continue
    }
    for (let code = plain.charCodeAt(at); code <= last && characters.length < 1024; code += 1) {
      characters.push(String.fromCharCode(code))
    }
    at += 2
  }
  return characters
}
