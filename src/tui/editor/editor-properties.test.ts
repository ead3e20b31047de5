import { expect, test } from "vitest"

import { keyEvents, openEditor } from "../../../test/fixtures/tui/editor-harness.ts"
import { plainRow, plainTheme } from "../../../test/fixtures/tui/themes.ts"
import { fc } from "../../../test/support/property.ts"
import { DEFAULT_EDITOR_KEYS } from "../../config/editor-keys.ts"
import { graphemes, textColumns } from "../../terminal/text-width.ts"

const CHARACTERS = [
  ...Array.from("abc  xyz.,;'\"()[]{}<>/\\@!0123456789$^dcywbeWBEhjklGgfFtTiIaAoOpPuxXDCsSrY"),
  "日",
  "e\u0301",
  "👩‍👩‍👧",
  "🇩🇪",
  "\u0301",
  "\u200D",
  "\u202E",
  "ש",
  "\u0600",
]
const CHORDS = [...new Set(Object.values(DEFAULT_EDITOR_KEYS).flat())].flatMap((chord) => chord.split(" "))
const character = fc.constantFrom(...CHARACTERS).map((text) => ({ type: "key", chord: text, text }) as const)
const chord = fc
  .constantFrom(...CHORDS, "f1", "pageup", "space")
  .map((name) => ({ type: "key", chord: name, text: name === "space" ? " " : "" }) as const)
const paste = fc
  .array(fc.constantFrom(...CHARACTERS, "\n", "\r\n", "\t", "\u{1B}[200~", "\uD800", "x".repeat(30)), { maxLength: 12 })
  .map((parts) => ({ type: "paste", text: parts.join("") }) as const)
const event = fc.oneof(
  { weight: 6, arbitrary: character },
  { weight: 3, arbitrary: chord },
  { weight: 1, arbitrary: paste },
)

test.each(["emacs", "vim"] as const)("any keys leave a valid state (%s)", (mode) => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), fc.integer({ min: 8, max: 60 }), (events, columns) => {
      const { editor } = openEditor({
        mode,
        entries: ["earlier", "two\nlines 日本"],
        queued: () => ["waits"],
        profile: "work",
      })
      for (const each of events) {
        editor.key(each)
        const { rows, cursor } = editor.draw({ columns, rows: 12 }, plainTheme, 0)
        expect(rows.length).toBeLessThanOrEqual(12)
        for (const row of rows) expect(textColumns(plainRow(row))).toBeLessThanOrEqual(columns)
        expect(cursor?.row).toBeLessThan(rows.length)
        expect(cursor?.column).toBeLessThan(columns)
      }
      expect(editor.text.isWellFormed()).toBe(true)
      const cursor = cursorOf(editor, mode)
      expect(isBoundary(editor.text, cursor)).toBe(true)
    }),
    { numRuns: 300 },
  )
})

test.each(["emacs", "vim"] as const)(
  "undo goes back through earlier texts to the first one, and redo to the last (%s)",
  (mode) => {
    const never = new Set(["enter", "ctrl+z", "ctrl+_", "ctrl+y", "ctrl+shift+z", "ctrl+r", "ctrl+x", "u"])
    const editing = event.filter((each) => each.type === "paste" || !never.has(each.chord))
    fc.assert(
      fc.property(fc.array(editing, { maxLength: 60 }), (events) => {
        const { editor } = openEditor({ mode })
        const texts = [""]
        for (const each of events) {
          editor.key(each)
          if (editor.text !== texts.at(-1)) texts.push(editor.text)
        }
        const last = editor.text
        const undone = [last]
        for (let step = 0; step < 200; step += 1) {
          for (const key of keyEvents("<ctrl+z>")) editor.key(key)
          if (editor.text !== undone.at(-1)) undone.push(editor.text)
        }
        expect(undone.at(-1)).toBe("")
        let from = 0
        for (const text of undone.toReversed()) {
          from = texts.indexOf(text, from)
          expect(from).not.toBe(-1)
        }
        for (let step = 0; step < 200; step += 1) for (const key of keyEvents("<ctrl+y>")) editor.key(key)
        expect(editor.text).toBe(last)
      }),
      { numRuns: 200 },
    )
  },
)

/** The index at which a typed mark appears. */
function cursorOf(editor: ReturnType<typeof openEditor>["editor"], mode: "emacs" | "vim"): number {
  // Ends a search and an unfinished command; in Vim the mark is inserted before the character of the cursor.
  for (const key of keyEvents(mode === "vim" ? "<escape><escape><escape>i" : "<escape>")) editor.key(key)
  const before = editor.text
  editor.key({ type: "paste", text: "\u{E000}" })
  const index = editor.text.indexOf("\u{E000}")
  expect(editor.text.replace("\u{E000}", "")).toBe(before)
  return index
}

function isBoundary(text: string, index: number): boolean {
  const plain = text.replace("\u{E000}", "")
  return index === plain.length || Array.from(graphemes(plain)).some((segment) => segment.index === index)
}
