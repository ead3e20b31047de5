import { describe, expect, test } from "vitest"

import { openEditor, testImage } from "../../../test/fixtures/tui/editor-harness.ts"
import { fail, ok } from "../../base/result.ts"
import { createKeymap } from "./keymap.ts"

describe("keys", () => {
  test.each([
    ["one<ctrl+a>x", "x|one"],
    ["one two<alt+b>x", "one x|two"],
    ["one two<home><alt+f>x", "onex| two"],
    ["one two<ctrl+left><ctrl+left><end>", "one two|"],
    ["one<alt+enter>two", "one\ntwo|"],
    ["one<ctrl+j>two<shift+enter>three<ctrl+enter>", "one\ntwo\nthree\n|"],
    ["one\\<enter>two", "one\ntwo|"],
    ["one two<ctrl+w>", "one |"],
    ["one two<ctrl+u>", "|"],
    ["one two<ctrl+a><ctrl+k>", "|"],
    ["one two<ctrl+a><alt+d>", "| two"],
    ["one<left><ctrl+d>", "on|"],
    ["日本e\u0301<backspace><left><backspace>", "|本"],
    ["one<ctrl+j>two<ctrl+home>x<ctrl+end>y", "xone\ntwoy|"],
    ["abc<ctrl+j>d<ctrl+j>xyz<up><up>-", "abc-|\nd\nxyz"],
    ["one two three<ctrl+z>", "one two |"],
    ["one two three<ctrl+z><ctrl+z>", "one |"],
    ["one two three<ctrl+z><ctrl+z><ctrl+y>", "one two |"],
    ["one two<ctrl+w><ctrl+w><ctrl+z>", "one |"],
    ["one<ctrl+u>two<ctrl+z>", "|"],
    ["one<ctrl+x>q", "one|"],
    ["a[<0;35;12Mb", "ab|"],
    ["a[201~b", "ab|"],
    ["[I see] arr[0]", "[I see] arr[0]|"],
  ])("%s", (keys, expected) => {
    const harness = openEditor()
    harness.press(keys)
    expect(harness.marked()).toBe(expected)
  })

  test.each([
    ["hello<enter>", { type: "submit", text: "hello", attachments: [] }],
    ["<ctrl+c>", { type: "interrupt", key: "ctrl+c" }],
    ["x<ctrl+c>", { type: "interrupt", key: "ctrl+c" }],
    ["<ctrl+d>", { type: "leave" }],
    ["<ctrl+z>", { type: "suspend" }],
    ["x<ctrl+l>", { type: "redraw" }],
    ["x<ctrl+g>", { type: "external-editor" }],
    ["x<alt+g>", { type: "external-editor" }],
    ["x<ctrl+x><ctrl+e>", { type: "external-editor" }],
    ["<ctrl+t>", { type: "toggle-tasks" }],
    ["<ctrl+o>", { type: "expand-output" }],
    ["x<ctrl+v>", { type: "paste-image", orText: true }],
    ["x<alt+v>", { type: "paste-image", orText: false }],
    ["<escape>", { type: "interrupt", key: "escape" }],
  ])("%s", (keys, action) => {
    expect(openEditor().press(keys)).toEqual([action])
  })

  test.each([["<enter>"], ["   <enter>"], ["x<escape><escape>"], ["x<ctrl+z>"], ["<f7>"], ["<alt+y>"]])(
    "%s does nothing",
    (keys) => {
      expect(openEditor().press(keys)).toEqual([])
    },
  )

  test("Escape twice goes back to an earlier message, but only soon after the first one", () => {
    const { press, time } = openEditor()
    expect(press("<escape><escape>").map(({ type }) => type)).toEqual(["interrupt", "go-back"])
    press("<escape>")
    time.now += 1000
    expect(press("<escape>").map(({ type }) => type)).toEqual(["interrupt"])
  })

  test("an Escape that interrupted a turn is not the first of two", () => {
    const { editor, press } = openEditor()
    editor.isWorking = true
    expect(press("<escape><escape>").map(({ type }) => type)).toEqual(["interrupt", "interrupt"])
    editor.isWorking = false
    expect(press("<escape><escape>").map(({ type }) => type)).toEqual(["interrupt", "go-back"])
  })

  test("keys can be changed", () => {
    const keymap = createKeymap(
      new Map([
        ["submit", ["ctrl+s"]],
        ["newline", ["enter"]],
        ["yank", ["ctrl+y"]],
        ["undo", []],
      ] as const),
    )
    const harness = openEditor({ keymap })
    expect(harness.press("one<enter>two<ctrl+z><ctrl+s>")).toEqual([
      { type: "submit", text: "one\ntwo", attachments: [] },
    ])
    // Cuts in a row are kept together.
    harness.press("one two three<ctrl+w><ctrl+w><ctrl+y>")
    expect(harness.editor.text).toBe("one two three")
  })

  test("options that are known later change neither the draft nor what can be undone", () => {
    const harness = openEditor()
    harness.press("one two<left><left>")
    harness.editor.configure({ keymap: createKeymap(new Map([["line_start", ["f1"]]])), profile: "work" })
    expect([harness.marked(), harness.draw()[0]]).toEqual(["one t|wo", "work ❯ one two"])
    harness.press("<f1><ctrl+z>")
    expect(harness.marked()).toBe("one |")
  })

  test("what was cleared can be brought back", () => {
    const harness = openEditor()
    harness.press("one two")
    harness.editor.clear()
    expect(harness.editor.isEmpty).toBe(true)
    expect(harness.press("<ctrl+z>")).toEqual([])
    expect(harness.editor.text).toBe("one two")
    harness.editor.returnToDraft("first")
    expect(harness.marked()).toBe("first\none two|")
  })
})

describe("up and down", () => {
  test("move by rows of the screen, then through queued messages, then through the history", () => {
    const harness = openEditor({ entries: ["older", "newer", "waits"], queued: () => ["waits"] })
    harness.draw(12)
    // Nine columns per row.
    harness.press("aaaa bbbb cccc")
    harness.press("<up>")
    expect(harness.marked()).toBe("aaaa| bbbb cccc")
    harness.press("<up>")
    expect(harness.editor.text).toBe("waits")
    harness.press("<up>")
    expect(harness.editor.text).toBe("newer")
    harness.press("<up><up>")
    expect(harness.editor.text).toBe("older")
    harness.press("<down><down><down>")
    expect(harness.editor.text).toBe("aaaa bbbb cccc")
  })

  test("a queued message is replaced", () => {
    const harness = openEditor({ queued: () => ["one", "two"] })
    harness.editor.attach(testImage("a.png"))
    harness.press("<up>")
    expect(harness.press("!<enter>")).toEqual([{ type: "edit-queued", original: "two", text: "two!" }])
    harness.press("<up><ctrl+u>")
    expect(harness.press("<enter>")).toEqual([{ type: "edit-queued", original: "two", text: "" }])
    expect(harness.editor.attachments).toHaveLength(1)
  })

  test("keep their column over a shorter line", () => {
    const harness = openEditor()
    harness.draw(40)
    harness.press("long line<ctrl+j>日<ctrl+j>another one<up><up>")
    expect(harness.marked()).toBe("long line|\n日\nanother one")
    harness.press("<left><left><down><down>")
    expect(harness.marked()).toBe("long line\n日\nanother| one")
  })
})

describe("history", () => {
  test("a suggestion is shown and accepted with Tab or Right", () => {
    const harness = openEditor({ entries: ["run the tests", "run the build", "other"] })
    harness.press("run <tab>")
    expect(harness.editor.text).toBe("run the build")
    harness.press("<ctrl+u>run the t<right>")
    expect(harness.editor.text).toBe("run the tests")
    harness.press("<ctrl+u>/me<tab>")
    expect(harness.editor.text).toBe("/memory")
  })

  test("a search shows what it finds", () => {
    const harness = openEditor({ entries: ["fix the parser", "run tests", "fix the lexer"] })
    harness.press("draft<ctrl+r>FIX")
    expect(harness.draw()).toEqual(["❯ fix the lexer", "search earlier messages: FIX"])
    harness.press("<ctrl+r>")
    expect(harness.draw()).toEqual(["❯ fix the parser", "search earlier messages: FIX"])
    harness.press("zz")
    expect(harness.draw()).toEqual(["❯ draft", "no earlier message with: FIXzz"])
    harness.press("<backspace><backspace><escape>")
    expect(harness.editor.text).toBe("fix the lexer")
    harness.press("<ctrl+r>run<ctrl+c>")
    expect(harness.editor.text).toBe("fix the lexer")
    expect(harness.press("<ctrl+r>run<enter>")).toEqual([{ type: "submit", text: "run tests", attachments: [] }])
  })

  test("what is sent is added to it", () => {
    const harness = openEditor()
    harness.press("one<enter>two<enter>")
    expect(harness.history).toEqual(["one", "two"])
  })
})

describe("paste", () => {
  const TOKEN = "[Pasted text #1: 6 lines → /h/pastes/paste_1_120000.txt]"
  const long = "1\n2\n3\n4\n5\n6"

  test.each([
    ["", "a\r\nb\rc", "a\nb\nc|"],
    ["", "a\u{1B}[31mred\u{1B}[0m\u{7}\u{1B}[200~\u{1B}[<0;1;2M\u{1B}[I\u{0}", "ared|"],
    ["", "a\uD800b", "a\uFFFDb|"],
    ["", long, `${TOKEN}|`],
    ["see: ", long, `see: \n${TOKEN}|`],
    ["ab<left>", long, `a\n${TOKEN}\n|b`],
    ["/skill ", long, `/skill ${long}|`],
    ["", "x".repeat(2000), "[Pasted text #1: 1 lines → /h/pastes/paste_1_120000.txt]|"],
  ])("after %j of %j", (keys, pasted, expected) => {
    const harness = openEditor()
    harness.press(keys)
    harness.editor.key({ type: "paste", text: pasted })
    expect(harness.marked()).toBe(expected)
  })

  test("a token is removed as a whole", () => {
    const harness = openEditor()
    harness.press("a")
    harness.editor.paste(long)
    expect(harness.saved).toEqual([long])
    harness.press("<backspace>")
    expect(harness.marked()).toBe("a\n|")
  })

  test("a text that cannot be saved is inserted, and the reason is shown", () => {
    const limits = { newlines: 5, unbracketedNewlines: 5, characters: 0 }
    const harness = openEditor({ pastes: { ...limits, save: () => fail("The disk is full.") } })
    harness.editor.paste(long)
    expect(harness.editor.text).toBe(long)
    expect(harness.draw().at(-1)).toBe("The disk is full.")
  })

  test("a limit of 0 never saves a text", () => {
    const pastes = { newlines: 0, unbracketedNewlines: 0, characters: 0, save: () => fail("not called") }
    const harness = openEditor({ pastes })
    harness.editor.paste("x\n".repeat(10_000))
    expect(harness.editor.text).toHaveLength(20_000)
    expect(harness.draw()).toHaveLength(8)
  })

  test("pasted text that the terminal did not mark has its own limit", () => {
    const saved: string[] = []
    const save = (text: string) => {
      saved.push(text)
      return ok("[a file]")
    }
    const { editor } = openEditor({ pastes: { newlines: 0, unbracketedNewlines: 5, characters: 0, save } })
    const text = "x\n".repeat(5)
    editor.key({ type: "paste", text })
    expect([editor.text, saved]).toEqual([text, []])
    editor.key({ type: "paste", text, unmarked: true })
    expect(saved).toEqual([text])
  })
})

describe("images", () => {
  test("the path of an image becomes an attachment, and Backspace on an empty draft removes it", async () => {
    const harness = openEditor()
    harness.press("look: ")
    harness.editor.paste("/tmp/a\\ b.png")
    harness.press(" now")
    await harness.settle()
    expect(harness.marked()).toBe("look:  now|")
    expect(harness.draw()).toEqual(["[image 1: a\\ b.png 8×6]", "❯ look:  now"])
    harness.press("<ctrl+u>")
    expect(harness.press("<ctrl+d>")).toEqual([])
    harness.press("<backspace>")
    expect(harness.editor.isEmpty).toBe(true)
  })

  test("a path that is no image stays text, and other paths are not read", async () => {
    const paths: string[] = []
    const readImage = (path: string) => {
      paths.push(path)
      return Promise.resolve(fail("no"))
    }
    const harness = openEditor({ readImage })
    harness.editor.paste("/tmp/a.png")
    harness.press("<space>")
    harness.editor.paste("/tmp/a.txt")
    await harness.settle()
    expect([harness.editor.text, paths]).toEqual(["/tmp/a.png /tmp/a.txt", ["/tmp/a.png"]])
  })

  test("an image alone can be sent", () => {
    const harness = openEditor()
    const image = testImage("a.png")
    harness.editor.attach(image)
    expect(harness.press("<enter>")).toEqual([{ type: "submit", text: "", attachments: [image] }])
    expect(harness.editor.attachments).toEqual([])
  })

  test("an empty paste asks for the image of the clipboard", () => {
    expect(openEditor().editor.key({ type: "paste", text: "" })).toEqual({ type: "paste-image", orText: false })
  })

  test("more images than fit are counted", () => {
    const harness = openEditor()
    for (const name of ["first.png", "second.png", "third.png"]) harness.editor.attach(testImage(name))
    expect(harness.draw(60)[0]).toBe("[image 1: first.png 8×6] [image 2: second.png 8×6] +1 more")
    expect(harness.draw(40)[0]).toBe("[image 1: first.png 8×6] +2 more")
  })
})
