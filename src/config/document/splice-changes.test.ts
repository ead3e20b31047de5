import { expect, test } from "vitest"

import { fc } from "../../../test/support/property.ts"
import { parseYaml, renderYaml } from "./yaml-document.ts"
import { removeFromDocument, setInDocument } from "./yaml-edit.ts"

function edited(text: string, edit: (document: Parameters<typeof setInDocument>[0]) => void): string {
  const parsed = parseYaml(text)
  if (!parsed.ok) throw new Error(parsed.error.message)
  edit(parsed.value.document)
  return renderYaml(parsed.value.document, text)
}

const set = (text: string, path: string, value: unknown): string =>
  edited(text, (document) => void setInDocument(document, path, value))
const unset = (text: string, path: string): string =>
  edited(text, (document) => void removeFromDocument(document, path))

test.each<[string, string, string, unknown, string]>([
  [
    "a commented section stays in the first column",
    "model:\n  default: gpt\n\n\n# providers:\n#   local:\n#     url: x\n\nagent:\n  max_turns: 90\n",
    "model.provider",
    "xai",
    "model:\n  default: gpt\n  provider: xai\n\n\n# providers:\n#   local:\n#     url: x\n\nagent:\n  max_turns: 90\n",
  ],
  [
    "comments at the end of the file stay there",
    "a:\n  b: 1\n# one\n\n  # two\n      # three\n",
    "a.c",
    2,
    "a:\n  b: 1\n  c: 2\n# one\n\n  # two\n      # three\n",
  ],
  ["a file with only comments", "# mine\n\n#x: 1\n", "a.b", 1, "# mine\n\n#x: 1\na:\n  b: 1\n"],
  ["no line break at the end", "a: 1 # x", "b", 2, "a: 1 # x\nb: 2\n".trimEnd()],
  ["an empty section", "a: # later\n  # b: 2\nc: 3\n", "a.b", 1, "a: # later\n  b: 1\n  # b: 2\nc: 3\n"],
  ["a scalar becomes a section", "a: 1 # one\n\nb: 2\n", "a.x", 5, "a: # one\n  x: 5\n\nb: 2\n"],
  [
    "a section becomes a scalar",
    "a: # one\n  # two\n  b: 1\n# three\nc: 3\n",
    "a",
    5,
    "a: 5 # one\n  # two\n# three\nc: 3\n",
  ],
  ["a block text", "a: |\n  one\n  two\n\n# c\nb: 1\n", "a", "x", "a: x\n\n# c\nb: 1\n"],
  [
    "a list grows",
    "a:\n- 1 # one\n# two\n- 2\n# end\nb: 1\n",
    "a",
    [1, 2, 3],
    "a:\n- 1 # one\n# two\n- 2\n- 3\n# end\nb: 1\n",
  ],
  ["a list shrinks", "a:\n  - x # one\n  # two\n  - y\n  - z\n", "a", ["x", "z"], "a:\n  - x # one\n  # two\n  - z\n"],
  ["a list is emptied", "a:\n  # all\n  - x\nb: 1\n", "a", [], "a: []\n  # all\nb: 1\n"],
  [
    "in a list item",
    "a:\n  - n: x # name\n    v: 1\n  # end\n",
    "a.0.w",
    2,
    "a:\n  - n: x # name\n    v: 1\n    w: 2\n  # end\n",
  ],
  [
    "a flow mapping with comments",
    "a: {\n  x: 1, # one\n  y: 2 } # two\n",
    "a.x",
    3,
    "a: {\n  x: 3, # one\n  y: 2 } # two\n",
  ],
  [
    "Windows line breaks",
    "a:\r\n  b: 1 # x\r\n# y\r\nc: 2\r\n",
    "a.d",
    2,
    "a:\r\n  b: 1 # x\r\n  d: 2\r\n# y\r\nc: 2\r\n",
  ],
  [
    "wide indentation",
    "a:\n    b: 1\n\n    # c\nd: 2\n",
    "a.e",
    { f: 1 },
    "a:\n    b: 1\n    e:\n        f: 1\n\n    # c\nd: 2\n",
  ],
])("%s", (_, before, path, value, after) => {
  expect(set(before, path, value)).toBe(after)
})

test.each<[string, string, string]>([
  ["# one\na: 1 # two\n# three\nb: 2\n", "a", "# one\n# three\nb: 2\n"],
  ["a:\n  # one\n  b: 1\n  # two\n\nc: 2\n", "a.b", "a: {}\n  # one\n  # two\n\nc: 2\n"],
  ["a:\n  b: 1\n# one\n  # two\nc: 2\n", "a", "# one\n  # two\nc: 2\n"],
])("on %j unset %s", (before, path, after) => {
  expect(unset(before, path)).toBe(after)
})

interface Line {
  readonly text: string
  /** The path of the key in this line. */
  readonly path?: string
}

const scalar = fc.constantFrom("1", "yes", "text", "'quoted # no comment'", '"x: y"', "[1, 2]", "{a: 1}", "~", "1_000")
const remark = fc.constantFrom("", "", "  # remark", " #remark: 1")

/** Blank and comment lines, indented at random, as a user leaves them. */
const filler: fc.Arbitrary<readonly Line[]> = fc.array(
  fc.oneof(
    fc.constant({ text: "" }),
    fc
      .record({ indent: fc.nat({ max: 6 }), word: fc.constantFrom("# note", "#key: 1", "#   sub: 2", "# - item") })
      .map(({ indent, word }) => ({ text: `${" ".repeat(indent)}${word}` })),
  ),
  { maxLength: 3 },
)

function section(depth: number, prefix: string, indent: string): fc.Arbitrary<readonly Line[]> {
  const names = ["alpha", "beta", "gamma"]
  const member = (name: string): fc.Arbitrary<readonly Line[]> => {
    const path = `${prefix}${name}`
    const leaf = fc
      .record({ value: scalar, comment: remark, after: filler })
      .map(({ value, comment, after }) => [{ text: `${indent}${name}: ${value}${comment}`, path }, ...after])
    if (depth === 0) return leaf
    const nested = fc
      .record({ comment: remark, before: filler, body: section(depth - 1, `${path}.`, `${indent}  `) })
      .map(({ comment, before, body }) => [{ text: `${indent}${name}:${comment}` }, ...before, ...body])
    return fc.oneof(leaf, nested)
  }
  return fc
    .subarray(names, { minLength: 1 })
    .chain((chosen) => fc.tuple(...chosen.map(member)).map((lines) => lines.flat()))
}

const file = fc.tuple(filler, section(2, "", "")).map((parts) => parts.flat())
const textOf = (lines: readonly Line[]): string => lines.map(({ text }) => `${text}\n`).join("")

test("setting, adding and removing one key leaves every other line as it was", () => {
  fc.assert(
    fc.property(file, fc.nat(), fc.constantFrom<unknown>(42, "new", false), (lines, pick, value) => {
      const text = textOf(lines)
      const leaves = lines.flatMap((line, index) => (line.path === undefined ? [] : [{ index, path: line.path }]))
      const leaf = leaves[pick % leaves.length]
      if (leaf === undefined) return
      const { index, path } = leaf
      const others = (count: number): readonly string[] => lines.toSpliced(index, count).map((line) => line.text)

      const changed = set(text, path, value).split("\n")
      expect(changed.toSpliced(index, 1).slice(0, -1)).toEqual(others(1))
      expect(changed[index]).toMatch(new RegExp(`^ *${path.split(".").at(-1)}: ${String(value)}( +#.*)?$`))

      const sibling = [...path.split(".").slice(0, -1), "delta"].join(".")
      const added = set(text, sibling, value).split("\n")
      const at = added.findIndex((line) => line.trim() === `delta: ${String(value)}`)
      expect(added.toSpliced(at, 1).slice(0, -1)).toEqual(others(0))

      const removed = unset(text, path).split("\n").slice(0, -1)
      const emptied = removed.map((line) => line.replace(/^( *\w+:) \{\}( +#.*)?$/, "$1$2"))
      expect([removed, emptied]).toContainEqual(others(1))
    }),
    { numRuns: 400 },
  )
})
