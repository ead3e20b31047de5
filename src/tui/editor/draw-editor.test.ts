import { expect, test, vi } from "vitest"

import { openEditor, testImage } from "../../../test/fixtures/tui/editor-harness.ts"
import { colorTheme, readable } from "../../../test/fixtures/tui/themes.ts"
import { wrapLine } from "../../terminal/editor/wrapped-line.ts"
import type { Completions } from "./completion/completion-source.ts"
import { createDraftLayouter } from "./draft-layout.ts"

const TEXT = [
  "Please look at the failing tests in src/tui and tell me what is wrong with them.",
  "日本語のテキストは幅が二倍です。すべての行は画面の幅に収まらなければなりません。",
  "Combining: e\u0301e\u0301e\u0301 n\u0303 — family 👩‍👩‍👧, flag 🇩🇪, thumbs 👍🏽.",
  "שלום עולם, זה טקסט מימין לשמאל שצריך לגלוש לשורה הבאה בלי לאבד תווים.",
  "\ttabs\tand\u{1B}[31m controls",
].join("\n")

const MENU: Completions = {
  start: 0,
  end: 1,
  items: Array.from({ length: 10 }, (_, index) => ({
    text: `/command${index} `,
    label: `/command${index}`,
    detail: `what the command number ${index} does, in a sentence`,
  })),
}

test.each([40, 60, 80, 120])("a draft with wide, combining and right-to-left text at %i columns", (columns) => {
  const { editor } = openEditor({ profile: "work", mode: "vim" })
  editor.attach(testImage("screenshot of the window.png"))
  editor.setText(TEXT)
  const { rows, cursor } = editor.draw({ columns, rows: 24 }, colorTheme, 0)
  expect([...rows.map(readable), `cursor ${cursor?.row}:${cursor?.column}`].join("\n")).toMatchSnapshot()
})

test.each([40, 60, 80, 120])("a suggestion, a menu and a hint at %i columns", async (columns) => {
  const harness = openEditor({ completion: { complete: () => Promise.resolve(MENU) }, commands: () => ["command0"] })
  harness.press("/")
  await harness.settle()
  harness.press("<down>")
  harness.editor.hint("Press Ctrl+C again to leave.")
  expect(harness.draw(columns, 24, colorTheme).map(readable).join("\n")).toMatchSnapshot()
})

test("a long hint is shown as a whole on a small screen, and cut where there is no room", () => {
  const harness = openEditor()
  const text = "The pasted text could not be saved in /home/user/.hermes/pastes: there is no space left on the disk."
  harness.editor.hint(text)
  const rows = harness.draw(40, 8).slice(1)
  expect([rows.length, rows.join(" ")]).toEqual([3, text])
  expect(harness.draw(40, 4).slice(1)).toEqual(["The pasted text could not be saved in …"])
})

test("a hint that expires is removed from the screen without a key", () => {
  vi.useFakeTimers()
  try {
    const changed = vi.fn()
    const { editor } = openEditor({ changed })
    editor.hint("Press Ctrl+C again to leave.", 2000)
    vi.advanceTimersByTime(1999)
    expect(changed).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(changed).toHaveBeenCalledOnce()
  } finally {
    vi.useRealTimers()
  }
})

test("a tall draft scrolls only as far as needed", () => {
  const harness = openEditor()
  harness.editor.setText(Array.from({ length: 20 }, (_, index) => `line ${index}`).join("\n"))
  expect(harness.draw()).toEqual(["↑ line 12", ...[13, 14, 15, 16, 17, 18, 19].map((line) => `  line ${line}`)])
  harness.press("<up><up>")
  expect(harness.draw()[0]).toBe("↑ line 12")
  harness.press("<up><up><up><up><up><up>")
  expect([harness.draw()[0], harness.draw()[7]]).toEqual(["↑ line 11", "↓ line 18"])
  harness.press("<ctrl+home>")
  expect([harness.draw()[0], harness.draw()[7]]).toEqual(["❯ line 0", "↓ line 7"])
})

test("on a short screen the draft and the menu share the rows", async () => {
  const harness = openEditor({ completion: { complete: () => Promise.resolve(MENU) } })
  harness.press("one<ctrl+j>two<ctrl+j>three<ctrl+j>four<ctrl+j>five")
  await harness.settle()
  expect(harness.draw(40, 6)).toHaveLength(6)
  expect(harness.draw(40, 1)).toHaveLength(1)
})

test("without colours no text looks typed that is not", () => {
  const harness = openEditor({ entries: ["run the tests"] })
  harness.press("run")
  expect(harness.draw()).toEqual(["❯ run"])
  harness.press("<tab>")
  expect(harness.editor.text).toBe("run")
  expect(harness.draw(40, 24, colorTheme).map(readable)[0]).toContain("run<dim> the tests</>")
})

test("the prompt shows the profile and that a turn is running", () => {
  const harness = openEditor({ profile: "a profile with a very long name" })
  harness.editor.isWorking = true
  expect(harness.draw(40)).toEqual(["a profile… ⚕ "])
  expect(harness.draw(80)).toEqual(["a profile with … ⚕ "])
})

test("a key in a long draft measures only the line that it changes", () => {
  const measured: string[] = []
  const layOut = createDraftLayouter((line, width) => {
    measured.push(line)
    return wrapLine(line, width)
  })
  const lines = Array.from({ length: 10_000 }, (_, line) => `line ${line} 日本`)
  expect(layOut(lines.join("\n"), 40).rows).toHaveLength(10_000)
  measured.length = 0
  lines[5000] = "changed"
  layOut(lines.join("\n"), 40)
  expect(measured).toEqual(["changed"])
})
