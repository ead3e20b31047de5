import { describe, expect, test } from "vitest"

import { plainRow, plainTheme, colorTheme, readable } from "../../../test/fixtures/tui/themes.ts"
import { fc } from "../../../test/support/property.ts"
import { textColumns } from "../../terminal/text-width.ts"
import { createMarkdownStream, markdownRows } from "./markdown-stream.ts"

const rows = (text: string, columns = 40): readonly string[] => markdownRows(text, { theme: plainTheme, columns })

function streamed(deltas: readonly string[], columns = 40): readonly string[] {
  const stream = createMarkdownStream({ theme: plainTheme, columns: () => columns })
  const printed: string[] = []
  for (const delta of deltas) {
    printed.push(...stream.feed(delta))
    for (const row of stream.tail()) expect(textColumns(row)).toBeLessThanOrEqual(columns)
  }
  return [...printed, ...stream.end()]
}

const DOCUMENT = `# Title

A paragraph with *emphasis*, **strong**, ~~old~~, \`code\`, [a link](https://example.com/page) and https://example.com.
The second line.
- one
- two
  - nested
    1. deep
  - [x] done
  - [ ] open

3. three
3. four

   \`\`\`bash
   npm test
   \`\`\`

> quoted
> > twice

| Name | Value | Remark |
|:-----|------:|:------:|
| a | 1 | words that need more than one row in a cell |
| b | 22 | short |

\`\`\`ts
const answer = 42

function long(first: string, second: string): void {}
\`\`\`
after

---
<b>html</b>

$$
x_1 = \\frac{a}{b}
$$
inline $a_1 * b_2$ and \\(x_2\\)
`

describe("blocks", () => {
  test.each([40, 60, 80, 120])("a document at %i columns", (columns) => {
    const shown = rows(DOCUMENT, columns)
    for (const row of shown) expect(textColumns(row)).toBeLessThanOrEqual(columns)
    expect(`\n${shown.join("\n")}\n`).toMatchSnapshot()
  })

  test("a line of 10 MB without a space", () => {
    const shown = rows("y".repeat(10_000_000), 100)
    expect(shown.join("").length).toBe(10_000_000)
  })

  test("with styles", () => {
    const shown = markdownRows("## A *b*\n\n`c` **d _e_** [f](g:h)\n- i", { theme: colorTheme, columns: 40 })
    expect(shown.map(readable)).toEqual([
      "<banner_title><bold>A </></><banner_title><bold><italic>b</></></>",
      "",
      "<ui_accent>c</> <bold>d </><bold><italic>e</></> <underline>f</><dim> (g:h)</>",
      "<banner_accent>•</> i",
    ])
  })

  test("a table on a narrow screen is a list", () => {
    expect(rows("| A | B |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n", 30)).toEqual([
      "A: 1",
      "B: 2",
      "────────────",
      "A: 3",
      "B: 4",
    ])
  })

  test("unterminated marks are text", () => {
    expect(rows("a **b\n\n[c](http://d\n\n| e | f")).toEqual(["a **b", "", "[c](http://d", "", "| e | f"])
    expect(rows("```js\nlet a\n``\nb")).toEqual(["  js", "  let a", "  ``", "  b"])
  })

  test("a link of the terminal is never created, and entities cannot make control characters", () => {
    const text =
      "[a](http://b \u{1B}]8;;http://evil\u{7}) &#27;[2J &#x9b;2J &lt;ok&gt; \u{1B}[31mred\u{1B}[0m \u{202E}x"
    const shown = markdownRows(`${text}\n\n\`\`\`\n${text}\n\`\`\``, { theme: plainTheme, columns: 80 }).join("\n")
    expect(shown).not.toMatch(/(?!\n)[\p{Cc}\u{202A}-\u{202E}]/u)
    expect(shown).toContain("<ok> red x")
  })
})

describe("while it streams", () => {
  const stream = () => createMarkdownStream({ theme: plainTheme, columns: () => 40 })

  test("a block is final when the next one starts, an item when the next item starts", () => {
    const markdown = stream()
    expect(markdown.feed("Text\nmore\n")).toEqual([])
    expect(markdown.tail()).toEqual(["Text", "more"])
    expect(markdown.feed("- one\n")).toEqual(["Text", "more"])
    expect(markdown.feed("- tw")).toEqual([])
    expect(markdown.tail()).toEqual(["• one", "• tw"])
    expect(markdown.feed("o\n")).toEqual(["• one"])
    expect(markdown.feed("\nEnd")).toEqual([])
    expect(markdown.tail()).toEqual(["• two", "", "End"])
    expect(markdown.end()).toEqual(["• two", "", "End"])
    expect(markdown.tail()).toEqual([])
  })

  test("code is final line by line", () => {
    const markdown = stream()
    expect(markdown.feed("```py\n")).toEqual(["  py"])
    expect(markdown.feed("x = 1\ny")).toEqual(["  x = 1"])
    expect(markdown.tail()).toEqual(["  y"])
    expect(markdown.feed("\n``")).toEqual(["  y"])
    expect(markdown.tail()).toEqual([])
    expect(markdown.feed("`\n")).toEqual([])
    expect(markdown.end()).toEqual([])
  })

  test("a table is text until it ends", () => {
    const markdown = stream()
    expect(markdown.feed("| A | B |\n|---|---|\n| 1 | 2 |\n")).toEqual([])
    expect(markdown.tail()).toEqual(["| A | B |", "|---|---|", "| 1 | 2 |"])
    expect(markdown.feed("\n")).toEqual(["A │ B", "──┼──", "1 │ 2"])
  })

  test("open marks are completed in the tail", () => {
    const markdown = createMarkdownStream({ theme: colorTheme, columns: () => 40 })
    const tails = ["a **", "b", "** `c", "` [d](htt", "p://e)"].map((delta) => {
      markdown.feed(delta)
      return markdown.tail().map(readable).join("|")
    })
    expect(tails).toEqual([
      "a",
      "a <bold>b</>",
      "a <bold>b</> <ui_accent>c</>",
      "a <bold>b</> <ui_accent>c</> d",
      "a <bold>b</> <ui_accent>c</> <underline>d</><dim> (http://e)</>",
    ])
  })

  test("a long block is shown in parts", () => {
    const markdown = stream()
    const table = ["| A | B |", "|---|---|", ...Array.from({ length: 500 }, (_, index) => `| a${index} | b |`), ""]
    const printed = markdown.feed(table.join("\n"))
    expect(printed.length).toBeGreaterThan(350)
    const all = [...printed, ...markdown.end()]
    expect(all.filter((row) => row.startsWith("A"))).toHaveLength(1)
    expect(all.filter((row) => row.startsWith("a"))).toHaveLength(500)
    expect(all.filter((row) => row === "")).toEqual([])
  })
})

describe("after a change of the width", () => {
  test("code and text use the new one", () => {
    let columns = 80
    const markdown = createMarkdownStream({ theme: plainTheme, columns: () => columns })
    markdown.feed("```\nfirst\n")
    columns = 20
    const rest = [
      ...markdown.feed(`${"x".repeat(70)}\n\`\`\`\n`),
      ...markdown.feed(`${"word ".repeat(20)}\n`),
      ...markdown.end(),
    ]
    for (const row of rest) expect(textColumns(row)).toBeLessThanOrEqual(20)
  })
})

test("long code in a list item ends with its fence", () => {
  const code = Array.from({ length: 300 }, (_, index) => `   line ${index}`).join("\n")
  const shown = rows(`1. Do this:\n   \`\`\`js\n${code}\n   \`\`\`\n2. **Then** that\n`)
  expect(shown.filter((row) => row.includes("line"))).toHaveLength(300)
  expect(shown.at(-1)).toBe("2. **Then** that")
  expect(shown.filter((row) => row.includes("```"))).toEqual([])
})

describe("properties", () => {
  const fragment = fc.oneof(
    fc.constantFrom(
      ...DOCUMENT.split("\n"),
      "",
      "\n\n",
      "```",
      "~~~",
      "    indented code",
      "- ",
      "1) one",
      "> ",
      "|",
      "| x | y |",
      "===",
      "**",
      "\u{1B}[31",
      "日本語 テキスト",
      "👩‍👩‍👧 family é",
      "\t\ttabs",
      "\r",
    ),
    fc.string({ maxLength: 30 }),
    fc.string({ unit: fc.constantFrom(..."*_`~[]()<>#-|$\\!> \n\t1.ab".split("")), maxLength: 40 }),
  )
  const text = fc.array(fragment, { maxLength: 14 }).map((parts) => parts.join("\n"))

  test("the split into deltas makes no difference", () => {
    fc.assert(
      fc.property(
        text,
        fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 5 }),
        (document, sizes) => {
          const deltas: string[] = []
          let start = 0
          for (let index = 0; start < document.length; index += 1) {
            const size = sizes[index % sizes.length] ?? 1
            deltas.push(document.slice(start, start + size))
            start += size
          }
          expect(streamed(deltas)).toEqual(rows(document))
        },
      ),
      { numRuns: 300 },
    )
  })

  test("every word is shown, in order, and no row is too wide", () => {
    const word = fc.string({ unit: fc.constantFrom(..."abcdefghijklmnop".split("")), minLength: 2, maxLength: 60 })
    const line = fc
      .tuple(
        fc.constantFrom("", "", "- ", "  - ", "12. ", "> ", "# ", "    ", "**", "`", "[", "<i>", "```\n", "$$\n", "\\"),
        fc.array(word, { minLength: 1, maxLength: 12 }),
        fc.constantFrom("", "", "**", "`", "](http://x.y)", "\n", "  ", "\n```", "*"),
      )
      .map(([before, words, after]) => ({ words, text: before + words.join(" ") + after }))
    fc.assert(
      fc.property(fc.array(line, { maxLength: 12 }), fc.integer({ min: 20, max: 100 }), (lines, columns) => {
        const shown = rows(lines.map(({ text: part }) => part).join("\n"), columns)
        for (const row of shown) expect(textColumns(row)).toBeLessThanOrEqual(columns)
        const joined = shown.join("").replaceAll(/[^a-p]/gu, "")
        let position = 0
        for (const expected of lines.flatMap(({ words }) => words)) {
          const found = joined.indexOf(expected, position)
          expect([expected, found]).toEqual([expected, Math.max(found, 0)])
          position = found + expected.length
        }
      }),
      { numRuns: 200 },
    )
  })
})

describe("hostile text", () => {
  const CASES: Readonly<Record<string, string>> = {
    "nested quotes": ">".repeat(100_000),
    "nested quotes with spaces": "> ".repeat(50_000),
    "nested lists": "- ".repeat(50_000),
    "growing indent": Array.from({ length: 400 }, (_, index) => `${" ".repeat(2 * index)}- a`).join("\n"),
    brackets: "[".repeat(100_000),
    "closed brackets": `${"[".repeat(50_000)}a${"](b)".repeat(12_000)}`,
    stars: "*a **b ".repeat(10_000),
    "lines of stars": "*a **b _c\n".repeat(1500),
    backticks: Array.from({ length: 300 }, (_, index) => "`".repeat(index)).join(" "),
    "a line without an end": "x".repeat(1_000_000),
    "words without an end": "some words ".repeat(30_000),
    "wide characters without an end": "日".repeat(30_000),
    combining: `e${"\u{301}".repeat(50_000)}`,
    "code without an end": `\`\`\`ts\n${"/* ".repeat(2000)}\n${"a\n".repeat(3000)}`,
    "a wide table": `${"|a".repeat(2000)}\n${"|-".repeat(2000)}\n${"|b\n".repeat(500)}`,
    "control sequences": "\u{1B}]0;title\u{7}\u{1B}[2J\u{9B}31m\u{1B}P".repeat(5000),
    "unfinished sequence": `\u{1B}]0;${"a".repeat(20_000)}`,
    entities: "&".repeat(50_000),
    html: "<!--".repeat(20_000),
  }

  test.each(Object.entries(CASES))("%s", (_name, text) => {
    const shown = rows(text)
    for (const row of shown) expect(textColumns(row)).toBeLessThanOrEqual(40)
    // eslint-disable-next-line no-control-regex -- none of these may reach the terminal
    expect(shown.every((row) => !/[\u{0}-\u{1F}\u{7F}-\u{9F}]/u.test(row))).toBe(true)
  })

  test("a long line is passed to the terminal before it ends", () => {
    const stream = createMarkdownStream({ theme: plainTheme, columns: () => 80 })
    expect(stream.feed("word ".repeat(1000)).length).toBeGreaterThan(30)
    expect(stream.tail().length).toBeLessThan(30)
  })
})

test("plain rows of a theme with styles are the rows without styles", () => {
  const text = "plain text and a list\n- one\n- two\n\n```ts\nconst a = 1 /* x\n y */\n```\n"
  const colored = markdownRows(text, { theme: colorTheme, columns: 40 }).map(plainRow)
  expect(colored).toEqual(rows(text))
})
