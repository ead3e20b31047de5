import { spawnSync } from "node:child_process"
import { mkdtempSync, rmdirSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { expect, test } from "vitest"

import { fc } from "../../../test/support/property.ts"
import { INITIAL_SHELL_STATE, understandCommand } from "./understand-command.ts"
import type { UnderstoodCommand } from "./understood-command.ts"

function understand(line: string): UnderstoodCommand {
  return understandCommand(line, INITIAL_SHELL_STATE("/nowhere"), { userHome: "/home/alice" })
}

const QUOTINGS: readonly ((text: string) => string)[] = [
  (text) => `'${text.replaceAll("'", String.raw`'\''`)}'`,
  (text) => `"${text.replaceAll(/["\\$`]/gu, String.raw`\$&`)}"`,
  (text) => text.replaceAll(/[^\n]/gu, String.raw`\$&`).replaceAll("\n", () => String.raw`$'\n'`),
  (text) =>
    `$'${Array.from(text)
      .map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join("")}'`,
  (text) =>
    Array.from(text)
      .map((one) => (one === "'" ? `"'"` : `'${one}'`))
      .join('""'),
]

const character = fc.constantFrom(...Array.from("ab/-_ .*?[]{},~$`\"'\\!#&|;<>()=\n\té"))
const piece = fc.tuple(fc.string({ unit: character, minLength: 1, maxLength: 6 }), fc.constantFrom(...QUOTINGS))
const word = fc.array(piece, { minLength: 1, maxLength: 3 })

test("words come out of any quoting as they went in", () => {
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 5 }), (words) => {
      const line = `c ${words.map((pieces) => pieces.map(([text, quoting]) => quoting(text)).join("")).join(" ")}`
      const { commands, doubts } = understand(line)
      expect(doubts).toEqual([])
      expect(commands.map(({ argv }) => argv.map(({ text }) => text))).toEqual([
        ["c", ...words.map((pieces) => pieces.map(([text]) => text).join(""))],
      ])
    }),
    { numRuns: 1000 },
  )
})

const FRAGMENTS = [
  ..."ab/*?[:,=@%+".split(""),
  ..."$x $y $1 $# ${x} ${x:-d} ${z:-d} ${u-w} ${x+w} ${x#a} ${x%b} ${y//b/c} ${y%%b} ${x:1:1} ${y:2} ${#x} ${x^^} ${!n}".split(
    " ",
  ),
  ..."${arr[@]} ${arr[*]} ${arr[1]} ${arr[@]:1} $@ $* $((1+2)) $((k*2)) $((0x1f)) {a,b} {1..3} x{a,}y ~/ $e".split(" "),
  "$(echo a b)",
  "$(printf '%s' q)",
  "`echo k`",
  String.raw`$'\x41'`,
  "''",
  String.raw`\ `,
  "'a b'",
]

test("expansions give the words that bash gives", () => {
  const quotedFragment = fc
    .tuple(fc.constantFrom(...FRAGMENTS), fc.boolean())
    .map(([text, isQuoted]) => (isQuoted && !/['\\]/u.test(text) ? `"${text}"` : text))
  const anyWord = fc.array(quotedFragment, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(""))
  const line = fc
    .tuple(fc.constantFrom("", "IFS=, ; ", "IFS=b; ", "IFS=; "), fc.array(anyWord, { minLength: 1, maxLength: 3 }))
    .map(([separators, words]) => `${SET_UP}${separators}c ${words.join(" ")}`)
  const lines = fc.sample(line, 800)
  const expected = runInBash(lines)
  for (const [index, text] of lines.entries()) {
    const argv = understand(text).commands.find((command) => command.argv[0]?.text === "c")?.argv ?? []
    // A pattern may match files, and what is not known has no words to compare.
    if (argv.some(({ known, pattern, text: shown }) => !known || (pattern && shown.includes("/")))) continue
    expect([text, argv.map((one) => one.text)]).toEqual([text, expected[index]])
  }
})

const SET_UP = "x=ab y='b c  d' e= k=5 n=x; unset u z; arr=(p 'q r' s); set -- A 'B C' D; "

/** The words that bash passes to a command `c`, for each line. */
function runInBash(lines: readonly string[]): readonly (readonly string[])[] {
  const script = lines
    .map(
      (line) =>
        `(c() { printf '%s\\0' c "$@"; }; eval '${line.replaceAll("'", String.raw`'\''`)}') 2>/dev/null; printf '\\1\\0'`,
    )
    .join("\n")
  // No pattern matches in an empty directory.
  const cwd = mkdtempSync(join(tmpdir(), "hermes-shell-words-"))
  const { stdout } = spawnSync("bash", ["--norc"], {
    input: script,
    cwd,
    env: { HOME: "/home/alice", PATH: "/usr/bin:/bin", LC_ALL: "C.UTF-8" },
    maxBuffer: 1 << 26,
    encoding: "utf8",
  })
  rmdirSync(cwd)
  return stdout.split("\u0001\0").map((words) => words.split("\0").slice(0, -1))
}

test("any text is understood or doubted, without an exception", () => {
  const fragment = fc.constantFrom(
    ..."$( ) ` ' \" ${ } (( )) [[ ]] { <<E <( >( && || ; ;; | & ! if then fi do done case esac in for while function f() rm -rf / $x \\ \n # * ? ~ = += [ ] < > 2>&1 <<< eval sh -c sudo xargs find -exec {} alias trap source . cd".split(
      " ",
    ),
    "\n",
    " ",
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.array(fragment, { maxLength: 40 }).map((all) => all.join(" ")),
        fc.array(fragment, { maxLength: 40 }).map((all) => all.join("")),
        fc.string({ unit: "binary", maxLength: 60 }),
      ),
      (text) => {
        expect(understand(text).commands.length).toBeLessThanOrEqual(2000)
      },
    ),
    { numRuns: 1500 },
  )
})
