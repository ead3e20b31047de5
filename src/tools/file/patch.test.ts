import { chmod, readFile, readdir, stat, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { toolBench } from "../../../test/fixtures/tools/tool-bench.ts"
import type { ToolBench } from "../../../test/fixtures/tools/tool-bench.ts"
import type { FileSystem } from "../../exec/workspace.ts"
import { patch } from "./patch.ts"
import { createFileRegistry, createFileTracker } from "./tracking/file-tracker.ts"

const tracked = () => ({ files: createFileTracker({ taskId: "t", registry: createFileRegistry(), guard: true }) })
const text = (bench: ToolBench, name: string): Promise<string> => readFile(join(bench.home.workdir, name), "utf8")

describe("replace", () => {
  test("a text is replaced, and the result shows it", async () => {
    await using bench = await toolBench({ workFiles: { "a.txt": "one\ntwo\nthree\n" } })
    const path = join(bench.home.workdir, "a.txt")
    const diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
    expect(await bench.result(patch, { path: "a.txt", old_string: "two", new_string: "2" })).toEqual({
      content: { success: true, diff, files_modified: [path], resolved_path: path },
      summary: "1 replacement in a.txt",
      diff,
      filesChanged: [path],
    })
    expect(await text(bench, "a.txt")).toBe("one\n2\nthree\n")
  })

  test.each([
    ["CRLF and a byte order mark stay", "\u{FEFF}a\r\nb\r\n", "a\nb", "x\ny", "\u{FEFF}x\r\ny\r\n"],
    ["lines that are not touched keep their ends", "a\r\nb\r\nc\n", "b", "x", "a\r\nx\r\nc\n"],
    ["a literal CR at a line end is none twice", "a\r\nb\r\n", "a\nb", "x\\r\ny\\r", "x\r\ny\r\n"],
    ["old text with CRLF", "a\r\nb\r\n", "a\r\nb", "x\r\ny", "x\r\ny\r\n"],
    ["mixed line ends stay", "a\nb\r\nc\nd\r\n", "b\nc\nd", "b\nx\ny\nd", "a\nb\r\nx\ny\nd\r\n"],
    ["a new line ends like the one it replaces", "a\nb\r\nc\n", "b", "x\ny", "a\nx\r\ny\r\nc\n"],
    ["a request about line ends is taken literally", "a\r\nb\nc\nd\n", "a\r\n", "a\n", "a\nb\nc\nd\n"],
    ["deletion", "a\nb\n", "b\n", "", "a\n"],
    ["dollar signs are plain", "a\n", "a", "$& $1 $$", "$& $1 $$\n"],
  ])("%s", async (_what, before, old_string, new_string, after) => {
    await using bench = await toolBench({ workFiles: { f: before } })
    expect(await bench.call(patch, { mode: "replace", path: "f", old_string, new_string })).toMatchObject({
      success: true,
    })
    expect(await text(bench, "f")).toBe(after)
  })

  test("UTF-16 stays UTF-16, mode bits stay", async () => {
    await using bench = await toolBench()
    const path = join(bench.home.workdir, "f")
    await writeFile(path, Buffer.from("\u{FEFF}grün\r\n", "utf16le"))
    await chmod(path, 0o755)
    await bench.call(patch, { path: "f", old_string: "grün", new_string: "blau" })
    expect([await readFile(path, "utf16le"), (await stat(path)).mode & 0o777]).toEqual(["\u{FEFF}blau\r\n", 0o755])
  })

  test("a file that is not UTF-8 is not changed", async () => {
    await using bench = await toolBench()
    const path = join(bench.home.workdir, "f")
    await writeFile(path, Buffer.from([0x61, 0xe9, 0x0a]))
    expect(await bench.call(patch, { path: "f", old_string: "a", new_string: "b" })).toEqual({
      error: expect.stringContaining("not valid UTF-8"),
    })
    expect([...(await readFile(path))]).toEqual([0x61, 0xe9, 0x0a])
  })

  test("without a match similar passages are shown, masked; the third failure suggests another method", async () => {
    await using bench = await toolBench({
      workFiles: { f: "def total(a):\n    key = 'planted-secret-value'\n    return a\n" },
    })
    const ports = tracked()
    const call = () =>
      bench.call(patch, { path: "f", old_string: "def grand_totals(list):\n  nope()", new_string: "x" }, { ports })
    expect(await call()).toEqual({
      error: expect.stringMatching(
        /^old_string was not found in the file\.\nDid you mean one of these passages\?\n {3}1\| def total\(a\):\n {3}2\| {5}key = '(?!planted)/,
      ),
      _hint: "read f again: old_string must be text that is in the file now",
    })
    await call()
    expect(await call()).toMatchObject({ _hint: expect.stringMatching(/^3 edits of f have failed: .*write_file$/) })
    await bench.call(patch, { path: "f", old_string: "return a", new_string: "return b" }, { ports })
    expect(await call()).toMatchObject({ _hint: expect.stringMatching(/^read f again/) })
  })

  test.each([
    [{ path: "f" }, "mode replace needs `old_string`, `new_string`"],
    [{ old_string: "a", new_string: "b" }, "mode replace needs `path`"],
    [{ mode: "patch" }, "mode patch needs `patch`, the V4A text"],
    [{ path: "f", old_string: "", new_string: "b" }, "old_string cannot be empty"],
    [{ path: "f", old_string: "a", new_string: "a" }, "old_string and new_string are identical"],
    [{ path: "d", old_string: "a", new_string: "b" }, "d is a directory; name a file in it"],
    [{ path: "n.ipynb", old_string: "a", new_string: "b" }, expect.stringMatching(/change it with a script/)],
    [{ path: "no", old_string: "a", new_string: "b" }, expect.stringMatching(/^file not found: /)],
  ])("%j returns an error", async (args, error) => {
    await using bench = await toolBench({ workFiles: { f: "a\n", "d/x": "", "n.ipynb": "{}" } })
    expect(await bench.call(patch, args)).toMatchObject({ error })
    expect(await text(bench, "f")).toBe("a\n")
  })

  test("the written file is verified", async () => {
    await using bench = await toolBench({ workFiles: { f: "a\n" } })
    const { files } = bench.workspace
    const lying: FileSystem = { ...files, write: (path) => files.write(path, "something else") }
    const workspace = { ...bench.workspace, files: lying }
    expect(await bench.call(patch, { path: "f", old_string: "a", new_string: "b" }, { workspace })).toEqual({
      error: "cannot change f: the file does not contain what was written; read it again",
    })
  })
})

describe("V4A", () => {
  const v4a = (bench: ToolBench, lines: string, more = {}) => bench.call(patch, { mode: "patch", patch: lines }, more)

  test("several files at once, each on the result of the earlier operations", async () => {
    await using bench = await toolBench({ workFiles: { "a.txt": "1\n2\n", "b.txt": "b\n", "c.txt": "c\n" } })
    const at = (name: string): string => join(bench.home.workdir, name)
    const answer = await v4a(
      bench,
      "*** Begin Patch\n*** Update File: a.txt\n-1\n+one\n*** Update File: a.txt\n one\n-2\n+two\n*** Add File: new/d.txt\n+d\n" +
        "*** Delete File: b.txt\n*** Move File: c.txt -> e.txt\n*** Update File: e.txt\n-c\n+e\n*** Add File: b.txt\n+again\n*** End Patch",
    )
    expect(answer).toEqual({
      success: true,
      files_modified: [at("a.txt"), at("e.txt")],
      files_created: [at("new/d.txt"), at("e.txt"), at("b.txt")],
      files_deleted: [at("b.txt"), at("c.txt")],
      diff: expect.stringContaining("--- a/c.txt\n+++ b/e.txt\n"),
    })
    const names = (await readdir(bench.home.workdir)).toSorted()
    expect([
      names,
      await Promise.all(["a.txt", "b.txt", "e.txt", "new/d.txt"].map((name) => text(bench, name))),
    ]).toEqual([
      ["a.txt", "b.txt", "e.txt", "new"],
      ["one\ntwo\n", "again\n", "e\n", "d\n"],
    ])
  })

  test("one bad hunk out of five changes nothing, and every problem is reported", async () => {
    const workFiles = Object.fromEntries(["a", "b", "c", "d", "e"].map((name) => [name, `${name}1\n`]))
    await using bench = await toolBench({ workFiles })
    const times = () =>
      Promise.all(Object.keys(workFiles).map(async (name) => (await stat(join(bench.home.workdir, name))).mtimeMs))
    const before = await times()
    const updates = ["a", "b", "c", "d"].map((name) => `*** Update File: ${name}\n-${name}1\n+changed\n`).join("")
    const bad =
      "*** Update File: e\n-nowhere at all\n+x\n*** Add File: a\n+x\n*** Delete File: missing\n*** Move File: b -> c\n"
    expect(await v4a(bench, updates + bad)).toEqual({
      error:
        "the patch does not apply, no files were modified:\n" +
        `- UPDATE 'e': not found in the file: "nowhere at all"\n` +
        "- ADD 'a': the file already exists; use Update File\n" +
        "- DELETE 'missing': the file does not exist\n" +
        "- MOVE 'b' -> 'c': c already exists",
      _hint: "read the files again and send the whole patch",
    })
    expect([await times(), await text(bench, "a")]).toEqual([before, "a1\n"])
  })

  test("a failure of the third of five writes is reported exactly", async () => {
    const names = ["a", "b", "c", "d", "e"]
    await using bench = await toolBench({ workFiles: Object.fromEntries(names.map((name) => [name, `${name}1\n`])) })
    const { files } = bench.workspace
    let writes = 0
    const full: FileSystem = {
      ...files,
      write: async (path, data) => {
        writes += 1
        if (writes === 3) throw Object.assign(new Error("full"), { code: "ENOSPC" })
        return await files.write(path, data)
      },
    }
    const updates = names.map((name) => `*** Update File: ${name}\n-${name}1\n+${name}2\n`).join("")
    const at = (name: string): string => join(bench.home.workdir, name)
    const result = await bench.result(
      patch,
      { mode: "patch", patch: updates },
      { workspace: { ...bench.workspace, files: full } },
    )
    const diff = ["a", "b"].map((n) => `--- a/${n}\n+++ b/${n}\n@@ -1 +1 @@\n-${n}1\n+${n}2\n`).join("")
    expect([result.content, result.filesChanged, result.diff]).toEqual([
      {
        error:
          "UPDATE 'c': no space left on the disk. Stopped there; applied: UPDATE 'a', UPDATE 'b'; " +
          "not applied: UPDATE 'c', UPDATE 'd', UPDATE 'e'. Check the diff before you continue.",
        success: false,
        files_modified: [at("a"), at("b")],
        diff,
      },
      [at("a"), at("b")],
      diff,
    ])
    expect(await Promise.all(names.map((name) => text(bench, name)))).toEqual(["a2\n", "b2\n", "c1\n", "d1\n", "e1\n"])
    expect((await readdir(bench.home.workdir)).toSorted()).toEqual(names)
  })

  test.each([
    ["*** Add File: ../x\n+a", /contains \.\./],
    ["*** Move File: f -> a/../../x", /contains \.\./],
    ["*** Add File: d/\n+a", /names a directory/],
    ["*** Add File: n.docx\n+a", /change it with a script/],
    ["*** Update File: d\n-a\n+b", /is a directory/],
    ["*** Update File: f\n", /^UPDATE 'f': no hunks found; no files were modified$/],
    ["nothing", /^no operations/],
  ])("%j is refused", async (lines, error) => {
    await using bench = await toolBench({ workFiles: { f: "a\n", "d/x": "" } })
    expect(await v4a(bench, lines)).toMatchObject({ error: expect.stringMatching(error) })
    expect((await readdir(bench.home.workdir)).toSorted()).toEqual(["d", "f"])
  })

  test("every path, including both of a move, is a subject for the policy", () => {
    const parsed = patch.runnable.parse({
      mode: "patch",
      patch:
        "*** Move File: a -> ~/.ssh/authorized_keys\n*** Add File: b\n+x\n*** Delete File: c\n" +
        "*** Update File: d\n*** Move to: ~/.netrc\n-x\n+y\n*** Update File: e\n  *** Move to: f",
    })
    expect(parsed.ok && parsed.value.subjects).toEqual(
      ["a", "~/.ssh/authorized_keys", "b", "c", "d", "~/.netrc", "e", "f"].map((path) => ({ kind: "path", path })),
    )
  })

  test("an update follows a link, a deletion removes the link", async () => {
    await using bench = await toolBench({ workFiles: { real: "a\n" } })
    await symlink("real", join(bench.home.workdir, "link"))
    await v4a(bench, "*** Update File: link\n-a\n+b")
    expect(await text(bench, "real")).toBe("b\n")
    await v4a(bench, "*** Delete File: link")
    expect(await readdir(bench.home.workdir)).toEqual(["real"])
  })

  test("an update with a move keeps the mode of a file, and replaces a link", async () => {
    await using bench = await toolBench({ workFiles: { run: "a\n", "d/x": "" } })
    const at = (name: string): string => join(bench.home.workdir, name)
    await chmod(at("run"), 0o755)
    await symlink("run", at("link"))
    expect(await v4a(bench, "*** Update File: link\n*** Move to: d/file\n-a\n+b")).toMatchObject({ success: true })
    expect([await text(bench, "run"), await text(bench, "d/file")]).toEqual(["a\n", "b\n"])
    await v4a(bench, "*** Update File: run\n*** Move to: d/run\n-a\n+c")
    expect([await text(bench, "d/run"), (await stat(at("d/run"))).mode & 0o777]).toEqual(["c\n", 0o755])
    expect((await readdir(bench.home.workdir, { recursive: true })).toSorted()).toEqual(["d", "d/file", "d/run", "d/x"])
  })

  test("another profile's skills are written only with cross_profile", async () => {
    await using bench = await toolBench()
    const { path: home, userHome, workdir } = bench.home
    const directories = { userHome, hermesHome: home, hermesRoot: workdir, profile: "default" }
    const files = createFileTracker({ taskId: "t", registry: createFileRegistry(), guard: true, directories })
    const lines = "*** Add File: profiles/work/skills/s/SKILL.md\n+x"
    expect(await v4a(bench, lines, { ports: { files } })).toMatchObject({
      error: expect.stringContaining("the profile work"),
    })
    const allowed = await bench.call(patch, { mode: "patch", patch: lines, cross_profile: true }, { ports: { files } })
    expect(allowed).toMatchObject({ success: true })
  })
})

test("a file that must not be read is not shown by an edit and cannot be moved", async () => {
  await using bench = await toolBench({ workFiles: { ".env": "A_KEY=first\nB_KEY=second\n" } })
  const edit = { path: ".env", old_string: "A_KEY=first", new_string: "A_KEY=third" }
  const answers = [
    await bench.result(patch, { ...edit, old_string: "SOME_OTHER_KEY_NAME=none\nnothing like it", new_string: "x" }),
    await bench.result(patch, edit),
    await bench.result(patch, { mode: "patch", patch: "*** Move File: .env -> notes.txt" }),
    await bench.result(patch, { mode: "patch", patch: "*** Delete File: .env" }),
  ]
  expect(answers.map(({ content }) => Object.keys(content)[0])).toEqual(["error", "success", "error", "success"])
  expect(JSON.stringify(answers)).not.toContain("second")
})

test("its definition is short", () => {
  const { name, description, parameters } = patch
  expect(JSON.stringify({ name, description, parameters }).length).toBeLessThan(1400)
})

test("the digest of a patch names its files", () => {
  const digest = (args: Readonly<Record<string, unknown>>): string | undefined =>
    patch.runnable.digest?.({ tool: "patch", args, result: "xx" })
  const adding = (names: readonly string[]): string => names.map((name) => `*** Add File: ${name}\n+x\n`).join("")
  expect(digest({ path: "a.ts", old_string: "a" })).toBe("[patch] replace in a.ts (2 chars result)")
  expect(digest({ mode: "patch", patch: adding(["a", "b"]) })).toBe("[patch] patch in a, b (2 chars result)")
  expect(digest({ mode: "patch", patch: adding("abcdefg".split("")) })).toBe(
    "[patch] patch in a, b, c, d, e, and 2 more (2 chars result)",
  )
  expect(digest({ mode: "patch", patch: "nonsense" })).toBe("[patch] patch in  (2 chars result)")
})

describe("a file of more than 2,000,000 characters", () => {
  const large = Array.from({ length: 120_000 }, (_, index) => `  const value${index} = ${index}\n`).join("")

  test("an exact text is replaced, by both modes", async () => {
    await using bench = await toolBench({ workFiles: { f: large } })
    const replaced = await bench.call(patch, { path: "f", old_string: "value777 = 777", new_string: "x = 1" })
    expect(replaced).toMatchObject({ success: true, diff: expect.stringContaining("+  const x = 1\n") as string })
    const hunk = "*** Update File: f\n@@\n   const value119998 = 119998\n-  const value119999 = 119999\n+  const y = 2"
    expect(await bench.call(patch, { mode: "patch", patch: hunk })).toMatchObject({ success: true })
    const expected = large.replace("value777 = 777", "x = 1").replace("value119999 = 119999", "y = 2")
    expect((await text(bench, "f")) === expected).toBe(true)
  })

  test("a text that is not exact is refused, and the error names the strategies that were skipped", async () => {
    await using bench = await toolBench({ workFiles: { f: large } })
    const skipped = expect.stringMatching(
      /more than 2,000,000 characters[^]*exactly as in the file[^]*skipped \(line_trimmed, .*context_aware\)/u,
    ) as string
    const old_string = "const   value777 = 777"
    expect(await bench.call(patch, { path: "f", old_string, new_string: "x" })).toMatchObject({ error: skipped })
    const hunk = "*** Update File: f\n@@\n-const value777 =   777\n+x"
    expect(await bench.call(patch, { mode: "patch", patch: hunk })).toMatchObject({ error: skipped })
    expect((await text(bench, "f")) === large).toBe(true)
  })
})
