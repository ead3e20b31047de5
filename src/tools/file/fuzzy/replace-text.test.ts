import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { CORPUS_FILE, makeReplaceCorpus } from "../../../../test/fixtures/tools/make-replace-corpus.ts"
import type { RecordedCase } from "../../../../test/fixtures/tools/make-replace-corpus.ts"
import { slowReplace } from "../../../../test/fixtures/tools/slow-replace.ts"
import type { Outcome } from "../../../../test/fixtures/tools/slow-replace.ts"
import { replaceText } from "./replace-text.ts"
import { STRATEGY_NAMES } from "./strategies.ts"

const FUNCTION = "function area(w, h) {\n  const a = w * h\n  const b = a + 11\n  return b\n}\n"

/** The table of 2.6. */
const VECTORS: readonly {
  readonly what: string
  readonly file: string
  readonly old: string
  readonly to: string
  readonly all?: boolean
  readonly result: { readonly strategy: string; readonly text: string; readonly count?: number } | RegExp
}[] = [
  { what: "plain", file: "a=1\nb=2\n", old: "b=2", to: "b=3", result: { strategy: "exact", text: "a=1\nb=3\n" } },
  { what: "nothing to look for", file: "any", old: "", to: "x", result: /^old_string cannot be empty$/ },
  { what: "no change", file: "any", old: "x", to: "x", result: /identical/ },
  { what: "two places", file: "x\nx\n", old: "x", to: "y", result: /2 matches \(lines 1, 2\)/ },
  {
    what: "all places",
    file: "x\nx\n",
    old: "x",
    to: "y",
    all: true,
    result: { strategy: "exact", text: "y\ny\n", count: 2 },
  },
  {
    what: "places that overlap count once",
    file: "aaa",
    old: "aa",
    to: "b",
    all: true,
    result: { strategy: "exact", text: "ba" },
  },
  {
    what: "indentation and trailing spaces",
    file: "def f():\n        return 1  \n",
    old: "def f():\n    return 1",
    to: "def f():\n    return 2",
    result: { strategy: "line_trimmed", text: "def f():\n    return 2\n" },
  },
  {
    what: "spaces inside",
    file: "a  =   1\n",
    old: "a = 1",
    to: "a = 2",
    result: { strategy: "whitespace_normalized", text: "a = 2\n" },
  },
  {
    what: "a block further in",
    file: "    if x:\n        y()\n",
    old: "if x:\n  y()",
    to: "if x:\n  z()",
    result: { strategy: "line_trimmed", text: "    if x:\n      z()\n" },
  },
  {
    what: "a literal line feed",
    file: "a\nb\n",
    old: String.raw`a\nb`,
    to: "c",
    result: { strategy: "escape_normalized", text: "c\n" },
  },
  {
    what: "typographic signs",
    file: "say “hi” — ok\n",
    old: 'say "hi" -- ok',
    to: 'say "bye"',
    result: { strategy: "unicode_normalized", text: 'say "bye"\n' },
  },
  {
    what: "a block with one other digit",
    file: FUNCTION,
    old: FUNCTION.replace("11", "12").trimEnd(),
    to: "REPL",
    result: { strategy: "block_anchor", text: "REPL\n" },
  },
  {
    what: "lines that are alike",
    file: "alpha beta gamma\ndelta epsilon\nzzz\n",
    old: "alpha beta gamme\ndelta epsilom",
    to: "NEW",
    result: { strategy: "context_aware", text: "NEW\nzzz\n" },
  },
  {
    what: "escape drift",
    file: "print('hi')\n",
    old: String.raw`  print(\'hi\')`,
    to: String.raw`  print(\'yo\')`,
    result: /^escape drift/,
  },
  {
    what: "relative indentation",
    file: "    foo()\n    bar()\n",
    old: "foo()\nbar()",
    to: "foo()\nif a:\n    baz()\nbar()",
    result: { strategy: "line_trimmed", text: "    foo()\n    if a:\n        baz()\n    bar()\n" },
  },
  {
    what: "a literal tab that indents",
    file: "\tfoo();\n",
    old: "\tfoo();",
    to: String.raw`\tbar();`,
    result: { strategy: "exact", text: "\tbar();\n" },
  },
  {
    what: "a literal tab in a string",
    file: '\tx="a";\n',
    old: '\tx="a";',
    to: '\tx="a\\tb";',
    result: { strategy: "exact", text: '\tx="a\\tb";\n' },
  },
]

describe("the table", () => {
  test.each(VECTORS)("$what", ({ file, old, to, all, result }) => {
    const replaced = replaceText(file, { old, replacement: to, all: all ?? false })
    if (result instanceof RegExp) {
      expect(replaced).toEqual({
        ok: false,
        error: { kind: expect.any(String), message: expect.stringMatching(result) },
      })
    } else {
      expect(replaced).toEqual({ ok: true, value: { count: 1, ...result } })
    }
  })
})

describe("the recorded corpus", () => {
  const recorded = JSON.parse(readFileSync(CORPUS_FILE, "utf8")) as readonly RecordedCase[]

  test("it is what the seed makes, and the oracle agrees with the record", () => {
    expect(recorded.map(({ file, old, to, all }) => ({ file, old, to, all }))).toEqual(makeReplaceCorpus())
    expect(recorded.map(({ file, old, to, all }) => slowReplace(file, old, to, all))).toEqual(
      recorded.map(({ outcome }) => outcome),
    )
  })

  test("every outcome is the recorded one", () => {
    const found = recorded.map(({ file, old, to, all }) => outcomeOf(replaceText(file, { old, replacement: to, all })))
    expect(found).toEqual(recorded.map(({ outcome }) => outcome))
  })

  test("every strategy that can decide, and every refusal, occurs", () => {
    const kinds = new Set(recorded.map(({ outcome }) => ("error" in outcome ? outcome.error : outcome.strategy)))
    // Lines equal without their indentation, or but for their ends, are equal once trimmed: two strategies never decide.
    const never = new Set(["indentation_flexible", "trimmed_boundary"])
    const possible = STRATEGY_NAMES.filter((name) => !never.has(name))
    expect([...kinds].toSorted()).toEqual(
      [...possible, "ambiguous", "bad-request", "escape-drift", "no-match"].toSorted(),
    )
    expect(recorded.length).toBeGreaterThanOrEqual(200)
  })
})

function outcomeOf(replaced: ReturnType<typeof replaceText>): Outcome {
  return replaced.ok ? replaced.value : { error: replaced.error.kind }
}
