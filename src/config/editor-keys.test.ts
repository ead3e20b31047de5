import { expect, test } from "vitest"

import { chosenEditorKeys, DEFAULT_EDITOR_KEYS, editorKeyProblems } from "./editor-keys.ts"

test.each<[unknown, Record<string, readonly string[]>]>([
  [
    { undo: "Ctrl+U", redo: ["shift+ctrl+z", "F5"] },
    { undo: ["ctrl+u"], redo: ["ctrl+shift+z", "f5"] },
  ],
  [{ external_editor: "ctrl+x  ctrl+e" }, { external_editor: ["ctrl+x ctrl+e"] }],
  [
    { suspend: [], yank: "alt+y", cancel: "esc" },
    { suspend: [], yank: ["alt+y"], cancel: ["escape"] },
  ],
  [{ interrupt: "f1" }, { interrupt: ["f1", "ctrl+c"] }],
  [undefined, {}],
  ["ctrl+u", {}],
])("%j", (value, chosen) => {
  expect(editorKeyProblems(value)).toEqual([])
  expect(Object.fromEntries(chosenEditorKeys(value))).toEqual(chosen)
})

test.each<[unknown, string, string]>([
  [{ unod: "ctrl+u" }, "`display.keys.unod` is not an action of the editor", "did you mean `undo`?"],
  [{ undo: "u" }, '"u" in `display.keys.undo` is not a key', "write it like"],
  [{ undo: "hyper+u" }, '"hyper+u" in `display.keys.undo` is not a key', "write it like"],
  [{ undo: 7 }, '"7" in `display.keys.undo` is not a key', "write it like"],
  [{ undo: "ctrl+c" }, '"ctrl+c" in `display.keys.undo` always interrupts', "choose another key"],
  [{ undo: "f2", redo: "F2" }, '"F2" is the key of both `undo` and `redo`', "choose another key for one of them"],
  [{ submit: [] }, "`display.keys.submit` has no key", "give it at least one"],
])("%j is reported in one sentence", (value, message, fix) => {
  const [problem, ...others] = editorKeyProblems(value)
  expect([problem?.message, problem?.fix.startsWith(fix), others]).toEqual([message, true, []])
})

test("the keys of the table are in the form that it asks for, and none is used twice", () => {
  expect(editorKeyProblems(DEFAULT_EDITOR_KEYS)).toEqual([])
  expect(Object.fromEntries(chosenEditorKeys(DEFAULT_EDITOR_KEYS))).toEqual(DEFAULT_EDITOR_KEYS)
})
