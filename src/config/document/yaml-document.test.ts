import { expect, test } from "vitest"
import { parseYaml, renderYaml, yamlNode } from "./yaml-document.ts"

function valueOf(scalar: string): unknown {
  const parsed = parseYaml(`a: ${scalar}\n`)
  return parsed.ok ? parsed.value.tree["a"] : parsed.error
}

test.each<[string, unknown]>([
  ["yes", true],
  ["No", false],
  ["on", true],
  ["OFF", false],
  ["true", true],
  ["y", "y"],
  ["n", "n"],
  ["~", null],
  ["null", null],
  ["12", 12],
  ["-7", -7],
  ["1_000", 1000],
  ["0700", 448],
  ["0o17", "0o17"],
  ["089", "089"],
  ["0x1F", 31],
  ["0b11", 3],
  ["1.5", 1.5],
  ["1.", 1],
  [".5", 0.5],
  ["1e3", "1e3"],
  ["1.0e+3", 1000],
  [".inf", Infinity],
  ["22:30", "22:30"],
  ["2024-01-02", "2024-01-02"],
  ["2024-01-02T03:04:05Z", "2024-01-02T03:04:05Z"],
  ["123456789012345678", "123456789012345678"],
  ["1.2.3", "1.2.3"],
])("%s", (scalar, expected) => {
  expect(valueOf(scalar)).toEqual(expected)
})

test("a duplicate key is a warning, and the last value is used", () => {
  const parsed = parseYaml("a:\n  b: 1\n  b: 2\n")
  expect(parsed.ok && [parsed.value.tree, parsed.value.problems.map((problem) => problem.path)]).toEqual([
    { a: { b: 2 } },
    ["a.b"],
  ])
})

test("a syntax error has a position, anything but a mapping is refused, an empty text is an empty mapping", () => {
  expect(parseYaml("a: 1\nb: [1\n")).toMatchObject({ ok: false, error: { line: 3, column: 1 } })
  expect(parseYaml("- 1\n").ok).toBe(false)
  expect(parseYaml("# nothing\n")).toMatchObject({ ok: true, value: { tree: {} } })
})

test.each([
  ["a:\n\tb: 1\n", "a tab is used for indentation; use spaces"],
  ["a: b: c\n", "a line has two `key:` parts; put the value in quotes"],
  ["a: *nope\n", "an alias (*name) is undefined"],
  ["a: &a [*a]\n", "an alias (*name) refers to a value that contains it"],
  ["a: 1\n---\nb: 2\n", "the file has more than one document (a line with ---)"],
  ["a: 'open\n", "a closing quote or bracket, or a space after `:`, is missing"],
  ["a: %x\n", "a value starts with a character that needs quotes"],
])("%j is explained", (text, message) => {
  expect(parseYaml(text)).toMatchObject({ ok: false, error: { message: expect.stringContaining(message) } })
})

test("aliases cannot expand without bound", () => {
  const levels = Array.from(
    { length: 12 },
    (_, level) =>
      `l${level}: &l${level} [${
        level === 0
          ? "x"
          : Array(9)
              .fill(`*l${level - 1}`)
              .join(",")
      }]`,
  )
  expect(parseYaml(levels.join("\n")).ok).toBe(false)
})

test("numbers and booleans are rendered as they were written, new text that looks like a time is quoted", () => {
  const text = "a: 1_000 # many\nb: 0x1F\nc: off\nd: yes\ne: 123456789012345678\n"
  const parsed = parseYaml(text)
  if (!parsed.ok) throw new Error("must parse")
  const { document } = parsed.value
  expect(renderYaml(document, text)).toBe(text)
  document.set("f", yamlNode(document, ["22:30", "2024-01-02", "yes", "n", "plain"]))
  expect(renderYaml(document, text)).toBe(`${text}f:\n  - "22:30"\n  - "2024-01-02"\n  - "yes"\n  - n\n  - plain\n`)
})

test.each([
  "a:\n- 1\n- b: 2\n  c: {x: 1}\n",
  "a:\n  - 1\n  - b: [ 1, 2 ]\n",
  "a:\n    b:\n        c: 1 # remark\n\n# end\n",
])("the formatting of the text is kept: %j", (text) => {
  const parsed = parseYaml(text)
  expect(parsed.ok && renderYaml(parsed.value.document, text)).toBe(text)
})

test("odd keys print no warning of the library in the terminal", async () => {
  const warnings: string[] = []
  const listen = (warning: Error): void => {
    warnings.push(warning.message)
  }
  process.on("warning", listen)
  const parsed = parseYaml("? {a: b}\n: c\n? [1]\n: d\nname: x\n")
  await new Promise(setImmediate)
  process.off("warning", listen)
  expect([parsed.ok && parsed.value.tree["name"], warnings]).toEqual(["x", []])
})
