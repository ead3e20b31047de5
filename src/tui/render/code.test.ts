import { describe, expect, test } from "vitest"

import { colorTheme, plainTheme, plainRow, readable } from "../../../test/fixtures/tui/themes.ts"
import { textColumns } from "../../terminal/text-width.ts"
import { codeRows, createCodeHighlighter } from "./code.ts"
import { GRAMMARS } from "./grammars.ts"

const shown = (text: string, language: string, columns = 60): readonly string[] =>
  codeRows(text, { theme: colorTheme, language, columns }).map(readable)

describe("highlighting", () => {
  test("keeps its state from line to line", () => {
    expect(shown("/* a\n b */ const x = 1\nconst s = `a\n${y} b`", "ts")).toEqual([
      "  <dim>/* a</>",
      "  <dim> b */</> <ui_accent>const</> x = <banner_accent>1</>",
      "  <ui_accent>const</> s = <ui_ok>`a</>",
      "  ${y}<ui_ok> b`</>",
    ])
  })

  test.each(Object.keys(GRAMMARS))("%s is known and changes no text", (language) => {
    const text = "# a \"b\" 'c' 12\n<d e='f'>{ g: h }</d>\n// i\n  j = k(l) /* m\nn */ end"
    const rows = codeRows(text, { theme: colorTheme, language, columns: 80 }).map(plainRow)
    expect(rows).toEqual(text.split("\n").map((line) => `  ${line}`))
  })

  test("aliases are known; other languages and a theme without colours are plain", () => {
    expect(shown("let a", "JS")).toEqual(["  <ui_accent>let</> a"])
    expect(shown("let a", "brainfuck")).toEqual(["  let a"])
    expect(shown("let a", "constructor")).toEqual(["  let a"])
    expect(codeRows("let a", { theme: plainTheme, language: "js", columns: 20 })).toEqual(["  let a"])
  })

  test("an unfinished line does not change the state", () => {
    const block = createCodeHighlighter().open({ theme: colorTheme, language: "js" })
    expect(block.unfinished("/* a", 40).map(readable)).toEqual(["  <dim>/* a</>"])
    expect(block.line("let", 40).map(readable)).toEqual(["  <ui_accent>let</>"])
  })
})

describe("layout", () => {
  test("tabs become spaces, long lines continue with a mark, blank lines have no spaces", () => {
    expect(codeRows("\tif (a) {\n\n\t}", { theme: plainTheme, language: "", columns: 40 })).toEqual([
      "      if (a) {",
      "",
      "      }",
    ])
    expect(codeRows("abcdefghijklmnopqrstuvwxyz", { theme: plainTheme, language: "", columns: 16 })).toEqual([
      "  abcdefghijkl",
      "  ↪ mnopqrstuvwx",
      "  ↪ yz",
    ])
  })

  test("no row is too wide, and control sequences are removed", () => {
    const text = `const a = "${"日本".repeat(60)}\u{1B}[2J"\n${"x".repeat(5000)}`
    for (const columns of [10, 40, 80]) {
      for (const row of codeRows(text, { theme: colorTheme, language: "ts", columns }).map(plainRow)) {
        expect(textColumns(row)).toBeLessThanOrEqual(columns)
        expect(row).not.toContain("\u{1B}")
      }
    }
  })
})
