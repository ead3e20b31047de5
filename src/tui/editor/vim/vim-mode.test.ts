import { describe, expect, test } from "vitest"

import { keyEvents, openEditor } from "../../../../test/fixtures/tui/editor-harness.ts"
import type { Draft } from "../../../terminal/editor/draft.ts"
import { insertText } from "../../../terminal/editor/draft.ts"
import { INITIAL_VIM, leaveInsertMode, vimKey } from "./vim-mode.ts"

/** `|` is the cursor. Keys after a command that enters insert mode are typed, until `<escape>`. */
function after(marked: string, keys: string): string {
  let draft: Draft = { text: marked.replace("|", ""), cursor: marked.indexOf("|") }
  let state = { ...INITIAL_VIM, mode: "normal" } as typeof INITIAL_VIM
  for (const event of keyEvents(keys)) {
    if (event.type === "paste") continue
    if (state.mode === "insert" && event.chord !== "escape") {
      draft = insertText(draft, event.text)
      continue
    }
    const step =
      state.mode === "insert"
        ? leaveInsertMode(state, draft)
        : vimKey(state, draft, event.text === "" ? event.chord : event.text)
    if (step === undefined) continue
    ;({ state, draft } = step)
  }
  return `${draft.text.slice(0, draft.cursor)}|${draft.text.slice(draft.cursor)}${state.mode === "insert" ? " -- INSERT" : ""}`
}

describe("motions", () => {
  test.each([
    ["a|bc", "h", "|abc"],
    ["|abc", "2l", "ab|c"],
    ["|abc", "9l", "ab|c"],
    ["|one two.three", "w", "one |two.three"],
    ["|one two.three", "2w", "one two|.three"],
    ["|one two.three", "2W", "one two.thre|e"],
    ["one two.thr|ee", "b", "one two.|three"],
    ["one two.thr|ee", "B", "one |two.three"],
    ["|one two", "e", "on|e two"],
    ["on|e two", "e", "one tw|o"],
    ["  on|e", "0", "|  one"],
    ["  on|e", "^", "  |one"],
    ["|one\ntwo", "$", "on|e\ntwo"],
    ["one\ntwo\nthr|ee", "gg", "|one\ntwo\nthree"],
    ["|one\ntwo\nthree", "G", "one\ntwo\n|three"],
    ["|one\ntwo\nthree", "2G", "one\n|two\nthree"],
    ["|a,b,c,d", "f,", "a|,b,c,d"],
    ["|a,b,c,d", "2f,", "a,b|,c,d"],
    ["|a,b,c,d", "t,", "|a,b,c,d"],
    ["|a,b,c,d", "f,;", "a,b|,c,d"],
    ["|a,b,c,d", "t,;", "a,|b,c,d"],
    ["|a,b,c,d", "f,;,", "a|,b,c,d"],
    ["a,b,c|,d", "F,", "a,b|,c,d"],
    ["a,b,c|,d", "T,", "a,b,|c,d"],
    ["|abc", "fx", "|abc"],
    ["|日本 語", "w", "日本 |語"],
  ])("%j %s", (before, keys, expected) => {
    expect(after(before, keys)).toBe(expected)
  })
})

describe("changes", () => {
  test.each([
    ["|one two three", "dw", "|two three"],
    ["|one two three", "d2w", "|three"],
    ["|one two three", "2dw", "|three"],
    ["one |two", "dw", "one| "],
    ["one |two\nthree", "dw", "one| \nthree"],
    ["|one two", "cwx<escape>", "|x two"],
    ["o|ne two", "ciwx<escape>", "|x two"],
    ["one| two", "cwx<escape>", "one|xtwo"],
    ["on|e two", "cwx<escape>", "on|x two"],
    ["o|ne two three", "daw", "|two three"],
    ["one tw|o", "daw", "on|e"],
    ['say "he|llo you" now', 'di"', 'say "|" now'],
    ['|say "hello"', 'ci"bye<escape>', 'say "by|e"'],
    ['say "he|llo" now', 'da"', "say | now"],
    ["f(a, g(b|), c)", "di(", "f(a, g(|), c)"],
    ["f(a, |g(b), c)", "dib", "f(|)"],
    ["f(a, |g(b), c)", "da)", "|f"],
    ["x[1|2]", "ci[<escape>", "x|[]"],
    ["{\n  a|b\n}", "di{", "{|}"],
    ["one tw|o three", "D", "one t|w"],
    ["one |two three", "Cx<escape>", "one |x"],
    ["one\nt|wo\nthree", "dd", "one\n|three"],
    ["one\nt|wo", "dd", "|one"],
    ["o|ne\ntwo\nthree", "2dd", "|three"],
    ["o|ne\ntwo\nthree", "dj", "|three"],
    ["one\ntwo\nth|ree", "dgg", "|"],
    ["one\nt|wo", "ccx<escape>", "one\n|x"],
    ["|abc", "x", "|bc"],
    ["|abc", "2x", "|c"],
    ["ab|c", "x", "a|b"],
    ["ab|c", "X", "a|c"],
    ["|abc", "rx", "|xbc"],
    ["|abc", "2sX<escape>", "|Xc"],
    ["|abc def", "dfd", "|ef"],
    ["|abc def", "dtd", "|def"],
    ["abc |def", "d0", "|def"],
    ["abc |def", "d$", "abc| "],
    ["|one two", "ywP", "one| one two"],
    ["|one two", "yw$p", "one twoone| "],
    ["o|ne\ntwo", "yyp", "one\n|one\ntwo"],
    ["one\nt|wo", "yyP", "one\n|two\ntwo"],
    ["|ab", "xp", "b|a"],
    ["|ab", "yl3p", "aaa|ab"],
    ["|one", "oxy<escape>", "one\nx|y"],
    ["|one", "Oxy<escape>", "x|y\none"],
    ["  o|ne", "Ix<escape>", "  |xone"],
    ["|one", "Ax<escape>", "one|x"],
    ["|one", "ax<escape>", "o|xne"],
    ["one |two three", "ix<escape>", "one |xtwo three"],
    ["|one two three", "dw.", "|three"],
    ["|one two three", "cwx<escape>w.", "x |x three"],
    ["|a\nb", "Ax<escape>gg.", "ax|x\nb"],
    ["|abcdef", "x3.", "|ef"],
    ["|one", "d<escape>x", "|ne"],
    ["|one", "zx", "|ne"],
    ["|e\u0301a", "x", "|a"],
    ["|one", "c", "|one"],
    ["|one", "i", "|one -- INSERT"],
  ])("%j %s", (before, keys, expected) => {
    expect(after(before, keys)).toBe(expected)
  })
})

describe("in the editor", () => {
  test("insert mode first; a change and what was typed for it are undone together", () => {
    const { editor, press, draw } = openEditor({ mode: "vim" })
    press("one two three")
    expect(draw()).toEqual(["[I] ❯ one two three"])
    press("<escape>")
    expect(draw()).toEqual(["[N] ❯ one two three"])
    press("bcwfour five<escape>")
    expect(editor.text).toBe("one two four five")
    press("u")
    expect(editor.text).toBe("one two three")
    press("u")
    expect(editor.text).toBe("")
    press("2<ctrl+r>")
    expect(editor.text).toBe("one two four five")
  })

  test("k and j continue into the history, Enter sends, and insert mode follows", () => {
    const { editor, press } = openEditor({ mode: "vim", entries: ["older", "newer"] })
    press("<escape>kk")
    expect(editor.text).toBe("older")
    press("j")
    expect(editor.text).toBe("newer")
    expect(press("<enter>")).toEqual([{ type: "submit", text: "newer", attachments: [] }])
    press("x")
    expect(editor.text).toBe("x")
  })

  test("Ctrl+C, Ctrl+D and Escape on an empty draft do what they always do", () => {
    const { press } = openEditor({ mode: "vim" })
    expect(press("<escape><escape>").map(({ type }) => type)).toEqual(["interrupt", "go-back"])
    expect(press("<ctrl+c><ctrl+d>").map(({ type }) => type)).toEqual(["interrupt", "leave"])
  })
})
