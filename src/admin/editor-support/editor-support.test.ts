import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"

import { describe, expect, test } from "vitest"

import { createFakeCommand } from "../../../test/support/fake-command.ts"
import { createTestHomeContext } from "../../../test/support/home-context.ts"
import { manualClock } from "../../../test/support/manual-clock.ts"
import { testImage } from "../../../test/support/test-image.ts"
import { expandPastes } from "../../app/input/expand-pastes.ts"
import { withVariables } from "../../config/environment.ts"
import { readClipboardContent } from "./clipboard-content.ts"
import { editInExternalEditor } from "./external-editor.ts"
import { createPasteFiles, pasteTokenEndingAt, removeOldPastes } from "./paste-files.ts"
import { createProjectFiles, directoryNames } from "./project-files.ts"

describe("pasted texts", () => {
  const noon = new Date(2026, 0, 2, 12, 3, 4).getTime()

  test("are saved privately and expanded for the model", () => {
    using context = createTestHomeContext()
    const files = createPasteFiles({ home: context.home, clock: manualClock(noon) })
    const path = context.home.file("pastes", "paste_1_120304.txt")
    const saved = files.save("one\ntwo\n日本\uD800")
    expect(saved).toEqual({ ok: true, value: `[Pasted text #1: 3 lines → ${path}]` })
    expect([readFileSync(path, "utf8"), statSync(path).mode & 0o777]).toEqual(["one\ntwo\n日本\uFFFD", 0o600])
    const token = saved.ok ? saved.value : ""
    expect(expandPastes(`see\n${token}\nand ${token}`, context.home)).toEqual({
      text: "see\none\ntwo\n日本\uFFFD\nand one\ntwo\n日本\uFFFD",
      warnings: [],
    })
    expect([pasteTokenEndingAt(`x${token}`, token.length + 1), pasteTokenEndingAt(`${token}y`, 3)]).toEqual([
      token.length,
      0,
    ])
    // Another process has used the next number in the same second.
    writeFileSync(context.home.file("pastes", "paste_2_120304.txt"), "")
    expect(files.save("x")).toMatchObject({ ok: true, value: expect.stringContaining("#3: 1 lines") })
  })

  test("a missing file is reported, and other files are never read", () => {
    using context = createTestHomeContext({ "pastes/paste_2_000000.txt": "" })
    const missing = `[Pasted text #1: 2 lines → ${context.home.file("pastes", "paste_1_000000.txt")}]`
    expect(expandPastes(missing, context.home)).toEqual({
      text: missing,
      warnings: ["The pasted text paste_1_000000.txt was not sent: it no longer exists. Paste it again."],
    })
    const elsewhere = join(context.directory, "paste_9_000000.txt")
    writeFileSync(elsewhere, "secret")
    rmSync(context.home.file("pastes", "paste_2_000000.txt"))
    symlinkSync(elsewhere, context.home.file("pastes", "paste_2_000000.txt"))
    for (const path of [
      elsewhere,
      context.home.file("pastes", "..", "paste_9_000000.txt"),
      context.home.file("pastes", "paste_2_000000.txt"),
    ])
      expect(expandPastes(`[Pasted text #9: 1 lines → ${path}]`, context.home).text).not.toContain("secret")
  })

  test("a directory that cannot be written is reported in a sentence", () => {
    using context = createTestHomeContext({ pastes: "a file" })
    expect(createPasteFiles(context).save("x")).toMatchObject({
      ok: false,
      error: expect.stringMatching(/^The pasted text could not be saved in .*\.$/u),
    })
  })

  test("are removed after a week; other files stay", () => {
    using context = createTestHomeContext({
      "pastes/paste_1_000000.txt": "",
      "pastes/paste_2_000000.txt": "",
      "pastes/notes.txt": "",
    })
    const old = new Date(context.clock.now() - 8 * 24 * 3600 * 1000)
    for (const name of ["paste_1_000000.txt", "notes.txt"]) utimesSync(context.home.file("pastes", name), old, old)
    removeOldPastes(context)
    expect(readdirSync(context.home.file("pastes")).toSorted()).toEqual(["notes.txt", "paste_2_000000.txt"])
    using empty = createTestHomeContext()
    removeOldPastes(empty)
  })
})

describe("the external editor", () => {
  test("its saved text replaces the draft, and nothing is left behind", async () => {
    using context = createTestHomeContext()
    const record = join(context.directory, "seen")
    const { directory } = createFakeCommand(
      context.directory,
      "edit",
      `echo "$2" >'${record}'; stat -c %a "$(dirname "$2")" >>'${record}'; cat "$2" >>'${record}'; printf 'new\\ntext\\n' >"$2"`,
    )
    const environment = withVariables(context.environment, { VISUAL: `${directory}/edit --wait`, EDITOR: "false" })
    expect(await editInExternalEditor("old text", { home: context.home, environment })).toEqual({
      ok: true,
      value: "new\ntext",
    })
    const [path = "", mode, text] = readFileSync(record, "utf8").split("\n")
    expect([path.endsWith(".md"), mode, text]).toEqual([true, "700", "old text"])
    expect([dirname(dirname(path)), existsSync(dirname(path))]).toEqual([context.home.file("cache", "drafts"), false])
  })

  test.each([
    [
      "exit 3",
      { EDITOR: "sh -c 'exit 3' sh" },
      "The editor sh -c 'exit 3' sh exited with code 3. Your draft is unchanged.",
    ],
    ["missing", { EDITOR: "no-such-editor" }, "The editor no-such-editor was not found. Your draft is unchanged."],
    ["file removed", { EDITOR: "rm" }, expect.stringMatching(/^The draft could not be edited: .*It is unchanged\.$/u)],
    ["none", { PATH: "/nowhere" }, "No editor was found. Set EDITOR to the one you use, for example EDITOR=nano."],
  ])("a failing one is reported: %s", async (_case, variables, error) => {
    using context = createTestHomeContext()
    const environment = withVariables(context.environment, { VISUAL: undefined, EDITOR: undefined, ...variables })
    expect(await editInExternalEditor("draft", { home: context.home, environment })).toEqual({ ok: false, error })
  })
})

test("the clipboard of a machine without a desktop is explained", async () => {
  using context = createTestHomeContext()
  const environment = withVariables(context.environment, {
    DISPLAY: undefined,
    WAYLAND_DISPLAY: undefined,
    WSL_DISTRO_NAME: undefined,
  })
  const request = { ...context, environment, orText: true, signal: new AbortController().signal }
  expect(await readClipboardContent(request)).toEqual({
    ok: false,
    error: "There is no clipboard here: no desktop is connected. Attach an image with /image PATH.",
  })
})

test("an image of the clipboard is saved and attached; otherwise its text is used", async () => {
  using context = createTestHomeContext()
  const image = join(context.directory, "image.png")
  writeFileSync(image, testImage({ width: 4, height: 3, type: "png" }))
  const xclip = createFakeCommand(
    context.directory,
    "xclip",
    `case "$*" in *image/png*) cat '${image}' 2>/dev/null;; *) printf 'some text';; esac`,
  )
  const environment = withVariables(context.environment, {
    DISPLAY: ":0",
    WAYLAND_DISPLAY: undefined,
    WSL_DISTRO_NAME: undefined,
  })
  const clock = manualClock(new Date(2026, 0, 2, 12, 3, 4).getTime())
  const find = (name: string) => join(xclip.directory, name)
  const read = (orText: boolean) =>
    readClipboardContent({ ...context, environment, clock, orText, find, signal: new AbortController().signal })
  expect(await read(false)).toMatchObject({ ok: true, value: { kind: "image", image: { width: 4, height: 3 } } })
  await read(false)
  expect(readdirSync(context.home.file("images"))).toEqual(["clip_20260102_120304_1.png", "clip_20260102_120304_2.png"])
  rmSync(image)
  expect(await read(true)).toEqual({ ok: true, value: { kind: "text", text: "some text" } })
  expect(await read(false)).toEqual({
    ok: false,
    error: "The clipboard has no image. Copy one, or attach a file with /image PATH.",
  })
})

test("the files of a project are listed for completion and kept for five seconds", async () => {
  using context = createTestHomeContext()
  const project = join(context.directory, "project")
  mkdirSync(join(project, "src", "deep"), { recursive: true })
  mkdirSync(join(project, ".git"))
  mkdirSync(join(project, "node_modules", "x"), { recursive: true })
  for (const file of ["README.md", "src/a.ts", "src/deep/b.ts", ".git/config"]) writeFileSync(join(project, file), "")
  const clock = manualClock()
  // Without ripgrep.
  const files = createProjectFiles({ environment: withVariables(context.environment, { PATH: "/nowhere" }), clock })
  expect(await files(project)).toEqual(["README.md", "src/a.ts", "src/deep/b.ts"])
  writeFileSync(join(project, "new.ts"), "")
  await clock.advance(4999)
  expect(await files(project)).not.toContain("new.ts")
  await clock.advance(1)
  expect(await files(project)).toContain("new.ts")
  const names = (path: string) => directoryNames(path, { cwd: project, userHome: context.directory })
  expect(await names("src/")).toEqual(["a.ts", "deep/"])
  expect(await names("~/project/src/")).toEqual(["a.ts", "deep/"])
  expect(await names("missing/")).toEqual([])
})
