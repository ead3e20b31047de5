import { describe, expect, test } from "vitest"

import { openEditor } from "../../../../test/fixtures/tui/editor-harness.ts"
import { plainTheme } from "../../../../test/fixtures/tui/themes.ts"
import type { Completions, CompletionSource } from "./completion-source.ts"
import { firstSource, NO_COMPLETIONS } from "./completion-source.ts"
import { menuRows, moveSelection, openMenu } from "./menu.ts"
import { pathSource } from "./path-source.ts"
import { referenceSource } from "./reference-source.ts"
import { slashSource } from "./slash-source.ts"

const signal = new AbortController().signal

/** Completes at `|`; each result is the whole text with the completion in it. */
async function completed(source: CompletionSource, marked: string): Promise<readonly string[]> {
  const text = marked.replace("|", "")
  const { start, end, items } = await source.complete(text, marked.indexOf("|"), signal)
  return items.map((item) => `${text.slice(0, start)}${item.text}|${text.slice(end)}`)
}

const slash = slashSource(() =>
  Promise.resolve([
    { name: "help", detail: "list these commands" },
    {
      name: "model",
      detail: "show or change the model",
      argument: "[NAME] [--global]",
      values: () => Promise.resolve([{ text: "gpt-5 " }, { text: "opus " }]),
    },
    { name: "memory", detail: "review", argument: "[pending | approve ID|all | discard ID|all]" },
    { name: "quit", aliases: ["exit"], detail: "quit Hermes" },
  ]),
)

const references = referenceSource({
  files: () => Promise.resolve(["README.md", "src/main.ts", "src/my file.ts", "src/tui/menu.ts"]),
  sessions: () => Promise.resolve([{ name: "20260101_1", detail: "Fix the parser" }]),
  skills: () => Promise.resolve([{ name: "review", detail: "Reviews code" }]),
})

const paths = pathSource((path) =>
  Promise.resolve({ "": ["src/", "a b.txt", ".env", "stuff.md"], "src/": ["main.ts", "tui/"] }[path] ?? []),
)

describe("sources", () => {
  test.each([
    [slash, "/|", ["/help |", "/model |", "/memory |", "/quit |"]],
    [slash, "/m|", ["/model |", "/memory |"]],
    [slash, "/QU|", ["/quit |"]],
    [slash, "/ex|", ["/exit |"]],
    [slash, "/model |", ["/model --global |", "/model gpt-5 |", "/model opus |"]],
    [slash, "/model op|", ["/model opus |"]],
    [slash, "/memory |", ["/memory pending |", "/memory approve |", "/memory discard |"]],
    [slash, "/memory approve |", []],
    [slash, "/mod|el", []],
    [slash, "/usr/lib|", []],
    [slash, "see /he|", []],
    [slash, "/nothing x|", []],
    [
      references,
      "see @|",
      ["@file:", "@folder:", "@diff ", "@staged ", "@git:", "@url:", "@session:", "@skill:"].map(
        (form) => `see ${form}|`,
      ),
    ],
    [references, "@menu|", ["@file:src/tui/menu.ts |"]],
    [references, "@stag|", ["@staged |"]],
    [references, "(@file:main|)", ["(@file:src/main.ts |)"]],
    [references, "@file:my|", ['@file:"src/my file.ts" |']],
    [references, '@file:"my f|', ['@file:"src/my file.ts" |']],
    [references, "@folder:tui|", ["@folder:src/tui |"]],
    [references, "@session:parser|", ["@session:20260101_1 |"]],
    [references, "@skill:|", ["@skill:review |"]],
    [references, "me@main|", []],
    [references, "path/@main|", []],
    [references, "@url:http|", []],
    [references, "plain|", []],
    [paths, "!cat s|", ["!cat src/|", "!cat stuff.md |"]],
    [paths, "!cat src/m|", ["!cat src/main.ts |"]],
    [paths, "!cat a\\ b|", ["!cat a\\ b.txt |"]],
    [paths, "!cat .|", ["!cat .env |"]],
    [paths, "!src/t|", ["!src/tui/|"]],
    [paths, "!ca|", []],
    [paths, "cat s|", []],
  ] as const)("%# %s", async (source, typed, expected) => {
    expect(await completed(source, typed)).toEqual(expected)
  })

  test("the first source with completions decides", async () => {
    const source = firstSource([slash, references])
    expect(await completed(source, "/qui|")).toEqual(["/quit |"])
    expect(await completed(source, "@menu|")).toEqual(["@file:src/tui/menu.ts |"])
    expect(await source.complete("plain", 5, signal)).toEqual(NO_COMPLETIONS)
  })
})

describe("the menu", () => {
  const many = (count: number): Completions => ({
    start: 0,
    end: 1,
    items: Array.from({ length: count }, (_, index) => ({ text: `item${index}`, detail: `the entry number ${index}` })),
  })

  test("shows eight entries, marks where there are more, and follows the selection", () => {
    let menu = openMenu(many(12))
    const rows = () => (menu === undefined ? [] : menuRows(menu, { columns: 30, maxRows: 20, theme: plainTheme }))
    expect(rows()).toHaveLength(8)
    expect([rows()[0], rows()[7]]).toEqual(["❯ item0  the entry number 0", "↓ item7  the entry number 7"])
    for (let step = 0; step < 9; step += 1) menu = menu && moveSelection(menu, 1)
    expect([rows()[0], rows()[7]]).toEqual(["↑ item2  the entry number 2", "❯ item9  the entry number 9"])
    menu = menu && moveSelection(menu, -1)
    expect(rows()[6]).toBe("❯ item8  the entry number 8")
    for (let step = 0; step < 4; step += 1) menu = menu && moveSelection(menu, 1)
    expect(rows()[0]).toBe("❯ item0  the entry number 0")
  })

  test("cuts long and hostile texts", () => {
    const items = [{ text: `long${"日".repeat(60)}`, detail: "\u{1B}[2Jdanger\nsecond line" }]
    const menu = openMenu({ start: 0, end: 0, items })
    expect(menu && menuRows(menu, { columns: 40, maxRows: 2, theme: plainTheme })).toEqual([
      "❯ long日日日日日日日…   danger second …",
    ])
  })
})

describe("in the editor", () => {
  const open = (source: CompletionSource) => {
    const harness = openEditor({ completion: source, commands: () => [] })
    return {
      ...harness,
      type: async (keys: string) => {
        const actions = harness.press(keys)
        await harness.settle()
        return actions
      },
    }
  }

  test("Tab and Enter accept the highlighted entry, and Enter sends a complete command", async () => {
    const { editor, type, draw } = open(slash)
    await type("/m")
    expect(draw()).toEqual(["❯ /m", "❯ /model   show or change the model", "  /memory  review"])
    await type("<down><tab>")
    expect(editor.text).toBe("/memory ")
    await type("<ctrl+u>/qui")
    expect(await type("<enter>")).toEqual([])
    expect(await type("<enter>")).toEqual([{ type: "submit", text: "/quit ", attachments: [] }])
    await type("/quit")
    expect(await type("<enter>")).toMatchObject([{ type: "submit", text: "/quit" }])
  })

  test("nothing is highlighted where the text can be complete", async () => {
    const { type, editor } = open(slash)
    await type("/model ")
    expect(await type("<enter>")).toMatchObject([{ type: "submit", text: "/model " }])
    await type("/model ")
    await type("<down><down>")
    expect(await type("<enter>")).toEqual([])
    expect(editor.text).toBe("/model gpt-5 ")
  })

  test("Escape closes it, and only then does anything else", async () => {
    const { type, draw } = open(slash)
    await type("/")
    expect(draw()).toHaveLength(5)
    expect(await type("<escape>")).toEqual([])
    expect(draw()).toEqual(["❯ /"])
    await type("h")
    expect(draw()).toHaveLength(2)
    await type("<left>")
    expect(draw()).toEqual(["❯ /h"])
  })

  test("late results are dropped, and a key does not wait for them", async () => {
    const pending: {
      readonly text: string
      readonly signal: AbortSignal
      readonly resolve: (found: Completions) => void
    }[] = []
    const source: CompletionSource = {
      complete: (text, _cursor, cancelled) => {
        const { promise, resolve } = Promise.withResolvers<Completions>()
        pending.push({ text, signal: cancelled, resolve })
        return promise
      },
    }
    const { type, draw, editor } = open(source)
    await type("/he")
    expect(pending.map((request) => [request.text, request.signal.aborted])).toEqual([
      ["/", true],
      ["/h", true],
      ["/he", false],
    ])
    pending[1]?.resolve({ start: 0, end: 2, items: [{ text: "/wrong " }] })
    await type("")
    expect(draw()).toEqual(["❯ /he"])
    pending[2]?.resolve({ start: 0, end: 3, items: [{ text: "/help " }] })
    await type("")
    expect(draw()).toEqual(["❯ /he", "❯ /help"])
    // Typed quickly: the menu still belongs to the text before.
    expect(await type("y<enter>")).toMatchObject([{ type: "submit", text: "/hey" }])
    expect(editor.text).toBe("")
  })

  test("a command from the history opens no menu that would take the next key", async () => {
    const harness = openEditor({ completion: slash, entries: ["first", "/m"] })
    harness.press("<up>")
    await harness.settle()
    harness.press("<up>")
    expect(harness.editor.text).toBe("first")
  })

  test("a source that fails offers nothing", async () => {
    const { type, draw } = open({ complete: () => Promise.reject(new Error("broken")) })
    await type("@x")
    expect(draw()).toEqual(["❯ @x"])
  })
})
